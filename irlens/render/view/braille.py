"""Plots of braille dots, for terminals (``render/text``) and the TUI: two by four dots a cell."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from irlens.model.text import count
from irlens.render.view.nodes import Line, Plot, Run, Text, Tone, plain, text

#: Bits of a cell's dots by row, left and right (Unicode 15, Braille Patterns).
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800
#: The tone of each line; the first is drawn over the others.
_TONES: tuple[Tone, ...] = ("accent", "warn", "good", "strong", "dim")


def draw_plot(plot: Plot, width: int, height: int) -> list[Text]:
    """Return a plot of ``height`` lines between its key and the ends of its axis."""
    label = max(len(_amount(plot.top)), 4) + 1
    cells = max(width - label, 8)
    bits = [[0] * cells for _ in range(height)]
    tones: list[list[Tone]] = [["neutral"] * cells for _ in range(height)]
    for number, each in reversed(list(enumerate(plot.lines))):
        for column, row in _dots(plot, each, cells * 2, height * 4):
            bits[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
            tones[row // 4][column // 2] = _TONES[number % len(_TONES)]
    rows = [_key(plot)]
    for row in range(height):
        mark = _amount(plot.top) if row == 0 else "0" if row == height - 1 else ""
        drawn = (Run(chr(_BLANK + b), t) for b, t in zip(bits[row], tones[row], strict=True))
        rows.append(text(Run(f"{mark:>{label - 1}} ", "dim"), *_joined(drawn)))
    first, last = (count(int(end)) for end in plot.ends)
    gap = " " * max(cells - len(first) - len(last) - len(plot.over), 2)
    half = len(gap) // 2
    axis = f"{first}{gap[:half]}{plot.over}{gap[half:]}{last}"
    return [*rows, text(" " * label, Run(axis, "dim"))]


def _key(plot: Plot) -> Text:
    """The lines' names in their tones, and the unit."""
    names = (
        Run(f"{'' if number == 0 else '  '}⠤ {each.name}", _TONES[number % len(_TONES)])
        for number, each in enumerate(plot.lines)
    )
    return text(*names, Run(f"  ({plot.unit})", "dim"))


def _dots(plot: Plot, line: Line, columns: int, rows: int) -> Iterator[tuple[int, int]]:
    """Yield the dots of a line, from the left and from above."""
    points = [
        (plot.position(x) * (columns - 1), (1 - y / plot.top if plot.top else 1) * (rows - 1))
        for x, y in line.points
    ]
    for (x, y), (next_x, next_y) in zip(points, points[1:] or points, strict=False):
        steps = max(round(abs(next_x - x)), round(abs(next_y - y)), 1)
        for step in range(steps + 1):
            share = step / steps
            yield round(x + (next_x - x) * share), round(y + (next_y - y) * share)


def _joined(runs: Iterator[Run]) -> Sequence[Run]:
    """Join neighbouring runs of one tone."""
    return [
        Run(plain(list(group)), tone) for tone, group in groupby(runs, key=lambda run: run.tone)
    ]


def _amount(value: float) -> str:
    return count(round(value)) if value >= 10 else f"{value:.2g}"
