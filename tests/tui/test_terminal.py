"""The real command in a real terminal: tmux types, and returns the screen."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from irlens.artifacts import tools
from irlens.compiler.sources.description import known_kernels

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
#: Seconds until something must have appeared; a busy machine takes its time.
PATIENCE = 60.0

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")


class Terminal:
    """A terminal of 120 by 40 in which irlens runs."""

    def __init__(self, folder: Path, arguments: str, environment: dict[str, str]) -> None:
        self._closed = False
        self._socket = folder / "tmux"
        self._pid, self._code = folder / "pid", folder / "code"
        settings = [f"-e{name}={value}" for name, value in environment.items()]
        run = f"sh -c 'echo $$ > {self._pid}; exec {sys.executable} -m irlens tui {arguments}'"
        # The terminal stays for a look at what was said last.
        command = f"{run}; echo $? > {self._code}; exec sleep 600"
        size = ("-x", "120", "-y", "40")
        self._tmux("new-session", "-d", *size, "-c", str(folder), *settings, command)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def shown(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait_for(self, *texts: str) -> None:
        """Wait until all are on the screen, which may have been drawn in part only before."""

        def missing() -> list[str]:
            shown = self.shown()
            return [text for text in texts if text not in shown]

        self.wait(lambda: not missing(), repr(texts))

    def wait_for_end(self) -> int:
        self.wait(lambda: self._code.is_file() and bool(self._code.read_text()), "its end")
        return int(self._code.read_text())

    def pid(self) -> int:
        return int(self._pid.read_text())

    def wait_until_gone(self) -> None:
        until = time.monotonic() + PATIENCE
        while is_alive(self.pid()):
            assert time.monotonic() < until, "it goes on without a terminal"
            time.sleep(0.1)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._tmux("kill-server")

    def wait(self, holds: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < until, f"waited for {what}, and saw:\n{self.shown()}"
            time.sleep(0.1)

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-S", str(self._socket), "-f", "/dev/null", *arguments]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
        return ran.stdout.strip()


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may still be waited for."""
    ran = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return ran.stdout.strip()[:1] not in ("", "Z")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []
    environment = {
        "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "IRLENS_CACHE_DIR": os.environ["IRLENS_CACHE_DIR"], "NO_COLOR": "",
        # The size is the terminal's, whatever the one has said that the tests run in.
        "COLUMNS": "", "LINES": "",
    }  # fmt: skip

    def open_one(arguments: str, **variables: str) -> Terminal:
        opened.append(Terminal(tmp_path, arguments, environment | variables))
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.close()


def test_browses_opens_and_quits(start: Callable[..., Terminal]) -> None:
    terminal = start(str(CAPTURES))
    terminal.wait_for("spill_kernel")
    # One after the other: a key goes to what has the focus when it is read.
    terminal.press("/")
    terminal.wait_for("filter by words")
    terminal.press("spill")
    terminal.wait_for("1 of ")
    terminal.press("Enter")
    terminal.wait_for("q Quit")
    terminal.press("Enter")
    terminal.wait_for("live 32-bit registers", "IRL105", "spill_kernel  sm_90 (h100)")
    terminal.press("q")
    assert terminal.wait_for_end() == 0


def test_one_capture_is_opened_at_once(start: Callable[..., Terminal]) -> None:
    terminal = start(f"{CAPTURES / 'softmax-h100'} --no-mouse")
    terminal.wait_for("4 of 4 stages")
    terminal.press("w", "Right")
    terminal.wait_for("what if  ")
    terminal.press("q")
    assert terminal.wait_for_end() == 0


def test_a_lost_terminal_ends_it_quietly(start: Callable[..., Terminal], tmp_path: Path) -> None:
    terminal = start(str(CAPTURES))
    terminal.wait_for("spill_kernel")
    terminal.press("o")
    terminal.wait_for("Sort by")
    terminal.press("r")
    terminal.wait_for("regs▾")
    os.kill(terminal.pid(), signal.SIGHUP)
    assert terminal.wait_for_end() == 128 + signal.SIGHUP
    assert "Traceback" not in terminal.shown()
    assert '"sort":"registers"' in (tmp_path / "state" / "irlens" / "tui.json").read_text()


