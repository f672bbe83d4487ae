"""Charts as SVG: bars, heat maps, and plots of lines and points, each with its legend."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from irlens.model.estimate import Mark
from irlens.render.html.markup import (
    NARROW_GUTTER,
    Content,
    Markup,
    X,
    clip,
    dot,
    gutter,
    join,
    label,
    line,
    path,
    picture,
    rectangle,
    share,
    stretched,
    tag,
    title,
)
from irlens.render.view import nodes

#: An entry of a legend: the style of its mark, and its name.
Key: TypeAlias = tuple[str, str]

#: Styles of a plot's lines.
_LINES = 6
#: Of bars, in pixels: height of a row, of the bar in it, of what is above the rows and under them.
_ROW, _BAR, _HEAD, _FOOT = 24, 13, 20, 36
#: Of bars: room for a name above its bar, and what names and amounts leave of a phone at least.
_NAME, _LEAST_BARS = 15, 60
#: Of a heat map, in pixels: height of a cell, and of what is above the cells.
_CELL, _CELL_HEAD = 50, 38
#: Pixels that a picture's drawing has on a phone, and that a bold character of a cell takes.
_NARROWEST, _BOLD = 330, 7.5
#: Of a plot, in pixels: its height, and where its frame begins and ends.
_HEIGHT, _TOP, _BOTTOM = 280, 22, 240
_CAP = 4
#: How far along a slanted ceiling its name is.
_ALONG = 0.6


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """A chart before it stands on a page, or in a file of its own.

    Attributes:
        left: Width of the gutter, as ``right``.
        drawn: What is in the picture, places being relative to what the gutters leave.
        keys: The legend: the style and the name of each entry; "bare" ones have no mark.
    """

    caption: str
    described: str
    height: float
    left: int
    right: int
    drawn: Markup
    keys: tuple[Key, ...]


def chart(node: nodes.Chart) -> Chart:
    """Return a chart."""
    match node:
        case nodes.Bars():
            return _bars(node)
        case nodes.HeatMap():
            return _heat_map(node)
        case nodes.Plot():
            return _plot(node)


def figure(node: nodes.Chart) -> Markup:
    """Return a chart under its caption, with its legend under it."""
    found = chart(node)
    drawing = picture(
        found.height, found.described, found.drawn, left=found.left, right=found.right
    )
    keys = (tag("span", name, class_=f"key {style}") for style, name in found.keys)
    return tag(
        "figure", tag("figcaption", found.caption), drawing, tag("div", *keys, class_="keys"),
        class_="plot",
    )  # fmt: skip


def _bars(node: nodes.Bars) -> Chart:
    """Return bars, with their names before them and their amounts after them.

    Names that leave the bars no room on a phone stand above them.
    """
    left = gutter([clip(row.name) for row in node.rows])
    amounts = [
        " ".join(filter(None, (row.words, row.label, nodes.MARK_SIGNS[row.mark])))
        for row in node.rows
    ]
    above = 0
    if left + gutter(amounts) > _NARROWEST - _LEAST_BARS:
        left, above = NARROW_GUTTER, _NAME
    bottom = _HEAD + (_ROW + above) * len(node.rows)
    drawn: list[Content] = [
        label(0.0, 12, node.names, class_="start", dx=8 - left) if node.names else None
    ]
    for value, text in node.axis.ticks:
        x = share(node.axis.share(value))
        drawn += [line(x, _HEAD - 4, x, bottom + 2, class_="grid"), label(x, bottom + 15, text)]
    drawn.append(label("50%", bottom + 31, node.axis.title, class_="title"))
    for index, (row, amount) in enumerate(zip(node.rows, amounts, strict=True)):
        drawn.append(_bar_row(row, amount, node.axis, _HEAD + (_ROW + above) * index, above))
    return Chart(
        caption=node.described, described=node.described, height=bottom + _FOOT, left=left,
        right=gutter(amounts), drawn=join(drawn), keys=tuple(_keys_of_bars(node)),
    )  # fmt: skip


def _bar_row(row: nodes.BarRow, amount: str, axis: nodes.Axis, y: float, above: int) -> Markup:
    """Return a bar with its name before it, or ``above`` it in that many pixels."""
    middle = y + above + _ROW / 2
    name = label(0.0, middle + 4, clip(row.name), class_="end name", dx=-8)
    if above:
        name = label(0.0, y + _NAME, row.name, class_="start name")
    drawn: list[Content] = [title(row.described), name]
    begin = 0.0
    for part in row.parts:
        x, end = axis.share(begin), axis.share(begin + part.amount)
        drawn.append(
            rectangle(share(x), middle - _BAR / 2, share(end - x), _BAR, class_=f"k-{part.kind}")
        )
        begin += part.amount
    if row.low is not None and row.high is not None:
        low, high = (share(axis.share(each)) for each in (row.low, row.high))
        drawn += _whisker(low, high, middle)
    if row.measured is not None:
        drawn.append(dot(share(axis.share(row.measured)), middle, class_="measured"))
    style = "start name best" if row.mark == "fastest" else "start name"
    drawn.append(label("100%", middle + 4, amount, class_=style, dx=8))
    return tag("g", *drawn)


def _whisker(low: X, high: X, y: float) -> Iterator[Markup]:
    """Yield a range with a cap at each end."""
    yield line(low, y, high, y, class_="range")
    for x in (low, high):
        yield line(x, y - _CAP, x, y + _CAP, class_="range")


def _keys_of_bars(node: nodes.Bars) -> Iterator[Key]:
    yield from _kinds(node.kinds)
    if node.range:
        yield "range", node.range
    if node.measured:
        yield "measured", node.measured
    yield from _marks(node.marks)


def _heat_map(node: nodes.HeatMap) -> Chart:
    """Return a heat map: a shade for each time, and a mark at a cell's edge for its kind."""
    left = gutter([clip(each) for each in (*node.rows, node.down)])
    width = 1 / len(node.columns)
    drawn: list[Content] = [
        label("50%", 12, node.across, class_="title"),
        label(0.0, 31, clip(node.down), class_="end title", dx=-8),
    ]
    drawn += [
        label(share((at + 0.5) * width), 31, each, class_="name")
        for at, each in enumerate(node.columns)
    ]
    placed = []
    for row, (name, cells) in enumerate(zip(node.rows, node.cells, strict=True)):
        y = _CELL_HEAD + _CELL * row
        drawn.append(label(0.0, y + _CELL / 2 + 4, clip(name), class_="end name", dx=-8))
        placed += [(cell, at * width, y) for at, cell in enumerate(cells) if cell is not None]
    # The best is drawn last, so that no neighbour covers its frame.
    placed.sort(key=lambda each: each[0].mark == "fastest")
    longest = max((len(cell.words) for cell, _, _ in placed), default=0)
    has_two_lines = longest * _BOLD > width * _NARROWEST and not node.detail
    drawn += [_heat_cell(cell, x, width, y, has_two_lines) for cell, x, y in placed]
    height = _CELL_HEAD + _CELL * len(node.rows) + 4
    return Chart(
        caption=f"{node.described} ({node.unit})", described=node.described, height=height,
        left=left, right=NARROW_GUTTER, drawn=join(drawn), keys=tuple(_keys_of_heat(node)),
    )  # fmt: skip


