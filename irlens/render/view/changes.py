"""Changes in words and units: what every view of a comparison or a check shows."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from irlens import figures
from irlens.figures import Scope
from irlens.figures.judging import judge_figure
from irlens.model.code import CodeComparison
from irlens.model.comparison import (
    WEIGHTS,
    Comparison,
    Comparisons,
    Delta,
    FindingDelta,
    LoopDelta,
    Side,
    Weight,
)
from irlens.model.config import Vendor
from irlens.model.several import grouped, only
from irlens.model.text import microseconds, percent, plural
from irlens.render.view.nodes import SIGNS, Fact, Run, Text, Tone, phrases, text

#: What leads any list of changes, where it is known.
_MEASURED = "measured_us"
_FIRST = ("occupancy.launchable", "run.matches_reference", _MEASURED, "time.estimate_us")
_TONES: dict[figures.ChangeVerdict, Tone] = {
    "better": "better", "worse": "worse", "neutral": "neutral", "unknown": "unknown",
}  # fmt: skip
_JUDGED: frozenset[Tone] = frozenset({"better", "worse"})
#: Longest requests of both sides, in characters, that fit a title beside other arguments.
_LONGEST_SIDES = 60


class Change(NamedTuple):
    """A figure on both sides, written out.

    Attributes:
        name: Its title: "shared memory".
        before: With its unit; "–" where it is unknown.
        change: With sign and unit; "~" where it did not change, "within 3 %" where that may be
            noise, empty where it is no number.
        changed: Whether the sides differ by more than the figure's tolerance.
    """

    path: str
    name: str
    before: str
    after: str
    change: str
    weight: Weight
    changed: bool
    tone: Tone

    @property
    def arrow(self) -> str:
        """Return "shared memory 4,128 B → 12,320 B"."""
        return f"{self.name} {self.before} → {self.after}"

    @property
    def sign(self) -> str:
        """A mark that says whether the change is good; empty where it is neither."""
        return SIGNS[self.tone] if self.tone in _JUDGED else ""


def change_of(
    delta: Delta,
    sides: Sequence[Side] = (),
    scope: Scope = "report",
    suffix: str = "",
    direction: figures.ChangeVerdict | None = None,
) -> Change:
    """Return a figure on both sides, in the terms of the sides' vendor.

    Args:
        direction: Whether it changed for the better; by default, by the figure alone.
    """
    vendor = _vendor(sides)
    figure = figures.get(delta.path, scope)
    before, after = (
        figures.format_value(value, delta.unit) if figure is None else figure.format(value, vendor)
        for value in (delta.before, delta.after)
    )
    if direction is None and figure is not None:
        direction = figures.better_or_worse(figure, delta.before, delta.after)
    noise = figure is not None and figures.is_noise(figure, delta.before, delta.after)
    change = figures.format_change(delta.before, delta.after, delta.unit)
    return Change(
        path=delta.path,
        name=figure_title(delta.path, sides, scope) + suffix,
        before=before,
        after=after,
        change=f"within {percent(figure.tolerance)}" if figure and noise else change,
        weight=delta.weight,
        changed=delta.moved and not noise,
        tone=_TONES[direction or "neutral"],
    )


def signed_change(change: Change) -> Text:
    """How far a figure changed, with a mark that says whether that is good."""
    return text(Run(f"{change.change} {change.sign}".strip(), change.tone))


def row_tone(weight: Weight | None) -> Tone:
    """Return the tone of a figure's row by the weight of its change; without one it is dim."""
    if weight is None:
        return "dim"
    return "strong" if weight == "much" else "neutral"


def figure_title(path: str, sides: Sequence[Side] = (), scope: Scope = "report") -> str:
    """Return a figure's title, in AMD's terms where all sides are AMD's."""
    multiprocessors = sorted({side.multiprocessor or "CU" for side in sides})
    return figures.title(
        path,
        scope=scope,
        vendor=_vendor(sides),
        multiprocessor=" or ".join(multiprocessors) or "CU",
    )


def _vendor(sides: Sequence[Side]) -> Vendor | None:
    return only(side.target.vendor if side.target else None for side in sides)


