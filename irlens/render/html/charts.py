"""Drawings as SVG: timelines, staircases, curves, strips and scatter plots."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from irlens.render.html.markup import Content, Markup, join, number, tag
from irlens.render.view import nodes

_TICKS = 5
#: Styles of a plot's lines.
_LINES = 5
#: A curve has no more points than this.
_MOST_POINTS = 480
#: Pixels between two numbers at the steps of a staircase, and beside the kernel's point.
_ROOM, _ROOM_OF_POINT = {True: 42, False: 20}, 16
#: Of a timeline: width of an iteration, height of a row, margins.
_COLUMN, _ROW, _LEFT, _TOP = 46, 17, 62, 22
#: Of a strip: width, height, height of the bar, pixels that a character of a label takes.
_WIDTH, _HEIGHT, _BAR, _CHARACTER = 420, 42, 22, 6.4
_MOST_COPIES = 16
_NONE = Markup("<p class=note>none</p>")
_PERCENTS = (0, 25, 50, 75, 100)


def draw(node: nodes.Drawing) -> Markup | None:
    """Return a drawing; nothing for a strip whose sizes are unknown."""
    match node:
        case nodes.Timeline():
            return _timeline(node)
        case nodes.Staircase():
            return _staircases([node])
        case nodes.Curve():
            return _curves([node])
        case nodes.Strip():
            return _strip(node) if node.drawn else None
        case nodes.Scatter():
            return _scatter(node)
        case nodes.Plot():
            return _plot(node)
        case nodes.Overlay():
            return _overlay(node)


def _overlay(node: nodes.Overlay) -> Markup:
    """Both sides in one frame; timelines, whose rows differ, beside each other."""
    match node.before, node.after:
        case nodes.Curve() as before, nodes.Curve() as after:
            return tag("figure", _curves((before, after)), _keys(node.names))
        case nodes.Staircase() as before, nodes.Staircase() as after:
            title = tag("figcaption", after.title)
            return tag("figure", title, _staircases((before, after)), _keys(node.names))
    sides = (
        tag("figure", tag("figcaption", tag("b", name)), draw(each) if each else _NONE)
        for name, each in zip(node.names, (node.before, node.after), strict=True)
    )
    return tag("div", *sides, class_="side-by-side")


def _keys(names: tuple[str, str]) -> Markup:
    return tag(
        "figcaption",
        tag("span", names[0], class_="key first"), " ", tag("span", names[1], class_="key second"),
    )  # fmt: skip


def _timeline(timeline: nodes.Timeline) -> Markup:
    """A row for each tile: its flight, then its use."""
    rows = len(timeline.tiles) + (timeline.in_flight is not None)
    width = _LEFT + _COLUMN * (timeline.iterations - timeline.start) + 8
    bottom = _TOP + _ROW * rows

    def x(position: float) -> float:
        return _LEFT + _COLUMN * (position - timeline.start)

    drawn: list[Content] = [label(_LEFT - 8, 15, "iteration", class_="end")]
    for phase in timeline.phases:
        if phase.name != "steady state":
            span = x(phase.end) - x(phase.start)
            drawn.append(rectangle(x(phase.start), 4, span, bottom - 2, class_="prologue"))
            if phase.name == "prologue":
                drawn.append(label(x(phase.start) + span / 2, 15, phase.name, class_="column"))
    for index in range(timeline.iterations):
        drawn.append(line(x(index), 4, x(index), bottom + 2, class_="grid"))
        drawn.append(label(x(index + 0.5), 15, str(index), class_="column"))
    for row, tile in enumerate(timeline.tiles):
        y = _TOP + _ROW * row + 2
        arrived = tile.used if tile.arrived is None else tile.arrived
        flight, kept = x(arrived) - x(tile.issued), x(tile.used) - x(arrived)
        used = (x(tile.done) - x(tile.used)) or 1
        drawn += [
            label(_LEFT - 8, y + 10, tile.name, class_="end"),
            rectangle(x(tile.issued), y + 2, flight, _ROW - 8, class_="flight"),
            rectangle(x(arrived), y + 2, kept, _ROW - 8, class_="kept") if kept else "",
            rectangle(x(tile.used) + 1, y, used, _ROW - 4, class_="compute"),
        ]
    if timeline.in_flight is not None:
        y = _TOP + _ROW * (rows - 1) + 12
        drawn.append(label(_LEFT - 8, y, "in flight", class_="end"))
        groups = str(timeline.in_flight)
        drawn += [label(x(index + 0.4), y, groups) for index in range(timeline.steady)]
    keys = tag(
        "figcaption",
        tag("span", f"in flight since the {timeline.issued.removesuffix(' issued')} was issued",
            class_="key flight"), " ",
        *((tag("span", timeline.kept, class_="key kept"), " ") if timeline.kept else ()),
        tag("span", timeline.used, class_="key compute"),
    )  # fmt: skip
    return tag("figure", svg(width, bottom + 6, timeline.described, *drawn), keys)


def _staircases(sides: Sequence[nodes.Staircase]) -> Markup:
    """One staircase, or those of both sides, with the points where the kernels are."""
    last = sides[-1]
    frame = Frame(right=max(each.last for each in sides), top=max(each.top for each in sides))
    ticks = binary_ticks if last.binary else whole_ticks
    shown: list[Content] = []
    for index, stairs in enumerate(sides):
        class_ = _side(index, len(sides))
        if index == len(sides) - 1 or stairs.steps != last.steps:
            corners = [
                (frame.x(amount), frame.y(blocks))
                for start, end, blocks in stairs.spans()
                for amount in (start, end)
            ]
            shown += _filled(corners, frame, class_=class_)
        x, y = frame.x(stairs.at), frame.y(stairs.blocks)
        # A staircase falls to the right: its upper right corner has the most room.
        top = frame.y(frame.top) + 12 + 14 * index
        shown += [
            line(x, frame.y(0), x, y, class_=f"drop{class_}"),
            dot(x, y, class_=f"point{class_}"),
            label(frame.x(frame.right), top, stairs.here, class_=f"point-label end{class_}"),
        ]
    return frame.svg(
        f"{last.title}; " + _kernels([each.here for each in sides]),
        frame.axes(ticks(int(frame.right)), whole_ticks(int(frame.top)), last.unit),
        *(_step_labels(last, frame) if len(sides) == 1 else ()),
        *shown,
    )


def _kernels(places: Sequence[str]) -> str:
    return f"the kernel is at {', then at '.join(places)}"


def _side(index: int, count: int) -> str:
    """The style of what belongs to the first of two sides."""
    return " first" if index < count - 1 else ""


def _step_labels(stairs: nodes.Staircase, frame: "Frame") -> Iterator[Markup]:
    """Yield the largest amount of each step, as far as there is room."""
    free = 0.0
    for start, end, blocks in stairs.spans():
        near = frame.x(end) - frame.x(stairs.at) < _ROOM_OF_POINT
        at_point = start <= stairs.at < end and near
        if end != stairs.last and frame.x(end) >= free and not at_point:
            yield label(frame.x(end), frame.y(blocks) - 4, f"{end - 1:,}", class_="step")
            free = frame.x(end) + _ROOM[stairs.binary]


def _filled(points: Sequence[tuple[float, float]], frame: "Frame", class_: str) -> list[Markup]:
    """A line through points, and the area under it."""
    area = [(points[0][0], frame.y(0)), *points, (points[-1][0], frame.y(0))]
    return [
        path(area, class_=f"area{class_}", closed=True),
        path(points, class_=f"curve{class_}"),
    ]


def _curves(sides: Sequence[nodes.Curve]) -> Markup:
    """One curve, or those of both sides in one frame."""
    last = max(len(curve.values) for curve in sides) - 1
    top = max(max(curve.peak, curve.level or 0) for curve in sides)
    frame = Frame(right=last, top=top)
    shown = [
        each
        for index, curve in enumerate(sides)
        for each in _one_curve(curve, frame, _side(index, len(sides)), above=index)
    ]
    axes = frame.axes(whole_ticks(last), whole_ticks(top), sides[-1].over)
    return frame.svg("; then ".join(curve.described for curve in sides), axes, *shown)


def _one_curve(curve: nodes.Curve, frame: "Frame", class_: str, *, above: int) -> Iterator[Markup]:
    points = [(frame.x(index), frame.y(value)) for index, value in curve.thinned(_MOST_POINTS)]
    yield from _filled(points, frame, class_)
    if curve.level is not None:
        level = frame.y(curve.level)
        # The second side's label stands at the other end, where it cannot cover the first's.
        end = frame.x(frame.right) - 4 if above else frame.x(0) + 4
        style = "end step" if above else "start step"
        yield line(frame.x(0), level, frame.x(frame.right), level, class_=f"level{class_}")
        yield label(end, level - 4, curve.level_name, class_=style)
    late = frame.x(curve.at) > frame.x(frame.right * 0.6)
    x, y = frame.x(curve.at), frame.y(max(curve.values))
    style = f"point-label {'end' if late else 'start'}{class_}"
    yield dot(x, y, class_=f"point{class_}")
    yield label(
        x + (-9 if late else 9), max(y - 5, 12), f"{curve.peak:,} {curve.unit}", class_=style
    )


def _strip(strip: nodes.Strip) -> Markup:
    """A bar of the whole, cut into its segments, each with a cell for each of its copies."""
    scale = (_WIDTH - 2) / strip.total
    x, drawn = 1.0, []
    for segment in strip.segments:
        if not segment.amount:
            continue
        width = segment.amount * scale
        copies = segment.copies if segment.copies <= _MOST_COPIES else 1
        cell = width / copies
        drawn += [
            rectangle(x + cell * index, 1, cell - 1, _BAR, tag("title", segment.name),
                      class_=segment.kind)
            for index in range(copies)
        ]  # fmt: skip
        name = "scratch" if segment.kind == "scratch" else segment.name
        if len(name) * _CHARACTER < width:
            drawn.append(label(x + width / 2, _HEIGHT - 4, name))
        x += width
    return svg(_WIDTH, _HEIGHT, strip.described, *drawn)


def _scatter(scatter: nodes.Scatter) -> Markup:
    right = max(point.x for point in scatter.points) * 1.05
    frame = Frame(right=right, top=1, width=640, margins=(46, 18, 16, 34))
    drawn = (
        tag("g", tag("title", each.name), dot(frame.x(each.x), frame.y(each.y), class_="point"))
        for each in scatter.points
    )
    shares: list[tuple[float, str]] = [(each / 100, f"{each} %") for each in _PERCENTS]
    axes = frame.axes(whole_ticks(int(right)), shares, scatter.over)
    caption = tag("figcaption", scatter.described)
    return tag("figure", frame.svg(scatter.described, axes, *drawn), caption, class_="scatter")


def _plot(plot: nodes.Plot) -> Markup:
    """Lines over one axis, with a key; every point has its numbers as a title."""
    frame = Frame(right=1, top=plot.top, width=640, height=260, margins=(52, 18, 16, 34))
    drawn = []
    for index, each in reversed(list(enumerate(plot.lines))):
        points = [(frame.x(plot.position(x)), frame.y(y), x, y) for x, y in each.points]
        drawn.append(path([(x, y) for x, y, _, _ in points], class_=f"line line-{index % _LINES}"))
        drawn += [
            tag(
                "circle", tag("title", f"{each.name}: {amount:,.4g} {plot.unit} at {at:,.0f}"),
                cx=x, cy=y, r=2.5, class_=f"line-{index % _LINES}",
            )
            for x, y, at, amount in points
        ]  # fmt: skip
    ends = dict.fromkeys(plot.ends)
    ticks = [(plot.position(x), f"{x:,.0f}") for x in ends]
    axes = frame.axes(ticks, round_ticks(plot.top), f"{plot.over} ({plot.unit} upwards)")
    keys = (
        tag("span", each.name, class_=f"key line-{index % _LINES}")
        for index, each in enumerate(plot.lines)
    )
    caption = tag("figcaption", plot.described, " ", join(keys, between=Markup(" ")))
    return tag("figure", frame.svg(plot.described, axes, *drawn), caption, class_="scatter")


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """A frame with axes, in units of the data.

    Attributes:
        right: The largest x.
        top: The largest y; both axes begin at 0.
        width: Of all, in pixels.
        height: Of all, in pixels.
        margins: Pixels at the left, right, top and bottom.
    """

    right: float
    top: float
    width: int = 420
    height: int = 190
    margins: tuple[int, int, int, int] = (34, 18, 16, 34)

    def x(self, value: float) -> float:
        """Return where a value is, in pixels from the left; at most the largest x."""
        left, right, _, _ = self.margins
        return left + min(value, self.right) / max(self.right, 1) * (self.width - left - right)

    def y(self, value: float) -> float:
        """Return where a value is, in pixels from the top; at most the largest y."""
        _, _, top, bottom = self.margins
        share = min(value, self.top) / max(self.top, 1)
        return self.height - bottom - share * (self.height - top - bottom)

    def axes(
        self, x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]], title: str
    ) -> Markup:
        """Return both axes: grid lines, tick labels, the title of x."""
        left, bottom = self.x(0), self.y(0)
        lines = [
            join(
                [
                    line(left, self.y(value), self.x(self.right), self.y(value), class_="grid"),
                    label(left - 6, self.y(value) + 4, text, class_="end"),
                ]
            )
            for value, text in y_ticks
        ]
        lines += [label(self.x(value), bottom + 15, text) for value, text in x_ticks]
        lines.append(label((left + self.x(self.right)) / 2, self.height - 3, title, class_="title"))
        return join(lines)

    def svg(self, described: str, *content: Content) -> Markup:
        """Return the chart; ``described`` is its alternative text."""
        return svg(self.width, self.height, described, *content)


def svg(width: float, height: float, described: str, *content: Content) -> Markup:
    """Return a picture that scales to the width of its container."""
    box = f"0 0 {number(width)} {number(height)}"
    return tag("svg", *content, viewBox=box, role="img", aria_label=described, class_="chart")


def path(points: Sequence[tuple[float, float]], *, class_: str, closed: bool = False) -> Markup:
    """Return a line through points given in pixels."""
    lines = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return tag("path", d=f"M{lines}{'Z' if closed else ''}", class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, *, class_: str) -> Markup:
    """Return a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def rectangle(
    x: float, y: float, width: float, height: float, *content: Content, class_: str
) -> Markup:
    """Return a rectangle; its content may be a title."""
    return tag(
        "rect", *content, x=x, y=y, width=max(width, 0.0), height=height, rx=2, class_=class_
    )


