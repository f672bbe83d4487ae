"""Judges what moved against the baseline: which movements fail a check, which only warn."""

from collections.abc import Iterator

import msgspec

from irlens.checks.baseline import Entry
from irlens.diff.report.figure_deltas import delta
from irlens.diff.report.left_out import why_unknown
from irlens.figures import Figure, better_or_worse, get
from irlens.figures.derived import writes
from irlens.figures.judging import judge_figure
from irlens.model.check import JUDGEMENTS, Judgement, Movement
from irlens.model.comparison import Comparison, Delta, LoopDelta
from irlens.model.report import Pipeline, Report
from irlens.model.source import SourceLocation
from irlens.model.terms import Terms

#: Figures reported of a loop that both sides have.
_OF_A_LOOP = ("achieved_stages", "requested_stages", "kind")
#: They follow from figures that are reported.
_REDUNDANT = frozenset({"occupancy.active_warps", "occupancy.max_warps", "time.bound"})


def movements(comparison: Comparison, entry: Entry, report: Report) -> list[Movement]:
    """Return what moved, worst first: a check fails for losses and for unknown figures.

    Time decides where it is known: nothing is lost or worse of a launch that takes less of it.
    """
    moved = [*_requested(entry, report), *_writes(entry, report), *_figures(comparison, report)]
    for loop in comparison.loops:
        moved += _loop(loop, report)
    if comparison.takes_less_time:
        moved = [_eased(one) for one in moved]
    moved += _unknown_pipelines(entry, report)
    judged = [
        msgspec.structs.replace(one, fails=one.judgement in ("lost", "unknown")) for one in moved
    ]
    return sorted(judged, key=lambda one: JUDGEMENTS.index(one.judgement))


def _eased(one: Movement) -> Movement:
    """Return a movement without a loss, since the launch takes less time than the baseline's."""
    if one.judgement not in ("lost", "worse"):
        return one
    reason = "; ".join(filter(None, (one.reason, "no loss, as the launch takes less time")))
    return msgspec.structs.replace(one, judgement="other", reason=reason)


def _requested(entry: Entry, report: Report) -> Iterator[Movement]:
    """Yield the settings that changed with the kernel's own defaults."""
    before = msgspec.to_builtins(entry.config)
    after = msgspec.to_builtins(msgspec.structs.replace(report.config, grid=None))
    for group in ("constexprs", "args"):
        before |= before.pop(group)
        after |= after.pop(group)
    for name in [*before, *(name for name in after if name not in before)]:
        first, second = before.get(name), after.get(name)
        if first != second:
            moved = delta(f"config.{name}", first, second, "word")
            yield _movement(msgspec.structs.replace(moved, change=None), "other")


def _writes(entry: Entry, report: Report) -> Iterator[Movement]:
    """Yield that stores became atomics, or the reverse: the launch does something else."""
    now = writes(report)
    if None not in (entry.writes, now) and entry.writes != now:
        yield _movement(delta("summary.writes", entry.writes, now, "word"), "other")


def _figures(comparison: Comparison, report: Report) -> Iterator[Movement]:
    """Yield the figures of the whole kernel that moved."""
    for moved in comparison.figures:
        if moved.before in (None, moved.after) or moved.path in _REDUNDANT:
            continue
        figure = get(moved.path)
        judgement = _judge(moved, figure)
        if judgement in ("worse", "better") and figure is not None and not figure.gates:
            direction = judge_figure(comparison, moved, figure)
            judgement = "other" if direction == "neutral" else judgement
        reason = ""
        if judgement == "unknown":
            reason = why_unknown(moved.path, report)
        elif moved.path == "occupancy.theoretical" and judgement == "lost":
            reason = occupancy_reason(report)
        movement = _movement(moved, judgement, reason)
        yield msgspec.structs.replace(movement, source=cause(moved.path, report))


def _loop(loop: LoopDelta, report: Report) -> Iterator[Movement]:
    """Yield the figures of a loop that moved."""
    now = _pipeline(loop, report)
    reported = _OF_A_LOOP if loop.presence == "both" else ("achieved_stages",)
    for moved in loop.deltas:
        if moved.before != moved.after and moved.path in reported:
            movement = _movement(moved, *_judge_loop(moved, loop, now))
            yield msgspec.structs.replace(
                movement, pipeline=loop.kind or "loop", source=loop.source
            )


