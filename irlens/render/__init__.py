"""Formats: finished records in, text out.

A format is a module (or package) here, with ``render(kind, subject, options)``, and its row in
``FORMATS``. Formats for people print the presentation tree of ``irlens.render.view``; formats for
programs write records.
"""

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.results import Kind
from irlens.render.options import DETAILS, Detail, Options

if TYPE_CHECKING:
    from irlens.model.report import Report
    from irlens.render.view.nodes import Section

__all__ = [
    "DETAILS", "FORMATS", "Detail", "Kind", "Options", "build_view", "check_format", "extension",
    "format_names", "is_streamed", "render", "shows_code", "stream", "suffix_format",
]  # fmt: skip

_WITHOUT_CODE: tuple[Kind, ...] = ("reports", "comparisons", "check", "sweep")
_EVERYTHING: tuple[Kind, ...] = (
    *_WITHOUT_CODE, "code", "scan", "ledgers", "passes", "passes-diff", "explanations",
    "layout"
)  # fmt: skip


class Format(NamedTuple):
    """A format of output.

    Attributes:
        with_code: Kinds that it shows the stages' text of, too.
        streams: Kinds that it writes row by row, with ``stream``.
    """

    extension: str
    kinds: tuple[Kind, ...]
    with_code: tuple[Kind, ...] = ()
    streams: tuple[Kind, ...] = ()


#: By the name that ``--format`` takes, which is the module's.
FORMATS: dict[str, Format] = {
    "csv": Format("csv", (*_WITHOUT_CODE, "ledgers"), streams=("scan",)),
    "github": Format("annotations", (*_WITHOUT_CODE, "limits")),
    "html": Format(
        "html", (*_EVERYTHING, "variants", "limits"), with_code=("reports", "comparisons")
    ),
    "json": Format("json", (*_EVERYTHING, "suggestion", "variants", "limits")),
    "jsonl": Format("jsonl", (), streams=("scan",)),
    "markdown": Format("md", (*_EVERYTHING, "suggestion", "variants", "limits")),
    "parquet": Format("parquet", (), streams=("scan",)),
    "sarif": Format("sarif", (*_WITHOUT_CODE, "limits")),
    "svg": Format("svg", ("reports", "sweep", "scan", "suggestion")),
    "text": Format("txt", (*_EVERYTHING, "suggestion", "variants", "limits")),
}


#: Other suffixes of the same files.
_SUFFIXES = {
    ".htm": "html", ".markdown": "md", ".ndjson": "jsonl",
    ".log": "txt", ".out": "txt", ".text": "txt",
}  # fmt: skip


def format_names(kind: Kind = "reports") -> list[str]:
    """Return the names of the formats that can write a kind of result."""
    return [name for name, form in FORMATS.items() if kind in (*form.kinds, *form.streams)]


def is_streamed(name: str, kind: Kind) -> bool:
    """Whether a format writes a kind of result with ``stream``, not with ``render``."""
    return kind in FORMATS[name].streams


def extension(name: str) -> str:
    """Return the file name extension of a format's output, without the dot."""
    return FORMATS[name].extension


def suffix_format(suffix: str) -> str | None:
    """Return the name of the format that a file's suffix names (".md"), in any case."""
    named = _SUFFIXES.get(suffix.lower(), suffix.lower().removeprefix("."))
    return next((name for name, each in FORMATS.items() if each.extension == named), None)


def shows_code(name: str, kind: Kind) -> bool:
    """Whether a format shows the stages' text of a kind of result."""
    return kind in FORMATS[name].with_code


def check_format(name: str, kind: Kind) -> None:
    """Raise an error unless a format exists and can write a kind of result.

    Raises:
        UnknownNameError: There is no such format.
        IrlensError: It cannot write this.
    """
    known = format_names(kind)
    if name in known:
        return
    if name in FORMATS:
        raise IrlensError(f"{name} cannot hold {kind}", hint=f"use one of {', '.join(known)}")
    raise UnknownNameError("format", name, known)


def render(name: str, kind: Kind, subject: Any, options: Options | None = None) -> str:
    """Return a result in a format, ending in a newline.

    Args:
        kind: What ``subject`` is.
        subject: A sequence of ``Report``, or ``Comparisons``, ``CodeComparisons``, ``Check``,
            ``Sweep``, ``Scan``, ``Ledgers``, ``Suggestion``, ``Variants``, ``Limits``, ``Passes``,
            ``PassesDiff``, ``Explanations``.

    Raises:
        UnknownNameError: There is no such format.
        IrlensError: It cannot write this.
    """
    check_format(name, kind)
    module = importlib.import_module(f"{__name__}.{name}")
    options = options or Options()
    if kind == "reports" and len(subject) > 1:
        subject, options = _ranked(subject, options)
    written: str = module.render(kind, subject, options)
    return written


def _ranked(reports: "Sequence[Report]", options: Options) -> "tuple[list[Report], Options]":
    """Return the reports with the fastest of each problem first, and their listings likewise.

    Of several kernels the problem that takes the longest is the first, as in a scan.
    """
    from irlens.model.ranking import longest_first, rank_reports

    ranking = rank_reports(reports)
    if len({report.kernel for report in reports}) > 1:
        ranking = longest_first(ranking)
    order = ranking.order
    listings = options.listings and tuple(options.listings[index] for index in order)
    return [reports[index] for index in order], replace(options, listings=listings)


def stream(
    name: str, titles: Sequence[str], records: Iterable[Mapping[str, object]]
) -> "Iterator[str] | Iterator[bytes]":
    """Return the output of a format that streams, in pieces.

    Raises:
        IrlensError: While iterating: the format needs a package that is not installed.
    """
    module = importlib.import_module(f"{__name__}.{name}")
    pieces: Iterator[str] | Iterator[bytes] = module.stream(titles, records)
    return pieces


#: The module of ``irlens.render.view`` that draws each kind of result, and its function; those of
#: results that look alike wherever they are seen take no options.
_VIEWS: dict[Kind, tuple[str, str]] = {
    "reports": ("report", "reports_view"),
    "comparisons": ("comparison", "comparisons_view"),
    "sweep": ("sweep", "sweep_view"),
    "scan": ("scan", "scan_view"),
    "ledgers": ("ledger", "ledgers_view"),
    "suggestion": ("suggestion", "suggestion_view"),
    "variants": ("variants", "variants_view"),
}
_PLAIN_VIEWS: dict[Kind, tuple[str, str]] = {
    "code": ("comparison", "codes_view"),
    "check": ("check", "check_view"),
    "limits": ("limits", "limits_view"),
    "passes": ("passes", "passes_view"),
    "passes-diff": ("passes", "passes_diff_view"),
    "explanations": ("why", "why_view"),
    "layout": ("layout", "layout_view"),
}


def build_view(kind: Kind, subject: Any, options: Options) -> "Section":
    """Return the presentation tree of a result."""
    module, name = _VIEWS.get(kind) or _PLAIN_VIEWS[kind]
    view = getattr(importlib.import_module(f"{__name__}.view.{module}"), name)
    tree: Section = view(subject, options) if kind in _VIEWS else view(subject)
    return tree
