"""A crash of the compiler ends a forked child, and the command with one line and exit code 2."""

import copyreg
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
import triton

from irlens.compiler import Request, forked
from irlens.model.config import Target
from irlens.model.errors import CaptureError, IrlensError, UnknownNameError

H100 = Target(vendor="nvidia", arch="sm_90", warp_size=32)
KERNEL = """
    import os
    import pathlib
    import signal
    import time
    import warnings

    def fails(args):
        {statement}
        return 1

    @triton.heuristics({{"N": fails}})
    @triton.jit
    def k(N: tl.constexpr):
        pass
"""
ASSERTION = (
    'os.write(2, b"python: /src/lib/Pipeliner/WGMMAPipeline.cpp:212: void run(): '
    "Assertion `dots.size() == 1' failed.\\\\n\"); os.abort()"
)


@pytest.fixture(autouse=True)
def _own_child() -> Iterator[None]:
    """Fork anew, from this test's environment, and leave no child to the next one."""
    forked.end()
    yield
    forked.end()


def irlens(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "irlens", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


CRASHES_WHILE_COMPILING = """
    import os
    import triton
    import triton.language as tl

    class Crash(int):  # which Triton does not look into
        def __add__(self, other):
            {statement}
            return 1

    CRASH: tl.constexpr = tl.constexpr(Crash(1))

    @triton.constexpr_function
    def fails(value):
        return value + 1

    @triton.jit
    def k(x):
        N: tl.constexpr = fails(CRASH)
        tl.store(x, N)

    IRLENS_KERNELS = {{"k": {{"args": {{"x": "i32[1]"}}, "grid": [1]}}}}
"""


@pytest.mark.skipif(not hasattr(triton, "constexpr_function"), reason="an older Triton")
@pytest.mark.parametrize("command", ["inspect", "passes"])
def test_what_the_compiler_says_last_is_kept_while_it_prints_its_passes(
    command: str, write: Callable[..., Path], private_store: Path
) -> None:
    path = write(CRASHES_WHILE_COMPILING.format(statement=ASSERTION))
    process = irlens(command, f"{path}:k", "--target", "h100")
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (2, "")
    assert "SIGABRT in WGMMAPipeline.cpp: dots.size() == 1" in err.splitlines()[0]


@pytest.mark.parametrize("command", [["inspect"], ["diff", "--num-warps", "8"]])
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (ASSERTION, "SIGABRT in WGMMAPipeline.cpp: dots.size() == 1"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV: it said nothing"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL: it said nothing"),
    ],
    ids=["assertion", "segmentation fault", "kill"],
)
def test_a_crash_is_a_line_and_exit_code_2(
    command: list[str], statement: str, said: str, write: Callable[..., Path], private_store: Path
) -> None:
    path = write(KERNEL.format(statement=statement))
    process = irlens(command[0], f"{path}:k", "--target", "h100", *command[1:])
    out, err = process.communicate(timeout=120)
    error, hint = err.splitlines()
    assert (process.returncode, out) == (2, "")
    assert error.startswith("irlens: error: the compiler of ")
    assert error.endswith(f" was stopped by {said}")
    assert hint.startswith("  try ")


def test_other_kernels_of_the_file_are_still_compiled(
    write: Callable[..., Path], private_store: Path
) -> None:
    path = write(
        KERNEL.format(statement="os.abort()") + "\n    @triton.jit\n    def l():\n        pass\n"
    )
    process = irlens("inspect", str(path), "--target", "h100", "-f", "csv")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert len(out.splitlines()) == 2
    assert "skipped" in err
    assert "SIGABRT" in err


def test_one_child_answers_request_after_request(
    write: Callable[..., Path], private_store: Path
) -> None:
    path = write(KERNEL.format(statement="warnings.warn(f'in {os.getpid()}')"))
    pids = set()
    for warps in (2, 4):
        request = Request(kernel=f"{path}:k", target=H100, settings={"num_warps": warps})
        with pytest.warns(UserWarning, match="in ") as caught:
            (capture,) = forked.capture(request)
        pids |= {str(each.message) for each in caught if str(each.message).startswith("in ")}
        assert capture.config.num_warps == warps
    assert len(pids) == 1
    assert pids != {f"in {os.getpid()}"}


def test_the_parent_works_while_the_child_compiles(
    write: Callable[..., Path], private_store: Path
) -> None:
    wait = "while not pathlib.Path(__file__).with_name('done').exists(): time.sleep(0.01)"
    path = write(KERNEL.format(statement=wait))
    done = path.with_name("done")
    forked.capture(Request(kernel=f"{path}:k", target=H100), meanwhile=done.touch)


