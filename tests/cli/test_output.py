"""Output to terminals, pipes, pagers and files."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from irlens.cli import output
from irlens.model.errors import IrlensError
from tests.running import irlens

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text("older and longer")
    output.write("new\n", path)
    assert path.read_text() == "new\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "report.txt", tmp_path / "link"
    link.symlink_to(path)
    output.write("new\n", link)
    assert link.is_symlink()
    assert path.read_text() == "new\n"


def test_a_pipe_is_written_into_and_not_replaced(tmp_path: Path) -> None:
    # A device is treated as a pipe is; a test that fails must not replace one.
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(path.read_text()), daemon=True)
    reader.start()
    output.write("new\n", path)
    reader.join()
    assert read == ["new\n"]
    assert path.is_fifo()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IrlensError, match="cannot write"):
        output.write("new\n", tmp_path / "absent" / "report.txt")


@pytest.mark.parametrize("argument", ["kernels", "--help"])
def test_a_full_disk_behind_stdout_is_said_in_one_line(argument: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "irlens", argument], stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "irlens: error: cannot write to stdout: No space left on device"
    ]


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_stream_that_the_shell_closed_is_no_trouble(stream: str) -> None:
    command = f'exec "{sys.executable}" -m irlens kernels {stream}>&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_a_stdin_that_the_shell_closed_is_empty() -> None:
    command = f'exec "{sys.executable}" -m irlens inspect - <&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("irlens: error: stdin is empty\n")


def test_a_reader_that_leaves_early_does_not_hide_a_difference() -> None:
    sides = [str(CAPTURES / name) for name in ("softmax-t4", "softmax-h100")]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "irlens", "diff", *sides], stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interrupt_at_the_very_start_is_said_in_one_line() -> None:
    script = """
import sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt

from irlens.cli import main
sys.meta_path.insert(0, Interrupt())
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "irlens: interrupted\n")


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        ("isnpect softmax", "unknown command 'isnpect'", "did you mean inspect?"),
        ("inspect softmax --taret h100", "unknown option '--taret'", "did you mean --target"),
        ("inspect softmx", "unknown kernel 'softmx'", "did you mean softmax or softmax_rows?"),
        ("inspect", "missing argument 'KERNEL'", "see irlens inspect --help"),
        ("completion", "missing argument 'SHELL'", "write bash or zsh or fish"),
        (
            "inspect softmax -t sm_61", "unknown target 'sm_61'",
            "sm_61 is too old: Triton compiles for sm_70 and newer",
        ),
        (
            "inspect softmax -t gtx1080", "unknown target 'gtx1080'",
            "sm_61 is too old: Triton compiles for sm_70 and newer",
        ),
        ("inspect softmax -t h10", "unknown target 'h10'", "did you mean h100 or"),
        ("inspect softmax -t sm_91", "unknown target 'sm_91'", "did you mean sm_90"),
        ("inspect softmax -t zzz", "unknown target 'zzz'", "known: a10, a100, "),
    ],
)  # fmt: skip
def test_a_mistake_gets_two_lines_and_a_suggestion(arguments: str, error: str, hint: str) -> None:
    done = irlens(*arguments.split())
    assert done.code == 2
    first, second = done.err.splitlines()
    assert first == f"irlens: error: {error}"
    assert second.startswith(f"  {hint}")
    assert len(second) < 400


@pytest.mark.parametrize(
    ("variables", "is_colored"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_stderr_has_colours_only_where_they_are_wanted(
    variables: dict[str, str], is_colored: bool
) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    terminal, stderr = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "irlens", "inspect", "softmx"],
        stderr=stderr, stdout=subprocess.DEVNULL, check=False,
        env={**environment, "TERM": "xterm-256color", **variables},
    )  # fmt: skip
    os.close(stderr)
    text = os.read(terminal, 4096).decode()
    os.close(terminal)
    assert done.returncode == 2
    assert "unknown kernel 'softmx'" in text
    assert ("\x1b" in text) == is_colored


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"NO_COLOR": "1", "TERM": "dumb"}])
def test_a_dumb_terminal_gets_no_progress_bar(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with output.progress("compiling") as update:
        update(1, 2)
    assert capsys.readouterr().err == ""


def test_an_error_that_quotes_what_is_escaped_stays_short(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.show_error(IrlensError("unknown field " + "\u202e" * 3000))
    (line,) = capsys.readouterr().err.splitlines()
    assert len(line) < 1100
    assert line.startswith(r"irlens: error: unknown field \u202e\u202e")
    assert " … " in line
