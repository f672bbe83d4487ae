"""Softmax as five kernels, one for each operation, as unfused PyTorch runs it.

Every intermediate result goes to memory and comes back. Run in this order, the kernels read
``5 * n_rows * n_cols + 2 * n_rows`` values and write ``3 * n_rows * n_cols + 2 * n_rows``, where
``softmax_rows`` reads and writes ``n_rows * n_cols`` each: about a quarter of it.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "row_max_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 1024},
        "args": {
            "input_ptr": "fp32[n_rows, n_cols]",
            "output_ptr": "fp32[n_rows]",
            "n_cols": "n_cols",
        },
        "constexprs": {"BLOCK_SIZE": "next_power_of_2(n_cols)"},
        "grid": ["n_rows"],
        "outputs": ["output_ptr"],
        "reference": "row_max_reference",
        "tolerance": {"rtol": 0.0, "atol": 0.0},
        "traffic": {"read": "4 * n_rows * n_cols", "written": "4 * n_rows"},
    },
    "subtract_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 1024},
        "args": {
            "input_ptr": "fp32[n_rows, n_cols]",
            "row_ptr": "fp32[n_rows]",
            "output_ptr": "fp32[n_rows, n_cols]",
            "n_cols": "n_cols",
        },
        "constexprs": {"BLOCK_SIZE": "next_power_of_2(n_cols)"},
        "grid": ["n_rows"],
        "outputs": ["output_ptr"],
        "reference": "subtract_reference",
        "tolerance": {"rtol": 0.0, "atol": 0.0},
        "traffic": {
            "read": "4 * (n_rows * n_cols + n_rows)",
            "written": "4 * n_rows * n_cols",
        },
    },
    "exp_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 1024},
        "args": {
            "input_ptr": "fp32[n_rows, n_cols]",
            "output_ptr": "fp32[n_rows, n_cols]",
            "n_elements": "n_rows * n_cols",
        },
        "constexprs": {"BLOCK_SIZE": 1024},
        "grid": ["cdiv(n_rows * n_cols, BLOCK_SIZE)"],
        "outputs": ["output_ptr"],
        "reference": "exp_reference",
        "tolerance": {"rtol": 1e-6, "atol": 1e-7},
        "traffic": {"read": "4 * n_rows * n_cols", "written": "4 * n_rows * n_cols"},
    },
    "row_sum_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 1024},
        "args": {
            "input_ptr": "fp32[n_rows, n_cols]",
            "output_ptr": "fp32[n_rows]",
            "n_cols": "n_cols",
        },
        "constexprs": {"BLOCK_SIZE": "next_power_of_2(n_cols)"},
        "grid": ["n_rows"],
        "outputs": ["output_ptr"],
        "reference": "row_sum_reference",
        "tolerance": {"rtol": 1e-5, "atol": 1e-4},
        "traffic": {"read": "4 * n_rows * n_cols", "written": "4 * n_rows"},
    },
    "divide_kernel": {
        "sizes": {"n_rows": 4096, "n_cols": 1024},
        "args": {
            "input_ptr": "fp32[n_rows, n_cols]",
            "row_ptr": "fp32[n_rows]",
            "output_ptr": "fp32[n_rows, n_cols]",
            "n_cols": "n_cols",
        },
        "constexprs": {"BLOCK_SIZE": "next_power_of_2(n_cols)"},
        "grid": ["n_rows"],
        "outputs": ["output_ptr"],
        "reference": "divide_reference",
        "tolerance": {"rtol": 1e-6, "atol": 0.0},
        "traffic": {
            "read": "4 * (n_rows * n_cols + n_rows)",
            "written": "4 * n_rows * n_cols",
        },
    },
}


@triton.jit
def row_max_kernel(input_ptr, output_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    """Store the maximum of one row; ``BLOCK_SIZE`` must cover all of it."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(input_ptr + row * n_cols + cols, mask=cols < n_cols, other=-float("inf"))
    tl.store(output_ptr + row, tl.max(x, axis=0))


@triton.jit
def subtract_kernel(input_ptr, row_ptr, output_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    """Store one row minus its value in ``row_ptr``."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(input_ptr + row * n_cols + cols, mask=mask)
    tl.store(output_ptr + row * n_cols + cols, x - tl.load(row_ptr + row), mask=mask)


@triton.jit
def exp_kernel(input_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """Store the exponential of ``BLOCK_SIZE`` elements."""
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    tl.store(output_ptr + offsets, tl.exp(tl.load(input_ptr + offsets, mask=mask)), mask=mask)


@triton.jit
def row_sum_kernel(input_ptr, output_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    """Store the sum of one row; ``BLOCK_SIZE`` must cover all of it."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    x = tl.load(input_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(output_ptr + row, tl.sum(x, axis=0))


@triton.jit
def divide_kernel(input_ptr, row_ptr, output_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    """Store one row divided by its value in ``row_ptr``."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(input_ptr + row * n_cols + cols, mask=mask)
    tl.store(output_ptr + row * n_cols + cols, x / tl.load(row_ptr + row), mask=mask)


def row_max_reference(input_ptr):
    """Return what ``output_ptr`` should hold."""
    return input_ptr.amax(dim=1)


def subtract_reference(input_ptr, row_ptr):
    """Return what ``output_ptr`` should hold."""
    return input_ptr - row_ptr[:, None]


def exp_reference(input_ptr):
    """Return what ``output_ptr`` should hold."""
    return input_ptr.exp()


def row_sum_reference(input_ptr):
    """Return what ``output_ptr`` should hold."""
    return input_ptr.sum(dim=1)


def divide_reference(input_ptr, row_ptr):
    """Return what ``output_ptr`` should hold."""
    return input_ptr / row_ptr[:, None]


def softmax_reference(input_ptr):
    """Return the softmax of each row, in the five operations of the kernels above."""
    row_max = input_ptr.amax(dim=1, keepdim=True)
    exponentials = (input_ptr - row_max).exp()
    return exponentials / exponentials.sum(dim=1, keepdim=True)
