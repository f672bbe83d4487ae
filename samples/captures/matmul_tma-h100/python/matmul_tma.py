"""Matrix multiplication ``C = A @ B`` by tensor descriptors.

A descriptor says base, shape, strides and tile once; a load or store then names a tile by its
coordinates, and what lies past the edge reads as 0 and is not written. From sm_90 on the Tensor
Memory Accelerator moves such a tile on its own: one instruction a tile, no addresses in
registers, arrival counted by an mbarrier. For every other GPU Triton turns the descriptors back
into pointers and masks. The default tiles are chosen for sm_90; where shared memory is scarcer,
64 KiB say, ``--num-stages 2`` makes them fit.

Compare with ``matmul``, which computes the same from pointers.
"""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "matmul_tma_kernel": {
        "sizes": {"M": 4096, "N": 4096, "K": 4096},
        "args": {
            "a_ptr": "fp16[M, K]",
            "b_ptr": "fp16[K, N]",
            "c_ptr": "fp16[M, N]",
            "M": "M",
            "N": "N",
            "K": "K",
        },
        "constexprs": {
            "BLOCK_SIZE_M": 128,
            "BLOCK_SIZE_N": 256,
            "BLOCK_SIZE_K": 64,
            "GROUP_SIZE_M": 8,
        },
        "options": {"num_warps": 8, "num_stages": 3},
        "grid": ["cdiv(M, BLOCK_SIZE_M) * cdiv(N, BLOCK_SIZE_N)"],
        "outputs": ["c_ptr"],
        "reference": "matmul_reference",
        "tolerance": {"rtol": 1e-2, "atol": 1e-1},
    }
}


@triton.jit
def matmul_tma_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):
    """Store one ``BLOCK_SIZE_M`` x ``BLOCK_SIZE_N`` tile of C; the matrices are contiguous.

    A row must be a multiple of 16 bytes: the hardware takes no other strides. Launching for
    sm_90 or newer needs ``triton.set_allocator``, since a program writes its descriptors to
    global memory.
    """
    # Programs with neighbouring ids take the tiles of GROUP_SIZE_M rows column by column.
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    first_pid_m = pid // num_pid_in_group * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    row = (first_pid_m + pid % num_pid_in_group % group_size_m) * BLOCK_SIZE_M
    col = pid % num_pid_in_group // group_size_m * BLOCK_SIZE_N

    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_SIZE_M, BLOCK_SIZE_K])
    b = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BLOCK_SIZE_K, BLOCK_SIZE_N])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_SIZE_M, BLOCK_SIZE_N])
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_SIZE_K):
        accumulator = tl.dot(a.load([row, k]), b.load([k, col]), accumulator)
    c.store([row, col], accumulator.to(c_ptr.dtype.element_ty))


def matmul_reference(a_ptr, b_ptr):
    """Return what ``c_ptr`` should hold."""
    return a_ptr @ b_ptr
