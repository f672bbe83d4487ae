"""What the machine refuses ends a command with one line and exit code 2."""

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from irlens.artifacts import store
from irlens.cli.machine_errors import explain
from irlens.model.errors import ArtifactError, IrlensError

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "samples" / "captures" / "softmax-h100"
DIGITS = "9" * 5000


def run(
    *arguments: str,
    before: Callable[[], None] | None = None,
    stderr: int | None = subprocess.PIPE,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irlens", *arguments],
        stdout=subprocess.PIPE, stderr=stderr, text=True,
        preexec_fn=before, env={**os.environ, **environment},
    )  # fmt: skip


def only_error(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one error that a command ended with."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("  ")]
    assert done.returncode == 2, done.stderr[-2000:]
    assert len(lines) == 1, done.stderr[-2000:]
    return lines[0]


@pytest.mark.parametrize("command", [("inspect", "softmax"), ("check", str(CAPTURE))])
def test_the_working_directory_was_removed(tmp_path: Path, command: tuple[str, str]) -> None:
    def enter() -> None:
        folder = tmp_path / "gone"
        folder.mkdir()
        os.chdir(folder)
        folder.rmdir()

    # An empty entry is the working directory, without which Python does not start.
    path = str(Path(__file__).parents[2])
    said = only_error(run(*command, before=enter, PYTHONPATH=path))
    assert said == "irlens: error: the working directory does not exist any more"


def test_the_cache_directory_has_a_name_that_is_too_long() -> None:
    for name in ("x" * 300, "x/" * 3000):
        said = only_error(run("inspect", str(CAPTURE), IRLENS_CACHE_DIR=f"/tmp/{name}"))
        assert said.startswith("irlens: error: IRLENS_CACHE_DIR is longer than ")
        assert len(said) < 200


def test_a_path_that_is_not_utf8(tmp_path: Path) -> None:
    odd = os.fsdecode(b"\xff")
    said = only_error(run("inspect", str(CAPTURE), IRLENS_CACHE_DIR=str(tmp_path / odd)))
    assert said.startswith("irlens: error: IRLENS_CACHE_DIR is not UTF-8: ")
    (tmp_path / f"{odd}.py").touch()
    said = only_error(run("record", "--target", "h100", str(tmp_path / f"{odd}.py")))
    assert said.endswith("\\udcff.py: not UTF-8")


def test_a_wrong_size_limit_breaks_no_stored_capture() -> None:
    for _ in range(2):
        said = only_error(run("inspect", "softmax", "-t", "h100", IRLENS_MAX_INPUT_MB="all"))
        assert said == "irlens: error: IRLENS_MAX_INPUT_MB is 'all'"
        assert run("inspect", "softmax", "-t", "h100").returncode == 0


@pytest.mark.parametrize(
    "option", [("--line", DIGITS), ("--program", DIGITS), ("--num-stages", DIGITS)]
)
def test_a_number_of_many_digits(option: tuple[str, str]) -> None:
    assert len(only_error(run("inspect", str(CAPTURE), *option))) < 200


def test_a_full_device_for_errors_keeps_the_exit_code() -> None:
    for arguments in (("inspect", "/nowhere"), ("inspect", "--nothing")):
        with open("/dev/full", "w") as full:  # noqa: PTH123
            assert run(*arguments, stderr=full.fileno()).returncode == 2


def test_help_on_a_full_device_is_an_error_of_stdout() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "irlens", "--help"],
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert only_error(done).startswith("irlens: error: cannot write to stdout: ")


