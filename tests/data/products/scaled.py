"""One block-scaled product; its formats, scales and packings are the caller's."""

import triton
import triton.language as tl

IRLENS_KERNELS = {"scaled": {"args": {"A": "uint8[8]", "B": "uint8[8]", "SA": "uint8[8]", "SB": "uint8[8]", "C": "fp32[8]"}, "grid": [1]}}

@triton.jit
def scaled(A, B, SA, SB, C, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           FA: tl.constexpr, FB: tl.constexpr, HA: tl.constexpr, HB: tl.constexpr,
           PA: tl.constexpr, PB: tl.constexpr, G: tl.constexpr):
    am: tl.constexpr = BM // 2 if (FA == "e2m1" and not PA) else BM
    ak: tl.constexpr = BK // 2 if (FA == "e2m1" and PA) else BK
    bn: tl.constexpr = BN // 2 if (FB == "e2m1" and not PB) else BN
    bk: tl.constexpr = BK // 2 if (FB == "e2m1" and PB) else BK
    a = tl.load(A + tl.arange(0, am)[:, None] * ak + tl.arange(0, ak)[None, :])
    b = tl.load(B + tl.arange(0, bk)[:, None] * bn + tl.arange(0, bn)[None, :])
    if HA:
        sa = tl.load(SA + tl.arange(0, BM)[:, None] * (BK // G) + tl.arange(0, BK // G)[None, :])
    else:
        sa = None
    if HB:
        sb = tl.load(SB + tl.arange(0, BN)[:, None] * (BK // G) + tl.arange(0, BK // G)[None, :])
    else:
        sb = None
    acc = tl.dot_scaled(a, sa, FA, b, sb, FB, lhs_k_pack=PA, rhs_k_pack=PB)
    tl.store(C + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], acc)
