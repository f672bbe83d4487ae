"""HTML: one file that needs nothing else, to read in any browser, on paper, or without scripts."""

from typing import Any

from msgspec.structs import replace

from irlens.render import DETAILS, Kind, Options, build_view
from irlens.render.html.page import document
from irlens.render.html.writer import write

_TABLE_SCRIPT, _CODE_SCRIPT = "table.js", "code.js"


def render(kind: Kind, subject: Any, options: Options) -> str:
    """Return a page; scripts make it more convenient, and it reads without them."""
    tree = build_view(kind, subject, replace(options, rows=None, details=frozenset(DETAILS)))
    scripts = [_TABLE_SCRIPT] if kind == "sweep" else []
    if kind == "reports" and options.listings:
        scripts.append(_CODE_SCRIPT)
    return document(tree.title or f"irlens {kind}", write(tree), scripts=scripts)
