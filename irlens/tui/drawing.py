"""Draws nodes of ``irlens.render.view`` and text in the styles of the theme.

A style is the name of a theme colour ("$warning"), so that drawings follow the theme.
"""

import textwrap
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from textual.content import Content

from irlens.model.report import Occupancy, Severity
from irlens.model.text import printable_line
from irlens.render.view.nodes import Text, Tone

DIM = "$dim"
#: Like ``DIM``, but blended with the background: readable under a cursor as well.
MUTED = "$text-muted"
GOOD = "$success"
WARN = "$warning"
BAD = "$error"
MAIN = "$primary"
BOLD = "bold"

#: A sign for each severity: colour must not be the only one.
SEVERITY_SIGN: dict[Severity, str] = {"error": "✗", "warning": "▲", "note": "•"}
SEVERITY_STYLE: dict[Severity, str] = {"error": BAD, "warning": WARN, "note": DIM}

#: The style of each tone of a node.
STYLES: dict[Tone, str] = {
    "neutral": "",
    "strong": "bold",
    "dim": DIM,
    "accent": MAIN,
    "code": DIM,
    "good": GOOD,
    "warn": WARN,
    "bad": BAD,
    "unknown": WARN,
    "better": GOOD,
    "worse": WARN,
}

#: Cells of the labels before a column of values, the space after them included.
LABEL_WIDTH = 11
#: The least cells for text.
_MIN_WIDTH = 8


def content_of(text: Text) -> Content:
    """Return a text in the styles of its tones."""
    return Content.assemble(*((printable_line(run.text), STYLES[run.tone]) for run in text))


def contents_of(rows: Iterable[Text]) -> list[Content]:
    """Return the rows of a drawing."""
    return [content_of(row) for row in rows]


def occupancy_style(occupancy: Occupancy) -> str:
    """Return the style of an occupancy: bad if it cannot launch, a warning below a quarter."""
    if not occupancy.launchable:
        return BAD
    return WARN if occupancy.theoretical < 0.25 else MAIN


def lines(rows: Sequence[Content]) -> Content:
    """Join rows."""
    return Content("\n").join(rows)


def label_width(labels: Iterable[str]) -> int:
    """Return the cells that align the values after some labels, ``LABEL_WIDTH`` at least."""
    return max([LABEL_WIDTH, *(cell_len(label) + 1 for label in labels)])


def labelled(
    label: str, *parts: Content | str | tuple[str, str], width: int = LABEL_WIDTH
) -> Content:
    """Return a row after a dim label; a space follows even a label that is too long."""
    return Content.assemble((f"{label.ljust(width - 1)} ", DIM), *parts)


def flowing(first: Content, items: Sequence[Content], gap: str, width: int) -> Content:
    """Return items one after the other, in a column beside ``first``.

    A row breaks between items; an item is wrapped only if it does not fit in a row.

    Args:
        first: Text before the column.
        items: The items.
        gap: Separator between two items in a row.
        width: Cells, those of ``first`` included.
    """
    indent = first.cell_length
    rows = [first]
    for item in items:
        begin, *rest = _folded(item, width - indent)
        last = rows[-1]
        if last.cell_length <= indent:
            rows[-1] = last + begin
        elif last.cell_length + len(gap) + begin.cell_length <= width:
            rows[-1] = Content.assemble(last, (gap, DIM), begin)
        else:
            rows.append(Content(" " * indent) + begin)
        rows += [Content(" " * indent) + part for part in rest]
    return lines(rows)


def _folded(item: Content, width: int) -> list[Content]:
    """Wrap an item that does not fit."""
    if item.cell_length <= width:
        return [item]
    return [part.rstrip() for part in item.wrap(max(width, _MIN_WIDTH))]


def hanging(first: Content, text: str, style: str, width: int) -> Content:
    """Return text wrapped in a column beside ``first``."""
    indent = first.cell_length
    # Keep a number and its per cent sign together: textwrap does not break at a no-break space.
    wrapped = textwrap.wrap(text.replace(" %", "\xa0%"), max(width - indent, _MIN_WIDTH)) or [""]
    wrapped = [row.replace("\xa0%", " %") for row in wrapped]
    rows = [first + Content.styled(wrapped[0], style)]
    rows += [Content.assemble(" " * indent, (row, style)) for row in wrapped[1:]]
    return lines(rows)
