"""``irlens inspect --interpret``: a kernel on the CPU, against its reference."""

import subprocess
import sys
from pathlib import Path

import pytest

from irlens.cli import interpretation
from irlens.compiler import interpreting
from irlens.compiler.interpreting import Interpretation
from irlens.compiler.request import Request
from irlens.model.config import Target
from irlens.model.errors import CaptureError

TRIPLE = """
import triton
import triton.language as tl

IRLENS_KERNELS = {
    "triple": {
        "sizes": {"n": 10},
        "args": {"x_ptr": "fp32[n]", "n": "n"},
        "constexprs": {"BLOCK": 16},
        "grid": [1],
        "outputs": ["x_ptr"],
        "reference": "reference",
    }
}

@triton.jit
def triple(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    breakpoint()
    tl.store(x_ptr + offsets, 3 * x, mask=offsets < n)

def reference(x_ptr):
    return 2 * x_ptr
"""


def irlens(*arguments: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "irlens", "inspect", *arguments]
    return subprocess.run(command, input=typed, capture_output=True, text=True, check=False)


def test_a_wrong_kernel_is_stopped_in_and_found(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the reference is PyTorch's")
    (tmp_path / "triple.py").write_text(TRIPLE)
    ran = irlens(str(tmp_path / "triple.py"), "--interpret", typed="p x.handle.data.shape\nc\n")
    assert "(16,)" in ran.stderr
    assert "x_ptr DIFFERS from reference: maximum error" in ran.stdout
    assert "40 B loaded, 40 B stored" in ran.stdout
    assert ran.returncode == 1


def test_options_that_show_code_are_refused() -> None:
    ran = irlens("vector_add", "--interpret", "--stage", "ptx")
    assert ran.returncode == 2
    assert "--interpret compiles nothing" in ran.stderr


def test_without_pytorch_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    target = Target(vendor="nvidia", arch="sm_90", warp_size=32)
    with pytest.raises(CaptureError, match="--interpret needs PyTorch, which is not") as caught:
        interpreting.interpret(Request(kernel="vector_add", target=target))
    assert caught.value.hint == 'pip install "irlens[run]"'


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        (None, "8 B loaded, 4 B stored"),
        ((8, 4), "8 B loaded, 4 B stored, as the description's formulas say"),
        ((8, 5), "8 B loaded, 4 B stored; the description's formulas say 8 B and 5 B"),
    ],
)
def test_bytes_are_compared_with_the_formulas(formula: tuple[int, int] | None, told: str) -> None:
    done = Interpretation(
        kernel="k", grid=(1, 1, 1), sizes={}, outputs=("x",), reference=None, matches=None,
        max_abs_error=None, rtol=0.0, atol=0.0, read=8, written=4, formula=formula,
    )  # fmt: skip
    assert interpretation.describe(done).splitlines()[-1] == f"Traffic     {told}"
