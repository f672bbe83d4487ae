"""Register pressure: live registers over the instructions, and by line of Python."""

from collections.abc import Sequence

from irlens.model.pressure import StagePressure
from irlens.model.report import Report
from irlens.model.text import count, plural
from irlens.render.html._markup import Content, Markup, join, tag
from irlens.render.html._parts import card, folded, phrases, table
from irlens.render.html._places import Places
from irlens.render.html._svg import Frame, bar, dot, label, line, path, whole_ticks

STAGES = ("sass", "amdgcn", "ptx")
#: A chart has no more points than this; each then stands for the highest of a stretch.
_MOST_POINTS = 480


def pressure(report: Report, places: Places) -> Markup | None:
    """Return a card for each stage whose pressure is known; ``None`` if none is."""
    cards = [
        card(
            f"Register pressure in {stage}",
            _chart(found, report, stage),
            _summary(found, places),
            folded("by line of Python", _by_line(found, report, places)),
            folded("what is live at the peak", _live(found, places)) if found.live else None,
            aside="live 32-bit registers",
        )
        for stage in STAGES
        if (found := getattr(report.pressure, stage)) is not None and found.peak is not None
    ]
    return join(cards) if cards else None


def _summary(found: StagePressure, places: Places) -> Markup:
    place = places.source(found.source)
    return tag(
        "p",
        phrases([
            join([f"at most {found.peak} live", " at " if place else None, place]),
            plural(found.predicates, "predicate") if found.predicates else None,
        ]),
        class_="note",
    )  # fmt: skip


def _chart(found: StagePressure, report: Report, stage: str) -> Markup | None:
    peak = found.peak or 0
    if not found.curve or not peak:
        return None
    points = _thinned(found.curve)
    allocated = report.resources.registers
    # The registers of PTX are virtual: those allocated are another thing, and worth comparing.
    top = max(peak, allocated or 0)
    frame = Frame(right=len(found.curve) - 1, top=top)
    drawn = [(frame.x(index), frame.y(live)) for index, live in points]
    at = found.curve.index(max(found.curve))
    late = at > len(found.curve) * 0.6
    area = [(drawn[0][0], frame.y(0)), *drawn, (drawn[-1][0], frame.y(0))]
    x, y = frame.x(at), frame.y(max(found.curve))
    shown: list[Content] = [path(area, class_="area", closed=True), path(drawn, class_="curve")]
    if allocated is not None:
        level = frame.y(allocated)
        told = f"{allocated} allocated"
        shown += [
            line(frame.x(0), level, frame.x(frame.right), level, class_="level"),
            label(frame.x(0) + 4, level - 4, told, class_="start step"),
        ]
    shown += [
        dot(x, y, class_="point"),
        label(x + (-9 if late else 9), max(y - 5, 12), f"{peak} live",
              class_="told end" if late else "told start"),
    ]  # fmt: skip
    ticks = whole_ticks(len(found.curve) - 1)
    return frame.svg(
        f"live registers over the {len(found.curve)} instructions of {stage}, at most {peak}",
        frame.axes(ticks, whole_ticks(int(top)), "instruction"),
        *shown,
    )


def _thinned(curve: Sequence[int]) -> list[tuple[int, int]]:
    """Return the curve's points, of a long curve the highest of each stretch."""
    stretch = -(-len(curve) // _MOST_POINTS)
    found = []
    for start in range(0, len(curve), stretch):
        part = curve[start : start + stretch]
        most = max(part)
        found.append((start + part.index(most), most))
    return found


def _by_line(found: StagePressure, report: Report, places: Places) -> Markup:
    most = max((each.peak for each in found.lines), default=0)
    rows = [
        [
            places.source(each.source),
            count(each.instructions),
            count(each.peak),
            bar(each.peak / max(most, 1), state="warn" if each.peak == most else "plain"),
            tag("code", report.code.get(str(each.source), "")),
        ]
        for each in found.lines
    ]
    header = ["line", "instructions", "live", "", ""]
    return table(header, rows, right=(1, 2), class_="figures", name="pressure by line")


def _live(found: StagePressure, places: Places) -> Markup:
    most = max(group.registers for group in found.live)
    rows = [
        [
            places.source(group.source) or "no source",
            count(group.registers),
            bar(group.registers / max(most, 1)),
        ]
        for group in found.live
    ]
    return table(["computed by", "registers", ""], rows, right=(1,), class_="figures")
