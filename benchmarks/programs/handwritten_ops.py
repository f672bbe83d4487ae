"""Kernels as people write them for one purpose, at sizes of that purpose."""

import torch
import triton
import triton.language as tl
from operator_runs import run, size

SCALE = size("SCALE", 1)
ROWS, HIDDEN, CLASSES = size("ROWS", 512), size("HIDDEN", 1024), size("CLASSES", 4096)


@triton.jit
def embedding_rows(ids, table, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    index = tl.load(ids + row)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(table + index * width + cols, mask=cols < width)
        tl.store(out + row * width + cols, x, mask=cols < width)


@triton.jit
def gather_elements(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    where = tl.load(index + at, mask=at < n, other=0)
    tl.store(out + at, tl.load(x + where, mask=at < n), mask=at < n)


@triton.jit
def scatter_add(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    where = tl.load(index + at, mask=at < n, other=0)
    tl.atomic_add(out + where, tl.load(x + at, mask=at < n), mask=at < n, sem="relaxed")


@triton.jit
def segment_mean(x, offsets, out, width, BLOCK: tl.constexpr):
    segment, cols = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    first, last = tl.load(offsets + segment), tl.load(offsets + segment + 1)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(first, last):
        total += tl.load(x + row * width + cols, mask=cols < width, other=0.0)
    tl.store(out + segment * width + cols, total / (last - first), mask=cols < width)


@triton.jit
def paged_decode(
    q,
    keys,
    values,
    table,
    lengths,
    out,
    scale,
    pages,
    PAGE: tl.constexpr,
    D: tl.constexpr,
    HEADS: tl.constexpr,
):
    batch, head = tl.program_id(0), tl.program_id(1)
    d = tl.arange(0, D)
    query = tl.load(q + (batch * HEADS + head) * D + d).to(tl.float32)
    length = tl.load(lengths + batch)
    high, total, acc = -float("inf"), 0.0, tl.zeros((D,), tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        number = tl.load(table + batch * pages + page)
        t = tl.arange(0, PAGE)
        at = ((number * PAGE + t[:, None]) * HEADS + head) * D + d[None, :]
        seen = page * PAGE + t < length
        k = tl.load(keys + at, mask=seen[:, None], other=0.0).to(tl.float32)
        s = tl.where(seen, tl.sum(k * query[None, :], 1) * scale, -float("inf"))
        top = tl.maximum(high, tl.max(s, 0))
        p = tl.exp(s - top)
        v = tl.load(values + at, mask=seen[:, None], other=0.0).to(tl.float32)
        acc = acc * tl.exp(high - top) + tl.sum(p[:, None] * v, 0)
        total = total * tl.exp(high - top) + tl.sum(p, 0)
        high = top
    tl.store(out + (batch * HEADS + head) * D + d, acc / total)


@triton.jit
def grouped_matmul(
    a, b, c, sizes, starts, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    expert, tile, col = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows = tl.load(sizes + expert)
    if tile * BM >= rows:
        return
    m = tl.load(starts + expert) + tile * BM + tl.arange(0, BM)
    inside = tile * BM + tl.arange(0, BM) < rows
    n, k = col * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + start + k[None, :], mask=inside[:, None], other=0.0)
        w = tl.load(b + expert * K * N + (start + k[:, None]) * N + n[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.bfloat16), mask=inside[:, None])


@triton.jit
def attention_forward(q, k, v, out, T, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    tile, head = tl.program_id(0), tl.program_id(1)
    m, n, d = tile * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    base = head * T * D
    query = tl.load(q + base + m[:, None] * D + d[None, :], mask=m[:, None] < T, other=0.0)
    high = tl.full((BM,), -float("inf"), tl.float32)
    total, acc = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for start in range(0, (tile + 1) * BM, BN):
        at = start + n
        key = tl.load(k + base + at[None, :] * D + d[:, None], mask=at[None, :] < T, other=0.0)
        s = tl.dot(query, key) * scale
        s = tl.where(m[:, None] >= at[None, :], s, -float("inf"))
        top = tl.maximum(high, tl.max(s, 1))
        p, alpha = tl.exp2(s - top[:, None]), tl.exp2(high - top)
        value = tl.load(v + base + at[:, None] * D + d[None, :], mask=at[:, None] < T, other=0.0)
        acc = tl.dot(p.to(tl.bfloat16), value, acc * alpha[:, None])
        total, high = total * alpha + tl.sum(p, 1), top
    tl.store(
        out + base + m[:, None] * D + d[None, :],
        (acc / total[:, None]).to(tl.bfloat16),
        mask=m[:, None] < T,
    )


@triton.jit
def triangular_inverse(a, out, N: tl.constexpr):
    base, i = tl.program_id(0) * N * N, tl.arange(0, N)
    x = -tl.load(a + base + i[:, None] * N + i[None, :]).to(tl.float32)
    x = tl.where(i[:, None] > i[None, :], x, 0.0)
    for row in range(1, N):
        line = -tl.load(a + base + row * N + i).to(tl.float32)
        line = tl.where(i < row, line, 0.0)
        line += tl.sum(line[:, None] * x, 0)
        x = tl.where((i == row)[:, None], line[None, :], x)
    x += (i[:, None] == i[None, :]).to(tl.float32)
    tl.store(out + base + i[:, None] * N + i[None, :], x)


@triton.jit
def recurrence(x, gate, out, T, width, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    base = tl.program_id(1) * T * width
    state = tl.zeros((BLOCK,), tl.float32)
    for t in range(T):
        at = base + t * width + cols
        g = tl.sigmoid(tl.load(gate + at, mask=cols < width, other=0.0).to(tl.float32))
        state = state * g + tl.load(x + at, mask=cols < width, other=0.0).to(tl.float32)
        tl.store(out + at, state.to(tl.bfloat16), mask=cols < width)


@triton.jit
def int4_gemv(x, packed, scales, out, K, N, BN: tl.constexpr, BK: tl.constexpr):
    n, k = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BN,), tl.float32)
    for start in range(0, K // 2, BK):
        w = tl.load(packed + n[:, None] * (K // 2) + start + k[None, :])
        low, high = (w & 15).to(tl.float32) - 8, (w >> 4).to(tl.float32) - 8
        one = tl.load(x + 2 * (start + k)).to(tl.float32)
        two = tl.load(x + 2 * (start + k) + 1).to(tl.float32)
        acc += tl.sum(low * one[None, :] + high * two[None, :], 1)
    tl.store(out + n, acc * tl.load(scales + n))


@triton.jit
def top_tokens(x, values, indices, width, K: tl.constexpr, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    logits = tl.load(x + row * width + cols, mask=cols < width, other=-float("inf"))
    for i in range(K):
        best, at = tl.max(logits, 0), tl.argmax(logits, 0)
        tl.store(values + row * K + i, best)
        tl.store(indices + row * K + i, at)
        logits = tl.where(cols == at, -float("inf"), logits)


@triton.jit
def histogram(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def transpose_tile(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tile = tl.load(x + m[:, None] * N + n[None, :], mask=inside)
    tl.store(out + n[None, :] * M + m[:, None], tile, mask=inside)


@triton.jit
def depthwise(x, w, out, T, C, BT: tl.constexpr, BC: tl.constexpr, TAPS: tl.constexpr):
    t, c = tl.program_id(0) * BT + tl.arange(0, BT), tl.program_id(1) * BC + tl.arange(0, BC)
    base = tl.program_id(2) * T * C
    acc = tl.zeros((BT, BC), tl.float32)
    for tap in tl.static_range(TAPS):
        at = t + tap - TAPS + 1
        inside = ((at >= 0) & (at < T))[:, None] & (c < C)[None, :]
        values = tl.load(x + base + at[:, None] * C + c[None, :], mask=inside, other=0.0)
        acc += values.to(tl.float32) * tl.load(w + c * TAPS + tap, mask=c < C, other=0.0)[None, :]
    tl.store(
        out + base + t[:, None] * C + c[None, :],
        (acc * tl.sigmoid(acc)).to(tl.bfloat16),
        mask=(t < T)[:, None] & (c < C)[None, :],
    )


@triton.jit
def dot_rows(x, y, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, width, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x + row * width + cols, mask=cols < width, other=0.0).to(tl.float32)
        acc += a * tl.load(y + row * width + cols, mask=cols < width, other=0.0).to(tl.float32)
    tl.store(out + row, tl.sum(acc, 0))


def bf16(*shape: int) -> torch.Tensor:
    """Return random numbers."""
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


def fp32(*shape: int) -> torch.Tensor:
    """Return random numbers."""
    return torch.randn(shape, device="cuda")


def integers(high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """Return random integers."""
    return torch.randint(high, shape, device="cuda", dtype=dtype)


N, T = 1 << 19 + SCALE, 512 * SCALE
ids, columns = integers(CLASSES, ROWS), integers(N, N)
near = torch.sort(columns).values
offsets = torch.arange(0, ROWS + 1, ROWS // 64, device="cuda", dtype=torch.int32)
pages = integers(2048, 16, T // 16, dtype=torch.int32)
lengths = torch.full((16,), T, device="cuda", dtype=torch.int32)
experts = torch.tensor([T, T // 2, T // 4, T // 4, 17, 0, 128, 256], device="cuda")
starts = torch.cumsum(experts, 0) - experts
q, k, v = (bf16(16, T, 64) for _ in range(3))


def decode() -> None:
    """Attend with one query to keys in pages."""
    cache = bf16(2048, 16, 8, 64), bf16(2048, 16, 8, 64)
    for heads in (8,):
        paged_decode[16, heads](
            bf16(16, 8, 64), *cache, pages, lengths, fp32(16, 8, 64), 0.125, T // 16,
            PAGE=16, D=64, HEADS=8,
        )  # fmt: skip


def products() -> None:
    """Multiply the tokens of each expert by its weight."""
    x, w = bf16(4 * T, HIDDEN), bf16(8, HIDDEN, 1024)
    for tile in ((64, 64, 64), (128, 128, 64)):
        grid = (8, triton.cdiv(T, tile[0]), 1024 // tile[1])
        grouped_matmul[grid](x, w, bf16(4 * T, 1024), experts, starts, HIDDEN, 1024, *tile)


def attend(warps: int) -> None:
    """Attend with few CTAs and with many."""
    for heads in (1, 4, 16):
        for tile in (32, 64, 128):
            grid = (triton.cdiv(T, tile), heads)
            attention_forward[grid](
                q, k, v, bf16(16, T, 64), T, 0.18, tile, 64, 64, num_warps=warps
            )


run(
    {
        "embedding": lambda: [
            embedding_rows[ROWS,](ids, bf16(CLASSES, HIDDEN), bf16(ROWS, HIDDEN), HIDDEN, BLOCK=block)
            for block in (256, 1024)
        ],
        "gather": lambda: [
            gather_elements[triton.cdiv(N, 1024),](fp32(N), index, fp32(N), N, BLOCK=1024)
            for index in (columns, near)
        ],
        "scatter": lambda: [
            scatter_add[triton.cdiv(N, 1024),](fp32(N), index, fp32(N), N, BLOCK=1024)
            for index in (columns, near)
        ],
        "segments": lambda: segment_mean[64, triton.cdiv(HIDDEN, 128)](
            fp32(ROWS, HIDDEN), offsets, fp32(64, HIDDEN), HIDDEN, BLOCK=128
        ),
        "decode": decode,
        "grouped": products,
        "attention, 4 warps": lambda: attend(4),
        "attention, 8 warps": lambda: attend(8),
        "inverse": lambda: [
            triangular_inverse[64 * SCALE,](fp32(64 * SCALE, n, n), fp32(64 * SCALE, n, n), N=n)
            for n in (16, 32, 64)
        ],
        "recurrence": lambda: [
            recurrence[HIDDEN // block, 4](
                bf16(4, T, HIDDEN), bf16(4, T, HIDDEN), bf16(4, T, HIDDEN), T, HIDDEN, BLOCK=block,
                num_warps=1,
            )
            for block in (32, 128)
        ],
        "int4": lambda: int4_gemv[CLASSES // 16,](
            bf16(HIDDEN), integers(255, CLASSES, HIDDEN // 2, dtype=torch.uint8), fp32(CLASSES),
            fp32(CLASSES), HIDDEN, CLASSES, BN=16, BK=128,
        ),
        "top": lambda: top_tokens[ROWS,](
            fp32(ROWS, CLASSES), fp32(ROWS, 8), integers(8, ROWS, 8), CLASSES, K=8,
            BLOCK=triton.next_power_of_2(CLASSES),
        ),
        "histogram": lambda: histogram[N // 2048,](
            integers(256, N, dtype=torch.int32), integers(1, 256, dtype=torch.int32), N,
            BINS=256, BLOCK=2048,
        ),
        "transpose": lambda: [
            transpose_tile[triton.cdiv(ROWS, tile), triton.cdiv(HIDDEN, tile)](
                fp32(ROWS, HIDDEN), fp32(HIDDEN, ROWS), ROWS, HIDDEN, BM=tile, BN=tile
            )
            for tile in (32, 64)
        ],
        "depthwise": lambda: depthwise[T // 32, HIDDEN // 64, 4](
            bf16(4, T, HIDDEN), fp32(HIDDEN, 4), bf16(4, T, HIDDEN), T, HIDDEN, BT=32, BC=64, TAPS=4
        ),
        "dot": lambda: dot_rows[ROWS,](
            bf16(ROWS, HIDDEN), bf16(ROWS, HIDDEN), fp32(ROWS), HIDDEN, BLOCK=512
        ),
    }
)  # fmt: skip
