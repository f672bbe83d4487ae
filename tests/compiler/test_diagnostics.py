import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import triton
from packaging.version import Version

from irlens.compiler import Request, capture_entries
from irlens.compiler.toolchains import triton_version
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import CaptureError

FILE = """
@triton.jit
def helper(x):
    return x + undefined_thing

@triton.jit
def undefined(x_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(x_ptr + o, helper(o))

@triton.jit
def shapes(x_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(x_ptr + o, o + tl.arange(0, 2 * B))

@triton.jit
def library(x_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(x_ptr + o, tl.sum(o, axis=3))

@triton.jit
def asserts(x_ptr, B: tl.constexpr):
    tl.static_assert(B < 64, "B is too big")
    tl.store(x_ptr + tl.arange(0, B), 0)

@triton.jit
def fine(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 0)

@triton.jit
def ядро(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 0)

@triton.jit(noinline=True)
def far(x):
    return x + 1

@triton.jit
def calls_far(x_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    p = x_ptr + o
    tl.store(p, far(o))

@triton.jit
def assembly(x_ptr, B: tl.constexpr):
    o = tl.arange(0, B)
    y = tl.inline_asm_elementwise("foo $0, $1;", "=r,r", [o], tl.int32, is_pure=True, pack=1)
    tl.store(x_ptr + o, y)

@triton.jit
def constraint(x_ptr, B: tl.constexpr):
    o = tl.arange(0, B).to(tl.float32)
    y = tl.inline_asm_elementwise("add.f32 $0, $1, $1;", "=f,f", [o], tl.float32, True, 1)
    tl.store(x_ptr + tl.arange(0, B), y.to(tl.int32))
"""
SM_90 = Target(vendor="nvidia", arch="sm_90", warp_size=32)
GFX942 = Target(vendor="amd", arch="gfx942", warp_size=64)
GFX800 = Target(vendor="amd", arch="gfx800", warp_size=64)
#: The first one that looks at the target.
AMD_PASS = "ConvertTritonAMDGPUToLLVM" if triton.__version__ < "3.7" else "ConvertWarpPipeline"
SM_77 = Target(vendor="nvidia", arch="sm_77", warp_size=32)