def _unknown_pipelines(entry: Entry, report: Report) -> Iterator[Movement]:
    """Yield the stages of the baseline's pipelines where today's are unknown."""
    reason = report.unknown.get("pipelines")
    for one in entry.pipelines or () if reason is not None else ():
        if one.achieved_stages is not None:
            moved = delta("achieved_stages", one.achieved_stages, None, weight="much")
            judgement: Judgement = "unknown" if one.achieved_stages > 1 else "other"
            yield msgspec.structs.replace(
                _movement(moved, judgement, reason or ""),
                pipeline=one.kind or "loop",
                source=one.source,
            )


def _judge_loop(moved: Delta, loop: LoopDelta, now: Pipeline | None) -> tuple[Judgement, str]:
    """Return the judgement on a figure of a pipeline, and the reason."""
    if moved.path != "achieved_stages":
        return "other", ""
    reason = now.reason if now is not None else ""
    before, after = moved.before, moved.after
    if not isinstance(before, int) or before < 2:
        return ("better" if isinstance(after, int) and after > 1 else "other"), reason
    if loop.presence == "gone":
        return "lost", "the loop has no such pipeline any more"
    if after is None:
        known = now is not None and now.verdict == "not pipelined"
        return ("lost" if known else "unknown"), reason
    return _judge(moved, get(moved.path, "pipeline")), reason


def _judge(moved: Delta, figure: Figure | None) -> Judgement:
    """Return the judgement on a figure."""
    if figure is None:
        return "other"
    if moved.after is None:
        return "unknown" if figure.gates else "other"
    match better_or_worse(figure, moved.before, moved.after):
        case "better":
            return "better"
        case "worse":
            return "lost" if figure.gates else "worse"
        case _:
            return "other"


def _pipeline(loop: LoopDelta, report: Report) -> Pipeline | None:
    """Return the pipeline of today that a loop's difference is about."""
    return next(
        (
            one
            for one in report.pipelines
            if one.kind == loop.kind
            and str(one.source) == str(loop.source)
            and str(one.product_source) == str(loop.product)
        ),
        None,
    )


def _movement(moved: Delta, judgement: Judgement, reason: str = "") -> Movement:
    return Movement(
        delta=moved, judgement=judgement, fails=False, pipeline=None, source=None, reason=reason
    )


def cause(path: str, report: Report) -> SourceLocation | None:
    """Return the line of Python that contributes most to a figure of the whole kernel.

    For registers and spills, the line with the most live registers; for shared memory, the line
    of the largest buffer; for occupancy, the line of the resource that limits it.
    """
    if path.startswith("occupancy."):
        return next(filter(None, (_most_used_at(limit, report) for limit in _limits(report))), None)
    figure = get(path)
    return _most_used_at(figure.consumes, report) if figure and figure.consumes else None


def occupancy_reason(report: Report) -> str:
    """Return what limits occupancy, and the smallest change that would raise it."""
    occupancy, words = report.occupancy, Terms(report)
    if occupancy is None:
        return ""
    if not occupancy.launchable:
        return "; ".join(map(words.refusal, occupancy.refusals))
    limited = f"limited by {' and '.join(map(words.resource, occupancy.limited_by))}"
    for step in occupancy.next_step:
        if occupancy.limited_by == [step.resource]:
            return f"{limited}; {words.step(step, occupancy)}"
    return limited


def _limits(report: Report) -> list[str]:
    """Return the resources that limit occupancy, or that prevent the launch."""
    occupancy = report.occupancy
    if occupancy is None:
        return []
    return [refusal.resource for refusal in occupancy.refusals] or list(occupancy.limited_by)


def _most_used_at(resource: str, report: Report) -> SourceLocation | None:
    """Return the line that uses most of a resource."""
    if resource == "registers":
        peaks = (stage.source for _, stage in report.pressure.stages())
        return next(filter(None, peaks), None)
    if resource == "shared_memory" and report.memory is not None:
        live = [one for one in report.memory.buffers if one.source and one.bytes and one.at_peak]
        return max(live, key=lambda one: one.bytes or 0).source if live else None
    return None
