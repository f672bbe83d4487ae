"""What only shows from outside: imports, speed, crashes, and several processes at once."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

CAPTURE = """
import sys
from irlens.compiler import Request, capture_entries
from irlens.model.config import Target
target = Target(vendor="nvidia", arch="sm_90", warp_size=32)
request = Request(kernel=sys.argv[1], target=target, settings={"num_warps": 2})
(entry,) = capture_entries(request)
print(entry)
"""


def start(code: str, *args: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_stored_capture_needs_no_triton() -> None:
    out, _ = start(CAPTURE, "vector_add").communicate()
    hit = CAPTURE + "assert not {'triton', 'torch', 'numpy'} & set(sys.modules), 'imported'\n"
    process = start(hit, "vector_add")
    again, err = process.communicate()
    assert (again, err, process.returncode) == (out, "", 0)


def test_two_processes_can_capture_the_same_kernel_at_once(private_store: Path) -> None:
    processes = [start(CAPTURE, "vector_add") for _ in range(3)]
    results = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], results
    assert len({out for out, _ in results}) == 1
    assert len(list((private_store / "captures").iterdir())) == 1


@pytest.mark.parametrize(
    "environment",
    [
        {"TRITON_ALWAYS_COMPILE": "1"},
        {"TRITON_STORE_BINARY_ONLY": "1"},
        {"TRITON_KERNEL_OVERRIDE": "1", "TRITON_KERNEL_DUMP": "1"},
        {"TRITON_INTERPRET": "1"},
        {"TRITON_OVERRIDE_ARCH": "sm80", "TRITON_DEFAULT_BACKEND": "none"},
        {"TRITON_CACHE_MANAGER": "no.such:Manager", "TRITON_FRONT_END_DEBUGGING": "1"},
    ],
    ids=lambda environment: next(iter(environment)),
)
def test_the_users_environment_has_no_effect(environment: dict[str, str], tmp_path: Path) -> None:
    places = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "TRITON_DUMP_DIR": str(tmp_path / "d")}
    process = start(CAPTURE, "vector_add", **places, **environment)
    out, err = process.communicate()
    assert process.returncode == 0, err
    entry = Path(out.strip())
    for stage in ("ttir", "ttgir", "llir", "ptx", "cubin"):
        assert (entry / f"vector_add_kernel.{stage}").stat().st_size > 0
    assert ".target sm_90" in (entry / "vector_add_kernel.ptx").read_text()
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "d").exists()


def test_a_requested_dump_is_printed() -> None:
    out, err = start(CAPTURE, "vector_add", MLIR_ENABLE_DUMP="1").communicate()
    assert "IR Dump Before" in err
    assert len(out.splitlines()) == 1


def test_output_of_the_kernels_file_never_reaches_stdout(write: Callable[..., Path]) -> None:
    path = write("""
        import ctypes, os
        print("python, loading")

        def talk(args):
            print("python")
            os.write(1, b"descriptor\\n")
            ctypes.CDLL(None).puts(b"buffered in C")
            return 1

        @triton.heuristics({"N": talk})
        @triton.jit
        def k(N: tl.constexpr):
            pass
    """)
    out, err = start(CAPTURE, str(path)).communicate()
    assert len(out.splitlines()) == 1
    assert sorted(err.splitlines()) == ["buffered in C", "descriptor", "python", "python, loading"]


def test_only_the_last_output_of_an_aborted_compiler_is_printed(
    write: Callable[..., Path], private_store: Path
) -> None:
    path = write("""
        import os

        def die(args):
            os.write(2, b"LLVM ERROR: Cannot select: 42\\n")
            os.abort()

        @triton.heuristics({"N": die})
        @triton.jit
        def k(N: tl.constexpr):
            pass
    """)
    process = start(CAPTURE, str(path))
    out, err = process.communicate()
    assert process.returncode == -signal.SIGABRT
    assert out == ""
    assert "LLVM ERROR: Cannot select: 42\n" in err
    left = list((private_store / "captures").iterdir())
    assert all(entry.name.startswith(".irlens-tmp-") for entry in left)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_leaves_no_partial_capture(
    how: signal.Signals, write: Callable[..., Path], private_store: Path, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    path = write(f"""
        import pathlib, time

        def wait(args):
            pathlib.Path({str(started)!r}).touch()
            while True:  # a signal just before a call is seen after it
                time.sleep(0.1)

        @triton.heuristics({{"N": wait}})
        @triton.jit
        def k(N: tl.constexpr):
            pass
    """)
    process = start(CAPTURE, str(path))
    while not started.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(how)
    process.communicate()
    assert process.returncode != 0
    left = list((private_store / "captures").iterdir())
    assert all(entry.name.startswith(".irlens-tmp-") for entry in left)
    if how == signal.SIGINT:
        assert left == [], "an interrupted capture cleans up after itself"
