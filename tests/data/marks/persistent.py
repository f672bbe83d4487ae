"""A matmul by descriptors whose programs take one tile after another, with warps for each task."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "persistent": {
        "sizes": {"m": 4096, "n": 4096, "depth": 4096},
        "args": {
            "a_ptr": "fp16[m, depth]",
            "b_ptr": "fp16[depth, n]",
            "c_ptr": "fp16[m, n]",
            "m": "m",
            "n": "n",
            "depth": "depth",
        },
        "constexprs": {
            "block_m": 128,
            "block_n": 128,
            "block_k": 64,
            "specialize": True,
            "programs": 132,
        },
        "options": {"num_warps": 4, "num_stages": 3},
        "grid": ["132"],
    }
}


@triton.jit
def persistent(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    depth,
    block_m: tl.constexpr,
    block_n: tl.constexpr,
    block_k: tl.constexpr,
    specialize: tl.constexpr,
    programs: tl.constexpr,
):
    """Store C; ``specialize`` asks for warp specialisation, which Triton has from sm_100 on."""
    a = tl.make_tensor_descriptor(a_ptr, [m, depth], [depth, 1], [block_m, block_k])
    b = tl.make_tensor_descriptor(b_ptr, [depth, n], [n, 1], [block_k, block_n])
    c = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [block_m, block_n])
    tiles_n = tl.cdiv(n, block_n)
    tiles = tl.cdiv(m, block_m) * tiles_n
    for tile in tl.range(
        tl.program_id(0), tiles, programs, flatten=True, warp_specialize=specialize
    ):
        row = tile // tiles_n * block_m
        col = tile % tiles_n * block_n
        acc = tl.zeros((block_m, block_n), dtype=tl.float32)
        for k in range(0, depth, block_k):
            acc = tl.dot(a.load([row, k]), b.load([k, col]), acc)
        c.store([row, col], acc.to(tl.float16))
