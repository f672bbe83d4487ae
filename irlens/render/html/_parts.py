"""What pages are put together from: cards, tables, folds, words with a state."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, TypeAlias

from irlens.model.report import Severity
from irlens.render.html._markup import Content, Markup, join, tag

State: TypeAlias = Literal["good", "warn", "bad", "dim", "plain"]

#: Colour is never the only sign.
_SIGNS: dict[State, str] = {"good": "✓", "warn": "!", "bad": "✗", "dim": "·", "plain": ""}
SEVERITY_STATES: dict[Severity, State] = {"error": "bad", "warning": "warn", "note": "dim"}


def card(title: str, *content: Content, aside: Content = None, wide: bool = False) -> Markup:
    """Return a section with a title, and something beside the title."""
    side = tag("small", aside) if aside else None
    return tag(
        "section",
        tag("h3", title, " ", side),
        *content,
        class_="card wide" if wide else "card",
    )


def table(
    header: Sequence[Content],
    rows: Iterable[Sequence[Content]],
    *,
    right: Collection[int] = (),
    kinds: Sequence[str] = (),
    name: str | None = None,
    class_: str | None = None,
) -> Markup:
    """Return a table, in a box that scrolls where the screen is too narrow.

    Args:
        header: A title per column; none at all if all are empty.
        rows: As many cells each; the first is the row's own title.
        right: Columns of numbers, which are aligned to the right.
        kinds: A class for each row.
        name: What it is, for whoever does not see it.
        class_: A class for all of it.
    """
    styles = ["r" if column in right else None for column in range(len(header))]
    head = tag(
        "tr",
        *(
            tag("th", title, scope="col", class_=style)
            for title, style in zip(header, styles, strict=True)
        ),
    )
    body = []
    for index, row in enumerate(rows):
        cells = [tag("th", row[0], scope="row", class_=styles[0])]
        cells += [
            tag("td", cell, class_=style) for cell, style in zip(row[1:], styles[1:], strict=True)
        ]
        body.append(tag("tr", *cells, class_=kinds[index] if kinds else None))
    named = tag("caption", name, class_="unseen") if name else None
    whole = tag(
        "table", named, tag("thead", head) if any(header) else None, tag("tbody", *body),
        class_=class_,
    )  # fmt: skip
    return tag("div", whole, class_="scroll")


def folded(summary: Content, *content: Content, open_: bool = False) -> Markup:
    """Return something that a click unfolds, without scripts too."""
    return tag("details", tag("summary", summary), *content, open=open_)


def stated(state: State, *content: Content) -> Markup:
    """Return words with a state: a colour and a sign."""
    sign = tag("i", _SIGNS[state], aria_hidden="true") if _SIGNS[state] else None
    return tag("span", sign, *content, class_=f"state {state}")


def badge(state: State, text: str) -> Markup:
    """Return a word with a state, in a box."""
    return tag("span", text, class_=f"badge {state}")


def severity(name: Severity) -> Markup:
    """Return a finding's severity as a badge."""
    return badge(SEVERITY_STATES[name], name)


def chips(pairs: Iterable[tuple[str, object]]) -> Markup:
    """Return names with their values, side by side; a name may be empty."""
    return tag(
        "ul",
        *(
            tag("li", tag("span", name) if name else None, " " if name else None, str(value))
            for name, value in pairs
        ),
        class_="chips",
    )


def tile(title: str, value: Content, *notes: Content, state: State = "plain") -> Markup:
    """Return a figure that one wants to know first, with what it comes from."""
    lines = [tag("span", note) for note in notes if note]
    return tag("div", tag("dt", title), tag("dd", tag("b", value), *lines), class_=f"tile {state}")


def tiles(*content: Content) -> Markup:
    """Return tiles, side by side."""
    return tag("dl", *content, class_="tiles")


def code(text: str) -> Markup:
    """Return a word of code."""
    return tag("code", text)


def phrases(told: Iterable[Content]) -> Markup:
    """Return phrases with dots between them."""
    return join([each for each in told if each], between="\N{NO-BREAK SPACE}· ")
