"""Open text in the user's editor or pager, while the TUI is suspended."""

import os
import shlex
import signal
import subprocess
from pathlib import Path

from textual.app import App, SuspendNotSupported

from irlens.artifacts.temporary_folders import TemporaryFolder
from irlens.model.errors import IrlensError
from irlens.model.text import printable

#: Environment variables that name each kind of program, and the fallback.
_PROGRAMS = {"editor": (("VISUAL", "EDITOR"), "vi"), "pager": (("PAGER",), "less")}


def command_for(kind: str, path: Path, line: int) -> list[str]:
    """Return the command that opens a file in the user's "editor" or "pager" at a 1-based line."""
    variables, fallback = _PROGRAMS[kind]
    command = next(filter(None, map(os.environ.get, variables)), fallback)
    program = shlex.split(command) or [fallback]
    if Path(program[0]).name in {"code", "codium", "cursor"}:
        return [*program, "--wait", "--goto", f"{path}:{line}"]
    if Path(program[0]).name in {"cat", "bat"}:
        return [*program, str(path)]
    return [*program, f"+{line}", str(path)]


def open_externally(app: App[None], kind: str, *, name: str, text: str, line: int) -> None:
    """Open a copy of a text in the user's program and wait until it exits.

    Control characters are escaped, since a pager may pass them on to the terminal.

    Args:
        name: File name of the copy; its suffix tells an editor the language.

    Raises:
        IrlensError: The app has no terminal, or the program does not exist.
    """
    with TemporaryFolder() as folder:
        path = Path(folder, name)
        command = command_for(kind, path, line)
        try:
            path.write_text(printable(text), encoding="utf-8", errors="backslashreplace")
            with app.suspend():
                failure = _run(command)
        except SuspendNotSupported:
            raise IrlensError(f"no terminal to open the {kind} in") from None
        except OSError as error:
            raise IrlensError(f"cannot write a temporary copy: {error.strerror}") from error
    if failure is not None:
        variable = _PROGRAMS[kind][0][-1]
        raise IrlensError(
            f"cannot run {command[0]}: {failure.strerror}", hint=f"set ${variable} to your {kind}"
        ) from failure


def _run(command: list[str]) -> OSError | None:
    """Run a program; return the error, since one raised here would leave the app suspended."""
    # ctrl+c is for the program. It would inherit an ignored signal, so handle it instead.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        subprocess.run(command, check=False)
    except OSError as error:
        return error
    finally:
        signal.signal(signal.SIGINT, before)
    return None
