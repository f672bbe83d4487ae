"""Draws nodes of ``irlens.render.view`` and text in the styles of the theme.

A style is the name of a theme colour ("$warning"), so that drawings follow the theme.
"""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from textual.content import Content

from irlens.model.report import Occupancy, Severity
from irlens.model.text import plural, printable_line
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
    "worse": BAD,
}

#: Cells of the labels before a column of values, the space after them included.
LABEL_WIDTH = 11
#: The least cells for text.
_MIN_WIDTH = 8
#: Stands for the space between a number and its per cent sign while text is wrapped: a private
#: character, since wrapping takes a no-break space for a space.
_GLUE = "\ue000"


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


def beside(left: Sequence[Content], right: Sequence[Content], width: int) -> list[Content]:
    """Return rows next to each other, the left ones in a column of ``width`` cells."""
    rule = Content.styled(" │ ", DIM)
    blank = Content("")
    rows = []
    for at in range(max(len(left), len(right))):
        first = left[at] if at < len(left) else blank
        second = right[at] if at < len(right) else blank
        rows.append(first + Content(" " * (width - first.cell_length)) + rule + second)
    return rows


def shortened(rows: Sequence[Content], most: int, width: int, more: str = "") -> list[Content]:
    """Return at most ``most`` rows; the last one says so where some are left out.

    Args:
        rows: The rows, none wider than ``width``.
        most: At least 1.
    """
    if len(rows) <= most:
        return list(rows)
    if more:
        left = Content.styled(f"… {plural(len(rows) - most + 1, 'more line')}{more}", DIM)
        return [*rows[: most - 1], left.truncate(width, ellipsis=True)]
    last = rows[most - 1].rstrip()
    return [*rows[: most - 1], Content.assemble(last.truncate(width - 2), (" …", DIM))]


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
    glued = _with_text(item, item.plain.replace(" %", f"{_GLUE}%"))
    parts = glued.wrap(max(width, _MIN_WIDTH))
    return [_with_text(part, part.plain.replace(_GLUE, " ")).rstrip() for part in parts]


def _with_text(item: Content, text: str) -> Content:
    """Return another text of the same length in the same styles."""
    return Content(text, spans=list(item.spans))
