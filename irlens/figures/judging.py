"""Which side of a comparison is better: figure by figure, and as a whole.

Whether a side can launch decides, then errors, then the estimated time. Figures decide only where a
time is unknown: fewer stages that leave room for another CTA may take less time. Those of them that
the time's change comes from explain it. Neither side is better where the launches do other work.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from irlens.figures import ChangeVerdict, Figure, better_or_worse, get, is_noise
from irlens.model.comparison import (
    Comparison,
    ComparisonVerdict,
    Decider,
    Delta,
    FindingDelta,
    LoopDelta,
    Outcome,
    TimeRatio,
)
from irlens.model.estimate import Bound
from irlens.model.report import Severity

#: Registers and memories of two vendors are not the same things, nor are the requests of their
#: warps, or sectors and cache lines.
_OF_A_VENDOR = (
    "resources.", "pressure.", "memory.",
    "traffic.load_", "traffic.store_", "traffic.ideal_",
)  # fmt: skip
_LAUNCHES, _CORRECT = "occupancy.launchable", "run.matches_reference"
_PIPELINED = "pipelines[].verdict"
_RUNS_AHEAD = ("loads[].state", "loads[].iterations_ahead")
_WAVES = "occupancy.waves"
_LOCAL, _OCCUPANCY = "resources.local_bytes", "occupancy.theoretical"
_SECTORS = ("traffic.load_sectors", "traffic.store_sectors")
_SEVERE: tuple[Severity, ...] = ("error", "warning")
_ONLY: dict[frozenset[ChangeVerdict], Outcome] = {
    frozenset({"better"}): "better", frozenset({"worse"}): "worse",
}  # fmt: skip
#: Figures that each part of a time is counted from; of a group, one that changed is named.
_CAUSES: dict[Bound, tuple[tuple[str, ...], ...]] = {
    "latency": (
        ("occupancy.blocks_per_sm", _OCCUPANCY, _WAVES),
        (_PIPELINED, "pipelines[].achieved_stages", "pipelines[].groups_during_compute"),
        ("spills.in_loops", _LOCAL),
    ),
    "dram": (
        ("traffic.wave_read_bytes", "traffic.distinct_read_bytes"),
        ("traffic.distinct_written_bytes",),
        (_LOCAL,),
    ),
    "l2": (*((path,) for path in _SECTORS), (_LOCAL,)),
    "l1": (
        (_SECTORS[0], "traffic.load_requests"),
        (_SECTORS[1], "traffic.store_requests"),
        (_LOCAL,),
    ),
    "tensor": (("summary.product_slowdown",),),
    **dict.fromkeys(
        ("issue", "alu", "fma", "xu"), (("spills.instructions", _LOCAL),)
    ),
}  # fmt: skip

#: Parts that are in proportion to the figures that they are counted from.
_COUNTED: frozenset[Bound] = frozenset({"dram", "l2", "l1"})
#: The least change of such a figure that explains one of the part, as a share of that: what the L2
#: takes for atomic operations may be halved while sectors go down by 4 %.
_LEAST = 0.25


class Judged(NamedTuple):
    """A figure of a comparison, and whether its change is for the better.

    Attributes:
        loop: The pipeline or load it is about; ``None`` for the kernel.
    """

    delta: Delta
    figure: Figure
    direction: ChangeVerdict
    loop: LoopDelta | None = None

    @property
    def changed(self) -> bool:
        """Whether the sides differ by more than the figure's tolerance."""
        delta = self.delta
        return delta.moved and not is_noise(self.figure, delta.before, delta.after)

    @property
    def pull(self) -> ChangeVerdict:
        """Whether it makes what is counted from it less: more waves, one after the other, do not.

        They are neither better nor worse alone, as each may be shorter.
        """
        if self.figure.path == _WAVES and self.delta.change:
            return "better" if self.delta.change < 0 else "worse"
        return self.direction

    @property
    def names_cause(self) -> bool:
        """Whether it says enough: of pipelines that both sides have, their stages say more."""
        values = self.delta.before, self.delta.after
        return self.figure.path != _PIPELINED or "not pipelined" in values


def judge_figure(
    pair: Comparison, delta: Delta, figure: Figure | None, loop: LoopDelta | None = None
) -> ChangeVerdict:
    """Return whether a figure's change is for the better.

    It is neither where the figure means something else on either side: of another vendor, another
    mechanism or another amount of work, and for a load that the machine code waits for at once; and
    where a side cannot launch, nothing else counts.
    """
    if figure is None or figure.path in pair.not_judged:
        return "neutral"
    vendors = {side.target.vendor for side in (pair.before, pair.after) if side.target}
    if len(vendors) > 1 and figure.path.startswith(_OF_A_VENDOR):
        return "neutral"
    other_mechanism = loop is not None and any(e.path == "kind" and e.moved for e in loop.deltas)
    if other_mechanism and figure.path != _PIPELINED:
        return "neutral"
    if loop is not None and loop.exposed and figure.path in _RUNS_AHEAD:
        return "neutral"
    if (pair.before.refusal or pair.after.refusal) and figure.path != _LAUNCHES:
        return "neutral"
    return better_or_worse(figure, delta.before, delta.after)


