"""Kernel files that import modules which are not installed."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path

import msgspec
import pytest

from irlens.compiler import Request, capture_entries, is_stored
from irlens.compiler.planning import plan_here
from irlens.model.capture import Manifest
from irlens.model.config import Target
from irlens.model.errors import CaptureError, UnknownNameError

pytestmark = pytest.mark.compiled_to("ttir")

KERNEL = """
@triton.jit
def k(x_ptr):
    tl.store(x_ptr, 42)
"""
#: Runs irlens in the README's environment, which has neither PyTorch nor NumPy.
WITHOUT = """
import json, sys
from importlib.machinery import PathFinder
hidden, find = {"torch", "pandas", "orjson", "einops"}, PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, *rest: None if name.partition(".")[0] in hidden else find(name, *rest)
)
sys.argv = ["irlens", *json.loads(sys.argv[1])]
from irlens.cli import main
main()
"""
#: What kernel files do with PyTorch beside their kernels.
USES = """
    import pandas as pd
    import orjson
    import torch
    import torch.nn.functional as F
    from einops import rearrange
    from torch import nn
    from typing import Optional

    DEVICE = triton.runtime.driver.active.get_active_torch_device()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    TO_TRITON = {torch.float16: tl.float16, torch.float32: tl.float32}
    assert torch.half == torch.float16 != torch.float32
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert torch.cuda.get_device_capability()[0] == 9
    assert torch.version.hip is None and not isinstance(3, torch.Tensor | pd.Series)

    def block(args):
        return 512 if args["x_ptr"].dtype == torch.float16 else 256

    @triton.heuristics({"BLOCK": block})
    @triton.jit
    def scale_kernel(x_ptr, n, BLOCK: tl.constexpr):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x_ptr + o, tl.load(x_ptr + o, mask=o < n) * 2, mask=o < n)

    @torch.no_grad()
    def scale(x: torch.Tensor, out: Optional[torch.Tensor] = None) -> torch.Tensor | None:
        scale_kernel[(1,)](x, x.numel())

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x: "list[torch.Tensor]"):
            return scale(x)

    apply = Scale.apply

    class Layer(nn.Module):
        def forward(self, x):
            return F.relu(rearrange(apply(x), "a b -> b a"))

    @torch.library.custom_op("mine::scale", mutates_args=())
    def op(x: torch.Tensor) -> torch.Tensor: ...

    @op.register_fake
    def _(x): ...

    x = torch.rand(100, device=DEVICE)
    scale(x)
    print(f"{torch.max(torch.abs(x))}")
