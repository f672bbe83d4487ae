"""Register pressure: the number of registers that hold a value some path still reads.

One computation for every dialect whose functions say what their instructions do with registers.
SASS counts the way nvdisasm does and follows subroutine calls: see ``sass_pressure``.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import msgspec

from irlens.analyze import liveness
from irlens.analyze.cfg import Cfg
from irlens.isa.bitsets import members
from irlens.isa.dialect import Instruction, RegisterFunction, RegisterUse
from irlens.model.pressure import LinePressure, LiveGroup, StagePressure
from irlens.model.source import SourceLocation


class _Peak(msgspec.Struct, frozen=True):
    """The point with the most live registers.

    Attributes:
        after: Whether the point is after the instruction, and not before it.
    """

    index: int
    live: int
    after: bool


class _Curve:
    """Live registers at each instruction, and the first instruction with the most.

    Attributes:
        counts: 32-bit registers at each instruction, before or after it, whichever is more.
        predicates: The most predicates live before or after any instruction.
        peak: ``None`` where there are no instructions.
    """

    def __init__(self, flow: Cfg, use: RegisterUse) -> None:
        self.counts = [0] * len(use.reads)
        self.predicates = 0
        self.peak: _Peak | None = None
        following, entering, highest, predicates = 0, 0, -1, use.predicates or 0
        for index, before, after in live_points(flow, use):
            # Mostly what is live before the next instruction, which came before this one.
            resulting = entering if after == following else use.weigh(after)
            following, entering = before, use.weigh(before)
            self.counts[index] = count = max(entering, resulting)
            if predicates:
                count_before = (before & predicates).bit_count()
                count_after = (after & predicates).bit_count()
                self.predicates = max(self.predicates, count_before, count_after)
            if count > highest or (count == highest and self.peak and index < self.peak.index):
                fuller_after, highest = resulting > entering, count
                self.peak = _Peak(index, after if fuller_after else before, fuller_after)


def analyze(function: RegisterFunction[Instruction], flow: Cfg) -> StagePressure:
    """Return the pressure at every instruction of a function, and the values live at its peak.

    A register counts where a value was written to it on some path that leads here, and some path
    from here reads it. An instruction counts what is live before it, or what is live after it
    with its own results, whichever is more: a result may take the place of an operand. A load's
    destination counts from the load on.
    """
    use = function.register_use()
    reason = f"{flow.unknown} is not known" if flow.unknown else use.unknown
    if reason:
        return StagePressure(peak=None, line=None, source=None, reason=reason)
    curve = _Curve(flow, use)
    if curve.peak is None:
        return StagePressure(peak=0, line=None, source=None)
    origins = _origins(function.instructions, flow, use, curve.peak)
    return msgspec.structs.replace(
        summarize(function.instructions, curve.counts),
        innermost=by_line((i.locations for i in function.instructions), curve.counts, 0),
        predicates=curve.predicates if use.predicates is not None else None,
        live=by_origin(origins),
    )


def summarize(instructions: Sequence[Instruction], counts: Sequence[int]) -> StagePressure:
    """Return the pressure of a stage given the registers live at each instruction.

    The first of equal peaks is the peak.
    """
    peak = max(counts)
    worst = instructions[counts.index(peak)]
    return StagePressure(
        peak=peak,
        line=worst.line,
        source=line_of(worst.locations),
        chain=worst.locations,
        lines=by_line((each.locations for each in instructions), counts),
        curve=tuple(counts),
    )


def live_points(flow: Cfg, use: RegisterUse) -> Iterator[tuple[int, int, int]]:
    """Yield the registers that are live around each instruction.

    Registers that no path has written yet are left out. Compilers leave registers undefined on
    paths where their value does not matter: they are not occupied there, though a later
    instruction reads them.

    Yields:
        The instruction's index, the registers live before it, and those live after it with its own
        results; block by block, backwards within each.
    """
    ranges = flow.ranges
    reads, writes, kills = use.reads, use.writes, use.kills
    ends = liveness.live_out(ranges, flow.graph, reads, kills)
    written = liveness.written_before(ranges, flow.graph, writes)
    for block, leaving, entered in zip(ranges, ends, written, strict=True):
        known = entered | use.at_entry
        first = _first_writes(block, known, writes)
        for index in block:
            known |= writes[index]
        for index, before, after in liveness.walk(block, leaving, reads, kills):
            resulting = after & known | writes[index]
            for number in first.get(index, ()):
                known &= ~(1 << number)
            yield index, before & known, resulting


def _first_writes(block: range, known: int, writes: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """For instructions of a block, the registers that nothing on the way there has written."""
    first: dict[int, tuple[int, ...]] = {}
    for index in block:
        fresh = writes[index] & ~known
        if fresh:
            first[index] = tuple(members(fresh))
            known |= fresh
    return first


def _origins(
    instructions: Sequence[Instruction], flow: Cfg, use: RegisterUse, peak: _Peak
) -> Iterator[tuple[SourceLocation | None, int]]:
    """For each value that is live at the peak, the line that computed it and its weight.

    Registers that the hardware fills before the kernel starts come from no line.
    """
    writers = liveness.last_writers(
        flow.ranges,
        flow.graph,
        use.writes,
        use.kills,
        peak.live,
        peak.index,
        leaving_it=peak.after,
    )
    for register in members(peak.live):
        weight = use.weigh(1 << register)
        writer = writers.get(register)
        if weight:
            chain = instructions[writer].locations if writer is not None else ()
            yield line_of(chain), weight


def line_of(chain: Sequence[SourceLocation], frame: int = -1) -> SourceLocation | None:
    """Return the line of a frame, by default the outermost one; ``None`` for an empty chain.

    Instructions of one line differ in their columns, which are left out.
    """
    return SourceLocation(chain[frame].file, chain[frame].line) if chain else None


def by_line(
    chains: Iterable[Sequence[SourceLocation]], live: Iterable[int], frame: int = -1
) -> tuple[LinePressure, ...]:
    """Return the peak of each line of Python that has instructions, in ascending order.

    Args:
        chains: The source lines of each instruction, innermost inlined function first.
        frame: The frame an instruction counts for: the outermost (-1) or the innermost (0).
    """
    counts: dict[SourceLocation, list[int]] = {}
    for chain, alike in groupby(zip(chains, live, strict=True), itemgetter(0)):
        source = line_of(chain, frame)
        if source is not None:
            counts.setdefault(source, []).extend(count for _, count in alike)
    return tuple(
        LinePressure(source=source, peak=max(of_line), instructions=len(of_line))
        for source, of_line in sorted(counts.items())
    )


def by_origin(values: Iterable[tuple[SourceLocation | None, int]]) -> tuple[LiveGroup, ...]:
    """Return live values by the line that computed them, most registers first.

    Args:
        values: The line and the 32-bit registers of each value.
    """
    totals: dict[SourceLocation | None, tuple[int, int]] = {}
    for source, registers in values:
        taken, count = totals.get(source, (0, 0))
        totals[source] = taken + registers, count + 1
    ordered = sorted(totals.items(), key=lambda item: (-item[1][0], str(item[0])))
    return tuple(
        LiveGroup(source=source, registers=taken, values=count)
        for source, (taken, count) in ordered
    )
