"""Pipelines and loads, matched loop by loop."""

from collections.abc import Callable, Hashable, Sequence
from typing import Literal, TypeAlias, TypeVar

from msgspec.structs import replace

from irlens.diff import take_pairs
from irlens.diff.report.figure_deltas import deltas
from irlens.diff.report.left_out import LeftOut
from irlens.diff.report.source_lines import LinePair, LinePairs
from irlens.figures import Figure, compared
from irlens.model.comparison import WEIGHTS, LoopDelta
from irlens.model.memory import LoopLoad
from irlens.model.report import Pipeline, Report
from irlens.model.source import SourceLocation

Loop = TypeVar("Loop", Pipeline, LoopLoad)
Key: TypeAlias = Callable[[Loop], Hashable]
Pair: TypeAlias = tuple[Loop | None, Loop | None]
#: Looks up the line pair of a location on one side.
Locate: TypeAlias = Callable[[SourceLocation | None], LinePair | None]


def loop_deltas(
    before: Report, after: Report, lines: LinePairs, left_out: LeftOut
) -> list[LoopDelta]:
    """Return the pipelines of both sides and the loads that changed, largest change first.

    If only one side knows its pipelines or loads, none has appeared or gone: add the part to
    ``left_out``.
    """
    changes: list[LoopDelta] = []
    if ("pipelines" in before.unknown) != ("pipelines" in after.unknown):
        left_out.add("pipelines", lacks_before="pipelines" in before.unknown)
    else:
        pairs = _matched(
            before.pipelines, after.pipelines,
            _pipeline_keys(lines.before), _pipeline_keys(lines.after),
        )  # fmt: skip
        changes += [_delta(*pair, left_out) for pair in pairs]
    if _knows_loads(before) != _knows_loads(after):
        left_out.add("loads", lacks_before=not _knows_loads(before))
    else:
        loads = _matched(
            before.loads, after.loads, _load_keys(lines.before), _load_keys(lines.after)
        )
        for pair in loads:
            found = _delta(*pair, left_out)
            sides = zip((before, after), pair, strict=True)
            exposed = any(one is not None and _is_exposed(one, report) for report, one in sides)
            changes += [replace(found, exposed=exposed)] if found.changes else []
    return sorted(changes, key=_largest_change_first)


def _is_exposed(load: LoopLoad, report: Report) -> bool:
    """Whether the machine code waits at once for a load that the ttgir issues ahead."""
    return load.state != "in place" and report.exposes(load)


def _knows_loads(report: Report) -> bool:
    """Whether a report has all loads, which are read from the ttgir; a baseline has none."""
    return "loads" not in report.unknown and ("ttgir" in report.stages or not report.stages)


def _pipeline_keys(locate: Locate) -> list[tuple[Key[Pipeline], bool]]:
    """Return keys, strictest first, and whether each must be unique.

    A matrix product is told apart from the others of its loop by its line. A pipeline of another
    mechanism is another pipeline, unless it is the only one left of its loop: the loop's first
    one, or cp.async that became TMA.
    """
    rows = compared("pipeline")

    def place(one: Pipeline) -> tuple[Hashable, ...]:
        return locate(one.source), one.kind, locate(one.product_source)

    return [
        (lambda one: (*place(one), _values(one, rows)), False),
        (place, False),
        (lambda one: (locate(one.source), one.kind), False),
        (lambda one: locate(one.source), True),
    ]


def _load_keys(locate: Locate) -> list[tuple[Key[LoopLoad], bool]]:
    rows = compared("load")
    return [
        (lambda one: (locate(one.source), _values(one, rows)), False),
        (lambda one: locate(one.source), False),
    ]


def _matched(
    before: Sequence[Loop],
    after: Sequence[Loop],
    first_keys: Sequence[tuple[Key[Loop], bool]],
    second_keys: Sequence[tuple[Key[Loop], bool]],
) -> list[Pair[Loop]]:
    """Pair loops of equal keys, strictest key first; the others have no partner."""
    left: list[Loop] = list(before)
    right: list[Loop] = list(after)
    pairs: list[Pair[Loop]] = []
    for (first_key, unique), (second_key, _) in zip(first_keys, second_keys, strict=True):
        both = take_pairs(left, right, first_key, second_key, unique=unique)
        pairs.extend(both)
    pairs.extend((one, None) for one in left)
    pairs.extend((None, one) for one in right)
    return pairs


def _values(one: Pipeline | LoopLoad, figures: Sequence[Figure]) -> Hashable:
    return tuple(getattr(one, figure.field) for figure in figures)


def _delta(
    before: Pipeline | LoopLoad | None, after: Pipeline | LoopLoad | None, left_out: LeftOut
) -> LoopDelta:
    present = after or before
    pipeline = present if isinstance(present, Pipeline) else None
    what: Literal["pipeline", "load"] = "load" if pipeline is None else "pipeline"
    return LoopDelta(
        what=what,
        source=_line(present.source) if present else None,
        kind="load" if pipeline is None else pipeline.kind,
        product=_line(pipeline.product_source) if pipeline else None,
        presence="appeared" if before is None else "gone" if after is None else "both",
        deltas=deltas(compared(what), before, after, left_out),
    )


def _line(source: SourceLocation | None) -> SourceLocation | None:
    return None if source is None else SourceLocation(source.file, source.line)


def _largest_change_first(loop: LoopDelta) -> tuple[object, ...]:
    moved = [WEIGHTS.index(each.weight) for each in loop.changes]
    source = loop.source
    place = (source.file, source.line) if source else ("", 0)
    return min(moved, default=len(WEIGHTS)), loop.what != "pipeline", place, loop.kind or ""
