"""Dropout whose mask follows from a seed, so that none is stored for the backward pass.

Every element is read once and written once, ``4 * n_elements`` bytes each. A stored mask would
cost another byte for each element, written here and read again later; Philox makes the same
numbers from the seed and the element's index wherever they are needed.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "dropout_kernel": {
        "sizes": {"n_elements": 33_554_432},
        "args": {
            "input_ptr": "fp32[n_elements]",
            "output_ptr": "fp32[n_elements]",
            "n_elements": "n_elements",
            "p": 0.25,
            "seed": 123,
        },
        "constexprs": {"BLOCK_SIZE": 1024},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "outputs": ["output_ptr"],
        "reference": "dropout_reference",
        "tolerance": {"rtol": 1e-6, "atol": 0.0},
        "traffic": {"read": "4 * n_elements", "written": "4 * n_elements"},
    }
}


@triton.jit
def dropout_kernel(input_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    """Store ``BLOCK_SIZE`` elements, each 0 with probability ``p``, else divided by ``1 - p``."""
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(input_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(output_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


def dropout_reference(input_ptr, p, seed):
    """Return what ``output_ptr`` should hold."""
    import torch

    keep = philox_uniform(seed, torch.arange(input_ptr.numel(), device=input_ptr.device)) > p
    return torch.where(keep, input_ptr / (1 - p), 0.0)


def philox_uniform(seed, counter):
    """Return a number in [0, 1) for each counter: Philox 4x32 with ten rounds, as ``tl.rand``.

    After "Parallel random numbers: as easy as 1, 2, 3" (Salmon and others, 2011).
    """
    import torch

    low = 0xFFFFFFFF
    c0, c1, c2, c3 = counter, *(torch.zeros_like(counter) for _ in range(3))
    k0, k1 = seed & low, seed >> 32 & low
    for _ in range(10):
        (high0, low0), (high2, low2) = wide_product(0xD2511F53, c0), wide_product(0xCD9E8D57, c2)
        c0, c1, c2, c3 = high2 ^ c1 ^ k0, low2, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    signed = torch.where(c0 < 1 << 31, c0, low - c0)  # -x - 1 of a negative 32-bit integer
    return signed.float() * 4.6566127342e-10


def wide_product(a, b):
    """Return the upper and the lower 32 bits of a product of unsigned 32-bit integers."""
    # PyTorch has no products of 64 bits without sign: 16 bits of b at a time.
    lower, upper = a * (b & 0xFFFF), a * (b >> 16)
    return (upper + (lower >> 16)) >> 16, (lower + ((upper & 0xFFFF) << 16)) & 0xFFFFFFFF
