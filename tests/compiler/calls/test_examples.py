"""Examples in hints: what they suggest compiles."""

import ast
import shlex
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from irlens import inspect
from irlens.compiler import Request, capture, capture_entries, parse_value
from irlens.compiler.calls.argument_values import Tensor, parse_argument
from irlens.compiler.calls.binding import evaluate_formula
from irlens.compiler.calls.examples import Uses, example_options, find_uses, parse_source
from irlens.compiler.calls.expressions import evaluate
from irlens.compiler.calls.pointers import Addresses
from irlens.compiler.calls.program_ids import ProgramIds
from irlens.compiler.sources.description import find_kernel, known_kernels
from irlens.compiler.sources.index_names import function_of
from irlens.model.config import ConstexprValue, GridFormula, Target
from irlens.model.errors import CaptureError
from irlens.model.text import split_list

SM_90 = Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h100")

NORM = """
    @triton.jit
    def norm(X, Out, n, eps, ACTIVATION: tl.constexpr, MASKED: tl.constexpr, DTYPE: tl.constexpr,
             CHUNK: tl.constexpr):
        columns = tl.arange(0, CHUNK)
        pointers = X + tl.program_id(0) * n + columns
        if MASKED:
            x = tl.load(pointers, mask=columns < n, other=0.0)
        else:
            x = tl.load(pointers)
        x = x * tl.rsqrt(tl.sum(x * x, axis=0) / n + tl.sqrt(eps))
        if ACTIVATION == "relu":
            x = tl.maximum(x, 0.0)
        tl.store(Out + tl.program_id(0) * n + columns, x.to(DTYPE))
"""
TMA = """
    @triton.jit
    def product(a, b, c, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
        row = tl.program_id(0) * BLOCK_M
        sum_ = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(0, k, BLOCK_K):
            left = a.load([row, step + 0 * BLOCK_K])
            right = b.load([step + 0 * BLOCK_K, tl.program_id(1) * BLOCK_N])
            sum_ = tl.dot(left, right, sum_)
        c.store([row, tl.program_id(1) * BLOCK_N], sum_.to(tl.float16))
"""


ATTENTION = """
    @triton.jit
    def attend(Q, K, V, sm_scale, L, Out, stride_qb, stride_qh, stride_qm, stride_qd,
               stride_kb, stride_kh, stride_kn, stride_kd,
               stride_vb, stride_vh, stride_vn, stride_vd,
               H, SEQ, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr,
               IS_CAUSAL: tl.constexpr):
        batch, head = tl.program_id(1) // H, tl.program_id(1) % H
        rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
        steps, depth = tl.arange(0, BLOCK_N), tl.arange(0, HEAD_DIM)
        start = batch * stride_qb + head * stride_qh
        q = tl.load(Q + start + rows[:, None] * stride_qm + depth[None, :] * stride_qd)
        K += batch * stride_kb + head * stride_kh
        V += batch * stride_vb + head * stride_vh
        total = tl.zeros([BLOCK_M], tl.float32)
        out = tl.zeros([BLOCK_M, HEAD_DIM], tl.float32)
        for step in range(0, SEQ, BLOCK_N):
            at = step + steps
            k = tl.load(K + at[None, :] * stride_kn + depth[:, None] * stride_kd)
            p = tl.exp(tl.dot(q, k) * sm_scale)
            if IS_CAUSAL:
                p = tl.where(rows[:, None] >= at[None, :], p, 0.0)
            total += tl.sum(p, 1)
            v = tl.load(V + at[:, None] * stride_vn + depth[None, :] * stride_vd)
            out = tl.dot(p.to(tl.float16), v, out)
        tl.store(L + tl.program_id(1) * SEQ + rows, tl.log(total))
        tl.store(Out + start + rows[:, None] * stride_qm + depth[None, :] * stride_qd,
                 (out / total[:, None]).to(tl.float16), mask=rows[:, None] < SEQ)
"""
UNNAMED = """
    @triton.jit
    def product(x, y, z, M, N, K, xm, xk, yk, yn, zm, zn, BM: tl.constexpr, BN: tl.constexpr,
                BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr):
        group = tl.program_id(0) // (GROUP * tl.cdiv(N, BN))
        rows = (group * GROUP + tl.program_id(0) % GROUP) * BM + tl.arange(0, BM)
        columns, depth = tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
        left = x + rows[:, None] * xm + depth[None, :] * xk
        right = y + depth[:, None] * yk + columns[None, :] * yn
        out = tl.zeros((BM, BN), tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            out += tl.dot(tl.load(left), tl.load(right))
            left += BK * xk
            right += BK * yk
        if ACTIVATION == "relu":
            out = tl.maximum(out, 0.0)
        tl.store(z + rows[:, None] * zm + columns[None, :] * zn, out.to(tl.float16),
                 mask=(rows[:, None] < M) & (columns[None, :] < N))
"""
SCALED = """
    @triton.jit
    def fp8_product(a_ptr, b_ptr, c_ptr, a_scale_ptr, M, N: tl.constexpr, K: tl.constexpr,
                    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
        rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)) % M
        columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        out = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(0, K, BLOCK_K):
            depth = k + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + rows[:, None] * K + depth[None, :])
            b = tl.load(b_ptr + columns[None, :] * K + depth[:, None])
            out += tl.dot(a, b)
        out *= tl.load(a_scale_ptr + rows)[:, None]
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], out)
"""
LOSS = """
    @triton.jit
    def loss(logits_ptr, logits_row_stride, labels_ptr, loss_ptr, quantized_ptr, lock_ptr, n_cols,
             label_smoothing, CHUNK: tl.constexpr):
        row = tl.program_id(0).to(tl.int64)
        logits_ptr += row * logits_row_stride
        label = tl.load(labels_ptr + row)
        total = 0.0
        for start in range(0, n_cols, CHUNK):
            at = start + tl.arange(0, CHUNK)
            x = tl.load(logits_ptr + at, mask=at < n_cols, other=0.0).to(tl.float32)
            total += tl.sum(tl.exp(x))
            tl.store(quantized_ptr + row * n_cols + at, x.to(tl.int8), mask=at < n_cols)
        while tl.atomic_cas(lock_ptr, 0, 1) == 1:
            pass
        tl.store(loss_ptr + row, tl.log(total) - tl.load(logits_ptr + label) * label_smoothing)
        tl.atomic_xchg(lock_ptr, 0)
"""


