"""A convolutional network under ``torch.compile``, forward and backward."""

import torch
from torch import nn


class Block(nn.Module):  # type: ignore[misc]  # mypy does not follow torch
    """A residual block."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the activations, of the shape of ``x``."""
        return torch.relu(x + self.body(x))


model = nn.Sequential(
    nn.Conv2d(3, 32, 3, stride=2, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.MaxPool2d(2),
    Block(32),
    nn.Conv2d(32, 64, 3, stride=2, padding=1),
    Block(64),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(64, 10),
).cuda()
images = torch.randn(16, 3, 96, 96, device="cuda")
labels = torch.randint(10, (16,), device="cuda")
loss = nn.functional.cross_entropy(torch.compile(model)(images), labels)
loss.backward()
