"""How a kernel becomes artifacts: the only layer that knows Triton and PyTorch."""