def _heat_cell(
    cell: nodes.HeatCell, x: float, width: float, y: float, has_two_lines: bool
) -> Markup:
    style = "void" if cell.step is None else f"step-{cell.step}"
    middle = share(x + width / 2)
    words = f"{nodes.MARK_SIGNS[cell.mark]} {cell.words}".lstrip()
    lines = words.split(" ", 1) if has_two_lines else [words]
    return tag(
        "g",
        title(cell.described),
        rectangle(share(x), y, share(width), _CELL, class_=f"cell {style}"),
        rectangle(share(x), y + 1, 8, _CELL - 2, class_=f"k-{cell.kind}") if cell.kind else None,
        *(label(middle, y + 17 + 15 * n, e, class_=f"amount {style}") for n, e in enumerate(lines)),
        label(middle, y + 30, cell.detail, class_=f"small {style}") if cell.detail else None,
        label(middle, y + 43, cell.label, class_=f"small {style}") if cell.label else None,
        class_="best" if cell.mark == "fastest" else None,
    )


def _keys_of_heat(node: nodes.HeatMap) -> Iterator[Key]:
    shown = {cell.step for cells in node.cells for cell in cells if cell is not None}
    for step, name in enumerate(node.steps):
        if step in shown:
            yield f"step-{step}", name
    yield from _kinds(node.kinds)
    if node.detail:
        yield "bare", f"small: {node.detail}"
    yield from _marks(node.marks)


