"""Styles of the theme, and text laid out in rows of cells.

A style is the name of a theme colour ("$warning"), so that drawings follow the theme.
"""

import textwrap
from collections.abc import Sequence

from textual.content import Content

from irlens.model.report import Occupancy, Severity

DIM = "$dim"
#: Like ``DIM``, and made of the colour that it stands on: for rows that a cursor may be on.
MUTED = "$text-muted"
GOOD = "$success"
WARN = "$warning"
BAD = "$error"
MAIN = "$primary"
BOLD = "bold"

#: What fills a cell from the left and from below, by eighths.
EIGHTHS = " ▏▎▍▌▋▊▉█"
HEIGHTS = " ▁▂▃▄▅▆▇█"

#: A sign for each severity, so that colour is not the only one.
SEVERITY_SIGN: dict[Severity, str] = {"error": "✗", "warning": "▲", "note": "•"}
SEVERITY_STYLE: dict[Severity, str] = {"error": BAD, "warning": WARN, "note": DIM}

#: Cells that text is given at least.
_NARROWEST = 8


def bar(share: float, width: int) -> str:
    """Return a bar of ``width`` cells, filled up to ``share`` (0..1); what is not 0 is seen."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    eighths = max(eighths, 1) if share > 0 else 0
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(width)


def profile(values: Sequence[int], top: int, width: int, height: int) -> list[str]:
    """Return ``height`` lines that draw values as columns, the highest of each stretch.

    Args:
        values: At least one, not negative.
        top: The value that fills the height.
        width: Cells to draw in; fewer are taken where there are fewer values.
        height: Lines.
    """
    columns = min(width, len(values))
    peaks = [
        max(values[len(values) * at // columns : len(values) * (at + 1) // columns])
        for at in range(columns)
    ]
    return upright(
        [max(round(peak / max(top, 1) * height * 8), 1 if peak else 0) for peak in peaks], height
    )


def upright(filled: Sequence[int], height: int) -> list[str]:
    """Return ``height`` lines with a column for each number: its eighths of a line."""
    return [
        "".join(HEIGHTS[min(max(each - row * 8, 0), 8)] for each in filled)
        for row in range(height - 1, -1, -1)
    ]


def peak_column(values: Sequence[int], width: int) -> int:
    """Return the column in which ``profile`` draws the first of the largest values."""
    columns = min(width, len(values))
    at = values.index(max(values))
    return next(col for col in range(columns) if at < len(values) * (col + 1) // columns)


def occupancy_style(occupancy: Occupancy) -> str:
    """Return the colour of an occupancy: bad where nothing runs, a warning under a quarter."""
    if not occupancy.launchable:
        return BAD
    return WARN if occupancy.theoretical < 0.25 else MAIN


def lines(rows: Sequence[Content]) -> Content:
    """Return rows, one under the other."""
    return Content("\n").join(rows)


def labelled(label: str, *parts: Content | str | tuple[str, str], width: int = 11) -> Content:
    """Return a row with a dim label in a column of its own."""
    return Content.assemble((label.ljust(width), DIM), *parts)


def flowing(first: Content, items: Sequence[Content], gap: str, width: int) -> Content:
    """Return items one after the other, in a column of its own beside ``first``.

    A line ends between two of them, and within one only if that has no room in a line.

    Args:
        first: What stands before the column.
        items: What to lay out.
        gap: Between two of them in a line.
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
    """Return an item in parts that have room in a line."""
    if item.cell_length <= width:
        return [item]
    return [part.rstrip() for part in item.wrap(max(width, _NARROWEST))]


def cut(text: str, width: int) -> str:
    """Return as much of a text as there is room for, with a sign where some is left out."""
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


def hanging(first: Content, text: str, style: str, width: int) -> Content:
    """Return text that goes on where it began: in a column of its own beside ``first``."""
    indent = first.cell_length
    # A number keeps its per cent sign: textwrap ends no line at a no-break space.
    wrapped = textwrap.wrap(text.replace(" %", "\xa0%"), max(width - indent, _NARROWEST)) or [""]
    wrapped = [row.replace("\xa0%", " %") for row in wrapped]
    rows = [first + Content.styled(wrapped[0], style)]
    rows += [Content.assemble(" " * indent, (row, style)) for row in wrapped[1:]]
    return lines(rows)