GROUPED = """
    @triton.jit
    def gather(tensors, sizes, out, BLOCK: tl.constexpr):
        group = tl.program_id(0)
        at = tl.arange(0, BLOCK)
        start = tl.load(tensors + group).to(tl.pointer_type(tl.float16))
        x = tl.load(start + at, mask=at < tl.load(sizes + group), other=0.0)
        tl.store(out + group * BLOCK + at, x)
"""


PACKED = """
    @triton.jit
    def unpack(b_ptr, scales_ptr, out_ptr, K, N, bits, stride_bk, stride_bn,
               BLOCK_K: tl.constexpr, BLOCK_N: tl.constexpr):
        parts = 32 // bits
        rows = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
        columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
        inside = (rows[:, None] < K) & (columns[None, :] < N)
        places = rows[:, None] // parts * stride_bk + columns[None, :] * stride_bn
        b = tl.load(b_ptr + places, inside)
        b = (b >> (rows % parts * bits)[:, None]) & 15
        b = b * tl.load(scales_ptr + columns, columns < N)[None, :]
        tl.store(out_ptr + rows[:, None] * N + columns[None, :], b, inside)
"""
ROTARY = """
    @triton.jit
    def rotate(X, COS, length, heads, stride_batch, stride_length, stride_head, stride_depth,
               DIM: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_M: tl.constexpr):
        batch = tl.program_id(2)
        head = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)
        row = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
        depth = tl.arange(0, DIM // 2)
        inside = (head[:, None, None] < heads) & (row[None, :, None] < length)
        cos = tl.load(COS + row[:, None] * (DIM // 2) + depth[None, :], row[:, None] < length)
        at = (X + batch * stride_batch + head[:, None, None] * stride_head
              + row[None, :, None] * stride_length + depth[None, None, :] * stride_depth)
        x = tl.load(at, inside)
        tl.store(at, x * cos[None, :, :], inside)
"""
SHIFTED = """
    @triton.jit
    def double(x, out, n, BLOCK: tl.constexpr):
        at = (tl.program_id(0) << 9) + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, at < n) * 2, at < n)
"""
GROUPS = """
    @triton.jit
    def quantize(y_ptr, q_ptr, s_ptr, group_size, columns, row_stride, eps, BLOCK: tl.constexpr):
        groups = columns // group_size
        group = tl.program_id(0)
        y_ptr += (group // groups).to(tl.int64) * row_stride + group % groups * group_size
        at = tl.arange(0, BLOCK)
        y = tl.load(y_ptr + at, at < group_size, other=0.0).to(tl.float32)
        scale = tl.maximum(tl.max(tl.abs(y)), eps)
        tl.store(q_ptr + group.to(tl.int64) * group_size + at, y / scale, at < group_size)
        tl.store(s_ptr + group, scale)
"""
ALIGN = """
    @triton.jit
    def align(counts_ptr, sums_ptr, experts: tl.constexpr):
        total = 0
        for expert in range(experts):
            total += tl.load(counts_ptr + expert)
            tl.store(sums_ptr + expert, total)
"""


#: Samples whose source does not tell the grid: persistent ones, and tiles without a bound.
UNTOLD = {
    "attention_merge", "copies:copy_strided_kernel", "flash_attention", "layer_norm_backward",
    "matmul_persistent", "segment_sum", "softmax",
}  # fmt: skip


