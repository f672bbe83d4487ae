"""HTML and SVG builders. Text becomes markup only through ``escape``.

Names, paths and code out of captures are untrusted. The builder escapes plain strings and inserts
``Markup`` unchanged. Code that builds ``Markup`` by hand, because lines of code are too many for
the builder, may insert only numbers and what ``escape`` returns.

SVG fills the width of its container without scaling its text: places from left to right are shares
of the width ("12.5%") or pixels, those from above are pixels. So that labels have room beside the
picture, its gutters are padding: a class of the style sheet.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape as references
from typing import TypeAlias

from irlens.model.text import printable

_VOID = frozenset({"br", "col", "hr", "input", "link", "meta"})
_SPECIAL = re.compile(r"[^ -~\n]|[&<>\"']")


class Markup(str):
    """A string that is HTML."""

    __slots__ = ()


Content: TypeAlias = str | None
Value: TypeAlias = str | int | float | bool | None


@lru_cache(maxsize=1 << 16)  # the code of a stage is made of few words
def escape(text: str) -> Markup:
    """Return text as markup that shows it literally; control characters are escaped."""
    if not _SPECIAL.search(text):
        return Markup(text)
    return Markup(references(printable(text), quote=True))


def tag(name: str, /, *content: Content, **attributes: Value) -> Markup:
    """Return an element.

    Args:
        content: Its children in order: markup, text, or ``None`` for nothing.
        attributes: By name, with "_" for "-" and one at the end where Python needs it: ``class_``.
            ``True`` is an attribute without a value; ``None`` and ``False`` are left out.
    """
    opening = "".join(
        _attribute(key.rstrip("_").replace("_", "-"), value)
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{opening}>")
    return Markup(f"<{name}{opening}>{join(content)}</{name}>")


def join(content: Iterable[Content], between: Content = "") -> Markup:
    """Return markup and text, concatenated."""
    parts = (_markup(each) for each in content if each is not None)
    return Markup(_markup(between or "").join(parts))


def number(value: float) -> str:
    """Return a coordinate: at most two decimals, no trailing zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _markup(content: str) -> Markup:
    return content if isinstance(content, Markup) else escape(content)


def _attribute(name: str, value: Value) -> str:
    if value is True:
        return f" {name}"
    text = number(value) if isinstance(value, float) else str(value)
    return f' {name}="{_markup(text)}"'


#: Pixels, or a share of the width.
X: TypeAlias = float | str

#: Pixels that a character of a label takes.
CHARACTER = 6.4
#: Widths of the gutters that the style sheet has, in pixels.
_GUTTERS = (12, 36, 60, 96, 140, 190)
NARROW_GUTTER, TICKS_GUTTER = _GUTTERS[:2]


def share(value: float) -> str:
    """Return a share (0..1) of the width as a place."""
    return f"{number(value * 100)}%"


def gutter(labels: Sequence[str]) -> int:
    """Return the width of a gutter that holds the labels, as far as there is one so wide."""
    needed = max((len(each) for each in labels), default=0) * CHARACTER + 10
    return next((each for each in _GUTTERS if each >= needed), _GUTTERS[-1])


def clip(text: str, most: int = int((_GUTTERS[-1] - 10) / CHARACTER)) -> str:
    """Clip a label to ``most`` characters, by default to what a gutter holds."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def picture(height: float, described: str, *content: Content, left: int, right: int) -> Markup:
    """Return a picture with gutters; ``described`` is its alternative text."""
    return tag(
        "svg", *content, width="100%", height=height, role="img", aria_label=described,
        class_=f"chart left-{left} right-{right}",
    )  # fmt: skip


def stretched(height: float, *paths: Content) -> Markup:
    """Return paths over the whole width, in hundredths of it and pixels from above."""
    return tag(
        "svg", *paths, width="100%", height=height, viewBox=f"0 0 100 {number(height)}",
        preserveAspectRatio="none",
    )  # fmt: skip


def path(points: Sequence[tuple[float, float]], *, class_: str, end: str = "") -> Markup:
    """Return a line through points, for ``stretched``: shares of the width, and pixels."""
    lines = "L".join(f"{number(x * 100)} {number(y)}" for x, y in points)
    return tag("path", d=f"M{lines}{end}", class_=class_)


def line(x1: X, y1: float, x2: X, y2: float, *, class_: str) -> Markup:
    """Return a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def rectangle(x: X, y: float, width: X, height: X, *content: Content, class_: str) -> Markup:
    """Return a rectangle; its content may be a title."""
    return tag(
        "rect", *content, x=x, y=y, width=width, height=height, rx=2, class_=class_
    )  # fmt: skip


def dot(x: X, y: float, *content: Content, class_: str, radius: float = 4.5) -> Markup:
    """Return a point; its content may be a title."""
    return tag("circle", *content, cx=x, cy=y, r=radius, class_=class_)


def label(x: X, y: float, text: str, *, class_: str | None = None, dx: float = 0) -> Markup:
    """Return a label, centred on x unless its class says "start" or "end"; ``dx`` moves it."""
    return tag("text", text, x=x, y=y, dx=dx or None, class_=class_)


def title(text: str) -> Markup:
    """Return what a reader sees who points at an element."""
    return tag("title", text)
