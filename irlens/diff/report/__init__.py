"""Compares two reports by meaning: Report x Report -> Comparison, and their findings one by one."""

from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from irlens.diff.report.figure_deltas import figure_deltas, mix_deltas
from irlens.diff.report.left_out import LeftOut
from irlens.diff.report.loops import loop_deltas
from irlens.diff.report.source_lines import LinePairs, LinesHeld, align, line_deltas
from irlens.diff.report.times import other_work, time_ratio
from irlens.figures import FIGURES, Figure
from irlens.figures.derived import writes
from irlens.figures.judging import judge
from irlens.model.comparison import Comparison, Delta, FindingDelta, Side
from irlens.model.config import LAUNCH_OPTIONS
from irlens.model.label import labels
from irlens.model.ranking import measured_us
from irlens.model.report import SEVERITIES, Finding, Report, Severity
from irlens.model.several import grouped
from irlens.model.terms import Terms, describe_missing_time

__all__ = ["compare", "side"]


def compare(
    before: Report,
    after: Report,
    *,
    names: tuple[str, str] | None = None,
    lines_held: LinesHeld = "some",
) -> Comparison:
    """Return what changed from one report to another.

    Args:
        names: Labels of the sides; by default, the settings that tell them apart.
        lines_held: "all" where both reports hold the same lines of the source, as far as these
            still exist. Otherwise a line that only one side holds may exist on the other.
    """
    first, second = names or labels([before, after])
    left_out = LeftOut(before, after, (first or "before", second or "after"))
    pairs = align(before, after, lines_held)
    figures = figure_deltas(before, after, left_out)
    loops = loop_deltas(before, after, pairs, left_out)
    findings = finding_deltas(before, after, pairs, left_out)
    mix = mix_deltas(before, after, left_out)
    lines = line_deltas(before, after, pairs)
    mentioned = {str(loop.source) for loop in loops} | {str(line.source) for line in lines}
    pair = Comparison(
        before=side(before, first or "before"),
        after=side(after, second or "after"),
        different=(
            any(figure.moved for figure in figures)
            or any(loop.presence != "both" or loop.changes for loop in loops)
            or bool(findings or mix or lines)
        ),
        figures=figures,
        loops=loops,
        findings=findings,
        mix=mix,
        lines=lines,
        # A line that both sides have goes by its number on the second side.
        code={
            place: text
            for place, text in sorted({**before.code, **after.code}.items())
            if place in mentioned
        },
        code_before={
            place: text
            for place, text in sorted(before.code.items())
            if place in mentioned and after.code.get(place, text) != text
        },
        not_compared=sorted(left_out.reasons),
        not_compared_because=dict(sorted(left_out.reasons.items())),
        regain=_regain(before, after),
        time_ratio=time_ratio(before, after),
        other_work=other_work(before, after),
        not_judged=not_judged(before, after, figures),
    )
    return msgspec.structs.replace(pair, verdict=judge(pair, _no_time(pair, before, after)))


def _regain(before: Report, after: Report) -> list[str]:
    """Return what would bring back occupancy that was lost on the same GPU."""
    first, second = before.occupancy, after.occupancy
    if first is None or second is None or first.max_warps != second.max_warps:
        return []
    if second.theoretical >= first.theoretical:
        return []
    words = Terms(after)
    return [words.step(step, second) for step in second.next_step]


def _no_time(pair: Comparison, before: Report, after: Report) -> str:
    """Return why there is no time to compare, and what would give it."""
    if pair.time_ratio is not None:
        return ""
    sides = ((pair.before, before), (pair.after, after))
    reasons = {
        side.label: reason for side, each in sides if (reason := describe_missing_time(each))
    }
    if not reasons:
        return ""
    label, reason = next(iter(reasons.items()))
    whose = f" ({label})" if len(reasons) == 1 and before != after else ""
    return f"no time estimate{whose}: {reason}"


def side(report: Report, label: str) -> Side:
    """Return a report as one side of a comparison."""
    occupancy = report.occupancy
    refusals = [Terms(report).refusal(one) for one in occupancy.refusals] if occupancy else []
    if occupancy is not None and not occupancy.launchable and not refusals:
        refusals = ["it exceeds a limit of one CTA"]  # a baseline does not keep which
    return Side(
        kernel=report.kernel,
        target=report.target,
        triton_version=report.triton_version,
        config=report.config,
        label=label,
        multiprocessor=occupancy.multiprocessor if occupancy is not None else None,
        refusal="; ".join(refusals),
        estimate_us=report.time.estimate_us if report.time is not None else None,
        measured_us=measured_us(report),
        bound=report.time.bound if report.time is not None else None,
    )


#: A finding in one vendor's assembly can be found in the other's.
_ASSEMBLY = frozenset({"ptx", "amdgcn"})
#: Prefix of the paths in ``Report.unknown`` of findings that could not be looked for everywhere.
_FINDINGS = "findings."


