"""Occupancy staircases, pressure curves and the map of shared memory, from their records."""

from typing import NamedTuple

from irlens.model.memory import SharedBuffer, SharedMemory
from irlens.model.pressure import StagePressure
from irlens.model.report import OccupancyCurve, Report
from irlens.model.source import SourceLocation
from irlens.model.terms import VendorTerms, describe_buffer
from irlens.model.text import count, plural, size
from irlens.render.view import nodes
from irlens.render.view.nodes import Run, table, text


def place_of(source: SourceLocation | None) -> nodes.Place | None:
    """Return a place in Python; ``None`` for none."""
    return None if source is None else nodes.Place(source.file, source.line)


def nearest(source: SourceLocation | None, stage: str, line: int) -> nodes.Place:
    """Return the place in Python, or the stage's where that is unknown."""
    return place_of(source) or nodes.Place(stage, line, in_stage=True)


def pressure_curve(stage: str, pressure: StagePressure, report: Report) -> nodes.Curve | None:
    """Return live registers over a stage's instructions; ``None`` where there is no curve.

    The registers allocated are a level to compare with, but not for PTX's virtual ones.
    """
    if not pressure.curve or not pressure.peak:
        return None
    allocated = report.resources.registers if stage != "ptx" else None
    return nodes.Curve(
        described=f"live registers over the {plural(len(pressure.curve), 'instruction')} of "
        f"{stage}, at most {pressure.peak}",
        values=pressure.curve,
        peak=pressure.peak,
        level=allocated,
        level_name="" if allocated is None else f"{allocated} allocated",
        unit="live",
        over="instruction",
    )


class RegisterBudget(NamedTuple):
    """The most registers a thread can take without lowering the occupancy.

    Attributes:
        words: What it means: "occupancy falls beyond 32 allocated".
    """

    registers: int
    words: str


def register_budget(report: Report) -> RegisterBudget | None:
    """Return a kernel's register budget; ``None`` where its occupancy is unknown.

    For a kernel that cannot launch it is what one CTA can have.
    """
    curves = report.occupancy.curves if report.occupancy is not None else ()
    curve = next((each for each in curves if each.resource == "registers"), None)
    if curve is None:
        return None
    falls = [start for start, blocks in curve.steps if start > curve.at or not blocks]
    if falls and falls[0] > curve.steps[0][0]:
        most = falls[0] - 1
        return RegisterBudget(most, f"occupancy falls beyond {count(most)} allocated")
    return RegisterBudget(curve.last, f"at most {count(curve.last)} can be allocated")


def full_heat(peak: int | None, budget: RegisterBudget | None) -> int:
    """Return the live registers that fill a bar: the budget, or the peak where it is unknown."""
    return (budget.registers if budget is not None else peak) or 1


def staircase(
    curve: OccupancyCurve, terms: VendorTerms, at: int | None = None, blocks: int | None = None
) -> nodes.Staircase:
    """Return the CTAs that fit over the amount of one resource.

    Args:
        blocks: How many fit there; read off the curve if not given.
    """
    here = curve.at if at is None else at
    if blocks is None:
        blocks = max((s for s in curve.steps if s[0] <= here), default=(0, 0))[1]
    binary = curve.resource == "shared_memory"
    ends = [*(start - 1 for start, _ in curve.steps[1:]), curve.last]
    resource = terms.resource(curve.resource)

    def amount(value: int) -> str:
        return size(value) if binary else plural(value, "register")

    return nodes.Staircase(
        title=f"{terms.block}s/{terms.sm} over {terms.unit(curve.unit)}",
        unit=terms.unit(curve.unit),
        binary=binary,
        steps=tuple(curve.steps),
        last=curve.last,
        at=here,
        blocks=blocks,
        here=f"{amount(here)}: {plural(blocks, terms.block)}",
        numbers=table(
            nodes.titled(*nodes.numeric("up to", f"{terms.block}s")),
            ([amount(end), count(fit)] for end, (_, fit) in zip(ends, curve.steps, strict=True)),
            f"{terms.block}s by {resource}",
        ),
    )


def memory_strip(memory: SharedMemory) -> nodes.Strip | None:
    """Return what shared memory is made of; ``None`` where its size is unknown or zero."""
    if not memory.total_bytes:
        return None
    segments = [_segment(buffer) for buffer in memory.buffers]
    if memory.remainder_bytes:
        name = f"{size(memory.remainder_bytes)} scratch and gaps"
        segments.append(nodes.Segment(name, memory.remainder_bytes, "scratch"))
    known = memory.peak_bytes is not None
    buffers = f": {size(memory.peak_bytes)} in buffers at the peak" if memory.peak_bytes else ""
    return nodes.Strip(
        described=f"{size(memory.total_bytes)} of shared memory{buffers}",
        total=memory.total_bytes,
        segments=tuple(segments),
        drawn=known,
    )


def _segment(buffer: SharedBuffer) -> nodes.Segment:
    return nodes.Segment(
        name=describe_buffer(buffer).rpartition(" at ")[0],
        amount=(buffer.bytes or 0) if buffer.at_peak else 0,
        kind="barrier" if buffer.purpose == "barrier" else "buffer",
        place=nearest(buffer.source, "ttgir", buffer.line),
        copies=max(buffer.copies, 1),
        alive=text(
            Run(f"ttgir:{buffer.line}", place=nodes.Place("ttgir", buffer.line, in_stage=True)),
            f" to {buffer.last_line}",
        ),
        note="" if buffer.at_peak else "not alive at the peak",
    )
