"""HTML: one file that needs nothing else, to read in any browser, on paper, or without scripts.

It loads nothing and runs no foreign code.
"""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

from msgspec.structs import replace

from irlens.model.comparison import COMPARISON_SCHEMA, Comparison, Comparisons
from irlens.model.results import kind_of
from irlens.render import DETAILS, Kind, Options, build_view
from irlens.render.html.markup import Content, Markup, join, tag
from irlens.render.html.writer import write

_STYLES = ("page.css", "charts.css", "code.css")
_TABLE_SCRIPT, _CODE_SCRIPT = "table.js", "code.js"
_FRAME = "width: 100%; height: 640px; border: 0"


def embedded(record: object) -> str:
    """Return a page in a frame, for the output of a notebook's cell.

    The frame keeps its style and the notebook's apart, and runs no script but the page's own.

    Args:
        record: A report, a comparison, or what another kind of result is.
    """
    if isinstance(record, Comparison):
        record = Comparisons(schema=COMPARISON_SCHEMA, different=record.different,
                             against_first=False, pairs=[record])  # fmt: skip
    kind = kind_of(type(record))
    page = render(kind, [record] if kind == "reports" else record, Options())
    return tag("iframe", srcdoc=page, sandbox="allow-scripts", style=_FRAME, title="irlens")


def render(kind: Kind, subject: Any, options: Options) -> str:
    """Return a page; scripts make it more convenient, and it reads without them."""
    tree = build_view(kind, subject, replace(options, rows=None, details=frozenset(DETAILS)))
    scripts = [_TABLE_SCRIPT] if kind in ("sweep", "scan") else []
    if kind == "reports" and options.listings:
        scripts.append(_CODE_SCRIPT)
    footer = tag("footer", options.footer) if options.footer else None
    return _document(tree.title or f"irlens {kind}", write(tree), footer, scripts=scripts)


def _document(title: str, *content: Content, scripts: Sequence[str] = ()) -> str:
    """Return the page.

    Args:
        scripts: Files of this package that add convenience; the page reads without them.
    """
    style = _asset(*_STYLES)
    script = _asset(*scripts)
    # The policy allows scripts and styles by hash alone, whatever a capture holds.
    scripted = _hash(script) if scripts else "'none'"
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; "
        f"script-src {scripted}; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content="irlens"),
        tag("title", title),
        tag("style", style),
    )
    body = tag("body", *content, tag("script", script) if scripts else None)
    return join([Markup("<!doctype html>\n"), tag("html", head, body, lang="en"), "\n"])


def _asset(*names: str) -> Markup:
    """Return files of this package, inserted into the page without escaping."""
    folder = files(__package__)
    return Markup("".join(folder.joinpath(name).read_text("utf-8") for name in names))


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
