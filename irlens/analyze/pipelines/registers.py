"""Pipelines through registers: a load whose value is first used in a later iteration.

Nothing asynchronous is needed for that: a load returns at once, and only the first use of its
result waits. The value travels around the loop in registers, which it takes up meanwhile.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import heappop, heappush

import msgspec

from irlens.analyze.graph import Successors, predecessors, reverse_postorder
from irlens.analyze.pipelines.constants import depended_on
from irlens.analyze.pipelines.describe import RequestedStages, blank, innermost, judge
from irlens.analyze.pipelines.loops import (
    FunctionLoops,
    is_bulk_load,
    is_copy,
    loop_source,
    reads_global,
)
from irlens.analyze.pipelines.repeated import SourceBytes, expected, find_traffic, place_of, total
from irlens.analyze.ptx_accesses import access_bytes
from irlens.isa.ptx import Instruction, Register, Vector
from irlens.isa.ptx.registers import access
from irlens.model.report import Pipeline

MAYBE_UNROLLED = (
    "its bytes are not known: LLVM may have unrolled the loop, or threads may load the same"
)
_PAIRS = (("b64",), ("b128",))
#: A value that is carried longer than this is no pipeline's.
_MAX_DISTANCE = 16


def find(
    loops: FunctionLoops,
    *,
    threads_per_cta: int | None,
    requested: RequestedStages,
    of_source: SourceBytes | None = None,
) -> list[Pipeline]:
    """Describe every innermost loop with a load that certainly runs ahead through registers.

    That is one whose value is not used in its own iteration, whose address does not follow from
    it, and in whose place the first iteration finds a value loaded before the loop.

    Args:
        loops: The kernel.
        threads_per_cta: To turn bytes per thread into bytes per CTA; ``None`` leaves these open.
        requested: Stages asked for, given the source location of a loop, innermost frame first.
        of_source: What the source's loops load: what threads share counts once, then.
    """
    pipelines = []
    for index, ahead, loads in _running_ahead(loops):
        stages = requested(loops.locations(index))
        record = blank(loops, index, "register", stages, "")
        distances = {load: found.distance for load, found in ahead.items()}
        filled = _filled(record, loops, distances, len(loads))
        threads = loops.threads(index, threads_per_cta)
        pipelines.append(_with_bytes(filled, loops, list(ahead), loads, threads, of_source or {}))
    return pipelines


def first_uses(loops: FunctionLoops) -> dict[int, int]:
    """Return the loads that certainly run ahead, each with the first use of its value.

    Both are indices into ``Function.instructions``; of several uses on different paths the first
    in the order of the blocks counts.
    """
    return {
        load: found.use for _, ahead, _ in _running_ahead(loops) for load, found in ahead.items()
    }


def _running_ahead(loops: FunctionLoops) -> Iterator[tuple[int, dict[int, "_Ahead"], list[int]]]:
    """Yield the loops with loads that run ahead: which, these loads, and all that it has."""
    graph = _Graph(loops.cfg.successors)
    for index in innermost(loops, lambda each: is_plain_load(loops, each)):
        if not loops.forest.loops[index].irreducible:
            carried = _Carried(loops, graph, index)
            ahead = carried.ahead()
            if ahead:
                yield index, ahead, carried.loads


def is_plain_load(loops: FunctionLoops, instruction: Instruction) -> bool:
    """Whether it reads global memory into registers, or may: a generic load can."""
    asynchronous = is_copy(instruction) or is_bulk_load(instruction)
    return not asynchronous and reads_global(loops, instruction)


def _filled(record: Pipeline, loops: FunctionLoops, ahead: dict[int, int], loads: int) -> Pipeline:
    prefetch = min(ahead.values())
    widths = {access_bytes(loops.function.instructions[load]) for load in ahead}
    verdict, reason = judge(prefetch, record.requested_stages, "")
    if len(ahead) < loads:
        others = f"{len(ahead)} of the loop's {loads} loads run ahead"
        reason = f"{reason}; {others}" if reason else others
    return msgspec.structs.replace(
        record,
        achieved_stages=prefetch + 1,
        prefetch_iterations=prefetch,
        copies_per_iteration=len(ahead),
        bytes_per_copy=widths.pop() if len(widths) == 1 else None,
        verdict=verdict,
        reason=reason,
    )


def _with_bytes(
    record: Pipeline,
    loops: FunctionLoops,
    ahead: Collection[int],
    loads: Collection[int],
    threads: int | None,
    of_source: SourceBytes,
) -> Pipeline:
    """Fill in what the loads that run ahead bring; what threads share counts once."""
    every = {load: loops.function.instructions[load] for load in loads}
    found = find_traffic(
        {n: (place_of(loop_source(i.locations)), access_bytes(i)) for n, i in every.items()},
        threads=threads,
        copies=1,
        of_source=expected(of_source, record.source),
    )
    if found.times is not None:
        told = filter(None, (record.reason, MAYBE_UNROLLED))
        return msgspec.structs.replace(record, reason="; ".join(told))
    return msgspec.structs.replace(
        record,
        bytes_per_iteration=total(found.brought[load] for load in ahead),
        bytes_repeated=total(found.repeated[load] for load in ahead),
    )


#: Registers that hold loaded values, each with the loads whose value it may be: bits.
_Holders = dict[str, int]


class _Ahead(msgspec.Struct, frozen=True):
    """A load that runs ahead: iterations to the first use of its value, and that instruction."""

    distance: int
    use: int


class _Graph:
    """What all loops of a function share: who precedes a block, and the order to visit them in."""

    def __init__(self, successors: Successors) -> None:
        self.before = predecessors(successors)
        self.order = {block: n for n, block in enumerate(reverse_postorder(successors))}


class _Carried:
    """Follows the values that one loop loads.

    Attributes:
        loads: The loop's own loads, as indices of instructions.
    """

    def __init__(self, loops: FunctionLoops, graph: _Graph, index: int) -> None:
        self._loops = loops
        self._instructions = loops.function.instructions
        self._loop = loops.forest.loops[index]
        self._body = loops.forest.body(index)
        self._before, self._order = graph.before, graph.order
        own = (i for block in self._loop.own for i in _extent(loops, block))
        self.loads = [i for i in own if is_plain_load(loops, self._instructions[i])]

    def ahead(self) -> dict[int, _Ahead]:
        """The loads that certainly run ahead."""
        bits = {load: 1 << number for number, load in enumerate(self.loads)}
        uses, carried = self._iteration({}, bits)
        used = _union(uses.values())
        first = carried
        found = {}
        for distance in range(1, _MAX_DISTANCE):
            carried = {name: left for name, loads in carried.items() if (left := loads & ~used)}
            if not carried:
                break
            uses, carried = self._iteration(carried, {})
            for load, bit in bits.items():
                use = next((index for index, loads in uses.items() if loads & bit), None)
                if use is not None and not used & bit:
                    found[load] = _Ahead(distance, use)
            used |= _union(uses.values())
        return {
            load: ahead
            for load, ahead in found.items()
            if load not in depended_on(self._loops.function, self._instructions[load].operands[1:])
            and self._loaded_before({name for name in first if first[name] & bits[load]})
        }

    def _iteration(
        self, holders: _Holders, bits: Mapping[int, int]
    ) -> tuple[dict[int, int], _Holders]:
        """Go through the loop's body once.

        Args:
            holders: What registers hold at the header.
            bits: The loads whose values are to be followed from where they stand.

        Returns:
            By instruction the loads whose value it uses, in the order of the blocks, and what
            registers hold at the end.
        """
        uses: dict[int, int] = {}
        entering = {self._loop.header: holders}
        waiting = [(0, self._loop.header)]
        at_end: _Holders = {}
        while waiting:
            _, number = heappop(waiting)
            held = dict(entering[number])
            for index in _extent(self._loops, number):
                used = self._step(index, held, bits.get(index, 0))
                if used:
                    uses[index] = used | uses.get(index, 0)
            for target in self._loops.cfg.successors[number]:
                if target == self._loop.header:
                    _merge(at_end, held)
                elif target in self._body:
                    known = target in entering
                    if _merge(entering.setdefault(target, {}), held) or not known:
                        heappush(waiting, (self._order[target], target))
        return uses, at_end

    def _step(self, index: int, held: _Holders, loaded: int) -> int:
        """Bring up to date who holds what behind an instruction; return what it uses."""
        instruction = self._instructions[index]
        found = access(instruction)
        if found is None:
            # Whatever it does, it may use everything.
            return (1 << len(self.loads)) - 1
        values = 0
        for name in found.reads:
            values |= held.get(name, 0)
        moves = _moves(instruction)
        for name in found.writes:
            kept = held.get(name, 0) if instruction.predicate is not None else 0
            held[name] = kept | loaded | (values if moves else 0)
        return 0 if moves else values

    def _loaded_before(self, holders: Collection[str]) -> bool:
        """Whether one of some registers may hold a loaded value when the loop is entered."""
        entering = [b for b in self._before[self._loop.header] if b not in self._body]
        wanted = {block: set(holders) for block in entering}
        waiting = list(wanted)
        while waiting:
            number = waiting.pop()
            missing = set(wanted[number])
            for index in reversed(_extent(self._loops, number)):
                instruction = self._instructions[index]
                found = access(instruction)
                if found is None or missing.isdisjoint(found.writes):
                    continue
                if is_plain_load(self._loops, instruction):
                    return True
                if instruction.predicate is None:
                    missing.difference_update(found.writes)
                if _moves(instruction):
                    missing.update(found.reads)
            for source in self._before[number]:
                if not missing <= wanted.get(source, set()):
                    wanted[source] = wanted.get(source, set()) | missing
                    waiting.append(source)
        return False


def _union(sets: Iterable[int]) -> int:
    found = 0
    for each in sets:
        found |= each
    return found


def _merge(into: _Holders, more: _Holders) -> bool:
    """Add what another path brings; say whether that is anything new."""
    changed = False
    for name, loads in more.items():
        if loads & ~into.get(name, 0):
            into[name] = into.get(name, 0) | loads
            changed = True
    return changed


def _extent(loops: FunctionLoops, block: int) -> range:
    return range(loops.cfg.blocks[block].start, loops.cfg.blocks[block].stop)


def _moves(instruction: Instruction) -> bool:
    """Whether it only gives whole registers other names.

    Packing two of them into a pair is free; packing halves of one is work.
    """
    if instruction.opcode != "mov" or instruction.predicate is not None:
        return False
    allowed = (Register, Vector) if instruction.modifiers[-1:] in _PAIRS else (Register,)
    return all(isinstance(operand, allowed) for operand in instruction.operands)
