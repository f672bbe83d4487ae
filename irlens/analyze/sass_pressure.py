"""Registers occupied at each SASS instruction, calls of subroutines included.

The definition is nvdisasm's (``-plr -lrm count``), and on code without calls the counts are the
same, instruction by instruction: a register is occupied at an instruction if some path from it
on, the instruction included, reads it before writing it, or if the instruction writes it, even
if nothing reads it. A write under a predicate does not end a life; ``@!PT`` does nothing. R1, the
stack pointer, is always occupied. Occupied registers need not be contiguous, so a kernel is
allocated at least as many as are ever occupied, and often some more.

Three things are done better than nvdisasm does them. It answers for 255 registers. It follows
calls: nvdisasm lets a CALL overwrite nearly every register, even where ptxas uses it as a far
branch. And P2R and R2P read and write the predicates in their mask.

What is in flight does not count: the destination of a load is occupied from the load on, the
sources of an asynchronous wgmma only where it is issued.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from irlens.analyze import liveness
from irlens.analyze.graph import FlowGraph, reverse_postorder
from irlens.analyze.pressure import summarize
from irlens.analyze.sass_cfg import SassCfg
from irlens.analyze.solver import solve
from irlens.isa.sass import Section
from irlens.isa.sass.registers import ALL, FILES, STACK_POINTER, is_certain
from irlens.model.pressure import StagePressure


def analyze(section: Section, flow: SassCfg) -> StagePressure:
    """Return the occupied general registers of a section; the first of equal peaks is the peak."""
    registers, unknown = occupied(section, flow)
    if not registers:
        return StagePressure(peak=None, line=None, source=None, reason=unknown)
    general = FILES.masks["R"]
    counts = [(each & general).bit_count() for each in registers]
    worst = section.instructions[counts.index(max(counts))]
    return replace(
        summarize(section.instructions, counts),
        # With its column, where the PTX that the code was traced to has one.
        source=worst.locations[-1] if worst.locations else None,
        offset=worst.offset,
    )


def occupied(section: Section, flow: SassCfg) -> tuple[list[int], str]:
    """Return the set of registers occupied at each instruction, or what is not known.

    The sets are bits, as in ``irlens.isa.sass.registers``.
    """
    if flow.unknown or flow.outside:
        return [], flow.unknown or flow.outside
    use = section.register_use()
    if use.unknown:
        return [], use.unknown
    solver = _Solver(section, flow, list(use.reads), list(use.kills))
    return solver.occupied(list(use.writes)), ""


class _Solver:
    """Liveness across calls.

    The registers live before a subroutine depend on those live after the call, X, in one way:
    before(X) = before(nothing) | X & before(everything). So two solutions with nothing and
    everything live at the returns turn a call into an instruction that reads the first and
    overwrites all that is not in the second. What is known of functions flows to those that call
    them; one that calls itself has the least solution.
    """

    def __init__(self, section: Section, flow: SassCfg, reads: list[int], kills: list[int]) -> None:
        self.section = section
        self.flow = flow
        self.ranges = flow.ranges
        self.reads = reads
        self.kills = kills
        self.calls = [call for call in flow.calls if not call.far_branch]
        self.own = {call: reads[flow.blocks[call.block].stop - 1] for call in self.calls}
        #: For each function, by its first block, the blocks that it can reach.
        self.inside = {
            call.entry: frozenset(reverse_postorder(flow.successors, call.entry))
            for call in self.calls
        }

    def occupied(self, writes: list[int]) -> list[int]:
        """Return the registers occupied at each instruction."""
        self._summarize()
        graph = FlowGraph(self.flow.returning)
        after = liveness.live_out(self.ranges, graph, self.reads, self.kills)
        occupied = [0] * len(writes)
        for instructions, leaving in zip(self.ranges, after, strict=True):
            for index, before, _ in liveness.walk(instructions, leaving, self.reads, self.kills):
                occupied[index] = before | writes[index] | STACK_POINTER
        for call in self.calls:
            occupied[self.flow.blocks[call.block].stop - 1] |= after[call.block]
        return occupied

    def _summarize(self) -> None:
        """Give each call the reads and kills of the code it runs."""
        entries = list(self.inside)
        for entry in entries:
            self._apply(entry, 0, 0)
        everything = dict.fromkeys(self.flow.returns, ALL)

        def summarize(number: int, _callees: Mapping[int, object]) -> Mapping[int, object]:
            entry = entries[number]
            summary = self._live_in(entry, {}), self._live_in(entry, everything)
            self._apply(entry, *summary)
            return {entry: summary}

        callers = [
            [n for n, caller in enumerate(entries) if self._sites(entry) & self.inside[caller]]
            for entry in entries
        ]
        unknown: dict[int, Mapping[int, object]] = {n: {} for n in range(len(entries))}
        solve(FlowGraph(callers), unknown, summarize, lambda known, more: {**known, **more})

    def _sites(self, entry: int) -> frozenset[int]:
        """Return the blocks that call a function."""
        return frozenset(call.block for call in self.calls if call.entry == entry)

    def _apply(self, entry: int, least: int, most: int) -> None:
        """Let the calls of a function do what is live before it with nothing, and with all."""
        for call, own in self.own.items():
            if call.entry == entry:
                index = self.flow.blocks[call.block].stop - 1
                self.reads[index] = own | least
                certain = is_certain(self.section.instructions[index])
                self.kills[index] = ALL & ~most if certain else 0

    def _live_in(self, entry: int, at_end: Mapping[int, int]) -> int:
        """Return the registers live before a function, given those live after its returns."""
        after = liveness.live_out(
            self.ranges, self.flow.graph, self.reads, self.kills, at_end, self.inside[entry]
        )
        return liveness.live_in(self.ranges[entry], after[entry], self.reads, self.kills)
