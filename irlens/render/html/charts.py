"""Drawings as SVG: timelines, staircases, curves and strips."""

from collections.abc import Iterator, Sequence

import msgspec

from irlens.render.html.markup import (
    CHARACTER,
    NARROW_GUTTER,
    TICKS_GUTTER,
    Content,
    Markup,
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
from irlens.render.html.plots import figure
from irlens.render.view import nodes

_TICKS = 5
#: A curve has no more points than this.
_MOST_POINTS = 480
#: Shares of the width between two numbers at the steps of a staircase, and beside its point.
_ROOM, _ROOM_OF_POINT = {True: 0.13, False: 0.065}, 0.05
#: Of a timeline, in pixels: height of a row, and of what is above them.
_ROW, _TOP = 17, 22
#: The narrowest picture whose labels have room, in pixels; a strip's height, and its bar's.
_NARROW = 330
_STRIP_HEIGHT, _STRIP = 42, 22
_MOST_COPIES, _LEAST_LABEL = 16, 7
_NONE = Markup("<p class=note>none</p>")


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
        case nodes.Plot() | nodes.Bars() | nodes.HeatMap():
            return figure(node)
        case nodes.Overlay():
            return _overlay(node)


def _overlay(node: nodes.Overlay) -> Markup:
    """Both sides in one frame; timelines, whose rows differ, beside each other."""
    match node.before, node.after:
        case nodes.Curve() as before, nodes.Curve() as after:
            return tag("figure", _curves((before, after)), _keys(node.names))
        case nodes.Staircase() as before, nodes.Staircase() as after:
            caption = tag("figcaption", after.title)
            return tag("figure", caption, _staircases((before, after)), _keys(node.names))
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
    bottom = _TOP + _ROW * rows
    span = timeline.iterations - timeline.start

    def x(position: float) -> str:
        return share((position - timeline.start) / span)

    drawn: list[Content] = [label(0.0, 15, "iteration", class_="end", dx=-8)]
    for phase in timeline.phases:
        if phase.name != "steady state":
            width = share((phase.end - phase.start) / span)
            drawn.append(rectangle(x(phase.start), 4, width, bottom - 2, class_="prologue"))
            if phase.name == "prologue":
                drawn.append(label(x((phase.start + phase.end) / 2), 15, phase.name))
    for index in range(timeline.iterations):
        drawn.append(line(x(index), 4, x(index), bottom + 2, class_="grid"))
        drawn.append(label(x(index + 0.5), 15, str(index)))
    for row, tile in enumerate(timeline.tiles):
        drawn += _tile(tile, timeline.start, span, _TOP + _ROW * row + 2)
    if timeline.in_flight is not None:
        y = _TOP + _ROW * (rows - 1) + 12
        drawn.append(label(0.0, y, "in flight", class_="end", dx=-8))
        groups = str(timeline.in_flight)
        drawn += [label(x(index + 0.5), y, groups) for index in range(timeline.steady)]
    names = [tile.name for tile in timeline.tiles] + ["in flight", "iteration"]
    drawing = picture(
        bottom + 6, timeline.described, *drawn, left=gutter(names), right=NARROW_GUTTER
    )
    return tag("figure", drawing, _timeline_keys(timeline))


def _tile(tile: nodes.Tile, start: float, span: float, y: float) -> Iterator[Markup]:
    """Yield a row: the tile's name, its flight, its wait in registers, its use."""
    arrived = tile.used if tile.arrived is None else tile.arrived

    def stretch(begin: float, end: float, top: float, height: float, style: str) -> Markup:
        width = share((end - begin) / span)
        return rectangle(share((begin - start) / span), top, width, height, class_=style)

    yield label(0.0, y + 10, tile.name, class_="end", dx=-8)
    yield stretch(tile.issued, arrived, y + 2, _ROW - 8, "flight")
    if tile.used > arrived:
        yield stretch(arrived, tile.used, y + 2, _ROW - 8, "kept")
    yield stretch(tile.used, max(tile.done, tile.used + 0.02), y, _ROW - 4, "compute")


def _timeline_keys(timeline: nodes.Timeline) -> Markup:
    return tag(
        "figcaption",
        tag("span", f"in flight since the {timeline.issued.removesuffix(' issued')} was issued",
            class_="key flight"), " ",
        *((tag("span", timeline.kept, class_="key kept"), " ") if timeline.kept else ()),
        tag("span", timeline.used, class_="key compute"),
    )  # fmt: skip


def _staircases(sides: Sequence[nodes.Staircase]) -> Markup:
    """One staircase, or those of both sides, with the points where the kernels are."""
    last = sides[-1]
    frame = Frame(right=max(each.last for each in sides), top=max(each.top for each in sides))
    ticks = binary_ticks if last.binary else whole_ticks
    areas: list[Content] = []
    shown: list[Content] = []
    for index, stairs in enumerate(sides):
        class_ = _side(index, len(sides))
        if index == len(sides) - 1 or stairs.steps != last.steps:
            corners = [
                (frame.share(amount), frame.y(blocks))
                for start, end, blocks in stairs.spans()
                for amount in (start, end)
            ]
            areas += _filled(corners, frame, class_=class_)
        x, y = frame.x(stairs.at), frame.y(stairs.blocks)
        # A staircase falls to the right: its upper right corner has the most room.
        top = frame.y(frame.top) + 12 + 14 * index
        shown += [
            line(x, frame.y(0), x, y, class_=f"drop{class_}"),
            dot(x, y, class_=f"point{class_}"),
            label("100%", top, stairs.here, class_=f"point-label end{class_}"),
        ]
    return frame.svg(
        f"{last.title}; the kernel is at {', then at '.join(each.here for each in sides)}",
        frame.axes(ticks(int(frame.right)), whole_ticks(int(frame.top)), last.unit),
        stretched(_HEIGHT, *areas),
        *(_step_labels(last, frame) if len(sides) == 1 else ()),
        *shown,
    )


def _side(index: int, count: int) -> str:
    """The style of what belongs to the first of two sides."""
    return " first" if index < count - 1 else ""


def _step_labels(stairs: nodes.Staircase, frame: "Frame") -> Iterator[Markup]:
    """Yield the largest amount of each step, as far as there is room."""
    free = 0.0
    for start, end, blocks in stairs.spans():
        place = frame.share(end)
        at_point = start <= stairs.at < end and place - frame.share(stairs.at) < _ROOM_OF_POINT
        if end != stairs.last and place >= free and not at_point:
            yield label(frame.x(end), frame.y(blocks) - 4, f"{end - 1:,}")
            free = place + _ROOM[stairs.binary]


def _filled(points: Sequence[tuple[float, float]], frame: "Frame", class_: str) -> list[Markup]:
    """A line through points, and the area under it."""
    area = [(points[0][0], frame.y(0)), *points, (points[-1][0], frame.y(0))]
    return [path(area, class_=f"area{class_}", end="Z"), path(points, class_=f"curve{class_}")]


def _curves(sides: Sequence[nodes.Curve]) -> Markup:
    """One curve, or those of both sides in one frame."""
    last = max(len(curve.values) for curve in sides) - 1
    top = max(max(curve.peak, curve.level or 0) for curve in sides)
    frame = Frame(right=last, top=top)
    areas: list[Content] = []
    shown: list[Content] = []
    for index, curve in enumerate(sides):
        style = _side(index, len(sides))
        points = [(frame.share(at), frame.y(value)) for at, value in curve.thinned(_MOST_POINTS)]
        areas += _filled(points, frame, style)
        shown += _marks(curve, frame, style, above=index)
    axes = frame.axes(whole_ticks(last), whole_ticks(top), sides[-1].over)
    described = "; then ".join(curve.described for curve in sides)
    return frame.svg(described, axes, stretched(_HEIGHT, *areas), *shown)


def _marks(curve: nodes.Curve, frame: "Frame", class_: str, *, above: int) -> Iterator[Markup]:
    """Yield the level and the peak of a curve."""
    if curve.level is not None:
        level = frame.y(curve.level)
        # The second side's label stands at the other end, where it cannot cover the first's.
        place, style, dx = ("100%", "end", -4) if above else ("0%", "start", 4)
        yield line("0%", level, "100%", level, class_=f"level{class_}")
        yield label(place, level - 4, curve.level_name, class_=style, dx=dx)
    late = frame.share(curve.at) > 0.6
    x, y = frame.x(curve.at), frame.y(max(curve.values))
    style = f"point-label {'end' if late else 'start'}{class_}"
    yield dot(x, y, class_=f"point{class_}")
    words = f"{curve.peak:,} {curve.unit}"
    yield label(x, max(y - 5, 12), words, class_=style, dx=-9 if late else 9)


def _strip(strip: nodes.Strip) -> Markup:
    """A bar of the whole, cut into its segments, each with a cell for each of its copies."""
    x, drawn = 0.0, []
    for segment in strip.segments:
        if not segment.amount:
            continue
        width = segment.amount / strip.total
        copies = segment.copies if segment.copies <= _MOST_COPIES else 1
        cell = width / copies
        drawn += [
            rectangle(share(x + cell * index), 1, share(cell), _STRIP, title(segment.name),
                      class_=segment.kind)
            for index in range(copies)
        ]  # fmt: skip
        name = "scratch" if segment.kind == "scratch" else segment.name
        room = int(width * _NARROW / CHARACTER)
        if room >= _LEAST_LABEL:
            drawn.append(label(share(x + width / 2), _STRIP_HEIGHT - 4, clip(name, room)))
        x += width
    return picture(_STRIP_HEIGHT, strip.described, *drawn, left=0, right=0)


#: Of a frame with its axes, in pixels: its height, and the margins in it.
_HEIGHT, _ABOVE, _BELOW = 190, 16, 34


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """A frame with axes, in units of the data.

    Attributes:
        top: The largest y; both axes begin at 0.
    """

    right: float
    top: float

    def share(self, value: float) -> float:
        """Return where a value is, as a share (0..1) of the width; at most the largest x."""
        return min(value, self.right) / max(self.right, 1)

    def x(self, value: float) -> str:
        """Return the same as a place."""
        return share(self.share(value))

    def y(self, value: float) -> float:
        """Return where a value is, in pixels from the top; at most the largest y."""
        part = min(value, self.top) / max(self.top, 1)
        return _HEIGHT - _BELOW - part * (_HEIGHT - _ABOVE - _BELOW)

    def axes(
        self, x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]], title: str
    ) -> Markup:
        """Return both axes: grid lines, tick labels, the title of x."""
        lines = [
            join(
                [
                    line("0%", self.y(value), "100%", self.y(value), class_="grid"),
                    label("0%", self.y(value) + 4, text, class_="end", dx=-6),
                ]
            )
            for value, text in y_ticks
        ]
        lines += [label(self.x(value), self.y(0) + 15, text) for value, text in x_ticks]
        lines.append(label("50%", _HEIGHT - 3, title, class_="title"))
        return join(lines)

    def svg(self, described: str, *content: Content) -> Markup:
        """Return the chart; ``described`` is its alternative text."""
        return picture(_HEIGHT, described, *content, left=TICKS_GUTTER, right=NARROW_GUTTER)


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


def binary_ticks(most: int) -> list[tuple[float, str]]:
    """Return round numbers of bytes, labelled in KiB."""
    step = 1024
    while most / step > _TICKS:
        step *= 2
    return [(value, f"{value // 1024} KiB" if value else "0") for value in range(0, most + 1, step)]
