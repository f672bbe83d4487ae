"""HTML: one file that needs nothing else, to read in any browser, on paper, or without scripts."""

from typing import Any

from msgspec.structs import replace

from irlens.model.comparison import COMPARISON_SCHEMA, Comparison, Comparisons
from irlens.model.report import Report
from irlens.model.sweep import Sweep
from irlens.render import DETAILS, Kind, Options, build_view
from irlens.render.html.markup import tag
from irlens.render.html.page import document
from irlens.render.html.writer import write

_TABLE_SCRIPT, _CODE_SCRIPT = "table.js", "code.js"
_FRAME = "width: 100%; height: 640px; border: 0"


def embedded(record: Report | Comparison | Comparisons | Sweep) -> str:
    """Return a page in a frame, for the output of a notebook's cell.

    The frame keeps its style and the notebook's apart, and runs no script but the page's own.
    """
    kind: Kind = "reports"
    subject: object = [record]
    match record:
        case Comparison():
            kind = "comparisons"
            subject = Comparisons(schema=COMPARISON_SCHEMA, different=record.different,
                                  against_first=False, pairs=[record])  # fmt: skip
        case Comparisons():
            kind, subject = "comparisons", record
        case Sweep():
            kind, subject = "sweep", record
    page = render(kind, subject, Options())
    return tag("iframe", srcdoc=page, sandbox="allow-scripts", style=_FRAME, title="irlens")


def render(kind: Kind, subject: Any, options: Options) -> str:
    """Return a page; scripts make it more convenient, and it reads without them."""
    tree = build_view(kind, subject, replace(options, rows=None, details=frozenset(DETAILS)))
    scripts = [_TABLE_SCRIPT] if kind in ("sweep", "scan") else []
    if kind == "reports" and options.listings:
        scripts.append(_CODE_SCRIPT)
    return document(tree.title or f"irlens {kind}", write(tree), scripts=scripts)
