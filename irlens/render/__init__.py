"""Formats: one folder each, finished records in, text out.

A format is a folder here, without a leading underscore. Its package says ``EXTENSION``, the file
name extension its output deserves; beside that it has one module for each kind of thing it can
write, with ``render(subject, view)``:

* ``reports``: reports of captures,
* ``comparisons``: what moved between reports,
* ``code``: what moved in the text of a stage,
* ``check``: a baseline's and the budgets' verdict,
* ``sweep``: a grid of configurations.

Putting such a file here is all it takes for ``--format`` of the command to offer it.
"""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, cast

import msgspec

from irlens.model.errors import IrlensError, UnknownNameError

if TYPE_CHECKING:  # most runs write one kind of thing
    from collections.abc import Callable, Mapping

    from irlens.model.code import CodeComparison
    from irlens.model.listing import Listing
    from irlens.model.rule import Rule

Kind: TypeAlias = Literal["reports", "comparisons", "code", "check", "sweep"]
Detail: TypeAlias = Literal["pressure", "pipelines", "memory", "mix"]
DETAILS: tuple[Detail, ...] = ("pipelines", "pressure", "memory", "mix")


def _nowhere(_file: str, _lines: "Mapping[int, str]") -> None:
    """Without a source tree no file is anywhere."""


def _unexplained(_code: str) -> None:
    """Without the checks no code means anything."""


class View(msgspec.Struct, frozen=True):
    """Where the output will be seen, and how much of it.

    Attributes:
        width: Columns, for formats that wrap.
        color: Whether ANSI colours may be used.
        details: What is to be shown in full, for formats that otherwise sum up.
        rows: Most rows of a table, the rest counted; ``None`` for all.
        listings: The stages' text of each report, for formats that show code: as many as there
            are reports, or none.
        side_by_side: Whether compared code is to stand beside each other, where a format can.
        code: The stages' text of a compared pair, for formats that show code.
        locate: For formats that code hosts read: where a Python file is, relative to the sources'
            root, given its base name and what is known of its lines; ``None`` if nobody knows.
        explain: For the same: what a finding's code means; ``None`` if nobody knows.
    """

    width: int = 80
    color: bool = False
    details: frozenset[Detail] = frozenset()
    rows: int | None = None
    listings: "tuple[Listing, ...]" = ()
    side_by_side: bool = False
    code: "tuple[CodeComparison, ...]" = ()
    locate: "Callable[[str, Mapping[int, str]], str | None]" = _nowhere
    explain: "Callable[[str], Rule | None]" = _unexplained


Subject = TypeVar("Subject", contravariant=True)


class Writer(Protocol[Subject]):
    """What a module of a format offers. ``SHOWS_CODE`` may say that it wants the view's code."""

    def render(self, subject: Subject, view: View) -> str:
        """Return the subject as text that ends in a newline."""


def format_names(kind: Kind = "reports") -> list[str]:
    """Return the names of the formats that can write such a thing, without importing any."""
    folders = Path(__path__[0]).iterdir()
    return sorted(folder.name for folder in folders if (folder / f"{kind}.py").is_file())


def extension(name: str) -> str:
    """Return the file name extension of a format's output, without the dot."""
    return cast(str, importlib.import_module(f"{__name__}.{name}").EXTENSION)


def check_format(name: str, kind: Kind) -> None:
    """Complain unless there is a format of this name that can write this.

    Raises:
        UnknownNameError: There is no such format.
        IrlensError: It cannot write this.
    """
    known = format_names(kind)
    if name in known:
        return
    if name in format_names():
        raise IrlensError(f"{name} cannot hold {kind}", hint=f"use one of {', '.join(known)}")
    raise UnknownNameError("format", name, known)


def load_writer(name: str, kind: Kind) -> Writer[Any]:
    """Return what writes such a thing in the format of that name.

    Raises:
        UnknownNameError: There is no such format.
        IrlensError: It cannot write this.
    """
    check_format(name, kind)
    return cast(Writer[Any], importlib.import_module(f"{__name__}.{name}.{kind}"))
