"""Where output goes: a terminal (coloured, paged), a pipe or a file."""

import os
import shutil
import sys
from pathlib import Path

import click

from irlens.model.errors import IrlensError
from irlens.model.text import printable

_MAX_WIDTH = 120
_PIPE_WIDTH = 80


def use_color() -> bool:
    """Whether stdout is a terminal that wants colours (``NO_COLOR``, ``FORCE_COLOR``)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Return the columns to write for: the terminal's, 80 where there is none."""
    return min(columns(), _MAX_WIDTH) if sys.stdout.isatty() else _PIPE_WIDTH


def columns() -> int:
    """Return all columns there are: the terminal's, or what ``COLUMNS`` says."""
    return shutil.get_terminal_size((2 * _PIPE_WIDTH, 0)).columns


def note(message: str) -> None:
    """Say something that is not data, on stderr."""
    click.echo(click.style(printable(message), dim=True), err=True)


def tell_error(error: IrlensError) -> None:
    """Say, on stderr, what is wrong and what to do about it."""
    label = click.style("error:", fg="red", bold=True)
    click.echo(f"irlens: {label} {printable(error.message)}", err=True)
    for line in printable(error.hint or "").splitlines():
        click.echo(f"  {line}", err=True)


def write(content: str | bytes, output: Path | None, *, paged: bool = False) -> None:
    """Write to a file (whole or not at all), or to stdout.

    Args:
        content: What to write; text is encoded as UTF-8.
        output: The file, or ``None`` for stdout. Where it is a link, what it leads to is written.
        paged: Whether a pager may show it if stdout is a terminal that is too small for it.

    Raises:
        IrlensError: The file, or stdout, cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    if output is not None and str(output) != "-":
        _replace(output, data)
    elif paged and isinstance(content, str) and sys.stdout.isatty() and _too_tall(content):
        # -R: let our colours through; -F, -X as git does: no pager for what fits after all.
        os.environ.setdefault("LESS", "FRX")
        click.echo_via_pager(content, color=True)
    else:
        _print(data)


def abandon_stdout() -> None:
    """Point stdout elsewhere, so that the interpreter's last flush of it does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # The reader (`head`) has seen enough. What was found still decides the exit code: behind
        # `set -o pipefail` a check that failed must not pass.
        abandon_stdout()
    except OSError as error:  # a full disk
        abandon_stdout()
        raise IrlensError(f"cannot write to stdout: {error.strerror}") from error


def _too_tall(text: str) -> bool:
    return text.count("\n") >= shutil.get_terminal_size().lines


def _replace(path: Path, data: bytes) -> None:
    temporary: Path | None = None
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            # A device or a pipe: to replace /dev/null with a file would harm the whole machine.
            target.write_bytes(data)
            return
        temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
        temporary.write_bytes(data)
        temporary.replace(target)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise IrlensError(
            f"cannot write {path}: {error.strerror}",
            hint="name a file in a directory that exists and is yours",
        ) from error