def changes(comparison: Comparison) -> list[Change]:
    """Return every figure of both sides and of their pipelines: what matters most first."""
    of_loops = [
        _judged(comparison, delta, loop, _which(loop, comparison.loops))
        for loop in comparison.loops
        if loop.what == "pipeline" and loop.presence == "both"
        for delta in loop.deltas
    ]
    of_report = [*_measured(comparison)]
    of_report += [_judged(comparison, delta) for delta in comparison.figures]
    return weightiest_first([*of_loops, *of_report])


def _measured(comparison: Comparison) -> Iterator[Change]:
    """Yield the measured time of both sides where it decides.

    It is no figure that makes two sides different: each run of one kernel takes another.
    """
    ours, theirs, time = comparison.before, comparison.after, comparison.time_ratio
    if ours.measured_us is None or theirs.measured_us is None or time is None or not time.device:
        return
    change = figures.format_change(ours.measured_us, theirs.measured_us, "us")
    yield Change(
        path=_MEASURED,
        name="measured time",
        before=microseconds(ours.measured_us),
        after=microseconds(theirs.measured_us),
        change="within noise" if time.noise else change,
        weight="much",
        changed=not time.noise,
        tone="neutral" if time.noise else _TONES["better" if time.ratio < 1 else "worse"],
    )


def _judged(
    comparison: Comparison, delta: Delta, loop: LoopDelta | None = None, suffix: str = ""
) -> Change:
    scope = "report" if loop is None else loop.what
    direction = judge_figure(comparison, delta, figures.get(delta.path, scope), loop)
    return change_of(delta, (comparison.before, comparison.after), scope, suffix, direction)


def main_changes(comparison: Comparison) -> list[Change]:
    """Return the figures that matter, and those a reader always wants to see."""
    return [each for each in changes(comparison) if each.weight != "little"]


def minor_changes(comparison: Comparison) -> list[Change]:
    """Return the figures that matter little and changed, not only beyond the digits shown."""
    return [
        each
        for each in changes(comparison)
        if each.weight == "little" and each.changed and each.before != each.after
    ]


def load_changes(comparison: Comparison) -> list[tuple[str, list[Change]]]:
    """Return the changes of each load that both sides have, by its place."""
    return [
        (
            str(loop.source or "no source"),
            weightiest_first([_judged(comparison, delta, loop) for delta in loop.changes]),
        )
        for loop in comparison.loops
        if loop.what == "load" and loop.presence == "both"
    ]


def one_sided(comparison: Comparison) -> list[str]:
    """Return the loops that one side lacks: "appeared: cp.async at softmax.py:48, 2 stages"."""
    phrases = []
    for loop in comparison.loops:
        if loop.presence == "both":
            continue
        stages = next((each for each in loop.deltas if each.path == "achieved_stages"), None)
        value = None
        if stages is not None:
            value = stages.after if loop.presence == "appeared" else stages.before
        depth = f", {plural(value, 'stage')}" if isinstance(value, int) else ""
        place = loop.source or "no source"
        product = f" of {loop.product}" if loop.product else ""
        phrases.append(f"{loop.presence}: {loop.kind or 'loop'}{product} at {place}{depth}")
    return phrases


def about_registers(comparison: Comparison) -> str:
    """Return what allocated and live registers say together; "" where that is nothing."""
    known = {each.path: each for each in comparison.figures}
    allocated, live = known.get("resources.registers"), known.get("pressure.sass.peak")
    if allocated is None or not allocated.change or allocated.change < 0:
        return ""
    if live is None or live.change is None or live.change > 0:
        return ""
    more, peak = change_of(allocated).change, change_of(live)
    stayed = (
        f"stayed at {peak.after}" if live.change == 0 else f"fell: {peak.before} → {peak.after}"
    )
    return f"{more} allocated per thread, while the peak of live registers {stayed}"


def not_judged(comparison: Comparison) -> tuple[Fact, ...]:
    """Return the figures that changed and mean something else on either side, by the reason."""
    alike: dict[str, list[str]] = {}
    for each in changes(comparison):
        figure = figures.get(each.path, "report" if "." in each.path else "pipeline")
        reason = comparison.not_judged.get(figure.path) if figure is not None else None
        if reason is not None and each.changed and each.weight != "little":
            alike.setdefault(reason, []).append(each.name)
    return tuple(
        Fact("" if index else "Not judged", text(Run(", ".join(names))), (phrases(reason),))
        for index, (reason, names) in enumerate(alike.items())
    )