@pytest.mark.parametrize("megabytes", [60, 100, 130])
def test_little_memory(megabytes: int, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    # A page that an earlier test left in the shared cache would fit.
    done = run("inspect", str(CAPTURE), before=limit, IRLENS_CACHE_DIR=str(tmp_path))
    assert only_error(done).startswith("irlens: error: out of memory")


def test_small_files_alone_cost_what_needs_the_machine_code(tmp_path: Path) -> None:
    """A file's limit of 4 KB, as on a full disk: nothing is kept, and nvdisasm has no input."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    # Python would cut its own bytecode short, and fail to read it the next time.
    run_here = partial(
        run, before=limit, IRLENS_CACHE_DIR=str(tmp_path), PYTHONDONTWRITEBYTECODE="1"
    )
    done = run_here("inspect", str(CAPTURE))
    assert done.returncode == 0, done.stderr
    assert "cannot write what nvdisasm reads" in done.stdout
    html = str(tmp_path / "k.html")
    page = run_here("inspect", str(CAPTURE), "-o", html)
    assert only_error(page).startswith("irlens: error: cannot write ")


def test_few_descriptors(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))

    command = ("sweep", "softmax", "-t", "h100", "--num-stages", "2,3", "--jobs", "4")
    done = run(*command, before=limit, IRLENS_CACHE_DIR=str(tmp_path))
    assert only_error(done) == "irlens: error: Too many open files"
    assert "fewer --jobs" in done.stderr


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EMFILE, errno.ENOMEM, errno.EDQUOT, errno.EFBIG]
)
def test_what_the_machine_refuses_is_explained(number: int) -> None:
    explained = explain(OSError(number, os.strerror(number), "/a/file"))
    assert isinstance(explained, IrlensError)
    assert explained.message == f"/a/file: {os.strerror(number)}"
    assert explained.hint


def test_an_error_of_irlens_itself_is_not_explained_away() -> None:
    for error in (ImportError("no module named x"), ValueError("x"), FileNotFoundError(2, "x")):
        assert explain(error) is None


def test_the_cache_is_removed_while_a_kernel_is_compiled(tmp_path: Path) -> None:
    destination = tmp_path / "captures" / "key"
    destination.parent.mkdir()

    def compile_there() -> None:
        with store.workspace(destination) as workspace:
            shutil.rmtree(tmp_path)
            (workspace / "output.txt").write_text("x")

    with pytest.raises(ArtifactError, match="captures was removed while irlens was using it"):
        compile_there()


def test_the_compiler_makes_a_directory_again_that_was_removed(tmp_path: Path) -> None:
    destination = tmp_path / "captures" / "key"
    destination.parent.mkdir()

    def compile_there() -> None:
        with store.workspace(destination) as workspace:
            shutil.rmtree(tmp_path)
            (workspace / "triton").mkdir(parents=True)
            (workspace / "output" / "printed.txt").write_text("x")

    with pytest.raises(ArtifactError, match="captures was removed while irlens was using it"):
        compile_there()


def test_an_error_in_a_workspace_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), store.workspace(tmp_path / "key"):
        raise ZeroDivisionError


@pytest.mark.parametrize("room", [20_000, 10])
def test_a_recording_fills_the_disk(room: int, tmp_path: Path) -> None:
    """While its program runs, and before."""

    def limit() -> None:  # no file may be larger, as on a disk that has no room for one
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    program = tmp_path / "program.py"
    program.write_text("open(__file__ + '.out', 'wb').write(bytes(1 << 20))\n")
    # Python would leave half of a compiled module beside its source, for every later process.
    done = run("record", "-t", "h100", "-o", str(tmp_path / "out"), str(program), before=limit,
               PYTHONDONTWRITEBYTECODE="1")  # fmt: skip
    assert "Traceback" not in done.stderr
    assert only_error(done) == f"irlens: error: cannot write {tmp_path}/out: File too large"
    assert not [each for each in tmp_path.iterdir() if not each.name.startswith("program.py")]


INTERRUPTED = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from {entry} import main
main()
"""


@pytest.mark.parametrize("module", ["irlens.cli", "irlens.model", "irlens.model.errors"])
def test_an_interrupt_while_irlens_is_imported_shows_no_traceback(module: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    entry = project["project"]["scripts"]["irlens"].partition(":")[0]
    program = INTERRUPTED.format(module=module, entry=entry)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
