"""The drawings of two reports over each other: occupancy, register pressure, pipelines."""

from collections import defaultdict
from collections.abc import Iterator

from irlens.model.report import Pipeline, Report
from irlens.model.terms import Terms
from irlens.render.view.drawings import nearest, pressure_curve, staircase
from irlens.render.view.nodes import Node, Overlay, Run, Section, text
from irlens.render.view.timeline import timeline

Pairs = Iterator[tuple[Pipeline | None, Pipeline | None]]


def overlays(before: Report, after: Report, names: tuple[str, str]) -> Iterator[Section]:
    """Yield a section for each kind of drawing that both sides have."""
    for title, key, drawn in (
        ("Occupancy", "occupancy", _staircases(before, after, names)),
        ("Register pressure", "pressure", _curves(before, after, names)),
    ):
        if children := tuple(drawn):
            yield Section(title, children, key=key, detail="drawings")
    for one, other in _loops(before, after):
        some = other or one
        sides = (
            timeline(one) if one is not None else None,
            timeline(other) if other is not None else None,
        )
        if some is not None and (sides[0] is not None or sides[1] is not None):
            place = nearest(some.source, some.stage, some.line)
            yield Section(
                "Pipeline",
                (Overlay(sides[0], sides[1], names),),
                key="pipelines",
                aside=text(f"{some.kind or 'loads'} at ", Run(str(place), "code")),
                detail="drawings",
                wide=True,
            )


def _staircases(before: Report, after: Report, names: tuple[str, str]) -> Iterator[Node]:
    sides = [each.occupancy for each in (before, after)]
    if sides[0] is None or sides[1] is None:
        return
    others = {curve.resource: curve for curve in sides[1].curves}
    for curve in sides[0].curves:
        if (other := others.get(curve.resource)) is not None and other.unit == curve.unit:
            yield Overlay(
                staircase(curve, Terms(before), blocks=sides[0].blocks_per_sm),
                staircase(other, Terms(after), blocks=sides[1].blocks_per_sm),
                names,
            )


def _curves(before: Report, after: Report, names: tuple[str, str]) -> Iterator[Node]:
    """Yield the curves of the stage nearest to the machine that both sides have."""
    others = dict(after.pressure.stages())
    for stage, pressure in before.pressure.stages():
        if stage not in others:
            continue
        one = pressure_curve(stage, pressure, before)
        other = pressure_curve(stage, others[stage], after)
        if one is not None and other is not None:
            yield Overlay(one, other, names)
            return


def _loops(before: Report, after: Report) -> Pairs:
    """Yield the pipelines of the same mechanism and line, in order; the others have one side."""
    found: defaultdict[object, tuple[list[Pipeline], list[Pipeline]]]
    found = defaultdict(lambda: ([], []))
    for index, report in enumerate((before, after)):
        for each in report.pipelines:
            file = each.source.file if each.source else each.stage
            found[file, each.source.line if each.source else each.line][index].append(each)
    for ones, others in found.values():
        for index in range(max(len(ones), len(others))):
            yield (
                ones[index] if index < len(ones) else None,
                others[index] if index < len(others) else None,
            )
