"""Compiling a kernel leaves PyTorch and Gluon alone, which take long to import."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)

GLUON = "triton.experimental.gluon"
needs_gluon = pytest.mark.skipif(
    importlib.util.find_spec("triton.experimental") is None, reason="Triton has no Gluon before 3.4"
)

ASSERTING = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

IRLENS_KERNELS = {"asserting": {"args": {}, "grid": [1]}}

@gluon.jit
def asserting(value: gl.constexpr):
    gl.static_assert(value == 1, "not one")
"""
#: The second kernel's argument is a tensor descriptor; the third target's backend has to ask
#: whether a tensor is smaller than 2 GB.
COMPILE = """
import irlens
irlens.capture("softmax", target="h100")
irlens.capture("matmul_tma", target="h100")
irlens.capture("softmax", target="mi300x")
"""
#: What Triton up to 3.7 does natively on the first call of a kernel.
LOOK_UP = """
import sys, threading
from irlens.compiler.triton_compat import startup

def look_up(_):
    try:
        import torch
    except ImportError as error:
        print(f"{type(error).__name__}: {error}")
    elsewhere = threading.Thread(target=lambda: __import__("torch"))
    elsewhere.start()
    elsewhere.join()
    print("torch" in sys.modules)

startup.jit.mangle_type = look_up
"""


def run(program: str, store: Path) -> str:
    variables = {**os.environ, "IRLENS_CACHE_DIR": str(store)}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=variables).stdout


def captures(store: Path) -> dict[str, bytes]:
    folder = store / "captures"
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@needs_torch
def test_captures_are_the_same_with_and_without_torch_in_the_process(tmp_path: Path) -> None:
    printed = run(f"{COMPILE}\nimport sys; print('torch' in sys.modules)", tmp_path / "without")
    assert printed == "False\n"
    run(f"import torch\n{COMPILE}", tmp_path / "with")
    without = captures(tmp_path / "without")
    assert sum(name.endswith(".ttgir") for name in without) == 3
    assert without == captures(tmp_path / "with")


@needs_torch
def test_only_the_lookup_itself_does_not_find_torch(tmp_path: Path) -> None:
    printed = run(f"{LOOK_UP}\nstartup.prepare_specialization()", tmp_path)
    assert printed == "ModuleNotFoundError: No module named 'torch'\nTrue\n"


@needs_torch
def test_the_lookup_finds_a_torch_that_the_process_has_imported(tmp_path: Path) -> None:
    printed = run(f"import torch\n{LOOK_UP}\nstartup.prepare_specialization()", tmp_path)
    assert printed == "True\n"


@needs_torch
def test_a_later_call_specializes_real_tensors(tmp_path: Path) -> None:
    program = f"""{COMPILE}
import torch
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.jit import native_specialize_impl as impl

tensor = torch.zeros(64, dtype=torch.float16)
for each in (tensor, torch.nn.Parameter(tensor), torch.zeros(3, dtype=torch.bool)):
    print(impl(CUDABackend, each, False, True, True))
"""
    assert run(program, tmp_path).splitlines() == ["('*fp16', 'D')"] * 2 + ["('*u1', 'D')"]


@needs_gluon
def test_captures_are_the_same_with_and_without_gluon_in_the_process(tmp_path: Path) -> None:
    printed = run(f"{COMPILE}\nimport sys; print({GLUON!r} in sys.modules)", tmp_path / "without")
    assert printed == "False\n"
    run(f"import {GLUON}\n{COMPILE}", tmp_path / "with")
    assert captures(tmp_path / "without") == captures(tmp_path / "with")


@needs_gluon
@pytest.mark.parametrize("is_first", [False, True])
def test_gluon_compiles_before_and_after_triton(is_first: bool, tmp_path: Path) -> None:
    """Its descriptor is told from Triton's by its class; its assertions are not called."""
    descriptor = Path(__file__).parents[2] / "data" / "gluon" / "copying.py"
    asserting = tmp_path / "asserting.py"
    asserting.write_text(ASSERTING)
    program = f"""
import irlens
from irlens.model.errors import CaptureError
{"" if is_first else "irlens.capture('softmax', target='h100')"}
scale = irlens.capture({str(descriptor)!r} + ":scale", target="h100")
assert "#shared" in scale.stages["ttgir"].text()
irlens.capture({str(asserting)!r}, target="h100", value=1)
try:
    irlens.capture({str(asserting)!r}, target="h100", value=2)
except CaptureError as error:
    print(error)
"""
    assert "not one" in run(program, tmp_path)


@needs_gluon
def test_triton_that_takes_more_of_gluon_imports_it(tmp_path: Path) -> None:
    program = f"""
import sys
from irlens.compiler.triton_compat import startup
startup._TAKEN = {{"language": ()}}
{COMPILE}
print({GLUON!r} in sys.modules)
"""
    assert run(program, tmp_path) == "True\n"
