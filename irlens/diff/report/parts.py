"""The parts of a report that are not loops: figures, findings, instructions, lines of Python."""

from collections import Counter
from collections.abc import Hashable, Iterable

import msgspec

from irlens.diff.report.deltas import Figure, delta, deltas, weightiest_first
from irlens.diff.report.places import Place, Places
from irlens.diff.report.warp_groups import warp_group_deltas
from irlens.model.comparison import Delta, FindingDelta, LineDelta, MixDelta
from irlens.model.pressure import LinePressure, StagePressure
from irlens.model.report import SEVERITIES, Finding, InstructionMix, Report, Severity
from irlens.model.spills import SpillSite

FIGURES = (
    Figure("occupancy.launchable", "word", "much"),
    Figure("occupancy.theoretical", "ratio", "much", always=True),
    Figure("resources.local_bytes", "bytes", "much", always=True),
    Figure("resources.vgpr_spills", "count", "much"),
    Figure("resources.sgpr_spills", "count", "much"),
    Figure("occupancy.blocks_per_sm", "count", "some"),
    Figure("resources.registers", "count", "some", always=True),
    Figure("resources.shared_dynamic_bytes", "bytes", "some", always=True),
    Figure("resources.shared_static_bytes", "bytes", "some"),
    Figure("resources.stack_bytes", "bytes", "some"),
    Figure("resources.tensor_memory_columns", "count", "some"),
    Figure("resources.vgprs", "count", "some"),
    Figure("resources.agprs", "count", "some"),
    Figure("resources.sgprs", "count", "some"),
    Figure("occupancy.active_warps", "count", "some"),
    Figure("occupancy.limited_by", "word", "some"),
    Figure("occupancy.waves", "factor", "some"),
    Figure("occupancy.tail", "ratio", "little"),
    Figure("occupancy.max_warps", "count", "little"),
    Figure("occupancy.multiprocessor", "word", "little"),
    Figure("occupancy.limits.warps", "count", "little"),
    Figure("occupancy.limits.blocks", "count", "little"),
    Figure("occupancy.limits.registers", "count", "little"),
    Figure("occupancy.limits.shared_memory", "count", "little"),
    Figure("occupancy.limits.barriers", "count", "little"),
    Figure("resources.lds_bytes", "bytes", "little"),
    Figure("resources.shared_reserved_bytes", "bytes", "little"),
    Figure("resources.constant_bytes", "bytes", "little"),
    Figure("resources.code_bytes", "bytes", "little"),
    Figure("resources.barriers", "count", "little"),
)
#: Parts of a report that may be missing, because a stage is or was not asked for. Their figures
#: are compared where both sides have the part.
PARTS = {
    "pressure.ptx": (
        Figure("pressure.ptx.peak", "count", "some"),
        Figure("pressure.ptx.predicates", "count", "little"),
    ),
    "pressure.sass": (
        # Beside the registers that were allocated: are more of them needed, too?
        Figure("pressure.sass.peak", "count", "some", always=True),
        Figure("pressure.sass.predicates", "count", "little"),
    ),
    "pressure.amdgcn": (
        Figure("pressure.amdgcn.peak", "count", "some"),
        Figure("pressure.amdgcn.predicates", "count", "little"),
    ),
    "memory": (
        Figure("memory.peak_bytes", "bytes", "little"),
        Figure("memory.remainder_bytes", "bytes", "little"),
    ),
    # Not the largest error: it differs with the order in which a GPU adds, not with the kernel.
    "run": (
        Figure("run.matches_reference", "word", "much"),
        Figure("run.registers", "count", "little"),
        Figure("run.local_bytes", "bytes", "little"),
        Figure("run.blocks_per_sm", "count", "little"),
    ),
}
_SPILLS = (
    Figure("spills.in_loops", "count", "much"),
    Figure("spills.instructions", "count", "much"),
)
#: Of a finding's stage those that would have told it: each vendor has its own.
_ASSEMBLY = frozenset({"ptx", "amdgcn"})


def figure_deltas(before: Report, after: Report, absent: set[str]) -> list[Delta]:
    """Return the figures that moved or are always told; add what one side lacks to ``absent``."""
    found = [*deltas(FIGURES, before, after), *warp_group_deltas(before, after, absent)]
    for part, figures in PARTS.items():
        first, second = _part(before, part), _part(after, part)
        if first is not None and second is not None:
            found += deltas(figures, before, after)
        elif first is not second:
            absent.add(part)
    if before.spills is not None and after.spills is not None:
        counts = zip(_SPILLS, _spills(before.spills), _spills(after.spills), strict=True)
        found += [delta(figure, one, two) for figure, one, two in counts if one != two]
    elif before.spills is not after.spills:
        absent.add("spills")
    return weightiest_first(found)


def _part(report: Report, path: str) -> object:
    found: object = report
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _spills(sites: list[SpillSite]) -> tuple[int, int]:
    return sum(site.loop_depth > 0 for site in sites), len(sites)