def test_a_kernel_that_exits_is_an_error(write: Callable[..., Path], private_store: Path) -> None:
    """Exit code 0 would be that of a check that passed."""
    path = write(KERNEL.format(statement="raise SystemExit(0)"))
    with pytest.raises(CaptureError, match=r":\d+: SystemExit: 0"):
        forked.capture(Request(kernel=f"{path}:k", target=H100))


@pytest.mark.parametrize("command", ["inspect", "sweep"])
def test_output_of_what_a_file_runs_goes_to_stderr(
    command: str, write: Callable[..., Path], private_store: Path
) -> None:
    path = write(KERNEL.format(statement="pass") + "\n    os.system('echo printed')\n")
    process = irlens(command, f"{path}:k", "--num-warps", "2,4", "--target", "h100", "-f", "csv")
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "printed" not in out


def test_errors_come_back_as_they_are(
    write: Callable[..., Path], private_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask's import registers a way to pickle every exception, with the frames it went through."""

    def reduced(error: BaseException) -> NoReturn:
        raise RecursionError(error)

    monkeypatch.setitem(copyreg.dispatch_table, UnknownNameError, reduced)
    path = write(KERNEL.format(statement="pass"))
    with pytest.raises(UnknownNameError, match=r"unknown .* 'nme'") as raised:
        forked.capture(Request(kernel=f"{path}:k", target=H100, settings={"nme": 1}))
    assert raised.value.hint
    path = write(KERNEL.format(statement="raise ValueError('too many')"))
    with pytest.raises(CaptureError, match="too many"):
        forked.capture(Request(kernel=f"{path}:k", target=H100))
    assert issubclass(UnknownNameError, IrlensError)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_child_ends_with_its_parent(
    how: signal.Signals, write: Callable[..., Path], private_store: Path, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    wait = f"pathlib.Path({str(started)!r}).write_text(str(os.getpid())); time.sleep(900)"
    process = irlens("inspect", f"{write(KERNEL.format(statement=wait))}:k", "--target", "h100")
    until = time.monotonic() + 60
    while not started.exists() or not started.read_text():
        assert time.monotonic() < until
        time.sleep(0.02)
    assert int(started.read_text()) != process.pid
    process.send_signal(how)
    process.communicate(timeout=20)  # the child has stdout and stderr open as long as it runs
    assert process.returncode == (-how if how == signal.SIGKILL else 130)


@pytest.mark.parametrize(
    "interrupt",
    [lambda pid: os.killpg(pid, signal.SIGINT), lambda pid: os.kill(pid, signal.SIGTERM)],
    ids=["by the terminal", "the parent alone"],
)
def test_an_interrupted_compilation_leaves_no_temporary_file(
    interrupt: Callable[[int], None],
    write: Callable[..., Path],
    private_store: Path,
    tmp_path: Path,
) -> None:
    temporary, started = tmp_path / "temporary", tmp_path / "started"
    temporary.mkdir()
    # As Triton keeps the PTX that ptxas reads.
    wait = (
        "import tempfile; tempfile.NamedTemporaryFile(suffix='.ptx', delete=False); "
        f"pathlib.Path({str(started)!r}).touch(); time.sleep(900)"
    )
    kernel = f"{write(KERNEL.format(statement=wait))}:k"
    process = subprocess.Popen(
        [sys.executable, "-m", "irlens", "inspect", kernel, "--target", "h100"],
        env={**os.environ, "TMPDIR": str(temporary)}, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not started.exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    interrupt(process.pid)
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert list(temporary.iterdir()) == []


def test_the_child_tells_how_many_configurations_it_has_compiled(
    write: Callable[[str], Path],
) -> None:
    """An autotuner of 36 configurations took a minute without a sign."""
    path = write("""
        import triton
        import triton.language as tl

        @triton.autotune([triton.Config({"B": b}, num_warps=4) for b in (64, 128)], key=[])
        @triton.jit
        def k(x_ptr, B: tl.constexpr):
            tl.store(x_ptr + tl.arange(0, B), 0)
    """)
    told: list[tuple[int, int]] = []
    request = Request(kernel=str(path), target=H100, args={"x_ptr": "fp32[128]"})
    captures = forked.capture(request, progress=lambda *reached: told.append(reached))
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert len(captures) == 2
