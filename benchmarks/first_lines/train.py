import torch

from rms_norm import rms_norm


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(rms_norm(x, self.weight.detach()))))


model = torch.nn.Sequential(*[Block(1024) for _ in range(2)]).cuda().bfloat16()
step = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for i in range(3):
    x = torch.randn(8192, 1024, device="cuda", dtype=torch.bfloat16)
    loss = step(x).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {i}: loss {loss.item():.4f}")
