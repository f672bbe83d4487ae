"""The HTML document: a single file that loads nothing and runs no foreign code."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files

from irlens.render.html.markup import Content, Markup, join, tag

_STYLES = ("page.css", "charts.css", "code.css")


def document(title: str, *content: Content, scripts: Sequence[str] = ()) -> str:
    """Return the page.

    Args:
        title: Title of the browser's window.
        content: The body.
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
