"""Kernels whose memory accesses are hard to count: each for one way to make addresses and masks."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "histogram_kernel": {
        "sizes": {"n_elements": 301, "n_bins": 7},
        "args": {
            "x_ptr": "fp32[n_elements]",
            "y_ptr": "fp32[n_bins]",
            "n_elements": "n_elements",
            "n_bins": "n_bins",
        },
        "constexprs": {"BLOCK_SIZE": 64},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "outputs": ["y_ptr"],
    },
    "lock_kernel": {
        "sizes": {"n_programs": 5},
        "args": {"lock_ptr": "int32[3]", "count_ptr": "int64[3]"},
        "constexprs": {},
        "grid": ["n_programs"],
        "outputs": ["count_ptr"],
    },
    "grid_3d_kernel": {
        "sizes": {"depth": 3, "height": 21, "width": 37},
        "args": {
            "x_ptr": "bf16[depth, height, width]",
            "y_ptr": "int8[width, height, depth]",
            "depth": "depth",
            "height": "height",
            "width": "width",
        },
        "constexprs": {"BLOCK": 16},
        "grid": ["cdiv(width, BLOCK)", "cdiv(height, BLOCK)", "depth"],
        "outputs": ["y_ptr"],
    },
    "while_kernel": {
        "sizes": {"n_elements": 1001, "n_programs": 5},
        "args": {
            "x_ptr": "fp32[n_elements]",
            "y_ptr": "fp32[n_elements]",
            "n_elements": "n_elements",
        },
        "constexprs": {"BLOCK_SIZE": 32},
        "grid": ["n_programs"],
        "outputs": ["y_ptr"],
    },
    "branches_kernel": {
        "sizes": {"n_elements": 301},
        "args": {
            "x_ptr": "fp32[n_elements]",
            "y_ptr": "fp32[n_elements]",
            "n_elements": "n_elements",
        },
        "constexprs": {"BLOCK_SIZE": 32},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "outputs": ["y_ptr"],
    },
    "early_return_kernel": {
        "sizes": {"n_elements": 301, "n_programs": 16},
        "args": {
            "x_ptr": "fp32[n_elements]",
            "y_ptr": "fp32[n_elements]",
            "n_elements": "n_elements",
        },
        "constexprs": {"BLOCK_SIZE": 32},
        "grid": ["n_programs"],
        "outputs": ["y_ptr"],
    },
    "call_kernel": {
        "sizes": {"n_elements": 301},
        "args": {
            "x_ptr": "fp32[n_elements]",
            "y_ptr": "fp32[n_elements]",
            "n_elements": "n_elements",
        },
        "constexprs": {"BLOCK_SIZE": 32},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "outputs": ["y_ptr"],
    },
    "reversed_kernel": {
        "sizes": {"n_elements": 301},
        "args": {
            "x_ptr": "fp32[n_elements]",
            "y_ptr": "fp32[n_elements]",
            "n_elements": "n_elements",
        },
        "constexprs": {"BLOCK_SIZE": 32},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "outputs": ["y_ptr"],
    },
    "stencil_kernel": {
        "sizes": {"height": 19, "width": 45},
        "args": {
            "x_ptr": "fp32[height, width]",
            "y_ptr": "fp32[height, width]",
            "height": "height",
            "width": "width",
        },
        "constexprs": {"BLOCK": 16},
        "grid": ["cdiv(width, BLOCK)", "cdiv(height, BLOCK)"],
        "outputs": ["y_ptr"],
    },
    "boxes_kernel": {
        "sizes": {"depth": 3, "height": 12, "width": 40},
        "args": {
            "x_ptr": "fp32[depth, height, width]",
            "y_ptr": "fp32[depth, height, width]",
            "depth": "depth",
            "height": "height",
            "width": "width",
        },
        "constexprs": {"BLOCK": 16},
        "grid": ["cdiv(width, BLOCK)", "cdiv(height, 4)"],
        "outputs": ["y_ptr"],
    },
    "host_descriptor_kernel": {
        "sizes": {"height": 19, "width": 48},
        "args": {
            "x_ptr": "fp16[height, width]:block[8, 16]",
            "y_ptr": "fp16[height, width]:block[8, 16]",
        },
        "constexprs": {},
        "grid": ["cdiv(width, 16)", "cdiv(height, 8)"],
        "outputs": ["y_ptr"],
    },
    "lookup_kernel": {
        "sizes": {"n_rows": 9, "n_entries": 14, "n_cols": 21},
        "args": {
            "table_ptr": "fp32[n_entries, n_cols]",
            "index_ptr": "int64[n_rows]",
            "y_ptr": "fp32[n_rows, n_cols]",
            "n_cols": "n_cols",
        },
        "constexprs": {"BLOCK_SIZE": 32},
        "grid": ["n_rows"],
        "outputs": ["y_ptr"],
        "inputs": "lookup_inputs",
    },
    "data_mask_kernel": {
        "sizes": {"n_elements": 301},
        "args": {
            "x_ptr": "fp32[n_elements]",
            "y_ptr": "fp32[n_elements]",
            "n_elements": "n_elements",
        },
        "constexprs": {"BLOCK_SIZE": 32},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "outputs": ["y_ptr"],
    },
    "split_k_kernel": {
        "sizes": {"M": 33, "N": 18, "K": 71, "split": 3},
        "args": {
            "a_ptr": "fp16[M, K]",
            "b_ptr": "fp16[K, N]",
            "c_ptr": "fp32[M, N]",
            "M": "M",
            "N": "N",
            "K": "K",
        },
        "constexprs": {"BLOCK": 16},
        "grid": ["cdiv(M, BLOCK)", "cdiv(N, BLOCK)", "split"],
        "outputs": ["c_ptr"],
    },
}


@triton.jit
def histogram_kernel(x_ptr, y_ptr, n_elements, n_bins, BLOCK_SIZE: tl.constexpr):
    """Add elements atomically into the bins that their numbers fall into."""
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.atomic_add(y_ptr + offsets * offsets % n_bins, x, mask=mask & (offsets % 3 != 1))


@triton.jit
def lock_kernel(lock_ptr, count_ptr):
    """Take one of three locks, and count who did."""
    which = tl.program_id(0) % 3
    tl.atomic_cas(lock_ptr + which, 0, 1)
    tl.atomic_add(count_ptr + which, 1)
    tl.atomic_xchg(lock_ptr + which, 0)


@triton.jit
def grid_3d_kernel(x_ptr, y_ptr, depth, height, width, BLOCK: tl.constexpr):
    """Reverse the dimensions of a tensor of three."""
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    y = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[:, None]
    z = tl.program_id(2).to(tl.int64)
    mask = (x < width) & (y < height)
    values = tl.load(x_ptr + (z * height + y) * width + x, mask=mask, other=0.0)
    tl.store(y_ptr + (x * height + y) * depth + z, values.to(tl.int8), mask=mask)


@triton.jit
def while_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """Copy blocks, each as far behind the one before as that is far from the first."""
    start = (tl.program_id(0) + 1) * BLOCK_SIZE
    while start < n_elements:
        offsets = start + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n_elements
        tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
        start *= 2


@triton.jit
def branches_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """Copy, or store zeros, or add a neighbour: another thing in every third program."""
    pid = tl.program_id(0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    value = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    if pid % 3 == 0:
        value = tl.load(x_ptr + offsets, mask=mask)
    elif pid % 3 == 1:
        offsets = tl.where(offsets % 2 == 0, offsets, offsets - 1)
        value = tl.load(x_ptr + offsets, mask=mask)
        value += tl.load(x_ptr + offsets + 1, mask=offsets + 1 < n_elements)
    tl.store(y_ptr + offsets, value, mask=mask & (offsets >= pid))


@triton.jit
def early_return_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """Copy in the programs that have something to copy."""
    start = tl.program_id(0) * BLOCK_SIZE
    if start >= n_elements:
        return
    offsets = start + tl.arange(0, BLOCK_SIZE)
    value = tl.load(x_ptr + tl.minimum(offsets, n_elements - 1))
    if start + BLOCK_SIZE > n_elements:
        tl.store(y_ptr + offsets, value, mask=offsets < n_elements)
        return
    tl.store(y_ptr + offsets, value)


@triton.jit(noinline=True)
def copied(x_ptr, y_ptr, start, n_elements, BLOCK_SIZE: tl.constexpr):
    """Copy one block and return the next one's beginning."""
    offsets = start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
    return start + BLOCK_SIZE // 2


