"""Pipelines and loads, matched loop by loop."""

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias, TypeVar

from irlens.diff.report.deltas import Figure, deltas
from irlens.diff.report.places import Place, Places
from irlens.model.comparison import WEIGHTS, LoopDelta, Presence
from irlens.model.memory import LoopLoad
from irlens.model.report import Pipeline, Report
from irlens.model.source import SourceLocation

#: Every field but where it stands, ``reason``, which tells the figures in words, and
#: ``bytes_repeated``, which follows from them and the number of threads.
PIPELINE_FIGURES = (
    Figure("achieved_stages", "count", "much", always=True),
    Figure("verdict", "word", "much"),
    Figure("stages_at_most", "count", "some"),
    Figure("kind", "word", "some"),
    Figure("warp_group", "word", "some"),
    Figure("groups_during_compute", "count", "some", always=True),
    Figure("bytes_in_flight", "bytes", "some", always=True),
    Figure("bytes_in_flight_per_sm", "bytes", "some"),
    Figure("bytes_per_copy", "bytes", "some"),
    Figure("bytes_per_iteration", "bytes", "some"),
    Figure("prefetch_iterations", "count", "some"),
    Figure("requested_stages", "count", "little"),
    Figure("copies_per_iteration", "count", "little"),
    Figure("groups_before_loop", "count", "little"),
    Figure("groups_per_iteration", "count", "little"),
    Figure("outstanding_at_wait", "count", "little"),
    Figure("outstanding_after_wait", "count", "little"),
    Figure("bytes_to_cover_latency", "bytes", "little"),
    Figure("stage", "word", "little"),
)
#: The same; ``operation`` follows from ``state``.
LOAD_FIGURES = (
    Figure("state", "word", "much"),
    Figure("iterations_ahead", "count", "some"),
    Figure("widest_access_bytes", "bytes", "some"),
    Figure("bytes_per_iteration", "bytes", "little"),
    Figure("buffer_copies", "count", "little"),
    Figure("shape", "word", "little"),
    Figure("element", "word", "little"),
)

Loop = TypeVar("Loop", Pipeline, LoopLoad)
Key: TypeAlias = Callable[[Loop], Hashable]
Pair: TypeAlias = tuple[Loop | None, Loop | None]
Locate: TypeAlias = Callable[[SourceLocation | None], Place | None]


def loop_deltas(before: Report, after: Report, places: Places, absent: set[str]) -> list[LoopDelta]:
    """Return what became of each loop's pipelines, and the loads that moved.

    What is not known of one side is neither gone nor new: that is added to ``absent``.
    """
    first, second = places.before, places.after
    found: list[LoopDelta] = []
    if ("pipelines" in before.unknown) != ("pipelines" in after.unknown):
        absent.add("pipelines")
    else:
        matched = _matched(
            before.pipelines, after.pipelines, _pipeline_keys(first), _pipeline_keys(second)
        )
        found += [_pipeline(*pair) for pair in _only_ones(matched, places)]
    if ("ttgir" in before.stages) != ("ttgir" in after.stages):  # which tells the loads
        absent.add("loads")
    else:
        loads = _matched(before.loads, after.loads, _load_keys(first), _load_keys(second))
        found += [load for load in (_load(*pair) for pair in loads) if load.deltas]
    return sorted(found, key=_order)


def _pipeline_keys(locate: Locate) -> list[Key[Pipeline]]:
    return [
        lambda one: (locate(one.source), one.kind, _facts(one, PIPELINE_FIGURES)),
        lambda one: (locate(one.source), one.kind),
    ]


def _load_keys(locate: Locate) -> list[Key[LoopLoad]]:
    return [
        lambda one: (locate(one.source), _facts(one, LOAD_FIGURES)),
        lambda one: locate(one.source),
    ]


def _matched(
    before: Sequence[Loop],
    after: Sequence[Loop],
    first_keys: Sequence[Key[Loop]],
    second_keys: Sequence[Key[Loop]],
) -> list[Pair[Loop]]:
    """Pair what has the same key, by the strictest key first; what is left has no partner."""
    pairs: list[Pair[Loop]] = []
    left: list[Loop] = list(before)
    right: list[Loop] = list(after)
    for first_key, second_key in zip(first_keys, second_keys, strict=True):
        ours, theirs = _grouped(left, first_key), _grouped(right, second_key)
        left, right = [], []
        for key in ours | theirs:
            mine, others = ours.get(key, []), theirs.get(key, [])
            both = min(len(mine), len(others))
            pairs.extend(zip(mine[:both], others[:both], strict=True))
            left += mine[both:]
            right += others[both:]
    pairs.extend((one, None) for one in left)
    pairs.extend((None, one) for one in right)
    return pairs


def _grouped(loops: Sequence[Loop], key: Key[Loop]) -> dict[Hashable, list[Loop]]:
    groups: dict[Hashable, list[Loop]] = {}
    for loop in loops:
        groups.setdefault(key(loop), []).append(loop)
    return groups


def _only_ones(pairs: Sequence[Pair[Pipeline]], places: Places) -> list[Pair[Pipeline]]:
    """Pair what is the only one left on both sides of a loop.

    A pipeline of another mechanism is another one, but for this: a loop that got its first, or
    cp.async that became TMA.
    """
    found = [pair for pair in pairs if None not in pair]
    gone = _grouped([one for one, two in pairs if one and not two], _place_key(places.before))
    appeared = _grouped([two for one, two in pairs if two and not one], _place_key(places.after))
    for place in gone | appeared:
        ours, theirs = gone.get(place, []), appeared.get(place, [])
        if len(ours) == len(theirs) == 1:
            found.append((ours[0], theirs[0]))
        else:
            found.extend((one, None) for one in ours)
            found.extend((None, one) for one in theirs)
    return found


def _place_key(locate: Locate) -> Key[Pipeline]:
    return lambda one: locate(one.source)


def _facts(one: Pipeline | LoopLoad, figures: Sequence[Figure]) -> Hashable:
    return tuple(getattr(one, figure.path) for figure in figures)


def _pipeline(before: Pipeline | None, after: Pipeline | None) -> LoopDelta:
    there = after or before
    return LoopDelta(
        what="pipeline",
        source=_line(there),
        kind=there.kind if there else None,
        presence=_presence(before, after),
        deltas=deltas(PIPELINE_FIGURES, before, after),
    )


def _load(before: LoopLoad | None, after: LoopLoad | None) -> LoopDelta:
    there = after or before
    return LoopDelta(
        what="load",
        source=_line(there),
        kind="load",
        presence=_presence(before, after),
        deltas=deltas(LOAD_FIGURES, before, after),
    )


def _line(one: Pipeline | LoopLoad | None) -> SourceLocation | None:
    if one is None or one.source is None:
        return None
    return SourceLocation(one.source.file, one.source.line)


def _presence(before: object, after: object) -> Presence:
    if before is None:
        return "appeared"
    return "gone" if after is None else "both"


def _order(loop: LoopDelta) -> tuple[object, ...]:
    """What moved most first, then by place."""
    moved = [WEIGHTS.index(each.weight) for each in loop.deltas if each.moved]
    source = loop.source
    place = (source.file, source.line) if source else ("", 0)
    return min(moved, default=len(WEIGHTS)), loop.what != "pipeline", place, loop.kind or ""
