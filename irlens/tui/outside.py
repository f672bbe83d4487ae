"""The user's own programs: text in their editor or their pager, with the TUI out of the way."""

import os
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path

from textual.app import App, SuspendNotSupported

from irlens.model.errors import IrlensError
from irlens.model.text import printable

#: Where each kind of program is named, and what there is on most machines where it is not.
_PROGRAMS = {"editor": (("VISUAL", "EDITOR"), "vi"), "pager": (("PAGER",), "less")}


def command_for(kind: str, path: Path, line: int) -> list[str]:
    """Return how the user's "editor" or "pager" opens a file at a line (from 1)."""
    variables, usual = _PROGRAMS[kind]
    named = next(filter(None, map(os.environ.get, variables)), usual)
    program = shlex.split(named) or [usual]
    if Path(program[0]).name in {"code", "codium", "cursor"}:
        return [*program, "--wait", "--goto", f"{path}:{line}"]
    if Path(program[0]).name in {"cat", "bat"}:
        return [*program, str(path)]
    return [*program, f"+{line}", str(path)]


def show_outside(app: App[None], kind: str, *, name: str, text: str, line: int) -> None:
    """Show a copy of a text in the user's own program, and wait until it ends.

    What could steer the terminal is spelled out: a pager may hand it on.

    Args:
        app: Who makes way.
        kind: "editor" or "pager".
        name: The copy's file name, which tells an editor what it is.
        text: What to show.
        line: Where, from 1.

    Raises:
        IrlensError: There is no terminal to give away, or no such program.
    """
    with tempfile.TemporaryDirectory(prefix="irlens-") as folder:
        path = Path(folder, name)
        command = command_for(kind, path, line)
        try:
            path.write_text(printable(text), encoding="utf-8", errors="backslashreplace")
            with app.suspend():
                failure = _run(command)
        except SuspendNotSupported:
            raise IrlensError(f"there is no terminal to show the {kind} in") from None
        except OSError as error:
            raise IrlensError(f"cannot write a copy of it: {error.strerror}") from error
    if failure is not None:
        variable = _PROGRAMS[kind][0][-1]
        raise IrlensError(
            f"cannot run {command[0]}: {failure.strerror}", hint=f"name your {kind} in ${variable}"
        ) from failure


def _run(command: list[str]) -> OSError | None:
    """Run a program, and return why it cannot be: what is raised here would suspend for ever."""
    # ctrl+c is meant for the program. A signal that is ignored would be ignored there, too.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        subprocess.run(command, check=False)
    except OSError as error:
        return error
    finally:
        signal.signal(signal.SIGINT, before)
    return None
