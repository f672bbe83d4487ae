"""Drawings of character cells: bars, timelines, staircases, curves and strips.

A drawing is a list of rows of runs, for terminals (``render/text``) and the TUI alike. ``width``
counts cells; a row may be shorter.
"""

from collections.abc import Iterable, Iterator, Sequence

from irlens.model.text import count, plural
from irlens.render.view import nodes
from irlens.render.view.nodes import Run, Text, text

#: Fill a cell from the left and from below, by eighths.
EIGHTHS = " ▏▎▍▌▋▊▉█"
HEIGHTS = " ▁▂▃▄▅▆▇█"

_LABEL = 10
_LEAST_CELL, _MOST_CELL = 5, 12
#: Neighbours differ in how they are filled, not only in colour.
_FILLS = ("█", "▓", "▒")
_REST = "░"


def bar(share: float, width: int) -> str:
    """Return a bar of ``width`` cells filled up to ``share`` (0..1); more than 0 is visible."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    eighths = max(eighths, 1) if share > 0 else 0
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(width)


def columns(eighths: Sequence[int], height: int) -> list[str]:
    """Return ``height`` lines that draw a column for each number of eighths of a line."""
    return [
        "".join(HEIGHTS[min(max(each - row * 8, 0), 8)] for each in eighths)
        for row in range(height - 1, -1, -1)
    ]


def draw_timeline(timeline: nodes.Timeline, width: int) -> list[Text]:
    """Return a timeline, with fewer iterations where ``width`` has no room for all of them."""
    before = _LABEL if timeline.start < 0 else 0
    cell = min((width - _LABEL - before) // timeline.iterations, _MOST_CELL)
    if cell < _LEAST_CELL:
        shorter = timeline.shorter()
        if shorter is None:
            return [text(Run(cut(timeline.described, width), "dim"))]
        return draw_timeline(shorter, width)

    def at(position: float) -> int:
        return before + round(position * (cell if position >= 0 else before))

    phases = [
        _phase(phase.name, at(phase.end) - at(phase.start), "─" if phase.start >= 0 else " ")
        for phase in timeline.phases
    ]
    numbers = "".join(str(number).ljust(cell) for number in range(timeline.iterations))
    rows = [
        text(
            " " * _LABEL,
            *(
                Run(drawn, "accent" if phase.name == "steady state" else "dim")
                for drawn, phase in zip(phases, timeline.phases, strict=True)
            ),
        ),
        text(Run("iteration".ljust(_LABEL + before), "dim"), numbers.rstrip()),
    ]
    for tile in timeline.tiles:
        issued, used = at(tile.issued), at(tile.used)
        if timeline.start <= tile.issued < 0:
            issued = min(issued, before - 1)
        used = max(used, issued + 1)
        arrived = used if tile.arrived is None else min(max(at(tile.arrived), issued + 1), used)
        rows.append(
            text(
                Run(tile.name.ljust(_LABEL), "dim"),
                " " * issued,
                Run("●" + "━" * (arrived - issued - 1), "accent"),
                Run("┄" * (used - arrived), "dim"),
                Run("■" * max(at(tile.done) - used, 1), "good"),
            )
        )
    if timeline.in_flight is not None:
        flying = str(timeline.in_flight).ljust(cell) * timeline.steady
        rows.append(
            text(
                Run("in flight".ljust(_LABEL + before), "dim"),
                Run(flying.rstrip(), "neutral" if timeline.in_flight else "warn"),
                Run(" groups", "dim"),
            )
        )
    kept = [f"┄ {timeline.kept}"] if timeline.kept else []
    legend = (f"● {timeline.issued}", "━ in flight", *kept, f"■ {timeline.used}")
    return [*rows, *(text(Run(line, "dim")) for line in wrapped(legend, width))]


def _phase(name: str, width: int, rule: str) -> str:
    """A name, or as many of its words as fit, and a rule of a character to its last column."""
    room = max(width - 1, 0)
    while len(name) > room:
        name = name.rpartition(" ")[0]
    drawn = f"{name} " if name else ""
    return drawn.ljust(room, rule)[:room].ljust(width)


def draw_staircase(stairs: nodes.Staircase, width: int, height: int) -> list[Text]:
    """Return a staircase of ``height`` lines between its title and the mark under it."""
    cells = max(width - 4, 8)
    first = stairs.steps[0][0]
    span = max(stairs.last - first, 1)
    here = min(max(round((stairs.at - first) / span * (cells - 1)), 0), cells - 1)
    if stairs.top == 0:  # something else has no room
        return [text(Run(cut(f"{stairs.title}: 0 with any", width), "dim"))]
    fits = [
        stairs.blocks_with(first + round(span * column / (cells - 1))) for column in range(cells)
    ]
    fits[here] = stairs.blocks_with(stairs.at)  # exactly: a cliff may be between two columns
    drawn = columns([round(each / stairs.top * height * 8) for each in fits], height)
    rows = [text(Run(cut(stairs.title, width), "dim"))]
    for row, line in enumerate(drawn):
        label = "    " if row else f"{stairs.top:>3} "
        rows.append(
            text(
                Run(label + line[:here], "dim"),
                Run(line[here], "accent"),
                Run(line[here + 1 :], "dim"),
            )
        )
    return [*rows, _mark(f"{count(stairs.at)} {stairs.unit}", here, cells)]


def _mark(amount: str, here: int, cells: int) -> Text:
    """A mark under a column, with the amount beside it where there is room."""
    column = here + 4
    if here + 2 + len(amount) <= cells:
        return text(" " * column, Run(f"▲ {amount}", "accent"))
    before = f"{amount} " if column > len(amount) else ""
    return text(Run(f"{before.rjust(column)}▲", "accent"))


def draw_curve(curve: nodes.Curve, width: int, height: int) -> list[Text]:
    """Return a curve as columns of ``height`` lines, its peak marked."""
    label = max(len(count(curve.peak)), 4) + 1
    points = curve.thinned(max(width - label, 8))
    top = max(curve.peak, 1)
    lines = columns(
        [max(round(value / top * height * 8), 1 if value else 0) for _, value in points], height
    )
    at = next((i for i, (index, _) in enumerate(points) if index == curve.at), 0)
    rows = []
    for row, line in enumerate(lines):
        value = count(curve.peak) if row == 0 else "0" if row == height - 1 else ""
        rows.append(
            text(
                Run(f"{value:>{label - 1}} ", "dim"),
                Run(line[:at], "accent"),
                Run(line[at], "warn"),
                Run(line[at + 1 :], "accent"),
            )
        )
    over = plural(len(curve.values), curve.over)
    if at + len(over) + 2 < len(points):
        pad = " " * (len(points) - at - 1 - len(over))
        return [*rows, text(" " * (label + at), Run("▲", "warn"), Run(pad + over, "dim"))]
    if at > len(over):
        return [*rows, text(Run(" " * label + over.ljust(at), "dim"), Run("▲", "warn"))]
    return [*rows, text(" " * (label + at), Run("▲", "warn"), Run(f" {over}", "dim"))]


def draw_strip(strip: nodes.Strip, width: int) -> list[Text]:
    """Return a strip to scale, then a row for each segment with its fill as the key."""
    fills = _fills(strip.segments)
    rows = []
    if strip.drawn:
        amounts = [(each.amount, fill) for each, fill in zip(strip.segments, fills, strict=True)]
        rows.append(text(Run(_scaled(amounts, strip.total, width), "accent")))
    for segment, fill in zip(strip.segments, fills, strict=True):
        place = f" at {segment.place}" if segment.place else ""
        note = Run(f"  {segment.note}" if segment.note else "", "dim")
        rows.append(text(Run(f"{fill * 2} ", "accent"), f"{segment.name}{place}", note))
    return rows


def _fills(segments: Sequence[nodes.Segment]) -> list[str]:
    """The sign of each segment; blank for one that takes no room."""
    signs = []
    drawn = 0
    for segment in segments:
        if segment.kind == "scratch":
            signs.append(_REST)
        elif segment.amount:
            signs.append(_FILLS[drawn % len(_FILLS)])
            drawn += 1
        else:
            signs.append(" ")
    return signs


def _scaled(parts: Sequence[tuple[int, str]], total: int, width: int) -> str:
    """A strip of ``width`` cells; whatever is there at all has one of them."""
    present = [(amount, fill) for amount, fill in parts if amount]
    drawn, before = "", 0
    for later, (amount, fill) in zip(range(len(present) - 1, -1, -1), present, strict=True):
        before += amount
        end = min(max(round(before / total * width), len(drawn) + 1), width - later)
        drawn += fill * (end - len(drawn))
    return drawn[:width]


def wrapped(entries: Iterable[str], width: int) -> Iterator[str]:
    """Yield lines of a legend's entries, none of which is broken."""
    line = ""
    for entry in entries:
        if line and len(line) + 2 + len(entry) > width:
            yield line
            line = ""
        line = f"{line}  {entry}" if line else cut(entry, width)
    if line:
        yield line


def cut(line: str, width: int) -> str:
    """Return as much of a line as fits, with an ellipsis where some is left out."""
    return line if len(line) <= width else f"{line[: max(width - 1, 0)].rstrip()}…"
