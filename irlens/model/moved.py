"""What moved, in words and units: the rows that whoever shows a comparison to people shows."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from irlens.model.comparison import (
    WEIGHTS,
    Comparison,
    Delta,
    FindingDelta,
    LoopDelta,
    Side,
    Unit,
    Value,
    Weight,
)
from irlens.model.text import count, percent, plural, signed, size

UNCHANGED = "~"
_UNKNOWN = "–"
_TOLD_IN_VERDICT = 3
#: Told first, beside what decides whether and how fast the kernel runs.
_FOREMOST = frozenset({"registers", "shared memory", "LDS"})
#: What AMD calls the same things, in this order: its waves are what others call warps.
_AMD_WORDS = {"wave": "round", "warp": "wave", "block": "workgroup", "shared memory": "LDS"}

#: Figures of one group of warps: "warp_groups.partition0.registers".
_OF_A_GROUP = "warp_groups."
_TITLES = {
    "occupancy.launchable": "can launch",
    "occupancy.theoretical": "occupancy",
    "occupancy.blocks_per_sm": "blocks per SM",
    "occupancy.limits.shared_memory": "blocks allowed by shared memory",
    "occupancy.limits.registers": "blocks allowed by registers",
    "occupancy.limits.warps": "blocks allowed by warps",
    "occupancy.limits.blocks": "blocks allowed at all",
    "occupancy.limits.barriers": "blocks allowed by barriers",
    "occupancy.tail": "last wave filled",
    "resources.local_bytes": "local memory",
    "resources.stack_bytes": "stack",
    "resources.shared_dynamic_bytes": "shared memory",
    "resources.shared_static_bytes": "static shared memory",
    "resources.shared_reserved_bytes": "reserved shared memory",
    "resources.constant_bytes": "constant memory",
    "resources.code_bytes": "machine code",
    "resources.tensor_memory_columns": "tensor memory columns",
    "resources.vgprs": "VGPRs",
    "resources.agprs": "AGPRs",
    "resources.sgprs": "SGPRs",
    "resources.vgpr_spills": "VGPR spills",
    "resources.sgpr_spills": "SGPR spills",
    "resources.lds_bytes": "LDS in all",
    "pressure.ptx.peak": "most live in ptx",
    "pressure.sass.peak": "most live in sass",
    "pressure.amdgcn.peak": "most live in amdgcn",
    "pressure.ptx.predicates": "predicates live in ptx",
    "pressure.sass.predicates": "predicates live in sass",
    "pressure.amdgcn.predicates": "predicates live in amdgcn",
    "memory.peak_bytes": "shared memory of buffers at the peak",
    "memory.remainder_bytes": "scratch in shared memory",
    "run.matches_reference": "equals its reference",
    "run.registers": "registers, says the driver",
    "run.local_bytes": "local memory, says the driver",
    "run.blocks_per_sm": "blocks per SM, says the driver",
    "spills.in_loops": "spill instructions in loops",
    "spills.instructions": "spill instructions",
    "achieved_stages": "stages achieved",
    "requested_stages": "stages requested",
    "stages_at_most": "stages at most",
    "warp_group": "run by",
    "warp_groups": "warp groups",
    "groups_during_compute": "groups in flight",
    "prefetch_iterations": "iterations ahead",
    "bytes_in_flight_per_sm": "bytes in flight per SM",
    "kind": "mechanism",
    "widest_access_bytes": "widest access",
}


class Row(NamedTuple):
    """A figure on both sides, written out.

    Attributes:
        name: What it is: "shared memory".
        before: With its unit; "–" where it is unknown.
        after: The same.
        change: With sign and unit; "~" where it did not move, empty where it is no number.
        weight: How much it matters.
        moved: Whether it did.
    """

    name: str
    before: str
    after: str
    change: str
    weight: Weight
    moved: bool

    @property
    def arrow(self) -> str:
        """Return "shared memory 4,128 B → 12,320 B"."""
        return f"{self.name} {self.before} → {self.after}"


def rows(comparison: Comparison) -> list[Row]:
    """Return every figure of both sides and of their pipelines: what matters most first."""
    found = []
    sides = (comparison.before, comparison.after)
    for loop in comparison.loops:
        if loop.what == "pipeline" and loop.presence == "both":
            suffix = _where(loop, comparison.loops)
            found += [_row(delta, sides, suffix) for delta in loop.deltas]
    found += [_row(delta, sides) for delta in comparison.figures]
    return _weightiest_first(found)


def load_rows(comparison: Comparison) -> list[tuple[str, list[Row]]]:
    """Return what moved of each load that both sides have, by its place."""
    sides = (comparison.before, comparison.after)
    return [
        (
            str(loop.source or "no source"),
            _weightiest_first([_row(delta, sides) for delta in loop.deltas]),
        )
        for loop in comparison.loops
        if loop.what == "load" and loop.presence == "both"
    ]


def main_rows(comparison: Comparison) -> list[Row]:
    """Return the rows for a table: what matters, and what one always wants to see."""
    return [row for row in rows(comparison) if row.weight != "little"]


def minor_rows(comparison: Comparison) -> list[Row]:
    """Return the rows that moved and matter little."""
    return [row for row in rows(comparison) if row.weight == "little" and row.moved]


def one_sided(comparison: Comparison) -> list[str]:
    """Return the loops that one side lacks: "appeared: cp.async at softmax.py:48, 2 stages"."""
    told = []
    for loop in comparison.loops:
        if loop.presence == "both":
            continue
        figures = {delta.path: delta for delta in loop.deltas}
        stages = figures.get("achieved_stages")
        known = (
            None
            if stages is None
            else stages.after
            if loop.presence == "appeared"
            else stages.before
        )
        depth = f", {plural(known, 'stage')}" if isinstance(known, int) else ""
        told.append(
            f"{loop.presence}: {loop.kind or 'loop'} at {loop.source or 'no source'}{depth}"
        )
    return told


def verdict(comparison: Comparison) -> list[str]:
    """Return the whole in a line, as phrases: "stages achieved 2 → 4", "occupancy unchanged"."""
    if not comparison.different:
        return ["no difference"]
    moved = [row for row in main_rows(comparison) if row.moved]
    moved += [
        row._replace(name=f"{row.name} of the load at {place}")
        for place, found in load_rows(comparison)
        for row in found
        if not moved and row.weight != "little"
    ]
    foremost = [
        row
        for row in moved
        if (row.weight == "much" or row.name in _FOREMOST)
        and _UNKNOWN not in (row.before, row.after)
    ]
    told = [row.arrow for row in (foremost or moved)[:_TOLD_IN_VERDICT]]
    told += one_sided(comparison)[:_TOLD_IN_VERDICT]
    if any(each.path == "occupancy.theoretical" and not each.moved for each in comparison.figures):
        told.append("occupancy unchanged")
    states = Counter(finding_state(each) for each in comparison.findings)
    told += [
        f"{plural(states[state], 'finding')} {state}"
        for state in ("new", "gone", "changed")
        if states[state]
    ]
    return told if moved or states else [*told, "only small things moved"]


def about_registers(comparison: Comparison) -> str:
    """Return what allocated and live registers say together; "" where that is nothing."""
    figures = {each.path: each for each in comparison.figures}
    allocated = figures.get("resources.registers")
    live = figures.get("pressure.sass.peak")
    if allocated is None or not allocated.change or allocated.change < 0:
        return ""
    if live is None or live.change is None or live.change > 0:
        return ""
    change = f"{change_text(allocated)} allocated per thread"
    return f"{change}, but no more are live at once: {value_text(live.after, live.unit)}"


def finding_state(found: FindingDelta) -> str:
    """Return "new", "gone" or "changed"."""
    if found.before is None:
        return "new"
    return "gone" if found.after is None else "changed"


def value_text(value: Value, unit: Unit) -> str:
    """Return a value with its unit; "–" for what is unknown."""
    if value is None:
        return _UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value.replace("_", " ") or "none"
    if unit == "ratio":
        return percent(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return size(value) if unit == "bytes" else count(value)


def change_text(delta: Delta) -> str:
    """Return how far a figure moved: "+8,192 B", "−50 points", "~"."""
    if not delta.moved:
        return UNCHANGED
    if delta.change is None:
        return ""
    if delta.unit == "ratio":
        return f"{delta.change * 100:+.3g} points".replace("-", "−")
    if isinstance(delta.change, float):
        return f"{delta.change:+.4g}".replace("-", "−")
    return signed(delta.change) + (" B" if delta.unit == "bytes" else "")


def _weightiest_first(found: Sequence[Row]) -> list[Row]:
    return sorted(found, key=lambda row: (not row.moved, WEIGHTS.index(row.weight)))


def _row(delta: Delta, sides: Sequence[Side], suffix: str = "") -> Row:
    before, after = (value_text(value, delta.unit) for value in (delta.before, delta.after))
    if delta.path == "occupancy.limited_by":
        before, after = (_in_own_words(text, sides) for text in (before, after))
    return Row(
        name=figure_title(delta.path, sides) + suffix,
        before=before,
        after=after,
        change=change_text(delta),
        weight=delta.weight,
        moved=delta.moved,
    )


def figure_title(path: str, sides: Sequence[Side] = ()) -> str:
    """Return what people call a figure, given its dotted path.

    Args:
        path: Where the report has it.
        sides: Whose figure it is: with AMD's alone, it is told in AMD's words.
    """
    title = _TITLES.get(path) or path.rpartition(".")[2].replace("_", " ")
    if path.startswith(_OF_A_GROUP):
        group, _, name = path.removeprefix(_OF_A_GROUP).rpartition(".")
        title = f"{name.removeprefix('num_')} of {group}"
    return _in_own_words(title, sides)


def _in_own_words(text: str, sides: Sequence[Side]) -> str:
    vendors = {side.target.vendor if side.target else None for side in sides}
    if vendors != {"amd"}:
        return text
    for theirs, ours in _AMD_WORDS.items():
        text = text.replace(theirs, ours)
    multiprocessors = {side.multiprocessor or "CU" for side in sides}
    return text.replace("per SM", f"per {' or '.join(sorted(multiprocessors))}")


def _where(loop: LoopDelta, loops: Sequence[LoopDelta]) -> str:
    """Where a loop is, as far as that is needed to tell it from the others."""
    place = f" {loop.source}" if loop.source else ""
    pipelines = [each for each in loops if each.what == "pipeline"]
    if len(pipelines) == 1:
        return ""
    alone = [each.source for each in pipelines].count(loop.source) == 1
    return f",{place}" if place and alone else f", {loop.kind or 'loop'}{place}"
