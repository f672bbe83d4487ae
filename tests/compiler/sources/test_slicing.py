"""What is executed of files that fail: what the kernel needs, and nothing else."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from irlens.compiler import Request, capture_entries
from irlens.compiler.sources.slicing import sliced_imports, sliced_module
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


def test_a_file_has_the_special_names_that_it_defines() -> None:
    assert sliced("__version__ = '4.2'\n1 / 0", "__version__") == "4.2"
    with pytest.raises(AttributeError):
        sliced("VALUE = 42", "__version__")


@pytest.mark.parametrize(
    "text",
    [
        # Functions of the file change what the kernel reads.
        "L = []\ndef register(l): l.append(42)\nregister(L)\nVALUE = L",
        "L = []\ndef fill(): L.append(42)\nfill()\nVALUE = L",
        "L = []\nfill = lambda: L.append(42)\nfill()\nVALUE = L",
        "L = []\n(lambda: L.append(42))()\nVALUE = L",
        "B = 1\ndef init():\n  global B\n  B = 42\ninit()\nVALUE = B",
        "B = 1\ndef a():\n  global B\n  B = 42\ndef b(): a()\n_ = b()\nVALUE = B",
        "class T: b = 1\ndef tune(t): t.b = 42\nt = T()\ntune(t)\nVALUE = t.b",
        "class T: b = 1\ndef tune(all):\n  for t in all: t.b = 42\ntune([T])\nVALUE = T.b",
        "L = []\nclass T:\n  def __init__(self): L.append(42)\nT()\nVALUE = L",
        "L = []\nclass T:\n  def __init_subclass__(s): L.append(1)\nclass A(T): pass\nVALUE = L",
        "L = []\ndef reg(f): L.append(f())\n@reg\ndef a(): return 42\nVALUE = L",
        "D = {}\ndef reg(n):\n  def w(f): D[n] = f()\n  return w\n@reg(1)\ndef a(): 42\nVALUE = D",
        "class R:\n  l = []\n  def add(self, f): self.l.append(f())\nR = R()\n@R.add\n"
        "def a(): return 42\nVALUE = R.l",
        "import heapq\nL = []\nheapq.heappush(L, 42)\nVALUE = L",
        # By other names.
        "L = []\nM = L\nM.append(42)\nVALUE = L",
        "L = []\nM = L\nM += [42]\nVALUE = L",
        "L = [[], []]\nfor n, each in enumerate(L): each.append(n)\nVALUE = L",
        # Anywhere in a statement.
        "L = [1, 2]\n_ = L.pop()\nVALUE = L",
        "L = []\n[L.append(n) for n in range(3)]\nVALUE = L",
        "L = []\nTrue and L.append(42)\nVALUE = L",
        "L = []\ntry: 1 / 0\nexcept ZeroDivisionError: L.append(42)\nVALUE = L",
        "L = []\nmatch 1:\n  case 1: L.append(42)\nVALUE = L",
        "L = []\nclass A: L.append(42)\nVALUE = L",
        "L = []\ndef f(x=L.append(42)): pass\nVALUE = L",
        "class C: a = b = 1\nC.a, C.b = 2, 3\nVALUE = C.a, C.b",
        "class C: a = 1\nsetattr(C, 'a', 42)\nVALUE = C.a",
        "I = iter([1, 2])\nA = next(I)\nVALUE = next(I)",
        "X = 1\nif 1:\n  X = X + 1\n  VALUE = X",
        # The module's own names.
        "B = 1\nglobals()['B'] = 42\nVALUE = B",
        "B = 1\nvars().update(B=42)\nVALUE = B",
        "for n in 'AB': globals()[n] = 42\nVALUE = A",
        "B = 42\nVALUE = globals().get('B', 1)",
        "B = 1\nexec('B = 42')\nVALUE = B",
        "import sys\nB = 1\nsetattr(sys.modules[__name__], 'B', 42)\nVALUE = B",
        "B = 1\nif __name__ != '__main__': B = 42\nVALUE = B",
        "if __name__ == '__main__': B = 1\nelse: B = 42\nVALUE = B",
        "pi = 3\nfrom math import *\nVALUE = pi",
        "from math import *\npow = 3\nVALUE = pow",
        "from math import *\nVALUE = pow(2, 2)",
        "json = 42\nfrom json import *\nVALUE = json",
        # What the compiler reads.
        "import os\nos.environ['OF_A_TEST'] = 'x'\nVALUE = __import__('os').getenv('OF_A_TEST')",
        "from os import environ as e\ne.setdefault('OF_A_TEST', 'x')\n"
        "from os import getenv\nVALUE = getenv('OF_A_TEST')",
        "import os\ndef setup(): os.environ['OF_A_TEST'] = 'x'\nsetup()\n"
        "VALUE = os.getenv('OF_A_TEST')",
    ],
)
def test_a_slice_agrees_with_the_whole_file(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OF_A_TEST", raising=False)
    whole = ModuleType("sliced_of_a_test")
    monkeypatch.setitem(sys.modules, whole.__name__, whole)
    exec(text, vars(whole))
    monkeypatch.delenv("OF_A_TEST", raising=False)
    slices = sliced_module(whole.__name__, Path("file.py"), text.encode())
    monkeypatch.setitem(sys.modules, whole.__name__, slices)
    assert slices.VALUE == whole.VALUE


def test_an_import_may_come_twice() -> None:
    module = sliced_module("m", Path("file.py"), b"import os\nA = os.sep\nimport os\nB = os.sep\n")
    assert (module.B, module.A) == ("/", "/")


def test_a_name_that_was_changed_meanwhile_is_refused() -> None:
    module = sliced_module("m", Path("file.py"), b"X = 1\nA = X\nX = 2\ndef f(): return X\n")
    assert module.X == module.f() == 2
    with pytest.raises(CaptureError, match=r"^file\.py:2: line 3 has changed X already$"):
        _ = module.A


def test_an_equal_statement_changes_a_name_again() -> None:
    module = sliced_module("m", Path("file.py"), b"L = []\nL.append(1)\nA = len(L)\nL.append(1)\n")
    assert module.L == [1, 1]
    with pytest.raises(CaptureError, match="line 4 has changed L already"):
        _ = module.A


def test_a_statement_is_executed_once() -> None:
    module = sliced_module("m", Path("file.py"), b"L = []\nL.append(1)\nA = L\nB = L\n")
    assert module.A is module.B
    assert module.L == [1]


def test_what_fails_is_an_error_where_it_is_needed() -> None:
    with pytest.raises(CaptureError, match=r"^file\.py:1: ZeroDivisionError: division by zero"):
        sliced("X = 1 / 0\ndef f(): return X\nVALUE = f", "VALUE")
    with pytest.raises(AttributeError, match="does not define VALUE"):
        sliced("OTHER = 42", "VALUE")


def test_what_star_imports_take(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    star = "from b_of_a_test import *\n"
    write("from a_of_a_test import *\n_P = B = L = 2\n__all__ = ['B', '_P']\n", "b_of_a_test.py")
    path = write(f"_P = B = L = 1\n{star}VALUE = _P, B, L\n", "a_of_a_test.py")
    monkeypatch.syspath_prepend(str(path.parent))
    with sliced_imports(lambda name, _: name.endswith("_of_a_test")):
        assert importlib.import_module("a_of_a_test").VALUE == (2, 2, 1)
        assert not hasattr(importlib.import_module("a_of_a_test"), "ABSENT")
    for name in ("a_of_a_test", "b_of_a_test"):
        monkeypatch.delitem(sys.modules, name)


def test_what_a_star_import_takes_must_run(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(write("1 / 0\n", "raises_of_a_test.py").parent))
    with pytest.raises(CaptureError, match=r"^file\.py:2: ZeroDivisionError: division by zero"):
        sliced("OTHER = 1\nfrom raises_of_a_test import *\nVALUE = NAME", "VALUE")


@pytest.fixture
def package(write: Callable[..., Path]) -> Path:
    """A library that asks for a GPU wherever it can."""
    write("", "pyproject.toml")
    write("raise OSError('no GPU')\n", "lib/devices.py")
    write(
        "from pkgutil import extend_path\n__path__ = extend_path(__path__, __name__)\n"
        "raise ImportError('install the extension')\nfrom .devices import *\n",
        "lib/__init__.py",
    )
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


def test_a_folder_without_an_init_file_is_imported_again(package: Path, sm_90: Target) -> None:
    offset = package.parents[1] / "parts" / "offset.py"
    offset.parent.mkdir()
    used = package.read_text().replace("helper()", "helper() + OFFSET")
    package.write_text(f"from lib.ops.parts.offset import OFFSET\n{used}")
    for value in 40, 50:
        offset.write_text(f"import triton.language as tl\nOFFSET = tl.constexpr({value})\n")
        asked = Request(kernel=f"{package}:k", target=sm_90, args={"x_ptr": "int32[1]"})
        (entry,) = capture_entries(asked)
        assert f"arith.constant {value + 42} : i32" in (entry / "k.ttir").read_text()


def test_what_the_kernel_needs_must_run(package: Path, sm_90: Target) -> None:
    table = package.parents[1] / "tables.py"
    table.write_text(table.read_text().replace("42", "1 // 0"))
    with pytest.raises(CaptureError, match=r"tables.py:4: ZeroDivisionError"):
        capture_entries(Request(kernel=f"{package}:k", target=sm_90, args={"x_ptr": "int32[1]"}))


def test_an_error_tells_why_the_whole_file_ended(package: Path, sm_90: Target) -> None:
    """The part may fail for want of what the rest would have set."""
    package.write_text(package.read_text().replace("@triton.jit", "@triton.jit\n@helper.absent"))
    with pytest.raises(CaptureError, match="absent") as raised:
        capture_entries(Request(kernel=f"{package}:k", target=sm_90, args={"x_ptr": "int32[1]"}))
    assert raised.value.hint == (
        "executed as a whole: store.py:3: ImportError: install the extension"
    )


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("if 1 > 2:\n{}", 8, "k is in a branch of `if 1 > 2` that is not executed here"),
        ("def make():\n{}", 8, "only calls of make define k"),
        ("k = [0]", None, "k is no Triton kernel but a list, which may generate kernels from it"),
    ],
)
@pytest.mark.parametrize("ends", ["", "\n1 / 0"])
def test_a_kernel_that_the_file_does_not_define_here(
    write: Callable[..., Path], sm_90: Target, text: str, line: int | None, reason: str, ends: str
) -> None:
    kernel = "    @triton.jit\n    def k(x_ptr):\n        tl.store(x_ptr, 1)\n"
    path = write("import triton\nimport triton.language as tl\n\n" + text.format(kernel) + ends)
    with pytest.raises(CaptureError) as raised:
        capture_entries(Request(kernel=f"{path}:k", target=sm_90, args={"x_ptr": "int32[1]"}))
    assert raised.value.message == (f"{path}:{line}: {reason}" if line else reason)
    assert "irlens record" in (raised.value.hint or "")