def _plot(node: nodes.Plot) -> Chart:
    """Return lines and points in a frame; every point has its numbers as a title."""
    lines: list[Content] = []
    drawn: list[Content] = [_axes(node)]
    for index, each in reversed(list(enumerate(node.lines))):
        style = "ceiling" if each.ceiling else f"line-{index % _LINES}"
        points = [(node.x.share(x), _y(node, y)) for x, y in each.points]
        lines.append(path(points, class_=f"line {style}"))
        if each.ceiling:
            drawn.append(_ceiling_name(each, points))
        else:
            drawn += [
                dot(share(x), y, title(_at(node, each, point)), class_=style, radius=2.5)
                for (x, y), point in zip(points, each.points, strict=True)
            ]
    drawn.insert(1, stretched(_HEIGHT, *lines))
    drawn += [_band(node, each) for each in node.bands]
    drawn += [_range(node, each) for each in node.points]
    # The best is drawn last, over the others.
    best_last = sorted(node.points, key=lambda each: (each.measured, each.mark == "fastest"))
    drawn += [_point(node, each) for each in best_last]
    left = gutter([text for _, text in node.y.ticks])
    return Chart(
        caption=node.described, described=node.described, height=_HEIGHT, left=left,
        right=NARROW_GUTTER, drawn=join(drawn), keys=tuple(_keys_of_plot(node)),
    )  # fmt: skip


def _axes(node: nodes.Plot) -> Markup:
    drawn = [
        label(0.0, 12, node.y.title, class_="start title", dx=-24),
        line("0%", _TOP, "0%", _BOTTOM, class_="grid"),
        line("0%", _BOTTOM, "100%", _BOTTOM, class_="grid"),
    ]
    for value, text in node.y.ticks:
        y = _y(node, value)
        drawn += [
            line("0%", y, "100%", y, class_="grid"),
            label("0%", y + 4, text, class_="end", dx=-6),
        ]
    for value, text in node.x.ticks:
        x = share(node.x.share(value))
        drawn += [line(x, _TOP, x, _BOTTOM, class_="grid"), label(x, _BOTTOM + 15, text)]
    drawn.append(label("50%", _HEIGHT - 6, node.x.title, class_="title"))
    return join(drawn)


def _y(node: nodes.Plot, value: float) -> float:
    return _BOTTOM - node.y.share(value) * (_BOTTOM - _TOP)


def _at(node: nodes.Plot, each: nodes.Line, point: tuple[float, float]) -> str:
    x, y = point
    return f"{each.name}: {y:,.4g} {node.y.title} at {x:,.0f}"


def _ceiling_name(each: nodes.Line, points: list[tuple[float, float]]) -> Markup:
    """The name of a ceiling over its end; a slanted one has it at its side."""
    (first_x, first_y), (last_x, last_y) = points[0], points[-1]
    if first_y == last_y:
        return label(share(last_x), last_y - 5, each.name, class_="end ceiling", dx=-4)
    x, y = first_x + _ALONG * (last_x - first_x), first_y + _ALONG * (last_y - first_y)
    return label(share(x), min(y + 16, _BOTTOM - 8), each.name, class_="start ceiling", dx=10)


def _range(node: nodes.Plot, each: nodes.Point) -> Markup | None:
    if each.low is None or each.high is None:
        return None
    x = share(node.x.share(each.x))
    return line(x, _y(node, each.low), x, _y(node, each.high), class_="range")


def _band(node: nodes.Plot, each: nodes.Band) -> Markup:
    start, end = node.x.share(each.start), node.x.share(each.end)
    drawn = rectangle(share(start), _BOTTOM - 6, share(end - start), 6, class_=f"k-{each.kind}")
    return tag("g", title(each.name), drawn)


def _point(node: nodes.Plot, each: nodes.Point) -> Markup:
    x, y = share(node.x.share(each.x)), _y(node, each.y)
    drawn: list[Content] = [title(each.described)]
    style = "measured" if each.measured else f"k-{each.kind} mark"
    drawn.append(dot(x, y, class_=style))
    if each.mark == "fastest":
        drawn.append(label(x, y + 4, nodes.MARK_SIGNS[each.mark], class_="start best", dx=8))
    return tag("g", *drawn)


def _keys_of_plot(node: nodes.Plot) -> Iterator[Key]:
    for index, each in enumerate(node.lines):
        style = "ceiling" if each.ceiling else f"line-{index % _LINES}"
        yield style, each.name
    yield from _kinds(node.kinds)
    if node.measured:
        yield "measured", node.measured
    if node.range:
        yield "range", node.range
    yield from _marks(node.marks)


def _kinds(kinds: Iterable[nodes.Kind]) -> Iterator[Key]:
    for kind in kinds:
        yield f"k-{kind.key}", kind.name


def _marks(marks: Mapping[Mark, str]) -> Iterator[Key]:
    for mark, name in marks.items():
        yield "bare", f"{nodes.MARK_SIGNS[mark]} {name}"