@triton.jit
def call_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """Copy two blocks that overlap, in a function that is not inlined."""
    start = copied(x_ptr, y_ptr, tl.program_id(0) * BLOCK_SIZE, n_elements, BLOCK_SIZE)
    copied(x_ptr, y_ptr, start, n_elements, BLOCK_SIZE)


@triton.jit
def reversed_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """Copy backwards, with the numbers of elements divided, negated and clamped."""
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    back = n_elements - 1 - offsets
    value = tl.load(x_ptr + tl.maximum(back, 0))
    value += tl.load(x_ptr + (back // 2 - back % 7), mask=back // 2 >= back % 7)
    value += tl.load(x_ptr + (offsets ^ 5), mask=((offsets ^ 5) < n_elements) | (offsets < 8))
    tl.store(y_ptr + back, value, mask=back >= 0)


@triton.jit
def stencil_kernel(x_ptr, y_ptr, height, width, BLOCK: tl.constexpr):
    """Add the four diagonal neighbours of every element that has them."""
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[:, None]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for step in tl.static_range(4):
        row = rows + step // 2 * 2 - 1
        column = columns + step % 2 * 2 - 1
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        total += tl.load(x_ptr + row * width + column, mask=inside, other=0.0)
    mask = (rows < height) & (columns < width)
    tl.store(y_ptr + rows * width + columns, total, mask=mask)


@triton.jit
def boxes_kernel(x_ptr, y_ptr, depth, height, width, BLOCK: tl.constexpr):
    """Copy through descriptors of three dimensions, whose boxes overlap and hang over the edges."""
    plane_stride = height * width
    x = tl.make_tensor_descriptor(
        x_ptr, [depth, height, width], [plane_stride, width, 1], [2, 8, BLOCK]
    )
    y = tl.make_tensor_descriptor(
        y_ptr, [depth, height, width], [plane_stride, width, 1], [2, 8, BLOCK]
    )
    column, row = tl.program_id(0) * BLOCK, tl.program_id(1) * 4 - 2
    for plane in range(-1, depth, 2):
        y.store([plane, row, column], x.load([plane, row, column]))


@triton.jit
def host_descriptor_kernel(x_ptr, y_ptr):
    """Copy through descriptors that the host makes."""
    row, column = tl.program_id(1) * 8, tl.program_id(0) * 16
    y_ptr.store([row, column], x_ptr.load([row, column]))


@triton.jit
def lookup_kernel(table_ptr, index_ptr, y_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    """Copy the rows of a table that an index names."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK_SIZE)
    entry = tl.load(index_ptr + row)
    value = tl.load(table_ptr + entry * n_cols + columns, mask=columns < n_cols)
    tl.store(y_ptr + row * n_cols + columns, value, mask=columns < n_cols)


def lookup_inputs(table_ptr, index_ptr):
    """Return an index with entries that occur several times."""
    import torch

    return {"index_ptr": torch.arange(index_ptr.numel()) ** 2 % table_ptr.shape[0]}


@triton.jit
def data_mask_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    """Store what is positive."""
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n_elements, other=0.0)
    tl.store(y_ptr + offsets, x, mask=x > 0)


@triton.jit
def split_k_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    """Add the product of parts of two matrices atomically."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    a_ptrs = a_ptr + row[:, None] * K + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * N + column[None, :]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    step = tl.num_programs(2) * BLOCK
    for start in range(tl.program_id(2) * BLOCK, K, step):
        left = K - start - tl.arange(0, BLOCK)
        a = tl.load(a_ptrs, mask=(row[:, None] < M) & (left[None, :] > 0), other=0.0)
        b = tl.load(b_ptrs, mask=(column[None, :] < N) & (left[:, None] > 0), other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += step
        b_ptrs += step * N
    mask = (row[:, None] < M) & (column[None, :] < N)
    tl.atomic_add(c_ptr + row[:, None] * N + column[None, :], total, mask=mask)