"""


def irlens_without_torch(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(arguments)],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


def manifest(entry: Path) -> Manifest:
    return msgspec.json.decode((entry / "irlens.json").read_bytes(), type=Manifest)


def request(path: Path, target: Target) -> Request:
    return Request(kernel=f"{path}:k", target=target, args={"x_ptr": "int32[1]"})


def test_what_triton_imports_itself_is_not_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    ran = irlens_without_torch("inspect", "vector_add", "-t", "h100")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_file_that_imports_pytorch_compiles_without_it(write: Callable[..., Path]) -> None:
    path = write(USES)
    arguments = ("inspect", str(path), "-t", "h100,mi300x", "-a", "x_ptr=fp16[64]", "-a", "n=64")
    ran = irlens_without_torch(*arguments)
    assert ran.returncode == 0, ran.stderr
    assert "BLOCK 512" in ran.stdout, "dtypes are told apart"
    loading, stopped, grid = ran.stderr.splitlines()
    assert loading == (
        "irlens: user_kernels.py imports torch, which is not installed: using stand-ins"
    ), "the kernel uses nothing of the other absent modules"
    assert stopped.startswith("irlens: user_kernels.py:")
    assert stopped.endswith("(the kernel does not need it: executed only what it uses)")
    assert grid.startswith("irlens: the grid is unknown: --grid ")
    # The same from the store, and with the real modules it is compiled again.
    assert irlens_without_torch(*arguments).stderr == ran.stderr


def test_a_kernel_that_needs_pytorch_says_how_to_install_it(write: Callable[..., Path]) -> None:
    path = write(f"""
        import torch
        SIZE = torch.finfo(torch.float16).bits * 4
        {KERNEL.strip().replace("42", "SIZE").replace(chr(10), chr(10) + " " * 8)}
    """)
    ran = irlens_without_torch("inspect", str(path), "-t", "h100", "-a", "x_ptr=int32[1]")
    assert ran.returncode == 2
    message, hint = ran.stderr.splitlines()
    assert message.endswith(
        "user_kernels.py:5: needs torch.finfo(...).bits, and torch is not installed"
    )
    assert hint == "  pip install 'irlens[run]'"


def test_a_kernel_that_uses_what_is_absent_says_so(
    write: Callable[..., Path], sm_90: Target
) -> None:
    path = write("from absent_of_a_test import VALUE\n" + KERNEL.replace("42", "VALUE"))
    with pytest.raises(CaptureError, match="VALUE") as raised:
        capture_entries(request(path, sm_90))
    assert "absent_of_a_test: not installed" in (raised.value.hint or "")
    assert "pip install absent_of_a_test" not in (raised.value.hint or "")


def test_an_unknown_decorator_is_not_left_out(write: Callable[..., Path], sm_90: Target) -> None:
    path = write(KERNEL.replace("@triton", "@tune(configs=2)\n@triton"), "tuned.py")
    path.write_text("from absent_of_a_test import tune\n" + path.read_text())
    with pytest.raises(CaptureError, match="tune") as raised:
        capture_entries(request(path, sm_90))
    assert "absent_of_a_test" in raised.value.joined(" ")
    assert not isinstance(raised.value, UnknownNameError)


@pytest.mark.parametrize(
    "guard",
    [
        "try:\n    import absent_of_a_test\n    V = 1\nexcept ImportError:\n    V = 42",
        "V = 42\nwith contextlib.suppress(ModuleNotFoundError):\n"
        "    from absent_of_a_test import x\n    V = 1",
        "V = 1 if importlib.util.find_spec('absent_of_a_test') else 42",
        "try:\n    importlib.import_module('absent_of_a_test')\n    V = 1\nexcept Exception:\n"
        "    V = 42",
    ],
)
def test_a_file_that_handles_the_absence_is_left_to_it(
    guard: str, write: Callable[..., Path], sm_90: Target
) -> None:
    path = write(f"import contextlib, importlib.util\n{guard}\nV = tl.constexpr(V)\n")
    path.write_text(path.read_text() + KERNEL.replace("42", "V"))
    (entry,) = capture_entries(request(path, sm_90))
    assert "arith.constant 42 : i32" in (entry / "k.ttir").read_text()
    assert manifest(entry).absent == ()


def test_an_optional_part_of_a_package_is_left_out(
    write: Callable[..., Path], sm_90: Target
) -> None:
    """The package handles the absence of what its part imports, as flash-linear-attention does."""
    write(
        """
        import importlib

        def optional(name):
            try:
                return importlib.import_module(name)
            except ModuleNotFoundError as error:
                if not error.name.startswith("optional_of_a_test"):
                    return None
                raise

        V = 1 if optional("optional_of_a_test.layers") else 42
        """,
        "optional_of_a_test/__init__.py",
    )
    write("import absent_of_a_test", "optional_of_a_test/layers.py")
    kernel = f"from optional_of_a_test import V\nV = tl.constexpr(V)\n{KERNEL}"
    path = write(kernel.replace("42", "V"), "optional_of_a_test/ops.py")
    (entry,) = capture_entries(request(path, sm_90))
    assert "arith.constant 42 : i32" in (entry / "k.ttir").read_text()
    assert manifest(entry).absent == ()


@pytest.mark.parametrize(
    "text",
    [
        "Auto.register('a', dict, exist_ok=True)",
        "@Auto.register('a')\nclass A: pass",
        "@Auto.register\nclass A: pass\nassert A.__name__ == 'A'",
    ],
)
def test_a_class_that_is_absent_may_register_others(
    text: str, write: Callable[..., Path], sm_90: Target
) -> None:
    path = write(f"from absent_of_a_test import Auto\n{text}\n{KERNEL}")
    (entry,) = capture_entries(request(path, sm_90))
    assert manifest(entry).stopped is None


def test_a_message_about_a_missing_module_is_no_arrangement(
    write: Callable[..., Path], sm_90: Target
) -> None:
    text = (
        "try:\n    import absent_of_a_test\nexcept ImportError as e:\n    raise RuntimeError from e"
    )
    path = write(f"{text}\n{KERNEL}")
    (entry,) = capture_entries(request(path, sm_90))
    assert manifest(entry).absent == ("absent_of_a_test",)


def test_installed_modules_are_never_replaced(
    write: Callable[..., Path], sm_90: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(f"import absent_of_a_test.sub\n{KERNEL}", "later.py")
    asked = request(path, sm_90)
    (entry,) = capture_entries(asked)
    assert manifest(entry).absent == ("absent_of_a_test",)
    assert is_stored(asked)
    assert not [name for name in sys.modules if name.startswith("absent_of_a_test")]

    installed = write("", "elsewhere/absent_of_a_test/__init__.py").parent
    (installed / "sub.py").write_text("")
    monkeypatch.syspath_prepend(str(installed.parent))
    assert not is_stored(asked), "it has been installed since"
    (other,) = capture_entries(asked)
    assert manifest(other).absent == ()


def test_a_broken_module_and_a_missing_submodule_are_errors(
    write: Callable[..., Path], sm_90: Target
) -> None:
    write("VALUE = 1 / 0\n", "broken_of_a_test.py")
    for statement, error in (
        ("import broken_of_a_test as needed", "ZeroDivisionError"),
        ("import triton.absent_of_a_test as needed", "ModuleNotFoundError"),
    ):
        path = write(f"{statement}\n{KERNEL.replace('42', 'needed.VALUE')}")
        with pytest.raises(CaptureError, match=error):
            capture_entries(request(path, sm_90))


def test_other_packages_that_met_a_stand_in_do_not_stay(
    write: Callable[..., Path], sm_90: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = write("import absent_of_a_test\n", "site-packages/library_of_a_test/__init__.py")
    monkeypatch.syspath_prepend(str(site.parents[1]))
    path = write(f"import library_of_a_test\n{KERNEL}")
    (entry,) = capture_entries(request(path, sm_90))
    assert manifest(entry).absent == ("absent_of_a_test",)
    with pytest.raises(ModuleNotFoundError):
        __import__("library_of_a_test")


def test_an_error_below_the_kernel_is_noted(write: Callable[..., Path], sm_90: Target) -> None:
    path = write(f"{KERNEL}\ndef call(): raise OSError('no GPU')\ncall()\nx = 1\n")
    (entry,) = capture_entries(request(path, sm_90))
    line = path.read_text().splitlines().index("def call(): raise OSError('no GPU')") + 1
    assert manifest(entry).stopped == f"user_kernels.py:{line}: OSError: no GPU"
    assert plan_here([request(path, sm_90)], "3").notes == (
        f"user_kernels.py:{line}: OSError: no GPU"
        " (the kernel does not need it: executed only what it uses)",
    )


def test_a_file_sees_the_gpu_that_it_is_compiled_for(write: Callable[..., Path]) -> None:
    """Also an installed library that it imports, and in one process for several GPUs."""
    text = "ARCH = str(triton.runtime.driver.active.get_current_target().arch)\n"
    site = write(text, "site-packages/asking_of_a_test/__init__.py")
    sys.path.insert(0, str(site.parents[1]))
    try:
        path = write(f"""
            from asking_of_a_test import ARCH
            V = tl.constexpr(42 if ARCH == "90" else 17)
            {KERNEL.strip().replace("42", "V").replace(chr(10), chr(10) + " " * 12)}
        """)
        for arch, value in (("sm_90", 42), ("sm_80", 17), ("sm_90", 42)):
            target = Target(vendor="nvidia", arch=arch, warp_size=32)
            (entry,) = capture_entries(request(path, target))
            assert f"arith.constant {value} : i32" in (entry / "k.ttir").read_text()
    finally:
        sys.path.remove(str(site.parents[1]))
    assert PathFinder.find_spec("asking_of_a_test") is None
