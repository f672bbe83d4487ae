"""Output to a terminal (coloured, paged), a pipe or a file; messages and progress on stderr."""

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TextIO

import click

from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.text import clipped, printable, printable_json, printable_line

if TYPE_CHECKING:  # click has no public name for it
    from click._termui_impl import ProgressBar

    from irlens.sweeps import measuring

_MAX_WIDTH = 250
#: Characters of an error's line.
_MAX_MESSAGE = 1000
_PIPE_WIDTH = 80
#: The progress bar names an item that takes longer.
_SLOW_SECONDS = 5
_FIRST_NOTE_SECONDS = 60


def use_color(stream: TextIO | None = None) -> bool:
    """Whether a stream is a terminal with colours enabled (``NO_COLOR``, ``FORCE_COLOR``)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return _is_capable_terminal(stream or sys.stdout)


def _is_capable_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Return the line width of reports: the terminal's up to 250 columns, 80 without one."""
    return min(columns(), _MAX_WIDTH) if sys.stdout.isatty() else _PIPE_WIDTH


def columns() -> int:
    """Return the full width of the terminal, or ``COLUMNS``."""
    import shutil  # slow to load, and not needed to write to a pipe

    return shutil.get_terminal_size((2 * _PIPE_WIDTH, 0)).columns


def note(message: str) -> None:
    """Write a message to stderr."""
    talk(printable_line(f"irlens: {message}"), dim=True)


def announce(message: str) -> None:
    """Write a message to stderr if that is a terminal: it matters only to a person who waits."""
    if sys.stderr.isatty():
        note(message)


def talk(line: str, **styles: bool | str) -> None:
    """Write a line to stderr, in a style of ``click.style`` if stderr has colours."""
    color = use_color(sys.stderr)
    click.echo(click.style(line, **styles) if color else line, err=True, color=color)  # type: ignore[arg-type]


def end_interrupted_line() -> None:
    """Start a new line on a terminal, which has shown "^C" on this one."""
    if sys.stderr.isatty():
        click.echo(err=True)


def show_error(error: IrlensError) -> None:
    """Write an error and its hint to stderr, if anything can be written there."""
    is_colored = use_color(sys.stderr)
    label = click.style("error:", fg="red", bold=True) if is_colored else "error:"
    try:
        # What is escaped is longer than what was quoted.
        message = clipped(printable_line(error.message), _MAX_MESSAGE)
        click.echo(f"irlens: {label} {message}", err=True, color=is_colored)
        for line in printable(error.hint or "").splitlines():
            click.echo(f"  {line}", err=True)
    except OSError:  # the exit code still tells
        abandon(sys.stderr)