def finding_deltas(
    before: Report, after: Report, places: Places, absent: set[str]
) -> list[FindingDelta]:
    """Return the findings that are not the same on both sides, most severe first.

    Add to ``absent`` where only one side has what findings are read from.
    """
    ours = _by_key((one, places.before(one.source)) for one in before.findings)
    theirs = _by_key((one, places.after(one.source)) for one in after.findings)
    found = []
    for key in [*ours, *(key for key in theirs if key not in ours)]:
        found += _changed(ours.get(key, []), theirs.get(key, []))
    told = []
    for one in found:
        untold = _untold(one.before, after) or _untold(one.after, before)
        if untold and None in (one.before, one.after):
            absent.add(untold)
        else:
            told.append(one)
    return sorted(told, key=_finding_order)


def _untold(finding: Finding | None, other: Report) -> str:
    """Name what a side does not have without which it cannot have a finding; else nothing."""
    if finding is None:
        return ""
    if finding.stage is None:
        return "findings.occupancy" if other.occupancy is None else ""
    if finding.stage == "sass":  # which is read where it is asked for
        known = other.spills is not None
    else:
        stages = _ASSEMBLY if finding.stage in _ASSEMBLY else {finding.stage}
        known = bool(stages & other.stages.keys())
    return "" if known else f"findings.{finding.stage}"


def _by_key(findings: Iterable[tuple[Finding, Place | None]]) -> dict[Hashable, list[Finding]]:
    found: dict[Hashable, list[Finding]] = {}
    for finding, place in findings:
        found.setdefault((finding.code, place), []).append(finding)
    return found


def _changed(before: list[Finding], after: list[Finding]) -> list[FindingDelta]:
    """Findings of one code at one place: what both say is equal, the rest is paired in order."""
    ours = Counter((one.severity, one.message) for one in before)
    theirs = Counter((one.severity, one.message) for one in after)
    common = ours & theirs
    left, right = _beyond(before, common), _beyond(after, common)
    width = max(len(left), len(right))
    return [
        FindingDelta(
            before=left[index] if index < len(left) else None,
            after=right[index] if index < len(right) else None,
        )
        for index in range(width)
    ]


def _beyond(findings: list[Finding], common: Counter[tuple[Severity, str]]) -> list[Finding]:
    left, rest = common.copy(), []
    for one in findings:
        if left[one.severity, one.message]:
            left[one.severity, one.message] -= 1
        else:
            rest.append(one)
    return rest


def _finding_order(found: FindingDelta) -> tuple[object, ...]:
    """The same for a comparison and its mirror."""
    return min(
        (SEVERITIES.index(one.severity), one.code, str(one.source or ""), one.message)
        for one in (found.before, found.after)
        if one is not None
    )


def mix_deltas(before: Report, after: Report, absent: set[str]) -> list[MixDelta]:
    """Return the stages whose instructions moved; add what one side lacks to ``absent``."""
    ours = {mix.stage: mix for mix in before.mix}
    theirs = {mix.stage: mix for mix in after.mix}
    absent.update(f"mix.{stage}" for stage in ours.keys() ^ theirs.keys())
    found = []
    for stage in sorted(ours.keys() & theirs.keys()):
        total = Figure("total", "count", "little")
        classes = _classes(ours[stage], theirs[stage])
        if classes or ours[stage].total != theirs[stage].total:
            found.append(
                MixDelta(
                    stage=stage,
                    total=delta(total, ours[stage].total, theirs[stage].total),
                    classes=classes,
                )
            )
    return found


def _classes(before: InstructionMix, after: InstructionMix) -> list[Delta]:
    found = []
    for prefix, ours, theirs in (
        ("classes", before.classes, after.classes),
        ("unknown", before.unknown, after.unknown),
    ):
        for name in sorted(ours.keys() | theirs.keys()):
            first, second = ours.get(name, 0), theirs.get(name, 0)
            if first != second:
                found.append(delta(Figure(f"{prefix}.{name}", "count", "little"), first, second))
    return sorted(found, key=lambda each: -abs(each.change or 0))


def line_deltas(before: Report, after: Report, places: Places) -> list[LineDelta]:
    """Return the lines of Python whose instructions or pressure moved, largest change first."""
    found = []
    for stage in ("ptx", "sass", "amdgcn"):
        ours: StagePressure | None = getattr(before.pressure, stage)
        theirs: StagePressure | None = getattr(after.pressure, stage)
        if ours is None or theirs is None:
            continue
        first = {places.before(line.source): line for line in ours.lines}
        second = {places.after(line.source): line for line in theirs.lines}
        for place in [*first, *(place for place in second if place not in first)]:
            moved = _line(stage, first.get(place), second.get(place))
            if moved is not None:
                found.append(moved)
    return sorted(found, key=_line_order)


def _line(stage: str, first: LinePressure | None, second: LinePressure | None) -> LineDelta | None:
    there = second or first
    if there is None or _weighs(first) == _weighs(second):
        return None
    return LineDelta(
        stage=stage,
        source=msgspec.structs.replace(there.source, column=0),
        instructions=delta(
            Figure("instructions", "count", "little"),
            first.instructions if first else 0,
            second.instructions if second else 0,
        ),
        peak=delta(
            Figure("peak", "count", "little"),
            first.peak if first else None,
            second.peak if second else None,
        ),
    )


def _weighs(line: LinePressure | None) -> tuple[int, int | None]:
    return (line.instructions, line.peak) if line else (0, None)


def _line_order(line: LineDelta) -> tuple[object, ...]:
    change = abs(line.instructions.change or 0) + abs(line.peak.change or 0)
    return -change, line.stage, line.source
