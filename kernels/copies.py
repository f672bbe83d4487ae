"""The same copy twice: neighbouring threads on neighbouring elements, and ``STRIDE`` apart.

Both read and write ``4 * n_elements`` bytes. In ``copy_coalesced_kernel`` a warp's requests fill
whole sectors of 32 bytes; in ``copy_strided_kernel`` with a stride of 8 or more each thread asks
for a sector of its own and uses 4 bytes of it, so that memory moves up to eight times as much.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "copy_coalesced_kernel": {
        "sizes": {"n_elements": 33_554_432},
        "args": {
            "input_ptr": "fp32[n_elements]",
            "output_ptr": "fp32[n_elements]",
            "n_elements": "n_elements",
        },
        "constexprs": {"BLOCK_SIZE": 1024},
        "options": {"num_warps": 4},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "outputs": ["output_ptr"],
        "reference": "copy_reference",
        "tolerance": {"rtol": 0.0, "atol": 0.0},
        "traffic": {"read": "4 * n_elements", "written": "4 * n_elements"},
    },
    "copy_strided_kernel": {
        "sizes": {"n_elements": 33_554_432},
        "args": {
            "input_ptr": "fp32[n_elements]",
            "output_ptr": "fp32[n_elements]",
            "n_elements": "n_elements",
        },
        "constexprs": {"BLOCK_SIZE": 1024, "STRIDE": 32},
        "options": {"num_warps": 4},
        "grid": ["cdiv(cdiv(n_elements, STRIDE), BLOCK_SIZE)", "STRIDE"],
        "outputs": ["output_ptr"],
        "reference": "copy_reference",
        "tolerance": {"rtol": 0.0, "atol": 0.0},
        "traffic": {"read": "4 * n_elements", "written": "4 * n_elements"},
    },
}


@triton.jit
def copy_coalesced_kernel(input_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """Copy ``BLOCK_SIZE`` neighbouring elements."""
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    tl.store(output_ptr + offsets, tl.load(input_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def copy_strided_kernel(
    input_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr, STRIDE: tl.constexpr
):
    """Copy ``BLOCK_SIZE`` elements that are ``STRIDE`` apart."""
    steps = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    offsets = steps * STRIDE + tl.program_id(1)
    mask = offsets < n_elements
    tl.store(output_ptr + offsets, tl.load(input_ptr + offsets, mask=mask), mask=mask)


def copy_reference(input_ptr):
    """Return what ``output_ptr`` should hold."""
    return input_ptr
