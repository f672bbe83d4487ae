"""Bars, curves and signs made of characters, and the colours of the theme that they take.

A style is a name from the theme ("$warning"), so that a drawing follows the theme.
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

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = " ▁▂▃▄▅▆▇█"

#: A sign for each severity, so that colour is not the only one.
SEVERITY_SIGN: dict[Severity, str] = {"error": "✗", "warning": "▲", "note": "•"}
SEVERITY_STYLE: dict[Severity, str] = {"error": BAD, "warning": WARN, "note": DIM}


def bar(share: float, width: int) -> str:
    """Return a bar of ``width`` cells, filled up to ``share`` (0..1); what is not 0 is seen."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    eighths = max(eighths, 1) if share > 0 else 0
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


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
    filled = [max(round(peak / max(top, 1) * height * 8), 1 if peak else 0) for peak in peaks]
    return [
        "".join(_HEIGHTS[min(max(each - row * 8, 0), 8)] for each in filled)
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


def hanging(first: Content, text: str, style: str, width: int) -> Content:
    """Return text that goes on where it began: in a column of its own beside ``first``."""
    indent = first.cell_length
    wrapped = textwrap.wrap(text, max(width - indent, 8)) or [""]
    rows = [first + Content.styled(wrapped[0], style)]
    rows += [Content.assemble(" " * indent, (row, style)) for row in wrapped[1:]]
    return lines(rows)