# Line 3 is FILE's first: two imports stand before it.
@pytest.mark.parametrize(
    ("kernel", "target", "settings", "message", "excerpt"),
    [
        ("undefined", SM_90, {},
         "bad.py:6:16: undefined_thing is not defined", "    return x + undefined_thing"),
        ("shapes", SM_90, {},
         "bad.py:16:25: Cannot make_shape_compatible: incompatible dimensions at index 0: 64 and",
         "    tl.store(x_ptr + o, o +"),
        ("library", SM_90, {},
         "bad.py:21:25: invalid axis 3. Expected -1 <= axis < 1", "    tl.store(x_ptr + o, tl.sum"),
        ("asserts", SM_90, {},
         "bad.py:25:5: B is too big", "    tl.static_assert(B"),
        ("fine", SM_90, {"B": 65},
         "bad.py:30:22: arange's range must be a power of 2", "    tl.store(x_ptr + tl.arange"),
        ("calls_far", SM_90, {},
         "calls_far: Function far is marked noinline, but was called with non-scalar arg", None),
        ("ядро", SM_90, {},
         "ядро: invalid function identifier: ядро", None),
        ("fine", SM_90, {"num_warps": 3},
         "fine: num_warps must be a power of 2", None),
        ("fine", SM_77, {},
         "fine: ptxas: Value 'sm_77' is not defined for option 'gpu-name'", None),
        ("fine", GFX800, {},
         f"bad.py:29: the pass {AMD_PASS} failed: unsupported target: 'gfx800'",
         "def fine(x_ptr"),
        ("assembly", SM_90, {},
         "assembly: ptxas: Not a name of any known instruction: 'foo'", None),
        ("assembly", GFX942, {},
         "assembly: invalid instruction", "        foo "),
    ],
)  # fmt: skip
def test_compiler_errors_take_one_line(
    kernel: str,
    target: Target,
    settings: dict[str, ConstexprValue],
    message: str,
    excerpt: str | None,
    write: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = write(FILE, "bad.py")
    monkeypatch.chdir(path.parent)
    request = Request(
        kernel=f"bad.py:{kernel}",
        target=target,
        args={"x_ptr": "int32[64]"},
        settings={"B": 64, **settings},
    )
    with pytest.raises(CaptureError) as raised:
        capture_entries(request)
    said = raised.value.message
    assert said.startswith(message)
    assert "\n" not in said
    hint = raised.value.hint
    if excerpt is None:
        assert hint is None
    else:
        line, *carets = (hint or "").split("\n")
        assert line.startswith(excerpt)
        assert [caret.strip() for caret in carets] == ["^"] * ("gfx800" not in message)
    out, err = capfd.readouterr()
    assert (out, err) == ("", ""), "the message says it all"


def test_a_function_that_returns_a_value_is_no_kernel(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "@triton.jit\ndef twice(x):\n    return x * 2\n"
    monkeypatch.chdir(write(code, "helpers.py").parent)
    with pytest.raises(CaptureError) as raised:
        capture_entries(Request(kernel="helpers.py:twice", target=SM_90, args={"x": 4}))
    assert raised.value.message == (
        "helpers.py:5: twice returns a value: kernels call it, nothing launches it"
    )
    assert raised.value.hint == "    return x * 2\nname the kernel that calls it"


@pytest.mark.parametrize(
    ("statement", "message", "hint"),
    [
        ("tl._experimental_descriptor_load(x_ptr, [0])", "has no attribute", "--triton VERSION"),
        ("tl.dot(x_ptr, x_ptr, trans_b=True)", "unexpected keyword", "--triton VERSION"),
        ("tl.static_assert(1 > 2)", "the assertion does not hold", "static_assert"),
    ],
)
def test_kernels_for_other_versions_are_told_how_to_compile(
    statement: str, message: str, hint: str, write: Callable[..., Path]
) -> None:
    path = write(f"@triton.jit\ndef k(x_ptr):\n    {statement}\n", "k.py")
    with pytest.raises(CaptureError) as raised:
        capture_entries(Request(kernel=f"{path}:k", target=SM_90, args={"x_ptr": "fp16[64]"}))
    assert message in raised.value.message
    assert hint in (raised.value.hint or "")


BLOCK_POINTERS = """
@triton.jit
def blocks(x_ptr, B: tl.constexpr):
    tl.store(tl.make_block_ptr(x_ptr, (B,), (1,), (0,), (B,), (0,)), tl.zeros((B,), tl.int32))
"""


@pytest.mark.skipif(
    Version(triton_version()) < Version("3.9"), reason="this Triton has block pointers"
)
def test_what_triton_removed_names_a_version_that_has_it(write: Callable[..., Path]) -> None:
    path = write(BLOCK_POINTERS, "blocks.py")
    request = Request(
        kernel=f"{path}:blocks", target=SM_90, args={"x_ptr": "int32[64]"}, settings={"B": 64}
    )
    with pytest.raises(CaptureError, match=r"removed.*; an older Triton accepts it: --triton 3.7"):
        capture_entries(request)


def test_omitted_assembly_is_an_error(
    write: Callable[..., Path],
) -> None:
    path = write(FILE, "bad.py")
    command = [sys.executable, "-m", "irlens", "inspect", f"{path}:constraint"]
    command += ["--arg", "x_ptr=int32[64]", "--set", "B=64", "--no-run", "--target"]
    assert subprocess.run([*command, "sm_90"], capture_output=True).returncode == 0
    for _ in range(2):  # the first time must not store anything
        # The LLVM of Triton 3.6 ends the process; that of 3.9 continues.
        done = subprocess.run([*command, "gfx942"], capture_output=True, text=True)
        assert done.returncode != 0
        assert done.stdout == ""
        assert "allocate output register for constraint 'f'" in done.stderr


def test_an_exception_in_what_a_kernel_needs_has_its_line(write: Callable[..., Path]) -> None:
    path = write("""
        def check():
            raise ValueError("no such option")
        OPTION = check()
        @triton.jit
        def k(x_ptr):
            tl.store(x_ptr, OPTION)
    """)
    text = path.read_text()
    for statement, message in (
        ("OPTION = check()", "5: ValueError: no such option"),
        ("from triton.no_such_module import OPTION", "6: ModuleNotFoundError: No module named"),
        ("OPTION = exit(3)", "6: SystemExit: 3"),
    ):
        path.write_text(text.replace("OPTION = check()", statement))
        with pytest.raises(CaptureError) as raised:
            capture_entries(Request(kernel=str(path), target=SM_90))
        assert raised.value.message.startswith(f"{path}:{message}")


def test_a_run_without_a_gpu_is_an_error(tmp_path: Path) -> None:
    code = """
from irlens.compiler import Request, capture_entries
from irlens.compiler.toolchains import triton_version
from irlens.model.config import Target
from irlens.model.errors import CaptureError
target = Target(vendor="nvidia", arch="sm_90", warp_size=32)
try:
    capture_entries(Request(kernel="vector_add", target=target, run=True))
except CaptureError as error:
    print(error.message, error.hint, sep="\\n")
"""
    hidden = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | hidden, capture_output=True, text=True
    )
    if importlib.util.find_spec("torch") is None:
        expected = '--run needs PyTorch, which is not installed\npip install "irlens[run]"\n'
    else:
        expected = (
            "--run needs a GPU, and PyTorch finds none here\n"
            "leave out --run: compiling needs no GPU\n"
        )
    assert (done.stdout, done.returncode) == (expected, 0)