def finding_deltas(
    before: Report, after: Report, lines: LinePairs, left_out: LeftOut
) -> list[FindingDelta]:
    """Return the findings that are not the same on both sides, most severe first.

    One that only one side could look for is neither new nor gone; add it to ``left_out``.
    """
    for path in before.unknown.keys() ^ after.unknown.keys():
        if path.startswith(_FINDINGS):
            left_out.add(path, lacks_before=path in before.unknown)
    ours = grouped(((one.code, lines.before(one.source)), one) for one in before.findings)
    theirs = grouped(((one.code, lines.after(one.source)), one) for one in after.findings)
    changed = []
    for key in [*ours, *(key for key in theirs if key not in ours)]:
        for one in _changed(ours.get(key, []), theirs.get(key, [])):
            found = one.before or one.after
            other = after if one.after is None else before
            if found is None or None not in (one.before, one.after) or _looked(found, other):
                changed.append(one)
            else:
                left_out.add(_FINDINGS + found.code, lacks_before=other is before)
    return sorted(changed, key=_severity_order)


def _looked(finding: Finding, other: Report) -> bool:
    """Whether a report without a finding looked for it, and had what it is read from."""
    if _FINDINGS + finding.code in other.unknown:
        return False
    # Reports of earlier versions do not say what they could not look for.
    if finding.stage is None:
        return other.occupancy is not None
    if finding.stage == "sass":  # disassembled on request
        return other.spills is not None
    stages = _ASSEMBLY if finding.stage in _ASSEMBLY else {finding.stage}
    return bool(stages & other.stages.keys())


def _changed(before: list[Finding], after: list[Finding]) -> list[FindingDelta]:
    """Return the changes among findings of one code at one line.

    Findings that both sides have drop out; the others are paired in their order.
    """
    ours, theirs = Counter(map(_words, before)), Counter(map(_words, after))
    common = ours & theirs
    left, right = _without(before, common), _without(after, common)
    return [
        FindingDelta(
            before=left[index] if index < len(left) else None,
            after=right[index] if index < len(right) else None,
        )
        for index in range(max(len(left), len(right)))
    ]


def _words(finding: Finding) -> tuple[Severity, str]:
    """Return what a finding says, without its line: that may have moved, or its file's name."""
    return finding.severity, finding.message.replace(str(finding.source), "")


def _without(findings: list[Finding], common: Counter[tuple[Severity, str]]) -> list[Finding]:
    left, rest = common.copy(), []
    for one in findings:
        if left[_words(one)]:
            left[_words(one)] -= 1
        else:
            rest.append(one)
    return rest


def _severity_order(change: FindingDelta) -> tuple[object, ...]:
    """Sort key that is the same for a comparison and its mirror image."""
    return min(
        (SEVERITIES.index(one.severity), one.code, str(one.source or ""), one.message)
        for one in (change.before, change.after)
        if one is not None
    )


_WRITES = (
    "traffic.store_", "traffic.ideal_store_", "traffic.written_", "traffic.distinct_written_",
)  # fmt: skip
_BLOCKS, _OCCUPANCY = "occupancy.blocks_per_sm", "occupancy.theoretical"


def not_judged(before: Report, after: Report, changed: list[Delta]) -> dict[str, str]:
    """Return why figures are neither better nor worse, by their paths in the registry.

    Args:
        changed: Figures of the kernel on both sides.
    """
    reasons: dict[str, str] = {}
    for means_else, reason in _reasons(before, after):
        for figure in filter(means_else, FIGURES):
            reasons.setdefault(figure.path, reason)
    if any(each.path == _OCCUPANCY and not each.moved for each in changed):
        # Fewer CTAs that are larger, and hold as many warps, are not worse.
        reasons.setdefault(_BLOCKS, "the occupancy is the same")
    return dict(sorted(reasons.items()))


def _reasons(before: Report, after: Report) -> Iterator[tuple[Callable[[Figure], bool], str]]:
    """Yield which figures mean something else, and why."""
    first, second = before.config, after.config
    if before.kernel != after.kernel:
        yield lambda figure: figure.per is not None, "another kernel"
    elif settings := list(_program_settings(before, after)):
        yield lambda figure: figure.per is not None, f"other work per CTA: {', '.join(settings)}"
    elif None not in (first.num_warps, second.num_warps) and first.num_warps != second.num_warps:
        yield lambda figure: figure.per == "thread", "other work per thread: num_warps"
    if other_work(before, after):
        yield lambda figure: figure.of_launch, "other work per launch"
    elif reason := _other_writes(before, after):
        yield lambda figure: figure.path.startswith(_WRITES), reason


def _program_settings(before: Report, after: Report) -> Iterator[str]:
    """Yield the settings that change what one CTA does: constexprs, and the grid."""
    first, second = before.config, after.config
    for name in dict.fromkeys([*first.constexprs, *second.constexprs]):
        differs = first.constexprs.get(name) != second.constexprs.get(name)
        if differs and name not in LAUNCH_OPTIONS:
            yield name
    # A persistent kernel's CTAs take what there is, and are as many as the GPU holds.
    persistent = all(each.occupancy and each.occupancy.waves == 1 for each in (before, after))
    if None not in (first.grid, second.grid) and first.grid != second.grid and not persistent:
        yield "grid"


def _other_writes(before: Report, after: Report) -> str:
    """Return "stores became atomics" where one side adds what the other stores."""
    ours, theirs = (value.split(" and ") if (value := writes(r)) else [] for r in (before, after))
    if not ours or not theirs or ours == theirs:
        return ""
    gone = [each for each in ours if each not in theirs]
    new = [each for each in theirs if each not in ours]
    if gone and new:
        return f"{' and '.join(gone)} became {' and '.join(new)}"
    return f"{' and '.join(new or gone)} {'added' if new else 'gone'}"
