"""What a movement against the baseline means: which ones fail a check, and which are told."""

from collections.abc import Iterator

import msgspec

from irlens.check import places
from irlens.check.baseline import Entry
from irlens.model.check import JUDGEMENTS, Judgement, Movement
from irlens.model.comparison import Comparison, Delta, LoopDelta
from irlens.model.report import Pipeline, Report

#: Losing these is what a check is for.
_GATES = frozenset({"occupancy.launchable", "occupancy.theoretical", "achieved_stages"})
_MORE_IS_BETTER = frozenset({
    "occupancy.launchable", "occupancy.theoretical", "occupancy.blocks_per_sm", "achieved_stages",
})  # fmt: skip
#: What is told of a loop that is still there.
_OF_A_LOOP = ("achieved_stages", "requested_stages", "kind")
#: Other words for what is told anyway.
_REPEATED = frozenset({"occupancy.active_warps", "occupancy.max_warps"})


def movements(
    comparison: Comparison, entry: Entry, report: Report, *, strict: bool
) -> list[Movement]:
    """Return what moved, worst first.

    Args:
        comparison: The entry's figures and the report's.
        entry: The baseline's.
        report: The whole of what there is now.
        strict: Whether every movement fails.
    """
    found = [*_asked(entry, report), *_figures(comparison, report)]
    for loop in comparison.loops:
        found += _loop(loop, report)
    judged = [
        msgspec.structs.replace(one, fails=strict or one.judgement in ("lost", "unknown"))
        for one in found
    ]
    return sorted(judged, key=lambda one: JUDGEMENTS.index(one.judgement))


def _asked(entry: Entry, report: Report) -> Iterator[Movement]:
    """What the kernel's own defaults ask for now."""
    before = msgspec.to_builtins(entry.config)
    after = msgspec.to_builtins(msgspec.structs.replace(report.config, grid=None))
    for group in ("constexprs", "args"):
        before |= before.pop(group)
        after |= after.pop(group)
    for name in [*before, *(name for name in after if name not in before)]:
        first, second = before.get(name), after.get(name)
        if first != second:
            delta = Delta(
                path=f"config.{name}",
                unit="word",
                before=first,
                after=second,
                change=None,
                weight="little",
            )
            yield _movement(delta, "other")


def _figures(comparison: Comparison, report: Report) -> Iterator[Movement]:
    for delta in comparison.figures:
        if not delta.moved or delta.before is None or delta.path in _REPEATED:
            continue
        judgement = _judged(delta)
        reason = ""
        if judgement == "unknown":
            reason = places.why_unknown(delta.path, report)
        elif delta.path == "occupancy.theoretical" and judgement == "lost":
            reason = places.occupancy_reason(report)
        yield Movement(
            delta=delta,
            judgement=judgement,
            fails=False,
            pipeline=None,
            source=places.source(delta.path, report),
            reason=reason,
        )


def _loop(loop: LoopDelta, report: Report) -> Iterator[Movement]:
    now = _pipeline(loop, report)
    told = _OF_A_LOOP if loop.presence == "both" else ("achieved_stages",)
    for delta in loop.deltas:
        if delta.moved and delta.path in told:
            judgement, reason = _judged_loop(delta, loop, now, report)
            yield Movement(
                delta=delta,
                judgement=judgement,
                fails=False,
                pipeline=loop.kind or "loop",
                source=loop.source,
                reason=reason,
            )


def _judged_loop(
    delta: Delta, loop: LoopDelta, now: Pipeline | None, report: Report
) -> tuple[Judgement, str]:
    """Return what a movement of a pipeline means, and why it is so."""
    if delta.path != "achieved_stages":
        return "other", ""
    reason = now.reason if now is not None else ""
    before, after = delta.before, delta.after
    if not isinstance(before, int) or before < 2:
        return ("better" if isinstance(after, int) and after > 1 else "other"), reason
    if "pipelines" in report.unknown:
        return "unknown", report.unknown["pipelines"]
    if loop.presence == "gone":
        return "lost", "there is no such pipeline any more"
    if after is None:
        known = now is not None and now.verdict == "not pipelined"
        return ("lost" if known else "unknown"), reason
    return _judged(delta), reason


def _judged(delta: Delta) -> Judgement:
    """Return what a movement of a figure means."""
    if delta.after is None:
        return "unknown" if delta.path in _GATES else "other"
    if delta.before is None or isinstance(delta.before, str) or isinstance(delta.after, str):
        return "other"
    more = delta.after > delta.before
    if delta.path in _MORE_IS_BETTER:
        return "better" if more else "lost" if delta.path in _GATES else "worse"
    return "worse" if more else "better"


def _pipeline(loop: LoopDelta, report: Report) -> Pipeline | None:
    """Return the pipeline that a loop's difference speaks of, as it is now."""
    return next(
        (
            one
            for one in report.pipelines
            if one.kind == loop.kind and str(one.source) == str(loop.source)
        ),
        None,
    )


def _movement(delta: Delta, judgement: Judgement) -> Movement:
    return Movement(
        delta=delta, judgement=judgement, fails=False, pipeline=None, source=None, reason=""
    )