def dot(x: float, y: float, *, class_: str) -> Markup:
    """Return a point."""
    return tag("circle", cx=x, cy=y, r=4.5, class_=class_)


def label(x: float, y: float, text: str, *, class_: str | None = None) -> Markup:
    """Return a label, centred on x unless its class says "start" or "end"."""
    return tag("text", text, x=x, y=y, class_=class_)


def bar(share: float, *, tone: str = "plain") -> Markup:
    """Return a bar for the cell of a table: ``share`` (0..1) of its full width."""
    filled = rectangle(0, 0, 100 * min(max(share, 0), 1), 10, class_=f"bar {tone}")
    return tag(
        "svg", filled, viewBox="0 0 100 10", preserveAspectRatio="none", class_="inline",
        aria_hidden="true",
    )  # fmt: skip


def whole_ticks(most: int) -> list[tuple[float, str]]:
    """Return round numbers from 0 to at most ``most``, with their labels."""
    step = 1
    while most / step > _TICKS:
        step *= 5 if str(step)[0] == "2" else 2
    return [(value, f"{value:,}") for value in range(0, most + 1, step)]


def round_ticks(most: float) -> list[tuple[float, str]]:
    """Return round numbers from 0 to at most ``most``, fractions where it is small."""
    if most <= 0:
        return [(0, "0")]
    magnitude = 10.0 ** math.floor(math.log10(most / _TICKS))
    step = next(s * magnitude for s in (1, 2, 5, 10) if most / (s * magnitude) <= _TICKS)
    return [(step * index, f"{step * index:,.4g}") for index in range(int(most / step) + 1)]


def binary_ticks(most: int) -> list[tuple[float, str]]:
    """Return round numbers of bytes, labelled in KiB."""
    step = 1024
    while most / step > _TICKS:
        step *= 2
    return [(value, f"{value // 1024} KiB" if value else "0") for value in range(0, most + 1, step)]