def test_a_terminal_that_is_closed_takes_it_along(start: Callable[..., Terminal]) -> None:
    terminal = start(str(CAPTURES))
    terminal.wait_for("spill_kernel")
    terminal.close()
    terminal.wait_until_gone()


def test_lists_the_kernels_to_compile(start: Callable[..., Terminal], tmp_path: Path) -> None:
    kernels = len(list(known_kernels()))
    terminal = start("", IRLENS_CACHE_DIR=str(tmp_path / "cache"))
    terminal.wait_for(f"{kernels} entries", "irlens  ~", "Samples", "vector_add")
    terminal.wait(lambda: terminal.shown().count("○") == kernels, "the mark of each")
    terminal.press("q")
    assert terminal.wait_for_end() == 0


@pytest.fixture
def editor(tmp_path: Path) -> str:
    """A program that says how it was called and what it sees, and waits for a key."""
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\necho "opened $1 ${2##*/}"\nhead -n 3 "$2"\nread key\n')
    script.chmod(0o755)
    return str(script)


def test_an_editor_and_a_pager_get_the_terminal(
    start: Callable[..., Terminal], editor: str
) -> None:
    terminal = start(str(CAPTURES / "softmax-h100"), EDITOR=editor, PAGER=editor, VISUAL="")
    terminal.wait_for("4 of 4 stages")
    terminal.press("v")
    terminal.wait_for("opened +1 panel.txt")
    terminal.wait_for("DRAM ")
    terminal.press("Enter")
    terminal.wait_for("Pipelines")
    terminal.press("2")
    machine = tools.find("nvdisasm") is not None
    terminal.wait_for(f"live {'machine' if machine else 'virtual'} register")
    terminal.press("e")
    terminal.wait_for("opened +33 kernel.py")
    terminal.wait_for("Row-wise softmax")
    terminal.press("Enter")
    terminal.wait_for("? Help")
    terminal.press("q")
    assert terminal.wait_for_end() == 0


def test_an_editor_that_is_not_there_gives_the_terminal_back(
    start: Callable[..., Terminal],
) -> None:
    terminal = start(str(CAPTURES / "softmax-h100"), EDITOR="/nowhere/editor", VISUAL="")
    terminal.wait_for("4 of 4 stages")
    terminal.press("e")
    terminal.wait_for("cannot run /nowhere/editor", "Pipelines")
    terminal.press("q")
    assert terminal.wait_for_end() == 0


def test_the_keys_are_listed_as_their_file_has_them(
    start: Callable[..., Terminal], tmp_path: Path
) -> None:
    keys = tmp_path / "config" / "irlens" / "keys.toml"
    keys.parent.mkdir(parents=True)
    listed = subprocess.run(
        [sys.executable, "-m", "irlens", "tui", "--keys"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert '"quit" = "q"  # Quit\n' in listed
    keys.write_text(listed.replace('"quit" = "q"', '"quit" = "Q"'))
    terminal = start(str(CAPTURES / "softmax-h100"))
    terminal.wait_for("4 of 4 stages")
    terminal.press("q")
    terminal.press("Q")
    assert terminal.wait_for_end() == 0


def test_a_mistake_in_the_keymap_is_reported(
    start: Callable[..., Terminal], tmp_path: Path
) -> None:
    keys = tmp_path / "config" / "irlens" / "keys.toml"
    keys.parent.mkdir(parents=True)
    keys.write_text('quti = "x"')
    terminal = start(str(CAPTURES / "softmax-h100"))
    assert terminal.wait_for_end() == 2
    terminal.wait_for("did you mean quit?")