def hint(request: Request) -> str:
    with pytest.raises(CaptureError) as raised:
        capture_entries(request)
    return raised.value.hint or ""


def pasted(said: str) -> tuple[dict[str, str], dict[str, str], str]:
    """Return the arguments, settings and grid of the line in a hint, as a shell splits it."""
    words = shlex.split(said.partition("for example  ")[2].partition("\n")[0])
    assert words[:2] == ["irlens", "inspect"]
    given: dict[str, dict[str, str]] = {"--arg": {}, "--set": {}, "--grid": {}}
    for option, value in zip(words[3::2], words[4::2], strict=True):
        name, _, text = value.partition("=")
        given[option][name] = text
    return given["--arg"], given["--set"], ",".join(given["--grid"])


@pytest.mark.parametrize(
    ("source", "grid"),
    [
        (NORM, "1024"),
        (TMA, ""),
        (ATTENTION, "cdiv(SEQ, BLOCK_M),16"),
        (UNNAMED, "cdiv(M, BM) * cdiv(N, BN),cdiv(N, BN)"),
        (SCALED, "cdiv(M, BLOCK_M),cdiv(1024, BLOCK_N)"),
        (LOSS, "1024"),
        (GROUPED, ""),
        (PACKED, "cdiv(K, BLOCK_K),cdiv(N, BLOCK_N)"),
        (ROTARY, "cdiv(heads, BLOCK_H),cdiv(length, BLOCK_M),2"),
        (SHIFTED, "cdiv(n, 512)"),
        (GROUPS, "1024"),
        (ALIGN, "1"),
    ],
    ids=[
        "pointers",
        "descriptors",
        "attention",
        "unnamed strides",
        "fp8",
        "loss",
        "addresses",
        "packed integers",
        "three axes",
        "shifts",
        "groups of a row",
        "one program",
    ],
)
def test_what_a_hint_suggests_compiles_and_has_a_time(
    write: Callable[..., Path],
    source: str,
    grid: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    kernel = str(write(source))
    args, settings, told = pasted(hint(Request(kernel=kernel, target=SM_90)))
    assert told == grid
    request = Request(
        kernel=kernel,
        target=SM_90,
        args=dict(args),
        settings={name: parse_value(value) for name, value in settings.items()},
        grid=tuple(filter(None, split_list(grid))),
    )
    (found,) = capture(request)
    report = inspect(found)
    time = report.time
    assert source is LOSS or not [each for each in report.findings if each.code == "IRL304"]
    assert (time is not None and bool(time.estimate_us or time.reason)) == bool(grid)
    assert source is LOSS or time is None or time.estimate_us, "what a loss reads depends on data"


def extents(source: str) -> list[str]:
    """Return the grid that a kernel's source tells."""
    function = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(function, ast.FunctionDef)
    named = [each.arg for each in function.args.args if each.annotation is not None]
    return ProgramIds(function, named).extents([{"stride": 64}])


def test_a_grid_follows_from_what_program_ids_number() -> None:
    """As the wrappers of these kernels compute it: tiles, groups of tiles, splits and rows."""
    head = "def f(x, y, stride, M, N, K, BM: C, BN: C, BK: C, SPLIT: C, GROUP: C):\n  "
    grouped = """across = tl.cdiv(N, BN)
  first = tl.program_id(0) // (GROUP * across) * GROUP
  m = first + tl.program_id(0) % min(tl.cdiv(M, BM) - first, GROUP)
  n = tl.program_id(0) % (GROUP * across) // GROUP
  rows = (m * BM + tl.arange(0, BM)) % M
  columns = (n * BN + tl.arange(0, BN)) % N"""
    assert extents(f"{head}{grouped}") == ["cdiv(M, BM) * cdiv(N, BN)"]
    split = """k = tl.program_id(1) * BK + tl.arange(0, BK)
  m = tl.program_id(0) * BM + tl.arange(0, BM)
  for step in range(0, tl.cdiv(K, BK * SPLIT)):
    tl.load(x + m * stride + k, mask=k < K - step)"""
    assert extents(f"{head}{split}") == ["cdiv(64, BM)", "SPLIT"]
    scaled = f"""{grouped}
  for k in range(0, tl.cdiv(K, BK)):
    tl.load(x + rows * tl.cdiv(K, BK) + k) * tl.load(y + columns // BK * tl.cdiv(K, BK) + k)"""
    scales = "an element's index is multiplied to address scales, and numbers no more programs"
    assert extents(f"{head}{scaled}") == ["cdiv(M, BM) * cdiv(N, BN)"], scales
    assert extents(f"{head}tl.load(x + tl.program_id(axis=0) * stride)") == ["64"]
    shared = """first = tl.program_id(0) * K
  last = min(first + K, M)
  for row in range(first, last):
    tl.store(x + row * stride, tl.load(y + tl.program_id(0) * N))"""
    assert extents(f"{head}{shared}") == ["cdiv(M, K)"], "each program loops over K rows"
    unknown = "m = tl.program_id(0) * BM + tl.arange(0, BM)"
    assert extents(f"{head}{unknown}") == [""], "nothing says what the tiles are part of"
    assert extents(f"{head}for t in range(tl.program_id(0), M, tl.num_programs(0)): pass") == []
    assert extents(f"{head}m = swizzled(tl.program_id(0), M, BM)") == []


@pytest.mark.parametrize("name", list(known_kernels()))
def test_the_grid_of_a_sample_is_the_described_one(name: str) -> None:
    source = find_kernel(name)
    described, function = source.description, function_of(source)
    assert described is not None
    assert function is not None
    constexprs = [each.arg for each in function.args.args if each.annotation is not None]
    names: dict[str, ConstexprValue] = {**described.sizes, **dict.fromkeys(constexprs, 32)}
    for each, expression in described.constexprs.items():
        names[each] = evaluate(expression, names, each)
    args = {n: parse_argument(value, names, n) for n, value in described.args.items()}
    names |= {n: value for n, value in args.items() if isinstance(value, int)}
    pointers = Addresses(function, {*args}, set()).pointers
    tensors = {n: value for n, value in args.items() if isinstance(value, Tensor)}
    shapes = [
        dict(zip(pointers[n].strides, value.shape, strict=False))
        for n, value in tensors.items()
        if n in pointers
    ]
    told = ProgramIds(function, constexprs).extents(shapes)
    if told and all(told):
        expected = evaluate_formula(GridFormula(described.grid, names))
        assert evaluate_formula(GridFormula(tuple(told), names)) == expected
    else:
        assert name in UNTOLD


@pytest.mark.parametrize(
    ("body", "deciding"),
    [
        ("m = p * BM + tl.arange(0, BM)", {"BM"}),
        ("at = x + p * stride + tl.arange(0, BN)", set()),
        ("for n in range(0, tl.minimum((p + 1) * BM, M), BN): tl.load(x + n)", {"BM"}),
        ("for n in range(p * BM, M, BN): tl.load(x + n)", {"BM", "BN"}),
        ("if p < SPLIT: tl.store(x, 0)", {"SPLIT"}),
        ("d = tl.load(x + p); y = d * BM", set()),
        ("k = p * BM; x += SPLIT * BM * stride", {"BM", "SPLIT"}),
        ("helper(x, BN)", {"BN"}),
        ("m = helper(p)", {"BM", "BN", "SPLIT"}),
        ("while p < M: p += BN", {"BM", "BN", "SPLIT"}),
    ],
)
def test_which_constexprs_may_change_the_grid(body: str, deciding: set[str]) -> None:
    source = f"def f(x, stride, M, BM: C, BN: C, SPLIT: C):\n  p = tl.program_id(0)\n  {body}"
    ids = ProgramIds(ast.parse(source), ["BM", "BN", "SPLIT"])
    found = {each for each in ("BM", "BN", "SPLIT") if ids.decide([each], (8, 1, 1))}
    assert found == deciding
    assert ids.decide([], (8, 2, 1)), "another function has the IDs of the second axis"


GIVEN: dict[str, ConstexprValue] = {"O": "fp16[2, 16, 64]", "O_sums": "fp32[2, 16]", "N": 64}


def suggested(source: str) -> dict[str, str]:
    """Return the example values of a kernel by option, without those that follow."""
    function = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(function, ast.FunctionDef)
    parameters = {each.arg: each.annotation is not None for each in function.args.args}
    options = example_options(
        list(parameters),
        [name for name, constexpr in parameters.items() if not constexpr],
        [name for name, constexpr in parameters.items() if constexpr],
        source,
    )
    told = [shlex.split(option) for option in options]
    grids = {option: value for option, value in told if option == "--grid"}
    pairs = (value.split("=", 1) for option, value in told if option != "--grid")
    return grids | {each[0]: each[1] for each in pairs}


def test_shapes_are_consistent_with_strides() -> None:
    attention = suggested(ATTENTION)
    tensor = "fp16[2,8,1024,64]"
    assert [attention[name] for name in ("Q", "K", "V", "Out")] == [tensor] * 4
    assert (attention["L"], attention["H"], attention["SEQ"]) == ("fp32[1024,1024]", "8", "1024")
    assert not [name for name in attention if "stride" in name], "they follow from the shapes"
    unnamed = suggested(UNNAMED)
    assert [unnamed[name] for name in ("x", "y", "z")] == ["fp16[1024,1024]"] * 3
    assert [unnamed[name] for name in ("xm", "xk", "yk", "yn")] == ["1024", "1", "1024", "1"]
    assert (unnamed["ACTIVATION"], unnamed["GROUP"], unnamed["M"]) == ("relu", "8", "1024")


def test_a_parameter_that_strides_advance_stays_the_pointer() -> None:
    values = suggested("""
    @triton.jit
    def norm(X, X_ptr_other_stride, stride_row, N, rows, B: tl.constexpr):
        row = tl.program_id(0) * rows
        X += row * stride_row
        for _ in range(row, row + rows):
            tl.store(X + tl.arange(0, B), 0.0, mask=tl.arange(0, B) < N)
            X += stride_row
    """)
    assert values["X"].startswith("fp32[")
    assert values.get("stride_row", "").isdecimal()
    assert "[" not in values.get("X_ptr_other_stride", "")


def test_strides_that_do_not_follow_from_given_tensors_are_told() -> None:
    """``stride_oe`` may be that of either tensor, so that neither has as many as dimensions."""
    source = """
    def k(O, O_sums, stride_ob, stride_oh, stride_oe, N, B: tl.constexpr):
        at = tl.program_id(0) * stride_ob + tl.program_id(1) * stride_oh + tl.arange(0, B)
        tl.store(O + at, 0.0, mask=tl.arange(0, B) < N)
        tl.store(O_sums + tl.program_id(0) * stride_oe + tl.program_id(1), 0.0)
    """
    strides = ["stride_ob", "stride_oh", "stride_oe"]
    given = {name: parse_argument(value, {}, name) for name, value in GIVEN.items()}
    runtime = ["O", "O_sums", *strides, "N"]
    assert example_options(strides, runtime, ["B"], source, ["8"], given=given)[:-1] == [
        "--arg stride_ob=1024", "--arg stride_oh=64", "--arg stride_oe=16"
    ]  # fmt: skip


def test_a_stride_may_be_the_extent_of_a_tile() -> None:
    values = suggested("""
    @triton.jit
    def fill(x, ROW_STRIDE: tl.constexpr):
        tl.store(x + tl.program_id(0) * ROW_STRIDE + tl.arange(0, ROW_STRIDE), 0)
    """)
    assert values["x"].startswith("fp32[")


def test_a_mode_is_one_that_the_source_compares_it_with() -> None:
    source = """
    def k(x_ptr, MODE: tl.constexpr, CASTING: tl.constexpr, OTHER: tl.constexpr,
          loss_p: tl.constexpr, reduction: tl.constexpr):
        if MODE == 3:
            tl.store(x_ptr, 1)
        elif MODE == 5:
            tl.store(x_ptr, 2)
        if CASTING == _LLAMA or OTHER == _ABSENT or loss_p == 1 or reduction == "none":
            tl.store(x_ptr, 3)
    """
    constexprs = ["MODE", "CASTING", "OTHER", "loss_p", "reduction"]
    options = example_options(constexprs, ["x_ptr"], constexprs, source, constant={"_LLAMA": 0}.get)
    assert options[:4] == ["--set MODE=3", "--set CASTING=0", "--set OTHER=8", "--set loss_p=1"]
    assert shlex.split(options[4]) == ["--set", "reduction='none'"]


def test_a_descriptor_takes_the_strides_that_no_address_needs() -> None:
    values = suggested("""
    @triton.jit
    def copy(Q, stride_q_batch, stride_q_row, stride_q_dim, rows, dim, B: tl.constexpr):
        start = Q + tl.program_id(0) * stride_q_batch
        shape, strides = [rows, dim], [stride_q_row, stride_q_dim]
        block = tl.make_tensor_descriptor(start, shape, strides=strides, block_shape=[B, B])
        block.store([0, 0], block.load([0, 0]))
    """)
    assert values["Q"] == "fp32[2,1024,1024]"
    assert not [name for name in values if "stride" in name], "they follow from the shape"


def test_rows_that_nothing_bounds_lie_apart_by_what_they_hold() -> None:
    """The states of a selective scan: one row for each channel, of which a program has a block."""
    source = """
    @triton.jit
    def scan(u, a, y, length, dim, BLOCK_D: tl.constexpr, STATE: tl.constexpr):
        d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
        n = tl.arange(0, STATE)
        rates = tl.load(a + d[:, None] * STATE + n[None, :])
        for t in range(length):
            value = tl.load(u + t * dim + d)
            tl.store(y + t * dim + d, tl.sum(rates * value[:, None], 1))
    """
    found = suggested(source)
    assert found["a"] == f"fp32[{1024 * int(found['STATE'])}]"


def test_strides_may_be_constexprs() -> None:
    source = """def f(x_ptr, out_ptr, N: tl.constexpr, M, stride_xm: tl.constexpr,
        stride_xn: tl.constexpr, stride_om: tl.constexpr, BLOCK: tl.constexpr):
        n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        row = tl.program_id(1)
        if row < M:
            a = tl.load(x_ptr + row * stride_xm + n * stride_xn, mask=n < N)
            b = tl.load(x_ptr + row * stride_xm + (n + N) * stride_xn, mask=n < N)
            tl.store(out_ptr + row * stride_om + n, a * b, mask=n < N)
    """
    found = suggested(source)
    assert (found["x_ptr"], found["out_ptr"]) == ("fp32[1024,2048]", "fp32[1024,1024]")
    strides = [found[f"stride_{each}"] for each in ("xm", "xn", "om")]
    assert strides == ["2048", "1", "1024"]


@pytest.mark.parametrize(
    ("batch", "columns", "grid"), [(0, 1, ["--grid '1048576,cdiv(D, BLOCK_D)'"]), (1, 0, [])]
)
def test_no_grid_is_larger_than_a_gpu_takes(batch: int, columns: int, grid: list[str]) -> None:
    source = f"""def f(x_ptr, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
        base = tl.program_id({batch}) * T * D
        d = tl.program_id({columns}) * BLOCK_D + tl.arange(0, BLOCK_D)
        r = tl.arange(0, BLOCK_T)
        for t in range(0, T, BLOCK_T):
            m = ((t + r) < T)[:, None] & (d < D)[None, :]
            tl.store(x_ptr + base + (t + r)[:, None] * D + d[None, :], 1.0, mask=m)
    """
    constexprs = ["BLOCK_T", "BLOCK_D"]
    options = example_options(["x_ptr"], ["x_ptr", "T", "D"], constexprs, source)
    assert options[1:] == grid


def test_tensors_of_one_stride_have_rows_as_long() -> None:
    """Every second element of ``x`` makes its rows longer, and so the rows of ``y``."""
    source = """def f(x_ptr, y_ptr, n, D, BLOCK: tl.constexpr):
        row, cols = tl.program_id(0), tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * D + cols * 2, mask=cols < n)
        tl.store(y_ptr + row * D + cols, x, mask=cols < n)
    """
    found = suggested(source)
    assert found["D"] == "2048"
    assert found["x_ptr"] == found["y_ptr"] == "fp32[1024,2048]"


def test_the_grid_of_the_file_s_launch_comes_before_a_derived_one() -> None:
    source = """def f(x_ptr, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + at, 1.0, mask=at < n)
    """
    names, runtime, constexprs = ["x_ptr", "n", "BLOCK"], ["x_ptr", "n"], ["BLOCK"]
    *_, derived = example_options(names, runtime, constexprs, source)
    *_, launched = example_options(names, runtime, constexprs, source, ["n // BLOCK"])
    *_, of_a_tensor = example_options(names, runtime, constexprs, source, ["x_ptr"])
    assert launched == "--grid 'n // BLOCK'"
    assert derived == of_a_tensor == "--grid 'cdiv(n, BLOCK)'"


def test_a_number_that_is_only_cast_bounds_nothing() -> None:
    source = """def f(x, n, s, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        step = tl.cast(s, tl.int64)
        tl.store(x + at // 32 * step, 1.0, mask=at < n)
    """
    found = suggested(source)
    assert (found["n"], found["s"]) == ("1048576", "1024")


def test_types_follow_from_what_becomes_of_values() -> None:
    scaled = suggested(SCALED)
    assert [scaled[name] for name in ("a_ptr", "b_ptr")] == ["fp8e4nv[1024,1024]"] * 2
    assert (scaled["a_scale_ptr"], scaled["K"]) == ("fp32[1024]", "1024")
    integers = SCALED.replace(
        "tl.zeros((BLOCK_M, BLOCK_N), tl.float32)", "tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)"
    )
    assert suggested(integers.replace("fp8", "w8a8"))["a_ptr"] == "int8[1024,1024]"
    loss = suggested(LOSS)
    assert (loss["logits_ptr"], loss["quantized_ptr"]) == ("fp16[1024,1024]", "int8[1024,1024]")
    assert (loss["labels_ptr"], loss["lock_ptr"]) == ("int32[1024]", "int32[1024]")
    assert suggested(GROUPED)["tensors"].startswith("int64["), "its values are addresses"
    assert (loss["label_smoothing"], loss["CHUNK"]) == ("0.5", "1024")


def test_integers_whose_bits_are_taken_are_integers() -> None:
    packed = suggested(PACKED)
    assert packed["b_ptr"].startswith("int32["), "it is shifted and masked"
    assert packed["scales_ptr"] == "fp32[1024]", "a later value of the same name is not"
    assert packed["bits"] == "4", "it divides 32"
    unpacked = PACKED.replace("b >> (rows % parts * bits)[:, None]) & 15", "b > 0.5) & inside")
    assert suggested(unpacked)["b_ptr"].startswith("fp32["), "a comparison has bits of its own"


def test_tiles_are_no_larger_than_what_they_are_part_of() -> None:
    rotary = suggested(ROTARY)
    assert (rotary["heads"], rotary["BLOCK_H"], rotary["BLOCK_M"]) == ("8", "8", "16")
    assert rotary["X"] == "fp32[2,8,1024,8]"
    assert (suggested(GROUPS)["group_size"], suggested(GROUPS)["BLOCK"]) == ("128", "128")
    assert suggested(GROUPS)["y_ptr"] == "fp16[128,8,128]"


@pytest.mark.parametrize(
    "loop",
    [
        "for i in tl.range(tl.load(b + p), tl.load(b + p + 1)): pass",
        "for i in tl.static_range(0, first): pass",
        "for i in range(first): pass",
        "n = tl.cdiv(first, 4)",
    ],
)
def test_what_bounds_a_loop_is_an_integer(loop: str) -> None:
    source = f"def f(x, b):\n  p = tl.program_id(0)\n  first = tl.load(b + p)\n  {loop}\n"
    assert suggested(f"{source}  tl.store(x + p, tl.load(x + p))\n") == {
        "x": "fp32[1048576]",
        "b": "int32[1048576]",
    }


def test_values_follow_from_their_uses() -> None:
    source = """def f(x, flag, alpha, n, desc, FLAG: tl.constexpr, BLOCK: tl.constexpr):
        t = x + tl.arange(0, BLOCK)
        y = tl.load(t, t < n)
        if FLAG and not other: pass
        desc.load([unknown(), 0])
    """
    assert suggested(source) == {
        "x": "fp32[1048576]",
        "flag": "1024",
        "alpha": "0.5",
        "n": "1048576",
        "desc": "DTYPE[SHAPE]:block[EXTENTS]",  # no guess that may not compile
        "FLAG": "true",
        "BLOCK": "1024",
    }


def test_a_persistent_kernel_runs_on_all_sms_with_options_that_are_flags() -> None:
    """The example was of 4 SMs, whose time is no answer, with warp_specialize=8."""
    source = """def f(x, tiles, NUM_SMS: tl.constexpr, FLAT: tl.constexpr, WS: tl.constexpr):
        for tile in tl.range(tl.program_id(0), tiles, NUM_SMS, flatten=FLAT, warp_specialize=WS):
            tl.store(x + tile, 0)
    """
    told = suggested(source)
    assert (told["NUM_SMS"], told["FLAT"], told["WS"]) == ("132", "true", "true")


def test_numbers_and_data_that_are_indices_are_integers() -> None:
    found = suggested("""def f(x, y, counts, bins, P, q, p, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        row = at // (P * q)
        kept = tl.load(x + row, mask=at < q) * p
        tl.atomic_add(counts + tl.load(y + at), 1)
        tl.store(bins + at, tl.histogram(tl.load(bins + at), BLOCK))
    """)
    assert [found[name].partition("[")[0] for name in ("y", "counts", "bins")] == ["int32"] * 3
    assert (found["P"], found["p"]) == ("1024", "0.5")
    scaled = suggested("""def f(a, sa, b, sb, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        x, s = tl.load(a + at), tl.load(sa + at)
        c = tl.dot_scaled(x, s, "e4m3", tl.load(b + at), tl.load(sb + at), "e2m1")
    """)
    dtypes = [scaled[name].partition("[")[0] for name in ("a", "sa", "b", "sb")]
    assert dtypes == ["fp8e4nv", "uint8", "uint8", "uint8"]


def test_a_block_follows_from_the_step_of_a_loop() -> None:
    found = suggested("""def f(a, K, BM: tl.constexpr, BK: tl.constexpr):
        for k in range(0, K, BK):
            a.load([tl.program_id(0) * BM, k])
    """)
    assert found["a"] == "fp16[1024,1024]:block[BM,BK]"
    assert (found["K"], found["BK"]) == ("1024", "64")


def test_tiles_of_many_dimensions_compile_in_seconds() -> None:
    names = ("A", "B", "C")
    for count, extent in ((1, "1024"), (2, "64"), (3, "16")):
        ranges = " + ".join(f"tl.arange(0, {name})" for name in names[:count])
        parameters = ", ".join(f"{name}: tl.constexpr" for name in names[:count])
        found = suggested(f"def f(x, {parameters}):\n  tl.load(x + {ranges})\n")
        assert [found[name] for name in names[:count]] == [extent] * count


def test_one_extent_of_both_rows_and_columns_counts_twice() -> None:
    body = "  i = tl.arange(0, B)\n  j = 4 * B + tl.arange(0, B)\n  tl.load(x + {})\n"
    source = f"def f(x, B: tl.constexpr):\n{body}"
    assert suggested(source.format("i[:, None] * 8 + j[None, :]"))["B"] == "64"
    assert suggested(source.format("i + j"))["B"] == "1024"


@pytest.mark.parametrize(
    "source", ["", "def f(", "\0", "x" * 10_000], ids=["empty", "cut", "binary", "long"]
)
def test_of_anything_else_nothing_is_known(source: str) -> None:
    assert find_uses(parse_source(source)) == Uses()
    assert example_options(["a"], ["a"], [], source) == ["--arg a=1024"]


def test_a_hint_makes_no_extent_of_a_stride() -> None:
    source = """def f(a_ptr, c_ptr, M, K, stride_am, stride_ak, BLOCK: tl.constexpr):
        tl.assume(stride_am > 0)
        tl.assume(stride_ak > 0)
        rows, cols = tl.program_id(0), tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows * stride_am + cols * stride_ak, mask=cols < K)
        tl.store(c_ptr + rows, tl.sum(a))
    """
    assert not suggested(source).keys() & {"stride_am", "stride_ak"}  # they follow from a_ptr


def test_addresses_computed_alike_count_once() -> None:
    source = """def f(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
        row = x_ptr + tl.program_id(0) * stride
        for b in tl.range(0, n, BLOCK):
            cols = b + tl.arange(0, BLOCK)
            ptrs = row + cols
            x = tl.load(ptrs, mask=cols < n)
        for b in tl.range(0, n, BLOCK):
            cols = b + tl.arange(0, BLOCK)
            ptrs = row + cols
            tl.store(y_ptr + cols, tl.load(ptrs, mask=cols < n), mask=cols < n)
    """
    assert suggested(source)["x_ptr"] == "fp32[1024,1024]"


def test_rows_hold_what_a_loop_advances_by() -> None:
    source = """def f(s_ptr, y_ptr, M, stride_y, K: tl.constexpr, BLOCK: tl.constexpr):
        k = tl.cdiv(K, BLOCK)
        rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        s_ptrs = s_ptr + (rows % M) * k
        for i in range(k):
            s = tl.load(s_ptrs)
            s_ptrs += 1
        tl.store(y_ptr + rows * stride_y, s, mask=rows < M)
    """
    found = suggested(source)
    blocks = -(-int(found["K"]) // int(found["BLOCK"]))
    assert found["s_ptr"] == f"fp32[{1024 * blocks}]"


def test_rows_of_a_persistent_loop_end_with_the_last() -> None:
    source = """def f(x_ptr, r_ptr, n_rows, stride, BLOCK: tl.constexpr, NUM_PRGMS: tl.constexpr):
        for row in tl.range(tl.program_id(0), n_rows, NUM_PRGMS):
            x = tl.load(x_ptr + row * stride + tl.arange(0, BLOCK))
            tl.store(r_ptr + row, tl.sum(x))
    """
    found = suggested(source)
    assert found["r_ptr"] == "fp32[1024]"
    assert (found["NUM_PRGMS"], found["--grid"]) == ("132", "NUM_PRGMS")


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("tl.load(x_ptr, cache_modifier=option)", ".cg"),
        ("tl.dot(x, x, input_precision=option)", "tf32"),
    ],
)
def test_an_option_is_one_that_its_operation_takes(call: str, value: str) -> None:
    source = f"""def f(x_ptr, option: tl.constexpr):
        x = tl.load(x_ptr)
        tl.store(x_ptr, {call})
    """
    assert suggested(source)["option"] == value


