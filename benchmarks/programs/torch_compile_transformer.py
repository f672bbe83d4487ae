"""A transformer's layers under ``torch.compile``, forward and backward, in bfloat16."""

import torch
from torch import nn

model = nn.TransformerEncoder(
    nn.TransformerEncoderLayer(
        512, 8, 1376, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
    ),
    2,
    enable_nested_tensor=False,
)
model = model.cuda().bfloat16()
tokens = torch.randn(4, 250, 512, device="cuda", dtype=torch.bfloat16, requires_grad=True)
torch.compile(model)(tokens).float().square().mean().backward()
