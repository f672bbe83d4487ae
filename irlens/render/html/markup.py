"""HTML builder. Text becomes markup only through ``escape``.

Names, paths and code out of captures are untrusted. The builder escapes plain strings and inserts
``Markup`` unchanged. Code that builds ``Markup`` by hand, because lines of code are too many for
the builder, may insert only numbers and what ``escape`` returns.
"""

import re
from collections.abc import Iterable
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