def test_a_flag_may_end_like_a_dimension() -> None:
    assert suggested("def f(x_ptr, HAS_D: tl.constexpr):\n    if HAS_D: pass")["HAS_D"] == "true"


def test_a_helper_loads_from_the_addresses_that_it_is_called_with() -> None:
    """K was 1024, since the kernel itself loads nothing from it."""
    found = suggested("""def f(Q, K, n, stride_q, stride_k, BLOCK: tl.constexpr):
        rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        q = tl.load(Q + rows * stride_q, mask=rows < n)
        k_ptrs = K + rows * stride_k
        left = min(BLOCK, n - tl.program_id(0) * BLOCK)
        tl.store(Q + rows * stride_q, inner(q, k_ptrs, left), mask=rows < n)
    """)
    assert found["K"] == found["Q"]
    assert found["n"] == "1024"


def test_a_dimension_has_the_extent_that_its_stride_is_named_after() -> None:
    found = suggested("""def f(
        x_ptr, y_ptr, seqlen, hdim, stride_x_batch, stride_x_seqlen, stride_x_head, stride_x_hdim,
        BLOCK: tl.constexpr,
    ):
        x_ptr += tl.program_id(0) * stride_x_batch + tl.program_id(1) * stride_x_head
        rows = tl.load(y_ptr) + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + rows * stride_x_seqlen + tl.arange(0, BLOCK) * stride_x_hdim)
    """)
    assert found["x_ptr"] == "fp32[2,1024,8,1024]"
