"""loads.py FOLDER: compiles, without a GPU, what loads.tar.xz is made of, with the Triton at hand.

Kernels whose loads run ahead by different distances; only the code of the kernels is kept.
"""

import pathlib
import re
import subprocess
import sys

import triton
import triton.language as tl
from loops import F, H, I, Pretended, attention

B = triton.runtime.jit.MockTensor(tl.int8)
HALVES = (H, H, F)


@triton.jit
def masked(A, B, C, M, N, K, am, bk, cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for kk in range(0, tl.cdiv(K, BK)):
        a = tl.load(A + r[:, None] * am + (kk * BK + k)[None, :], mask=k[None, :] < K - kk * BK)
        b = tl.load(B + (kk * BK + k)[:, None] * bk + c[None, :], mask=k[:, None] < K - kk * BK)
        acc = tl.dot(a, b, acc)
    tl.store(C + r[:, None] * cm + c[None, :], acc)


@triton.jit
def weights(A, W, S, C, K, am, wk, cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(A + r[:, None] * am + (start + k)[None, :])
        w = tl.load(W + (start + k)[:, None] * wk + c[None, :])
        s = tl.load(S + start // BK * wk + c)
        acc += tl.dot(a, w.to(tl.float16)) * s[None, :]
    tl.store(C + r[:, None] * cm + c[None, :], acc)


@triton.jit
def rows(X, W, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * n
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.exp(tl.load(X + row + at)) * tl.load(W + at)
    tl.store(Y + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def table(I, T, Y, n, WIDTH: tl.constexpr):
    at = tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH,), tl.float32)
    for j in range(0, n):
        index = tl.load(I + tl.program_id(0) * n + j)
        total += tl.load(T + index * WIDTH + at)
    tl.store(Y + tl.program_id(0) * WIDTH + at, total)


TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1201")


def cases(target):
    tile = dict(BM=128, BN=128, BK=64 if target.startswith("gfx9") else 32)
    sizes = (2048, 2048, 2048, 2048, 2048, 2048)
    yield f"masked.{target}", masked, (*HALVES, *sizes), dict(tile, num_warps=8, num_stages=2)
    small = dict(BM=64, BN=64, BK=64, num_warps=4, num_stages=2)
    yield f"weights.{target}", weights, (H, B, F, F, 2048, 2048, 2048, 2048), small
    yield f"rows.{target}", rows, (F, F, F, 4096), dict(BLOCK=1024, num_stages=3)
    yield f"table.{target}", table, (I, F, F, 64), dict(WIDTH=256, num_stages=2)
    head = dict(BM=128, BN=64, HEAD=64, num_warps=4, num_stages=2)
    yield f"attention.{target}", attention, (H, H, H, H, 1024), head


def compile_all(folder, target):
    """Compile the cases of a target: a process has a kernel once, whatever its target."""
    triton.runtime.driver.set_active(Pretended(target))
    here = str(pathlib.Path(__file__).parent)
    library = str(pathlib.Path(triton.__file__).parent)
    for name, kernel, arguments, options in cases(target):
        text = kernel.warmup(*arguments, **options, grid=(1,)).asm["amdgcn"]
        text = re.sub(r"(?ms)^\t\.section\t\.debug.*?(?=^\t\.amdgpu_metadata|\Z)", "", text)
        text = text.replace(here, "/kernels").replace(library, "/triton")
        (folder / f"{name}.triton-{triton.__version__}.amdgcn").write_text(text)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 2:
        compile_all(folder, sys.argv[2])
    else:
        for target in TARGETS:
            subprocess.run([sys.executable, __file__, folder, target], check=True)