def not_compared(comparison: Comparison) -> tuple[Fact, ...]:
    """Return what could not be compared, a fact for each reason."""
    because = comparison.not_compared_because
    alike = grouped(
        (because.get(path, "only one side has it"), _part(path)) for path in comparison.not_compared
    )
    return tuple(
        Fact(
            "" if index else "Left out",
            text(Run(", ".join(dict.fromkeys(parts)), "unknown")),
            (phrases(Run(reason, "unknown")),),
        )
        for index, (reason, parts) in enumerate(alike.items())
    )


def _part(path: str) -> str:
    """Return what a part of a report is called: a figure's title, or the path itself."""
    start, _, code = path.partition(".")
    if start == "findings":
        return f"finding {code}"
    return path if figures.get(path) is None else figures.title(path)


def finding_state(finding: FindingDelta) -> str:
    """Return "new", "gone" or "changed"."""
    if finding.before is None:
        return "new"
    return "gone" if finding.after is None else "changed"


def title(pair: Comparison | CodeComparison) -> str:
    """Return the kernel and the GPU: "softmax_kernel on sm_90"; its setting where needed.

    Where the sides differ in either, both are named.
    """
    kernels = dict.fromkeys((pair.before.kernel, pair.after.kernel))
    targets = dict.fromkeys(_arch(side) for side in (pair.before, pair.after))
    setting = f", {pair.setting}" if pair.setting else ""
    return f"{' → '.join(kernels)} on {' → '.join(targets)}{setting}"


def sides(pair: Comparison | CodeComparison) -> str:
    """Return what was requested: "num_stages=2 → num_stages=4"; "" where the title says it."""
    both = (pair.before, pair.after)
    if all(side.label in ("before", "after", side.kernel, _arch(side)) for side in both):
        return ""
    return f"{pair.before.label} → {pair.after.label}"


def full_title(pair: Comparison) -> str:
    """Return the title and what was requested; of other work the verdict says that."""
    named = sides(pair)
    long = pair.other_work and len(named) > _LONGEST_SIDES
    return ", ".join(filter(None, (title(pair), "" if long else named)))


def describe(side: Side) -> str:
    """Return a side that stands alone: "softmax_kernel on sm_90, num_stages=4"."""
    label = side.label.removeprefix(_arch(side)).strip()
    named = label not in ("", "before", "after")
    return f"{side.kernel} on {_arch(side)}" + (f", {label}" if named else "")


def _arch(side: Side) -> str:
    return side.target.arch if side.target else "an unknown target"


def unpaired(comparisons: Comparisons) -> list[tuple[str, Sequence[Side]]]:
    """Return the sides without a counterpart, by what to call them."""
    known = (
        ("added", comparisons.added),
        ("removed", comparisons.removed),
        ("unmatched before", comparisons.unmatched_before),
        ("unmatched after", comparisons.unmatched_after),
    )
    return [(what, alone) for what, alone in known if alone]


def weightiest_first(rows: Sequence[Change]) -> list[Change]:
    """Sort by what changed and by weight, after what decides: whether it launches, and the time."""
    ranks = {path: rank for rank, path in enumerate(_FIRST)}
    return sorted(
        rows,
        key=lambda row: (
            ranks.get(row.path, len(ranks)), not row.changed, WEIGHTS.index(row.weight)
        ),
    )  # fmt: skip


def _which(loop: LoopDelta, loops: Sequence[LoopDelta]) -> str:
    """Name a loop as far as that is needed to tell it from the others."""
    place = f" {loop.source}" if loop.source else ""
    pipelines = [each for each in loops if each.what == "pipeline"]
    if len(pipelines) == 1:
        return ""
    alone = [each.source for each in pipelines].count(loop.source) == 1
    product = f" of {loop.product}" if loop.product else ""
    return f",{place}" if place and alone else f", {loop.kind or 'loop'}{product}{place}"
