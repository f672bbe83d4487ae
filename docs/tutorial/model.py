import torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


model = torch.compile(Block(1024).cuda().bfloat16())
x = torch.randn(8, 2048, 1024, device="cuda", dtype=torch.bfloat16)
loss = model(x).float().square().mean()
loss.backward()
print(loss.item())
