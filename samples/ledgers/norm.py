"""RMS norm as PyTorch runs it, compiled, and by a kernel of its own that is not the best."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, row_ptr, y_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    """Store one row times its value in ``row_ptr``."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols)
    y = x * tl.load(row_ptr + row)
    tl.store(y_ptr + row * n_cols + cols, y, mask=cols < n_cols)


def norm(x):
    """Return each row divided by its root mean square."""
    return x * torch.rsqrt(x.square().mean(dim=1, keepdim=True) + 1e-6)


def norm_with_a_kernel(x):
    """Return the same, the last product in a kernel."""
    factors = torch.rsqrt(x.square().mean(dim=1) + 1e-6)
    y = torch.empty_like(x)
    scale_kernel[(x.shape[0],)](x, factors, y, x.shape[1], BLOCK_SIZE=1024)
    return y


x = torch.randn(4096, 1000, device="cuda")
results = norm(x), torch.compile(norm)(x), norm_with_a_kernel(x)
