"""Sums of segments of different lengths: where a task starts and ends is data.

Segment ``i`` holds the elements from ``offsets[i]`` up to ``offsets[i + 1]``, none or many. Every
element is read once, ``4 * n_elements`` bytes, and each program reads two offsets and writes one
sum, ``8 * n_segments`` and ``4 * n_segments`` bytes. Which program works how long cannot be known
from the launch alone: the longest segment decides when the last one ends.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "segment_sum_kernel": {
        "sizes": {"n_segments": 4096, "n_elements": 8_388_608},
        "args": {
            "input_ptr": "fp32[n_elements]",
            "offsets_ptr": "int32[n_segments + 1]",
            "output_ptr": "fp32[n_segments]",
        },
        "constexprs": {"BLOCK_SIZE": 1024},
        "options": {"num_warps": 4},
        "grid": ["n_segments"],
        "outputs": ["output_ptr"],
        "inputs": "uneven_segments",
        "reference": "segment_sum_reference",
        "tolerance": {"rtol": 1e-5, "atol": 1e-3},
        "traffic": {"read": "4 * n_elements + 8 * n_segments", "written": "4 * n_segments"},
    }
}


@triton.jit
def segment_sum_kernel(input_ptr, offsets_ptr, output_ptr, BLOCK_SIZE: tl.constexpr):
    """Store the sum of one segment, taken ``BLOCK_SIZE`` elements at a time."""
    segment = tl.program_id(0)
    first = tl.load(offsets_ptr + segment)
    end = tl.load(offsets_ptr + segment + 1)
    total = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    for start in tl.range(first, end, BLOCK_SIZE):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        total += tl.load(input_ptr + offsets, mask=offsets < end, other=0.0)
    tl.store(output_ptr + segment, tl.sum(total, axis=0))


def uneven_segments(input_ptr, offsets_ptr):
    """Return offsets of segments that grow: the last one is twice as long as the average."""
    import torch

    steps = torch.linspace(0, 1, offsets_ptr.numel(), dtype=torch.float64)
    offsets = (steps.square() * input_ptr.numel()).to(offsets_ptr)
    return {"offsets_ptr": offsets}


def segment_sum_reference(input_ptr, offsets_ptr):
    """Return what ``output_ptr`` should hold."""
    import torch

    lengths = offsets_ptr.diff().long()
    return torch.segment_reduce(input_ptr, "sum", lengths=lengths)
