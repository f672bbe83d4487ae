"""Options that say how and where to write a result, and doing so."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

import click

from irlens.cli import output
from irlens.cli.sources import Sources
from irlens.model.errors import IrlensError
from irlens.render import Detail, Kind, View, check_format, format_names, load_writer

if TYPE_CHECKING:  # help needs no record
    from irlens.model.code import CodeComparison
    from irlens.model.listing import Listing
    from irlens.model.rule import Rule

F = TypeVar("F", bound=Callable[..., object])

#: Formats that code hosts read, which want to know where in the tree a file is.
_BY_PATH = frozenset({"github", "sarif"})
_SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"


class WritingOptions(TypedDict):
    """What a command under ``writing_options`` receives from click."""

    form: str
    destination: Path | None
    summary: bool
    pager: bool
    source_root: Path


def writing_options(kind: Kind) -> Callable[[F], F]:
    """Give a command the options that say how to write what it found."""
    file = click.Path(path_type=Path, dir_okay=False)

    def known(_ctx: click.Context, _option: click.Parameter, name: str) -> str:
        check_format(name, kind)
        return name

    names = "|".join(format_names(kind))
    options = (
        click.option("-f", "--format", "form", default="text", show_default=True, metavar=names,
                     callback=known, help="How to write it."),
        click.option("-o", "--output", "destination", type=file, help="Write to this file."),
        click.option("--summary", is_flag=True,
                     help=f"Add it in Markdown to ${_SUMMARY_VARIABLE}, too."),
        click.option("--pager/--no-pager", default=True,
                     help="Page what is taller than the terminal."),
        click.option("--source-root", type=click.Path(path_type=Path, file_okay=False, exists=True),
                     default=".", metavar="DIR", hidden=not _BY_PATH & {*format_names(kind)},
                     help="Where the Python files are that sarif and github name by path; here by"
                          " default."),
    )  # fmt: skip

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def shows_code(kind: Kind, options: WritingOptions) -> bool:
    """Whether what was asked for shows the text of stages, beside what it tells of them."""
    return getattr(load_writer(options["form"], kind), "SHOWS_CODE", False)


def write(
    subject: object,
    kind: Kind,
    options: WritingOptions,
    *,
    details: frozenset[Detail] = frozenset(),
    rows: int | None = None,
    side_by_side: bool = False,
    listings: "Sequence[Listing]" = (),
    code: "Sequence[CodeComparison]" = (),
) -> None:
    """Write what a command found, where and how its options say.

    Args:
        subject: What was found.
        kind: What that is.
        options: The command's.
        details: What is to be shown in full.
        rows: Most rows of a table.
        side_by_side: Whether code is to stand beside each other, over the terminal's whole width.
        listings: The text of each report's stages, if ``shows_code``.
        code: The text of a compared pair's stages, if ``shows_code``.

    Raises:
        IrlensError: It cannot be written there.
    """
    destination = options["destination"]
    color = destination is None and output.use_color()
    view = View(
        width=output.columns() if side_by_side else output.width(),
        color=color,
        details=details,
        rows=rows,
        side_by_side=side_by_side,
        listings=tuple(listings),
        code=tuple(code),
        locate=Sources(options["source_root"]).locate,
        explain=_explain,
    )
    if options["summary"]:
        markdown = load_writer("markdown", kind)
        _add_to_summary(markdown.render(subject, View(details=details)))
    written = load_writer(options["form"], kind).render(subject, view)
    output.write(written, destination, paged=options["pager"])


def _explain(code: str) -> "Rule | None":
    """Ask the checks, which are loaded only for formats that want to know."""
    from irlens.rules import find_rule

    return find_rule(code)


def _add_to_summary(text: str) -> None:
    path = os.environ.get(_SUMMARY_VARIABLE)
    if not path:
        output.note(f"irlens: --summary: ${_SUMMARY_VARIABLE} is not set, so there is none")
        return
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise IrlensError(f"cannot write ${_SUMMARY_VARIABLE}: {error.strerror}") from error
