"""What is executed of files that fail: what the kernel needs, and nothing else."""

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from irlens.compiler import Request, capture_entries
from irlens.compiler.sources.slicing import sliced_module
from irlens.model.capture import Manifest
from irlens.model.config import Target
from irlens.model.errors import CaptureError

KERNEL = """
@triton.jit
def k(x_ptr):
    tl.store(x_ptr, helper())
"""


def sliced(text: str, name: str) -> object:
    return getattr(sliced_module("sliced_of_a_test", Path("file.py"), text.encode()), name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 / 0\nVALUE = 42\nassert 0", 42),
        ("X = 40\nX += 2\n1 / 0\ndef f(): return X\nVALUE = f()", 42),
        ("L = []\nL.append(40)\nL[0] += 2\nimport broken\nVALUE = L[0]", 42),
        ("D = {}\nfor n in range(3): D[n] = n\nfor m in 1: pass\nVALUE = D[2] + 40", 42),
        ("try:\n  import absent_of_a_test\nexcept ImportError:\n  VALUE = 42\nabsent", 42),
        ("if 1:\n  A = 42\nelse:\n  A = 0\nif absent: B = 1\nVALUE = A", 42),
        ("A = 17\n1 / 0\nA = 42\nVALUE = A", 42),
        ("from math import *\n1 / 0\nVALUE = int(sqrt(1764))", 42),
        ("from math import sqrt, absent\nVALUE = int(sqrt(1764))", 42),
        (
            "import os.absent_of_a_test\nimport os.path\nVALUE = len(os.path.join('a', 'b')) + 39",
            42,
        ),
        ("from __future__ import annotations\ndef f(x: absent): return 42\nVALUE = f(0)", 42),
        ("VALUE = 42\nif __name__ == '__main__':\n  VALUE = main()", 42),
        ("class A:\n  B = 42\n  def f(self): return absent\nclass C(A): pass\nVALUE = C.B", 42),
        ("(A := 1)\na, (b, *c) = 1, (2, 42)\nabsent\nVALUE = c[0]", 42),
        ("import json\njson.absent(0)\nVALUE = json.loads('42')", 42),
        ("import json\njson.OF_A_TEST = 42\nVALUE = json.OF_A_TEST", 42),
    ],
)
def test_a_name_is_what_it_is_where_the_rest_runs(text: str, expected: int) -> None:
    assert sliced(text, "VALUE") == expected


def test_a_statement_is_executed_once() -> None:
    module = sliced_module("m", Path("file.py"), b"L = []\nL.append(1)\nA = L\nB = L\n")
    assert module.A is module.B
    assert module.L == [1]


def test_what_fails_is_an_error_where_it_is_needed() -> None:
    with pytest.raises(CaptureError, match=r"^file\.py:1: ZeroDivisionError: division by zero"):
        sliced("X = 1 / 0\ndef f(): return X\nVALUE = f", "VALUE")
    with pytest.raises(AttributeError, match="does not define VALUE"):
        sliced("OTHER = 42", "VALUE")


@pytest.fixture
def package(write: Callable[..., Path]) -> Path:
    """A library that asks for a GPU wherever it can."""
    write("", "pyproject.toml")
    write("raise ImportError('install the extension')\n", "lib/__init__.py")
    write("FROM_PACKAGE = 1\nraise OSError('no GPU')\n", "lib/ops/__init__.py")
    write(
        "import triton\nimport triton.language as tl\nfrom . import tables\n"
        "raise OSError('no GPU')\n@triton.jit\ndef helper():\n    return tables.VALUE\n",
        "lib/ops/helpers.py",
    )
    write(
        "import triton.language as tl\nVALUE = tl.constexpr(42)\nOTHER = 1 / 0\n",
        "lib/ops/tables.py",
    )
    # Its folder has no __init__.py.
    return write(
        "from lib.ops import FROM_PACKAGE\nfrom ..helpers import helper\n"
        f"DEVICE = FROM_PACKAGE / 0\n{KERNEL}",
        "lib/ops/kernels/store.py",
    )


def test_a_kernel_of_a_package_that_cannot_be_imported(package: Path, sm_90: Target) -> None:
    modules = set(sys.modules)
    asked = Request(kernel=f"{package}:k", target=sm_90, args={"x_ptr": "int32[1]"})
    (entry,) = capture_entries(asked)
    assert "arith.constant 42 : i32" in (entry / "k.ttir").read_text()
    manifest = msgspec.json.decode((entry / "irlens.json").read_bytes(), type=Manifest)
    names = {Path(path).name for path in manifest.dependencies}
    assert names >= {"helpers.py", "tables.py"}
    assert manifest.stopped is not None
    assert manifest.stopped.endswith("ImportError: install the extension")
    assert not {each for each in set(sys.modules) - modules if each.startswith("lib")}


def test_what_the_kernel_needs_must_run(package: Path, sm_90: Target) -> None:
    table = package.parents[1] / "tables.py"
    table.write_text(table.read_text().replace("42", "1 // 0"))
    with pytest.raises(CaptureError, match=r"tables.py:4: ZeroDivisionError"):
        capture_entries(Request(kernel=f"{package}:k", target=sm_90, args={"x_ptr": "int32[1]"}))
