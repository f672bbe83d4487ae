"""Formats: one file each, finished records in, text out.

A format is a module of this folder, without a leading underscore, that has

* ``EXTENSION``: the file name extension its output deserves,
* ``render(reports, view)``: the function that writes reports, and
* ``render_comparison(comparisons, view)``: the function that writes what moved between some.

Putting such a file here is all it takes for ``--format`` to offer it.
"""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias, cast

import msgspec

from irlens.model.comparison import Comparisons
from irlens.model.errors import UnknownNameError
from irlens.model.report import Report

Detail: TypeAlias = Literal["pressure", "pipelines", "memory", "mix"]
DETAILS: tuple[Detail, ...] = ("pipelines", "pressure", "memory", "mix")


class View(msgspec.Struct, frozen=True):
    """Where the output will be seen, and how much of it.

    Attributes:
        width: Columns, for formats that wrap.
        color: Whether ANSI colours may be used.
        details: What is to be shown in full, for formats that otherwise sum up.
    """

    width: int = 80
    color: bool = False
    details: frozenset[Detail] = frozenset()


class Format(Protocol):
    """What a module in this folder offers."""

    EXTENSION: str

    def render(self, reports: Sequence[Report], view: View) -> str:
        """Return the reports as text that ends in a newline."""

    def render_comparison(self, comparisons: Comparisons, view: View) -> str:
        """Return what moved between reports as text that ends in a newline."""


def format_names() -> list[str]:
    """Return the names of all formats, without importing any."""
    return [
        found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")
    ]


def load_format(name: str) -> Format:
    """Return the format of that name.

    Raises:
        UnknownNameError: There is no such format.
    """
    if name not in format_names():
        raise UnknownNameError("format", name, format_names())
    return cast(Format, importlib.import_module(f"{__name__}.{name}"))
