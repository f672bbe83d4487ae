"""Options that control how and where a result is written, and the writing itself."""

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from irlens import render as formats
from irlens.cli import output
from irlens.cli.formats import format_options
from irlens.cli.settings import F, gathered, with_options
from irlens.model.capture import MANIFEST_NAME
from irlens.model.errors import IrlensError
from irlens.model.several import grouped
from irlens.render import Detail, Kind, Options, format_names, render
from irlens.version import VERSION

if TYPE_CHECKING:  # help needs no record
    from irlens.model.code import CodeComparison
    from irlens.model.listing import Listing
    from irlens.model.report import Report, Rule

#: Formats for code hosts, which refer to files by their path in the repository.
_PATH_FORMATS = frozenset({"github", "sarif"})
_SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"

#: Directories of third-party or generated code.
_PRUNED = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"})
#: A mistaken ``--source-root /`` must not walk the whole disk.
_MAX_DIRECTORIES = 20_000


class Writing(msgspec.Struct, frozen=True):
    """How and where a command writes its result.

    Attributes:
        destination: The file, ``None`` for stdout.
        summary: Whether to append it to the job's summary on GitHub as well.
        footer: Whether an HTML page ends with date, version and command.
        source_root: Where sarif and github look for the Python files that they name by path.
    """

    form: str
    destination: Path | None
    summary: bool
    pager: bool
    footer: bool
    source_root: Path


def writing_options(kind: Kind, *, plain: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Return the decorator that adds the options for writing a kind of result: ``writing``."""
    options = (
        click.option("--summary", is_flag=True,
                     help=f"Also append the result to ${_SUMMARY_VARIABLE}, in Markdown."),
        click.option("--pager/--no-pager", default=True, help="Page long output."),
        click.option("--footer", is_flag=True, hidden="html" not in format_names(kind),
                     help="End an HTML page with the date, irlens's version and the command."),
        click.option("--source-root", type=click.Path(path_type=Path, file_okay=False, exists=True),
                     default=".", metavar="DIR", hidden=not _PATH_FORMATS & {*format_names(kind)},
                     help="Locate the Python files that sarif and github name by path in DIR."
                          "  [default: current directory]"),
    )  # fmt: skip

    def decorate(command: F) -> F:
        gathering = with_options(options, lambda values: gathered(values, "writing", Writing))
        return format_options(kind, plain=plain)(gathering(command))

    return decorate


every_row_option = click.option(
    "--all", "everything", is_flag=True, help="Show every row, also on a terminal."
)


def is_on_terminal(writing: Writing) -> bool:
    """Whether the result goes to a terminal."""
    return writing.destination is None and sys.stdout.isatty()


def shown_rows(most: int | None, writing: Writing) -> int | None:
    """Return the maximum number of table rows: ``most`` on a terminal, and no limit elsewhere."""
    return most if is_on_terminal(writing) else None


def shows_code(kind: Kind, writing: Writing) -> bool:
    """Whether the selected format also shows the text of stages."""
    return formats.shows_code(writing.form, kind)


def is_lasting(kind: Kind, writing: Writing) -> bool:
    """Whether the output follows from the records and ``page_facts`` alone."""
    others = shows_code(kind, writing) or writing.form in _PATH_FORMATS or writing.summary
    return not others and not writing.footer


def page_facts(named: str, writing: Writing) -> list[object]:
    """Return all but the records and their details that the output depends on."""
    view = _view(named, writing)
    return [writing.form, view.width, view.color, view.subject]


def write(
    subject: object,
    kind: Kind,
    writing: Writing,
    *,
    details: frozenset[Detail] = frozenset(),
    rows: int | None = None,
    side_by_side: bool = False,
    listings: "Sequence[Listing]" = (),
    code: "Sequence[CodeComparison]" = (),
    sides: "Sequence[tuple[Report, Report]]" = (),
    named: str = "",
) -> str:
    """Write a command's result, and return it.

    Args:
        side_by_side: Whether to show code in columns, over the terminal's full width.
        listings: The text of each report's stages, if ``shows_code``.
        code: The text of a compared pair's stages, if ``shows_code``.
        sides: The reports of each compared pair, if ``shows_code``.
        named: The subject as the user named it, for commands that are suggested.

    Raises:
        IrlensError: The destination cannot be written.
    """
    view = replace(
        _view(named, writing),
        width=output.columns() if side_by_side else output.width(),
        side_by_side=side_by_side,
        details=details,
        rows=rows,
        listings=tuple(listings),
        code=tuple(code),
        sides=tuple(sides),
    )
    if writing.summary:
        shared = Options(details=details, subject=_shareable(named))
        _append_to_summary(render("markdown", kind, subject, shared))
    if writing.footer:
        view = replace(view, footer=_footer(writing.form))
    written = render(writing.form, kind, subject, view)
    output.write(written, writing.destination, paged=writing.pager)
    return written


def _view(named: str, writing: Writing) -> Options:
    """Return where the output will be seen."""
    destination = writing.destination
    return Options(
        width=output.width(),
        color=destination is None and output.use_color(),
        # What others may read names no path of this machine.
        subject=named if writing.form == "text" and destination is None else _shareable(named),
        locate=SourceTree(writing.source_root).locate,
        explain=_explain,
    )


def _footer(form: str) -> str:
    """Return the date, the version and the command."""
    if form != "html":
        raise click.UsageError(f"--footer has no effect with --format {form}: write html")
    from datetime import UTC, datetime

    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{now} · irlens {VERSION} · {shlex.join(['irlens', *sys.argv[1:]])}"


def _shareable(named: str) -> str:
    return named if not re.search(r"(^|[\s'=,])[/~]", named) else ""


def _explain(code: str) -> "Rule | None":
    """Return the rule of a finding; rules are loaded only for formats that document them."""
    from irlens.rules import find_rule

    return find_rule(code)


def _append_to_summary(text: str) -> None:
    path = os.environ.get(_SUMMARY_VARIABLE)
    if not path:
        output.note(f"--summary has no effect: ${_SUMMARY_VARIABLE} is not set")
        return
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise IrlensError(f"cannot write ${_SUMMARY_VARIABLE}: {error.strerror}") from error


class SourceTree:
    """Locates Python files by base name, which is all that a capture knows of them.

    Args:
        root: The directory to search; it is walked on the first lookup.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def locate(self, name: str, lines: Mapping[int, str]) -> str | None:
        """Return the path of a Python file relative to the root, with slashes.

        Args:
            lines: Known code by line, without indentation. A file that differs on one of these
                lines is another file or was edited since, so annotations would be misplaced.

        Returns:
            ``None`` if no file matches, or more than one.
        """
        matches = [path for path in self._files.get(name, ()) if self._agrees(path, lines)]
        return matches[0].relative_to(self._root).as_posix() if len(matches) == 1 else None

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        return grouped((path.name, path) for path in self._walk())

    def _walk(self) -> Iterator[Path]:
        for folder, folders, files in islice(os.walk(self._root), _MAX_DIRECTORIES):
            if MANIFEST_NAME in files:  # a capture holds a copy of its source
                folders.clear()
                continue
            folders[:] = sorted(f for f in folders if f not in _PRUNED and not f.startswith("."))
            yield from (Path(folder, name) for name in files if name.endswith(".py"))

    def _agrees(self, path: Path, lines: Mapping[int, str]) -> bool:
        try:
            content = path.read_text("utf-8", "replace").splitlines()
        except OSError:
            return False
        return all(
            0 < number <= len(content) and content[number - 1].strip() == code
            for number, code in lines.items()
        )
