"""A chain of exponentials and sines: element-wise, yet bound by computation.

Each element is read once and written once, ``4 * n_elements`` bytes each, as in a copy, but passes
through ``STEPS`` exponentials and sines in between: ``2 * STEPS / 8`` of them for each byte.
``--set STEPS=1`` is bound by memory again.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "exp_sin_kernel": {
        "sizes": {"n_elements": 33_554_432},
        "args": {
            "input_ptr": "fp32[n_elements]",
            "output_ptr": "fp32[n_elements]",
            "n_elements": "n_elements",
        },
        "constexprs": {"BLOCK_SIZE": 1024, "STEPS": 32},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "outputs": ["output_ptr"],
        "reference": "exp_sin_reference",
        "tolerance": {"rtol": 1e-5, "atol": 1e-6},
        "traffic": {"read": "4 * n_elements", "written": "4 * n_elements"},
    }
}


@triton.jit
def exp_sin_kernel(
    input_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr, STEPS: tl.constexpr
):
    """Store ``STEPS`` times ``exp(-sin(x) ** 2)`` of ``BLOCK_SIZE`` elements."""
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(input_ptr + offsets, mask=mask, other=0.0)
    for _ in range(STEPS):
        wave = tl.sin(x)
        x = tl.exp(-wave * wave)
    tl.store(output_ptr + offsets, x, mask=mask)


def exp_sin_reference(input_ptr, STEPS):
    """Return what ``output_ptr`` should hold."""
    x = input_ptr
    for _ in range(STEPS):
        x = (-x.sin().square()).exp()
    return x
