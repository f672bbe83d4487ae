"""Charts of character cells: bars, heat maps, and plots of braille dots.

A chart is a list of rows of runs, for terminals (``render/text``) and the TUI alike. ``width``
counts cells; a row may be shorter.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby

from irlens.model.estimate import Mark
from irlens.model.text import plural
from irlens.render.view import nodes
from irlens.render.view.characters import bar, cut, wrapped
from irlens.render.view.nodes import Run, Text, Tone, plain, text

#: Bits of a cell's two by four dots: by row, left and right (Unicode 15, Braille Patterns).
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BLANK = 0x2800
#: The tone of each line of a plot; the first is drawn over the others.
_TONES: tuple[Tone, ...] = ("accent", "warn", "good", "strong", "dim")
_FILLS = ("█", "▓", "░")
_MEASURED, _ESTIMATED = "◆", "●"
_LEAST_BAR, _MOST_BAR, _MOST_NAME = 8, 60, 32
_GAP = 2
#: Columns of a heat map below which it is not drawn.
_LEAST_COLUMNS = 4
#: Tones of a heat map's steps, from the best on.
_STEP_TONES: tuple[Tone, ...] = ("good", "accent", "neutral", "neutral", "dim", "dim")


def draw_bars(bars: nodes.Bars, width: int) -> list[Text]:
    """Return a row for each bar under the chart's title, and the legend of what needs one."""
    name = max(min(max(len(row.name) for row in bars.rows), _MOST_NAME, width // 3), 4)
    amount = max(len(row.words) for row in bars.rows)
    labels = [f"{row.label} {nodes.MARK_SIGNS[row.mark]}".rstrip() for row in bars.rows]
    label = max(map(len, labels))
    room = width - name - amount - label - 3 * _GAP
    cells = min(max(room, _LEAST_BAR), _MOST_BAR)
    fills = _fills(bars)
    headline = f"{bars.axis.title} by {bars.names}" if bars.names else bars.axis.title
    rows = [text(Run(cut(headline, width), "dim"))]
    for row, beside in zip(bars.rows, labels, strict=True):
        rest = f"{row.words:>{amount}}  {beside}"
        rows.append(
            text(
                f"{cut(row.name, name):>{name}}  ",
                *_bar_runs(row, bars.axis, cells, fills),
                Run(f"  {rest.rstrip()}", "strong" if row.mark == "fastest" else "neutral"),
            )
        )
    return [*rows, *(text(Run(line, "dim")) for line in wrapped(_legend(bars, fills), width))]


def _fills(bars: nodes.Bars) -> dict[str, str]:
    """The fill of each kind of part; bars of one part have a label instead, and one fill."""
    if all(len(row.parts) <= 1 for row in bars.rows):
        return {}
    return {kind.key: _FILLS[at % len(_FILLS)] for at, kind in enumerate(bars.kinds)}


def _legend(bars: nodes.Bars, fills: dict[str, str]) -> Iterator[str]:
    for kind in bars.kinds:
        if kind.key in fills:
            yield f"{fills[kind.key]} {kind.name}"
    if bars.range:
        yield f"─┤ {bars.range}"
    if bars.measured:
        yield f"{_MEASURED} {bars.measured}"
    yield from _marks(bars.marks)


def _marks(marks: Mapping[Mark, str]) -> Iterator[str]:
    for mark, name in marks.items():
        yield f"{nodes.MARK_SIGNS[mark]} {name}"


def _bar_runs(
    row: nodes.BarRow, axis: nodes.Axis, cells: int, fills: dict[str, str]
) -> Sequence[Run]:
    """A bar of ``cells`` cells: its parts, its range after its end, and what was measured."""
    if fills:
        drawn, before = "", 0.0
        for part in row.parts:
            before += part.amount
            end = max(round(axis.share(before) * cells), len(drawn) + (part.amount > 0))
            drawn += fills.get(part.kind, _FILLS[0]) * (end - len(drawn))
        drawn = drawn[:cells].ljust(cells)
    else:
        drawn = bar(axis.share(row.amount), cells)
    marked: list[tuple[str, Tone]] = [(sign, "accent") for sign in drawn]
    if row.high is not None:
        end = _column(axis, row.high, cells)
        for at in range(cells):
            if marked[at][0] == " " and at <= end:
                marked[at] = ("┤" if at == end else "─", "dim")
    if row.measured is not None:
        marked[_column(axis, row.measured, cells)] = (_MEASURED, "warn")
    return _joined(Run(sign, tone) for sign, tone in marked)


def _column(axis: nodes.Axis, value: float, cells: int) -> int:
    return min(round(axis.share(value) * cells), cells - 1)


def draw_heat_map(node: nodes.HeatMap, width: int) -> list[Text]:
    """Return a heat map as a table of amounts.

    Without labels where there is no room for them, then without the last columns.
    """
    name = max(len(cut(each, _MOST_NAME)) for each in (*node.rows, node.down))
    for labelled in (True, False):
        grid = [[_cell_words(cell, labelled) for cell in cells] for cells in node.cells]
        rooms = [
            max(len(column), *(len(words[at]) for words in grid))
            for at, column in enumerate(node.columns)
        ]
        if name + sum(rooms) + _GAP * len(rooms) <= width:
            break
    ends = accumulate((room + _GAP for room in rooms), initial=name)
    shown = sum(end <= width for end in ends) - 1
    left = len(rooms) - shown
    if left and shown < _LEAST_COLUMNS:
        return [text(Run(cut(node.described, width), "dim"))]
    head = "".join(
        f"{' ' * _GAP}{each:>{room}}"
        for each, room in zip(node.columns[:shown], rooms[:shown], strict=True)
    )
    title = f"{node.amount} ({node.unit}): {node.down} down, {node.across} across"
    rows = [text(Run(cut(title, width), "dim")), text(Run(f"{'':>{name}}{head}", "dim"))]
    for each, cells, words in zip(node.rows, node.cells, grid, strict=True):
        drawn = [
            Run(f"{' ' * _GAP}{word:>{room}}", _cell_tone(cell))
            for cell, word, room in zip(cells[:shown], words[:shown], rooms[:shown], strict=True)
        ]
        rows.append(text(Run(f"{cut(each, _MOST_NAME):>{name}}", "dim"), *drawn))
    if left:
        rows.append(text(Run(f"… and {plural(left, 'more column')}", "dim")))
    return [*rows, *(text(Run(line, "dim")) for line in wrapped(_marks(node.marks), width))]


def _cell_words(cell: nodes.HeatCell | None, labelled: bool) -> str:
    if cell is None:
        return ""
    words = f"{nodes.MARK_SIGNS[cell.mark]} {cell.words}".lstrip()
    return f"{words} {cell.label}" if labelled and cell.label else words


def _cell_tone(cell: nodes.HeatCell | None) -> Tone:
    if cell is None or cell.step is None:
        return "dim"
    return _STEP_TONES[min(cell.step, len(_STEP_TONES) - 1)]


def draw_plot(plot: nodes.Plot, width: int, height: int) -> list[Text]:
    """Return a plot: ``height`` lines between its key and its axis, points in front of lines."""
    label = max(4, *(len(words) for _, words in plot.y.ticks)) + 1
    cells = max(width - label, 8)
    bits = [[0] * cells for _ in range(height)]
    tones: list[list[Tone]] = [["neutral"] * cells for _ in range(height)]
    for number, each in reversed(list(enumerate(plot.lines))):
        for column, row in _dots(plot, each, cells * 2, height * 4):
            bits[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
            tones[row // 4][column // 2] = _TONES[number % len(_TONES)]
    signs = [[chr(_BLANK + dots) for dots in line] for line in bits]
    for point in sorted(_apart(plot), key=lambda each: (each.mark == "fastest", each.measured)):
        column = min(round(plot.x.share(point.x) * (cells - 1)), cells - 1)
        row = round((1 - plot.y.share(point.y)) * (height - 1))
        best = point.mark == "fastest"
        sign = nodes.MARK_SIGNS[point.mark] if best else _MEASURED if point.measured else _ESTIMATED
        signs[row][column] = sign
        tones[row][column] = "good" if best else "warn" if point.measured else "strong"
    marks = {round((1 - plot.y.share(value)) * (height - 1)): word for value, word in plot.y.ticks}
    rows = [_plot_key(plot)]
    for at, (line, styles) in enumerate(zip(signs, tones, strict=True)):
        drawn = (Run(sign, tone) for sign, tone in zip(line, styles, strict=True))
        rows.append(text(Run(f"{marks.get(at, ''):>{label - 1}} ", "dim"), *_joined(drawn)))
    if plot.bands:
        rows.append(text(" " * label, Run(_bands(plot, cells), "dim")))
    return [*rows, text(" " * label, Run(_x_axis(plot.x, cells), "dim"))]


def _apart(plot: nodes.Plot) -> list[nodes.Point]:
    """The points that no line goes through."""
    return [each for each in plot.points if each.measured or not plot.bands]


def _bands(plot: nodes.Plot, cells: int) -> str:
    """What holds where, in a row: each band ends in "┤", with its name where there is room."""
    drawn = ""
    for band in plot.bands:
        room = round(plot.x.share(band.end) * cells) - len(drawn)
        name = band.name if len(drawn) == 0 else band.name.removeprefix("bound by ")
        name = next((each for each in (name, name.split(" ")[-1]) if len(each) < room), "")
        drawn += f"{name}{'─' * (room - 1 - len(name))}┤" if room > 0 else ""
    return drawn


def _x_axis(axis: nodes.Axis, cells: int) -> str:
    """The first and the last tick where they are, and the axis's title between them."""
    places = [
        (round(axis.share(value) * (cells - 1)), words)
        for value, words in (axis.ticks[0], axis.ticks[-1])
    ]
    (start, first), (end, last) = places
    before = " " * max(start - len(first) // 2, 0) + first
    at = max(end - len(last) + 1, len(before) + 1)
    middle = axis.title.center(max(at - len(before), 0)) if first != last else f"  {axis.title}"
    return f"{before}{middle}{last if first != last else ''}"


def _plot_key(plot: nodes.Plot) -> Text:
    """The lines' names in their tones, the signs of the points, and what goes up."""
    names = [
        Run(f"{'' if number == 0 else '  '}⠤ {each.name}", _TONES[number % len(_TONES)])
        for number, each in enumerate(plot.lines)
    ]
    signs = [(_ESTIMATED, "estimated") if any(not p.measured for p in _apart(plot)) else None]
    signs += [(_MEASURED, plot.measured) if plot.measured else None]
    signs += [(nodes.MARK_SIGNS[mark], name) for mark, name in plot.marks.items()]
    points = "".join(f"  {sign} {name}" for sign, name in filter(None, signs))
    return text(*names, Run(f"{points}  ({plot.y.title})", "dim"))


def _dots(plot: nodes.Plot, line: nodes.Line, columns: int, rows: int) -> Iterator[tuple[int, int]]:
    """Yield the dots of a line, from the left and from above."""
    points = [
        (plot.x.share(x) * (columns - 1), (1 - plot.y.share(y)) * (rows - 1))
        for x, y in line.points
    ]
    for (x, y), (next_x, next_y) in zip(points, points[1:] or points, strict=False):
        steps = max(round(abs(next_x - x)), round(abs(next_y - y)), 1)
        for step in range(steps + 1):
            part = step / steps
            yield round(x + (next_x - x) * part), round(y + (next_y - y) * part)


def _joined(runs: Iterator[Run]) -> Sequence[Run]:
    """Join neighbouring runs of one tone."""
    return [
        Run(plain(list(group)), tone) for tone, group in groupby(runs, key=lambda run: run.tone)
    ]
