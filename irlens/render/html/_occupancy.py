"""Occupancy: what limits it, and how many CTAs would fit with more or less of a resource."""

from typing import get_args

from irlens.model.curve import OccupancyCurve
from irlens.model.report import LimitName, Occupancy, Report
from irlens.model.text import count, plural, size
from irlens.model.words import Words, describe_waves
from irlens.render.html._markup import Content, Markup, tag
from irlens.render.html._parts import card, folded, phrases, stated, table
from irlens.render.html._svg import Frame, bar, binary_ticks, dot, label, line, path, whole_ticks

#: Pixels between two numbers at the steps of a curve.
_ROOM_OF_POINT = 16
_ROOM = {"registers": 20, "shared_memory": 42}


def occupancy(report: Report) -> Markup | None:
    """Return the card; ``None`` where occupancy is unknown."""
    found, words = report.occupancy, Words(report)
    if found is None:
        return None
    charts = [_chart(curve, found, words) for curve in found.curves]
    return card(
        "Occupancy",
        tag("div", _limits(found, words), *charts, class_="side-by-side"),
        aside=f"{words.block}s per {words.sm}",
        wide=True,
    )


def _limits(found: Occupancy, words: Words) -> Markup:
    """What each resource alone would allow, and what would change it."""
    names: tuple[LimitName, ...] = get_args(LimitName)
    limits = {name: limit for name in names if (limit := getattr(found.limits, name)) is not None}
    most = max(limits.values(), default=0)
    rows: list[list[Content]] = []
    for name, limit in sorted(limits.items(), key=lambda item: item[1]):
        limiting = name in found.limited_by
        state = "warn" if limiting else "plain"
        told = stated("warn", "limits") if limiting else None
        rows.append(
            [words.resource(name), count(limit), bar(limit / max(most, 1), state=state), told]
        )
    header = ["allowed by", f"{words.block}s", "", ""]
    steps = tag("ul", *(tag("li", words.step(s, found)) for s in found.next_step))
    return tag(
        "div",
        table(header, rows, right=(1,), name="limits of occupancy", class_="figures"),
        tag("h4", "What would change it") if found.next_step else None,
        steps if found.next_step else None,
        tag("p", phrases(describe_waves(found)), class_="note"),
    )


def _chart(curve: OccupancyCurve, found: Occupancy, words: Words) -> Markup:
    named = words.resource(curve.resource)
    frame = Frame(right=curve.last, top=max(blocks for _, blocks in curve.steps))
    ticks = binary_ticks if curve.resource == "shared_memory" else whole_ticks
    told = f"{_amount(curve, curve.at)}: {plural(found.blocks_per_sm, words.block)}"
    drawing = frame.svg(
        f"{words.block}s per {words.sm} by {named}; the kernel is at {told}",
        frame.axes(ticks(curve.last), whole_ticks(int(frame.top)), words.unit(curve.unit)),
        *_steps(curve, frame),
        *_point(curve, found.blocks_per_sm, frame, told),
    )
    ends = [start - 1 for start, _ in curve.steps[1:]] + [curve.last]
    rows = [
        [_amount(curve, end), count(blocks)]
        for end, (_, blocks) in zip(ends, curve.steps, strict=True)
    ]
    numbers = table(["up to", f"{words.block}s"], rows, right=(0, 1), class_="figures")
    return tag(
        "figure",
        tag("figcaption", f"{words.block}s per {words.sm} by {named}"),
        drawing,
        folded("the steps as numbers", numbers),
    )


def _steps(curve: OccupancyCurve, frame: Frame) -> list[Markup]:
    """The line, what is under it, and the largest amount of each step."""
    corners: list[tuple[float, float]] = []
    labels: list[Markup] = []
    free = 0.0
    for index, (start, blocks) in enumerate(curve.steps):
        final = index == len(curve.steps) - 1
        end = curve.last if final else curve.steps[index + 1][0]
        corners += [(frame.x(start), frame.y(blocks)), (frame.x(end), frame.y(blocks))]
        at_point = start <= curve.at < end and frame.x(end) - frame.x(curve.at) < _ROOM_OF_POINT
        if not final and frame.x(end) >= free and not at_point:
            text = count(end - 1)
            labels.append(label(frame.x(end), frame.y(blocks) - 4, text, class_="step"))
            free = frame.x(end) + _ROOM[curve.resource]
    area = [(corners[0][0], frame.y(0)), *corners, (corners[-1][0], frame.y(0))]
    return [path(area, class_="area", closed=True), path(corners, class_="curve"), *labels]


def _point(curve: OccupancyCurve, blocks: int, frame: Frame, told: str) -> list[Markup]:
    x, y = frame.x(curve.at), frame.y(blocks)
    # A curve falls to the right: in the upper right corner it leaves the most room.
    return [
        line(x, frame.y(0), x, y, class_="drop"),
        dot(x, y, class_="point"),
        label(frame.x(frame.right), frame.y(frame.top) + 12, told, class_="told end"),
    ]


def _amount(curve: OccupancyCurve, value: int) -> str:
    return size(value) if curve.resource == "shared_memory" else f"{count(value)} registers"
