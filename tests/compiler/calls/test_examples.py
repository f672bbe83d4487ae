"""Examples in hints: what they suggest compiles."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from irlens.compiler import Request, capture_entries, parse_value
from irlens.compiler.calls.examples import example, find_uses
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import CaptureError

SM_90 = Target(vendor="nvidia", arch="sm_90", warp_size=32)

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


def hint(request: Request) -> str:
    with pytest.raises(CaptureError) as raised:
        capture_entries(request)
    return raised.value.hint or ""


@pytest.mark.parametrize("source", [NORM, TMA], ids=["pointers", "descriptors"])
def test_what_a_hint_suggests_compiles(
    write: Callable[..., Path], source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    kernel = str(write(source))
    said = hint(Request(kernel=kernel, target=SM_90))
    options = dict[str, dict[str, ConstexprValue]](arg={}, set={})
    for option, name, value in re.findall(r"--(arg|set) (\w+)=(\S+)", said):
        options[option][name] = value if option == "arg" else parse_value(value)
    request = Request(kernel=kernel, target=SM_90, args=options["arg"], settings=options["set"])
    assert capture_entries(request), said


def test_values_follow_from_their_uses() -> None:
    uses = find_uses("def f(x, flag, alpha, desc, size):\n  t = x + 1\n  y = tl.load(t)\n"
                     "  if flag and not other: pass\n  desc.load([unknown(), 0])\n")  # fmt: skip
    told = {name: example(name, uses, ["BLOCK"], constexpr=False) for name in ("x", "alpha", "n")}
    assert told == {"x": "--arg x=fp32[1024]", "alpha": "--arg alpha=0.5", "n": "--arg n=1024"}
    assert example("flag", uses, [], constexpr=True) == "--set flag=true"
    unknown = example("desc", uses, ["BLOCK"], constexpr=False)
    assert unknown == "--arg desc=DTYPE[SHAPE]:block[EXTENTS]", "no guess that may not compile"


@pytest.mark.parametrize("source", ["", "def f(", "\0", "x" * 10_000])
def test_of_anything_else_nothing_is_known(source: str) -> None:
    assert find_uses(source).pointers == set()
