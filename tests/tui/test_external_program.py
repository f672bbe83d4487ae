"""The user's own editor and pager."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.app import App

from irlens.model.errors import IrlensError
from irlens.tui.services.external_program import command_for, open_externally

PATH = Path("/tmp/kernel.ptx")


class Giving(App[None]):
    """Gives its terminal away, without one; as in Textual an error keeps it away."""

    returned = False

    @contextmanager
    def suspend(self) -> Iterator[None]:
        yield
        self.returned = True


@pytest.mark.parametrize(
    ("variables", "kind", "command"),
    [
        ({}, "editor", ["vi", "+7", "/tmp/kernel.ptx"]),
        ({"EDITOR": "nano"}, "editor", ["nano", "+7", "/tmp/kernel.ptx"]),
        ({"EDITOR": "nano", "VISUAL": "'my vim' -u x"}, "editor",
         ["my vim", "-u", "x", "+7", "/tmp/kernel.ptx"]),
        ({"EDITOR": "code"}, "editor", ["code", "--wait", "--goto", "/tmp/kernel.ptx:7"]),
        ({"EDITOR": " "}, "editor", ["vi", "+7", "/tmp/kernel.ptx"]),
        ({}, "pager", ["less", "+7", "/tmp/kernel.ptx"]),
        ({"PAGER": "less -R"}, "pager", ["less", "-R", "+7", "/tmp/kernel.ptx"]),
        ({"PAGER": "cat"}, "pager", ["cat", "/tmp/kernel.ptx"]),
    ],
)  # fmt: skip
def test_how_a_program_is_called(
    variables: dict[str, str], kind: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("VISUAL", "EDITOR", "PAGER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert command_for(kind, PATH, 7) == command


def test_the_program_gets_a_copy_that_can_steer_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "pager"
    script.write_text(f'#!/bin/sh\ncp "$2" "{tmp_path}/seen"; echo "$@" > "{tmp_path}/called"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PAGER", str(script))
    open_externally(Giving(), "pager", name="kernel.ptx", text="a\x1b[2J\ud800\nb\n", line=2)
    assert (tmp_path / "seen").read_text() == "a\\x1b[2J\\ud800\nb\n"
    line, path = (tmp_path / "called").read_text().split()
    assert line == "+2"
    assert Path(path).name == "kernel.ptx"
    assert not Path(path).exists()


def test_a_missing_program_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "/nowhere/pager")
    app = Giving()
    with pytest.raises(IrlensError, match="cannot run /nowhere/pager") as error:
        open_externally(app, "pager", name="kernel.ptx", text="", line=1)
    assert error.value.hint == "set $PAGER to your pager"
    assert app.returned


def test_an_interrupt_is_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "pager"
    script.write_text(f"#!/bin/sh\nkill -INT $PPID\nkill -INT $$\ntouch {tmp_path}/survived\n")
    script.chmod(0o755)
    monkeypatch.setenv("PAGER", str(script))
    app, before = Giving(), signal.getsignal(signal.SIGINT)
    open_externally(app, "pager", name="kernel.ptx", text="", line=1)
    assert app.returned
    assert signal.getsignal(signal.SIGINT) is before
    assert not (tmp_path / "survived").exists(), "it has its own way with signals"