def usage_error(error: click.ClickException) -> IrlensError:
    """Return click's error about a command line in the form of irlens's own."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.NoSuchOption) and context is not None:
        parameters = context.command.get_params(context)
        options = [name for each in parameters for name in (*each.opts, *each.secondary_opts)]
        name = error.option_name
        return UnknownNameError("option", name, [o for o in options if o.startswith("--")])
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return _missing(error.param, context)
    message = error.format_message().rstrip(".")
    if not message[1:2].isupper():  # AFTER is an argument's name
        message = message[:1].lower() + message[1:]
    hint = f"see {context.command_path} --help" if context is not None else None
    return IrlensError(message, hint=hint)


def _missing(parameter: click.Parameter, context: click.Context | None) -> IrlensError:
    """Return the error of a missing argument or option, with the values that it may have."""
    name = parameter.human_readable_name.strip("{}")
    kind = "argument" if isinstance(parameter, click.Argument) else "option"
    hint = f"see {context.command_path} --help" if context is not None else None
    if isinstance(parameter.type, click.Choice):
        hint = f"write {' or '.join(map(str, parameter.type.choices))}"
    return IrlensError(f"missing {kind} '{name}'", hint=hint)


def write(content: str | bytes, output: Path | None, *, paged: bool = False) -> None:
    """Write to a file (completely or not at all), or to stdout.

    Args:
        content: Text is encoded as UTF-8.
        output: The file, ``None`` for stdout. A symbolic link is followed.
        paged: Whether to use a pager if stdout is a terminal too small for the content.

    Raises:
        IrlensError: The file, or stdout, cannot be written.
    """
    to_stdout = output is None or str(output) == "-"
    if to_stdout and paged and sys.stdout.isatty() and isinstance(content, str):
        import shutil

        if content.count("\n") >= shutil.get_terminal_size().lines:
            # -R passes our colours through; -F, -X as git does: no pager for content that fits.
            os.environ.setdefault("LESS", "FRX")
            click.echo_via_pager(content, color=True)
            return
    write_stream([content], output)


def write_stream(pieces: Iterable[str | bytes], output: Path | None) -> None:
    """Write text or bytes as they are made to a file (completely or not at all), or to stdout.

    Once nobody reads stdout, no more pieces are taken.

    Args:
        pieces: Text is encoded as UTF-8.
        output: The file, ``None`` for stdout. A symbolic link is followed.

    Raises:
        IrlensError: The file, or stdout, cannot be written.
    """
    # A name of a file may be any bytes.
    encoded = (
        each.encode(errors="backslashreplace") if isinstance(each, str) else each for each in pieces
    )
    if output is not None and str(output) != "-":
        _replace(output, encoded)
    else:
        all(map(_print, encoded))


def write_json(
    value: object, destination: Path | None = None, *, order: Literal["sorted"] | None = None
) -> None:
    """Write records as indented JSON; ``order`` sorts their fields."""
    import msgspec

    encoded = msgspec.json.encode(value, order=order)
    text = printable_json(msgspec.json.format(encoded, indent=2).decode())
    write(text.encode() + b"\n", destination)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: set[int]) -> str:
    """Return aligned columns, two spaces apart, ending in a newline.

    Args:
        header: One title per column, dimmed on a terminal.
        rows: Cells, as many per row as there are titles.
    """
    cells = [[printable_line(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    if use_color():
        lines[0] = click.style(lines[0], dim=True)
    return "\n".join(lines) + "\n"


class Progress(Protocol):
    """Receives the number of finished items, the total, and the item that is being worked on."""

    def __call__(self, done: int, total: int, current: str = "") -> None:
        """Update the progress bar."""


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """Show a progress bar on stderr from the first update on, if that is a terminal."""
    with ExitStack() as stack:
        bar: ProgressBar[str | None] | None = None

        def update(done: int, total: int, current: str = "") -> None:
            nonlocal bar
            if bar is None and _is_capable_terminal(sys.stderr):
                bar = stack.enter_context(
                    click.progressbar(
                        length=total, label=label, file=sys.stderr, show_pos=True, show_eta=True,
                        item_show_func=lambda item: item and printable(item),
                    )
                )  # fmt: skip
            if bar is not None:
                bar.length = total
                bar.current_item = current
                bar.update(done - bar.pos)
                bar.render_progress()  # the item changes without a step

        yield update


@contextmanager
def interruptible(
    label: str, done_word: str, *, resumes: bool = True
) -> Iterator["measuring.Progress"]:
    """Show progress, and report it if the user interrupts.

    Args:
        label: The activity: "compiling".
        done_word: Describes finished items: "timed".
        resumes: Whether the same command resumes the activity.
    """
    reached = (0, 0)
    notes = _SlowNotes(label)
    try:
        with progress(label) as show:

            def update(done: int, total: int, running: Sequence[tuple[str, float]]) -> None:
                nonlocal reached
                reached = done, total
                longest, seconds = max(running, key=lambda each: each[1], default=("", 0.0))
                show(
                    done, total, f"{longest} ({seconds:.0f} s)" if seconds >= _SLOW_SECONDS else ""
                )
                notes.update(running)

            yield update
    except KeyboardInterrupt:
        done, total = reached
        if total:
            hint = "; the same command resumes" if resumes else ""
            note(f"{done} of {total} are {done_word}{hint}")
        raise


class _SlowNotes:
    """Says, where no progress bar shows it, what takes long: after a minute, two, four, ..."""

    def __init__(self, activity: str) -> None:
        self._activity = activity
        self._next: dict[str, float] = {}

    def update(self, running: Sequence[tuple[str, float]]) -> None:
        """Write the notes that are due."""
        for label, seconds in running:
            due = self._next.get(label, _FIRST_NOTE_SECONDS)
            if seconds >= due and not sys.stderr.isatty():
                self._next[label] = 2 * due
                note(f"still {self._activity} {label} after {seconds:.0f} s")


@contextmanager
def status() -> Iterator[Callable[[str], None]]:
    """Show a line on stderr that each update replaces, if that is a terminal; clear it at the end.

    The cursor stays at its start, so that other output of a program covers it.
    """
    is_shown = False

    def update(text: str) -> None:
        nonlocal is_shown
        if _is_capable_terminal(sys.stderr):
            is_shown = True
            click.echo(f"\r\033[K{text}\r", nl=False, err=True)

    try:
        yield update
    finally:
        if is_shown:
            click.echo("\r\033[K", nl=False, err=True)


def abandon(stream: TextIO) -> None:
    """Redirect a stream to the null device, so that the interpreter's last flush does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _print(data: bytes) -> bool:
    """Write to stdout; return whether anybody still reads it."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # The reader (`head`) has closed the pipe. The exit code still depends on the result:
        # with `set -o pipefail` a failed check must not pass.
        abandon(sys.stdout)
        return False
    except OSError as error:  # a full disk
        abandon(sys.stdout)
        raise IrlensError(f"cannot write to stdout: {error.strerror}") from error
    return True


def require_writable(path: Path) -> None:
    """Check that ``write`` can write a file, before work whose result goes there.

    Raises:
        IrlensError: Its directory does not exist or cannot be written to, or it is a directory.
    """
    target = path.resolve()
    if target.is_dir():
        raise _unwritable(path, os.strerror(errno.EISDIR))
    if not target.parent.is_dir():
        raise _unwritable(path, os.strerror(errno.ENOENT))
    if not os.access(target.parent if not target.exists() or target.is_file() else target, os.W_OK):
        raise _unwritable(path, os.strerror(errno.EACCES))


def _unwritable(path: Path, why: str | None) -> IrlensError:
    return IrlensError(f"cannot write {path}: {why}", hint="name a file in a writable directory")


def _replace(path: Path, pieces: Iterable[bytes]) -> None:
    from irlens.model import files  # not needed to print

    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            # A device or a pipe: replacing /dev/null with a file would harm the whole machine.
            with target.open("wb") as file:
                file.writelines(pieces)
        else:
            files.remove_abandoned(target)
            files.replace(target, pieces)
    except OSError as error:
        raise _unwritable(path, error.strerror) from error