def judge(pair: Comparison, no_time: str) -> ComparisonVerdict:
    """Return which side is better, and by what.

    Args:
        pair: The comparison; its own verdict is not read.
        no_time: Why there is no time to decide by, where it has none.
    """
    judged = list(_judged(pair))
    decided = _by_launch(judged) or _by_errors(pair, judged)
    if decided is not None:
        return decided
    if pair.time_ratio is not None:
        if pair.other_work and not pair.time_ratio.noise:
            return ComparisonVerdict(outcome="neither", by="time", likely=pair.time_ratio.is_likely)
        return _by_time(pair.time_ratio, judged)
    return _by_figures(pair, judged, no_time)


def _judged(pair: Comparison) -> Iterator[Judged]:
    for delta in pair.figures:
        if (figure := get(delta.path)) is not None:
            yield Judged(delta, figure, judge_figure(pair, delta, figure))
    for loop in pair.loops:
        for delta in loop.deltas if loop.presence == "both" else ():
            if (figure := get(delta.path, loop.what)) is not None:
                yield Judged(delta, figure, judge_figure(pair, delta, figure, loop), loop)


def _by_launch(judged: Collection[Judged]) -> ComparisonVerdict | None:
    for each in judged:
        if each.figure.path == _LAUNCHES and (outcome := _ONLY.get(frozenset({each.direction}))):
            return ComparisonVerdict(outcome=outcome, by="launch")
    return None


def _by_errors(pair: Comparison, judged: Collection[Judged]) -> ComparisonVerdict | None:
    found = _directions(each for each in judged if each.figure.path == _CORRECT)
    found |= {_severe(each, "error") for each in pair.findings} - {"neutral"}
    if not found:
        return None
    return ComparisonVerdict(outcome=_ONLY.get(frozenset(found), "neither"), by="errors")


def _severe(finding: FindingDelta, severity: Severity) -> ChangeVerdict:
    """Whether a finding of a severity is new or gone."""
    if finding.before is None:
        is_new = finding.after is not None and finding.after.severity == severity
        return "worse" if is_new else "neutral"
    is_gone = finding.after is None and finding.before.severity == severity
    return "better" if is_gone else "neutral"


def _by_time(time: TimeRatio, judged: Collection[Judged]) -> ComparisonVerdict:
    if time.noise:
        return ComparisonVerdict(outcome="same", by="time")
    outcome: ChangeVerdict = "better" if time.ratio < 1 else "worse"
    causes = _CAUSES.get(time.moved_by, ()) if time.moved_by is not None else ()
    part = next((each for each in time.parts if each.path == time.moved_by), None)
    least = _LEAST * _relative(part) if part is not None else 0.0
    named: dict[ChangeVerdict, list[str]] = {"better": [], "worse": []}
    for direction, paths in named.items():
        moved = {
            each.figure.path
            for each in judged
            if each.changed and each.pull == direction and each.names_cause
            if time.moved_by not in _COUNTED or _relative(each.delta) >= least
        }
        for group in causes:
            paths += [path for path in group if path in moved][:1]
    against = named["worse" if outcome == "better" else "better"]
    return ComparisonVerdict(
        outcome="better" if outcome == "better" else "worse",
        by="time",
        likely=time.is_likely,
        because=named[outcome],
        despite=against if named[outcome] else [],
    )


def _relative(delta: Delta) -> float:
    """Return the change relative to the larger side, 0..1; 1 if a side is not a number."""
    values = delta.before, delta.after
    numbers = [abs(each) for each in values if isinstance(each, int | float)]
    greatest = max(numbers, default=0.0)
    if len(numbers) < len(values) or not greatest or delta.change is None:
        return 1.0
    return min(1.0, abs(delta.change) / greatest)


def _by_figures(pair: Comparison, judged: Collection[Judged], no_time: str) -> ComparisonVerdict:
    """The weightiest figures decide; where some are better and others worse, neither side is."""
    if not pair.different:
        return ComparisonVerdict(outcome="same", by="figures", no_time=no_time)
    changed = [each for each in judged if each.changed and each.delta.weight != "little"]
    of_kernel = [each for each in changed if each.loop is None or each.loop.what == "pipeline"]
    found = _directions(each for each in of_kernel if each.delta.weight == "much")
    by: Decider = "figures"
    if not found:
        found = _directions(of_kernel or changed)
        by = "figures" if found else "findings"
        found |= {_severe(each, severity) for each in pair.findings for severity in _SEVERE}
        found.discard("neutral")
    return ComparisonVerdict(outcome=_ONLY.get(frozenset(found), "neither"), by=by, no_time=no_time)


def _directions(judged: Iterable[Judged]) -> set[ChangeVerdict]:
    return {each.direction for each in judged} - {"neutral", "unknown"}
