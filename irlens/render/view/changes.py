"""Changes in words and units: what every view of a comparison or a check shows."""

from collections.abc import Sequence
from typing import NamedTuple

from irlens import figures
from irlens.figures import Scope
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
from irlens.model.text import count, percent, plural
from irlens.render.view.nodes import SIGNS, Fact, Headline, Run, Text, Tone, phrases, text

_IN_VERDICT = 3
_BLOCKS_PER_SM = "occupancy.blocks_per_sm"
#: In the verdict even though they decide nothing by themselves.
_FOREMOST = frozenset({"resources.registers", "resources.shared_dynamic_bytes"})
_TONES: dict[figures.ChangeVerdict, Tone] = {
    "better": "better", "worse": "worse", "neutral": "neutral", "unknown": "unknown",
}  # fmt: skip
#: Registers and memories of two vendors are not the same things, nor are the requests of their
#: warps, or sectors and cache lines.
_OF_A_VENDOR = (
    "resources.", "pressure.", "memory.",
    "traffic.load_", "traffic.store_", "traffic.ideal_",
)  # fmt: skip
_JUDGED: frozenset[Tone] = frozenset({"better", "worse"})
_STATE_TONES: dict[str, Tone] = {"new": "worse", "gone": "better"}


class Change(NamedTuple):
    """A figure on both sides, written out.

    Attributes:
        path: Where the report has it.
        name: Its title: "shared memory".
        before: With its unit; "–" where it is unknown.
        after: The same.
        change: With sign and unit; "~" where it did not change, "within 3 %" where that may be
            noise, empty where it is no number.
        weight: How much it matters.
        changed: Whether the sides differ by more than the figure's tolerance.
        tone: Whether that is better or worse for the kernel.
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
    delta: Delta, sides: Sequence[Side] = (), scope: Scope = "report", suffix: str = ""
) -> Change:
    """Return a figure on both sides, in the terms of the sides' vendor.

    Args:
        delta: The figure.
        sides: Whose it is.
        scope: The record that its path starts from.
        suffix: Appended to its title.
    """
    vendor = _vendor(sides)
    figure = figures.get(delta.path, scope)
    before, after = (
        figures.format_value(value, delta.unit) if figure is None else figure.format(value, vendor)
        for value in (delta.before, delta.after)
    )
    vendors = {side.target.vendor for side in sides if side.target}
    alike = len(vendors) <= 1 or not delta.path.startswith(_OF_A_VENDOR)
    verdict = figure and alike and figures.better_or_worse(figure, delta.before, delta.after)
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
        tone=_TONES[verdict or "neutral"],
    )


def signed_change(change: Change) -> Text:
    """How far a figure changed, with a mark that says whether that is good."""
    return text(Run(f"{change.change} {change.sign}".strip(), change.tone))


def row_tone(*, changed: bool, weight: Weight) -> Tone:
    """Return the tone of a figure's row: what did not change is dim, what decides is strong."""
    if not changed:
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
    vendors = {side.target.vendor if side.target else None for side in sides}
    return next(iter(vendors)) if len(vendors) == 1 else None


def changes(comparison: Comparison) -> list[Change]:
    """Return every figure of both sides and of their pipelines: what matters most first."""
    both = (comparison.before, comparison.after)
    of_loops = [
        change_of(delta, both, "pipeline", _which(loop, comparison.loops))
        for loop in comparison.loops
        if loop.what == "pipeline" and loop.presence == "both"
        for delta in loop.deltas
    ]
    of_report = [change_of(delta, both) for delta in comparison.figures]
    if _keeps_occupancy(comparison):
        # Fewer CTAs that are larger, and hold as many warps, are not worse.
        of_report = [
            each._replace(tone="neutral") if each.path == _BLOCKS_PER_SM else each
            for each in of_report
        ]
    return _weightiest_first([*of_loops, *of_report])


def _keeps_occupancy(comparison: Comparison) -> bool:
    return any(
        each.path == "occupancy.theoretical" and not each.moved for each in comparison.figures
    )


def main_changes(comparison: Comparison) -> list[Change]:
    """Return the figures that matter, and those a reader always wants to see."""
    return [each for each in changes(comparison) if each.weight != "little"]


def minor_changes(comparison: Comparison) -> list[Change]:
    """Return the figures that changed and matter little."""
    return [each for each in changes(comparison) if each.weight == "little" and each.changed]


