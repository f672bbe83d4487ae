"""A persistent product whose nest is flattened, and whose epilogue loads a bias by TMA."""

import triton
import triton.language as tl

IRLENS_KERNELS = {
    "product": {
        "args": {
            "a_ptr": "fp16[2048, 2048]",
            "b_ptr": "fp16[2048, 2048]",
            "bias_ptr": "fp16[2048]",
            "c_ptr": "fp16[2048, 2048]",
            "M": 2048,
            "N": 2048,
            "K": 2048,
        },
        "constexprs": {"PROGRAMS": 132, "BLOCK": 64},
        "options": {"num_warps": 8, "num_stages": 3},
        "grid": [132],
    },
}


@triton.jit
def product(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr
):
    """Multiply tile after tile, and add a bias to each."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [128, BLOCK])
    b_desc = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [128, BLOCK])
    bias_desc = tl.make_tensor_descriptor(bias_ptr, [1, N], [N, 1], [1, 128])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [128, 128])
    columns = tl.cdiv(N, 128)
    tiles = tl.cdiv(M, 128) * columns
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True):
        row = (tile // columns) * 128
        column = (tile % columns) * 128
        acc = tl.zeros((128, 128), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BLOCK)):
            a = a_desc.load([row, k * BLOCK])
            b = b_desc.load([column, k * BLOCK])
            acc = tl.dot(a, b.T, acc)
        bias = bias_desc.load([0, column])
        c_desc.store([row, column], (acc + bias).to(tl.float16))
