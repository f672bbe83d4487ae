"""``irlens inspect --watch``: output after each save."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from irlens.artifacts.load import load
from irlens.cli.commands.inspect import command
from irlens.compiler.sources.watcher import SourceWatcher
from irlens.diff.code import captures as code_captures
from irlens.diff.code import compare_code
from irlens.model.code import CodeComparison
from irlens.render.view.code import code_summary
from irlens.session.session import Session

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
KERNEL = """
import triton
import triton.language as tl
from factors import FACTOR

IRLENS_KERNELS = {{
    "scale": {{"args": {{"x": "fp32[n]", "n": 1024}}, "sizes": {{"n": 1024}},
               "constexprs": {{"BLOCK": 1024}}}},
}}


@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    tl.store(x + cols, {value} * FACTOR, mask=cols < n)
"""
FACTOR = "import triton.language as tl\nFACTOR = tl.constexpr({value})\n"
PLAIN = KERNEL.format(value="tl.load(x + cols, mask=cols < n) ")
HALVED = KERNEL.format(value="(tl.load(x + cols, mask=cols < n) * 2).to(tl.float16)")
WRONG = KERNEL.format(value="tl.no_such_function(x)")


@contextmanager
def watching(*arguments: str, cwd: Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", "irlens", "inspect", *arguments, "--watch"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
        env={**os.environ, "COLUMNS": "80"},
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def until_it_waits(process: "subprocess.Popen[str]") -> list[str]:
    """What is said, up to the line that the next save is waited for."""
    said: list[str] = []
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line.rstrip("\n"))
        if "press ctrl+c to stop" in line:
            return said
    raise AssertionError(f"it ended: {said}")


def test_every_save_is_compiled_and_what_moved_is_told(tmp_path: Path) -> None:
    kernel, factors, page = (tmp_path / name for name in ("k.py", "factors.py", "report.txt"))
    kernel.write_text(PLAIN)
    factors.write_text(FACTOR.format(value="2"))
    with watching("k.py:scale", "-t", "h100", "-o", str(page), cwd=tmp_path) as process:
        assert until_it_waits(process) == [
            "irlens: the grid is unknown: --grid 1 covers the tensors",
            "irlens: watching k.py and 1 more; press ctrl+c to stop",
        ]
        first = page.read_text()
        assert first.startswith("scale   sm_90 (h100)")

        kernel.write_text(WRONG)
        saved, error, *_, waits = until_it_waits(process)
        assert saved == "irlens: k.py saved"
        assert error.startswith("irlens: error: k.py:15:24: ")
        assert "no_such_function" in error
        assert page.read_text() == first

        kernel.write_text(HALVED)
        _, moved, waits = until_it_waits(process)
        assert moved.startswith("changed: occupancy unchanged · only minor figures changed")
        assert ", ptx: " in moved
        assert "added" in moved
        assert page.read_text() != first

        factors.write_text(FACTOR.format(value="1 + 1"))
        assert until_it_waits(process) == ["irlens: factors.py saved", "changed: nothing", waits]
        factors.write_text(FACTOR.format(value="3"))
        _, moved, waits = until_it_waits(process)
        assert moved.startswith("changed: ")
        assert ", ptx: " in moved

        process.send_signal(signal.SIGINT)
        assert process.wait() == 0


def test_what_changed_comes_first_and_ctrl_c_ends_the_line(tmp_path: Path) -> None:
    kernel = tmp_path / "k.py"
    kernel.write_text(PLAIN)
    (tmp_path / "factors.py").write_text(FACTOR.format(value="2"))
    terminal, end = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "irlens", "inspect", "k.py:scale", "-t", "h100", "--watch"],
        stdin=end, stdout=end, stderr=end, cwd=tmp_path,
        env={**os.environ, "TERM": "dumb", "NO_COLOR": "1"},
    ) as process:  # fmt: skip
        os.close(end)
        try:
            read_until(terminal, "press ctrl+c to stop")
            kernel.write_text(HALVED)
            shown = read_until(terminal, "press ctrl+c to stop")
            assert -1 < shown.index("changed: ") < shown.index("scale   sm_90 (h100)")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            assert os.read(terminal, 4096).decode() == "\r\n"
        finally:
            process.kill()
            os.close(terminal)


def read_until(terminal: int, text: str) -> str:
    """Return what a terminal shows up to the line with a text."""
    shown = ""
    while text not in shown or not shown.endswith("\n"):
        shown += os.read(terminal, 4096).decode("utf-8", "replace")
    return shown


def test_a_stage_that_is_shown_is_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    captures = [list(load(CAPTURES / name)) for name in ("softmax-t4", "softmax-h100")]
    saves, told = iter([[Path("softmax.py")]]), []

    def wait(_: SourceWatcher) -> list[Path]:
        if (files := next(saves, None)) is None:
            raise KeyboardInterrupt
        return files

    def compared(*arguments: Any, **named: Any) -> CodeComparison:
        told.append(compare_code(*arguments, **named))
        return told[-1]

    monkeypatch.setattr(SourceWatcher, "wait", wait)
    monkeypatch.setattr(Session, "captures", lambda *_: captures.pop(0))
    monkeypatch.setattr(code_captures, "compare_code", compared)
    ran = CliRunner().invoke(command, ["softmax", "--stage", "ptx", "--watch"])
    assert ran.exception is None
    (moved,) = told
    assert (moved.stage, moved.different) == ("ptx", True)
    assert f"ptx: {code_summary(moved)}\n" in ran.stderr
    assert ran.stdout.count("@@ -") == len(moved.hunks)


def test_what_is_compiled_already_cannot_be_saved(tmp_path: Path) -> None:
    with watching(str(CAPTURES / "softmax-h100"), cwd=tmp_path) as process:
        out, said = process.communicate()
    assert process.returncode == 2
    assert out == ""
    assert "is already compiled" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("kernel", ["no_such.py:scale", "no_such_kernel"])
def test_there_has_to_be_a_kernel(kernel: str, tmp_path: Path) -> None:
    with watching(kernel, cwd=tmp_path) as process:
        _, said = process.communicate()
    assert process.returncode == 2
    assert "no_such" in said
    assert len(said.splitlines()) <= 2