def load_changes(comparison: Comparison) -> list[tuple[str, list[Change]]]:
    """Return the changes of each load that both sides have, by its place."""
    both = (comparison.before, comparison.after)
    return [
        (
            str(loop.source or "no source"),
            _weightiest_first([change_of(delta, both, "load") for delta in loop.changes]),
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


def verdict(comparison: Comparison) -> Headline:
    """Return a comparison in a line: "worse: occupancy 50 % → 25 % · 1 finding new".

    The figures of the greatest weight among those that changed decide on the whole; where some of
    them are better and others worse, it is neither.
    """
    if not comparison.different:
        known = " in what both sides have" if comparison.not_compared else ""
        return Headline((Run(f"no difference{known}"),))
    changed = [each for each in main_changes(comparison) if each.changed]
    if not changed:
        changed = [
            each._replace(name=f"{each.name} of the load at {place}")
            for place, of_load in load_changes(comparison)
            for each in of_load
            if each.weight != "little"
        ]
    foremost = [
        each
        for each in changed
        if (each.weight == "much" or each.path in _FOREMOST)
        and figures.UNKNOWN not in (each.before, each.after)
    ]
    # What two vendors count differently comes last, and may have no room.
    foremost.sort(key=lambda each: each.tone not in _JUDGED and each.path not in _FOREMOST)
    phrases = _grouped((foremost or changed)[:_IN_VERDICT])
    phrases += map(Run, one_sided(comparison)[:_IN_VERDICT])
    if _keeps_occupancy(comparison):
        phrases.append(Run("occupancy unchanged"))
    found = _finding_phrases(comparison)
    if not changed and not found:
        phrases.append(Run("only minor figures changed"))
    decisive = [each.tone for each in changed if each.weight == "much"]
    tones = _JUDGED.intersection(decisive) or _JUDGED.intersection(
        [*(each.tone for each in changed), *(each.tone for each in found)]
    )
    tone: Tone = "neutral"
    if len(tones) == 1:
        tone = "better" if "better" in tones else "worse"
    return Headline((*phrases, *found), tone)


def _grouped(changed: Sequence[Change]) -> list[Run]:
    """Return changes as phrases; those that are better, and those that are worse, say so."""
    groups: dict[Tone, list[str]] = {}
    for each in changed:
        groups.setdefault(each.tone, []).append(each.arrow)
    return [
        Run(f"{tone}: {', '.join(arrows)}" if tone in _JUDGED else ", ".join(arrows), tone)
        for tone, arrows in groups.items()
    ]


def _finding_phrases(comparison: Comparison) -> list[Run]:
    """Return how many findings are new, gone or changed; a new note is not worse."""
    phrases = []
    for state in ("new", "gone", "changed"):
        of_state = [each for each in comparison.findings if finding_state(each) == state]
        severe = any(
            finding.severity != "note"
            for each in of_state
            for finding in (each.before, each.after)
            if finding is not None
        )
        if of_state:
            tone = _STATE_TONES.get(state, "neutral") if severe else "neutral"
            phrases.append(Run(f"{plural(len(of_state), 'finding')} {state}", tone))
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


def not_compared(comparison: Comparison) -> tuple[Fact, ...]:
    """Return what could not be compared, a fact for each reason."""
    alike: dict[str, list[str]] = {}
    for path in comparison.not_compared:
        reason = comparison.not_compared_because.get(path, "only one side has it")
        alike.setdefault(reason, []).append(_part(path))
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
    """Return the title and what was requested."""
    return ", ".join(filter(None, (title(pair), sides(pair))))


def describe(side: Side) -> str:
    """Return a side that stands alone: "softmax_kernel on sm_90, num_stages=4"."""
    label = side.label.removeprefix(_arch(side)).strip()
    named = label not in ("", "before", "after")
    return f"{side.kernel} on {_arch(side)}" + (f", {label}" if named else "")


def _arch(side: Side) -> str:
    return side.target.arch if side.target else "an unknown target"


def summary(comparisons: Comparisons) -> Headline:
    """Return many comparisons in a line: "2 of 7 differ · 1 worse · 1 added"."""
    verdicts = [verdict(pair).tone for pair in comparisons.pairs if pair.different]
    phrases = [Run(f"{count(len(verdicts))} of {count(len(comparisons.pairs))} differ")]
    for tone in ("better", "worse"):
        if number := verdicts.count(tone):
            phrases.append(Run(f"{count(number)} {tone}", tone))
    partly = sum(bool(pair.not_compared) and not pair.different for pair in comparisons.pairs)
    if partly:
        phrases.append(Run(f"{count(partly)} compared in part"))
    phrases += [Run(f"{count(len(alone))} {what}") for what, alone in unpaired(comparisons)]
    tones = _JUDGED.intersection(verdicts)
    return Headline(tuple(phrases), next(iter(tones)) if len(tones) == 1 else "neutral")


def unpaired(comparisons: Comparisons) -> list[tuple[str, Sequence[Side]]]:
    """Return the sides without a counterpart, by what to call them."""
    known = (
        ("added", comparisons.added),
        ("removed", comparisons.removed),
        ("unmatched before", comparisons.unmatched_before),
        ("unmatched after", comparisons.unmatched_after),
    )
    return [(what, alone) for what, alone in known if alone]


def _weightiest_first(rows: Sequence[Change]) -> list[Change]:
    return sorted(rows, key=lambda row: (not row.changed, WEIGHTS.index(row.weight)))


def _which(loop: LoopDelta, loops: Sequence[LoopDelta]) -> str:
    """Name a loop as far as that is needed to tell it from the others."""
    place = f" {loop.source}" if loop.source else ""
    pipelines = [each for each in loops if each.what == "pipeline"]
    if len(pipelines) == 1:
        return ""
    alone = [each.source for each in pipelines].count(loop.source) == 1
    product = f" of {loop.product}" if loop.product else ""
    return f",{place}" if place and alone else f", {loop.kind or 'loop'}{product}{place}"
