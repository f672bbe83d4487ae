"""Pipelines through registers: loads whose value is first used in a later iteration.

A load returns at once, and only the first use of its result waits, so that nothing else is needed
to run ahead. The value travels around the loop in registers, which it occupies meanwhile. Or it
waits for the compute of its own iteration to read the last of shared memory, and is then stored
there for the next one: CUDA's double buffer before there was ``cp.async``.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import reduce
from operator import or_

import msgspec

from irlens.analyze.global_accesses import access_bytes
from irlens.analyze.graph import FlowGraph
from irlens.analyze.pipelines.distinct_bytes import (
    find_traffic,
    loads_of_loop,
    place_in_kernel,
    total,
)
from irlens.analyze.pipelines.ptx_loops import FunctionLoops, depended_on
from irlens.analyze.pipelines.verdicts import PtxKernel, judge
from irlens.analyze.solver import reach, solve
from irlens.isa.ptx import Instruction, effects
from irlens.isa.ptx.copies import is_bulk_load, is_cp_async
from irlens.isa.ptx.registers import access
from irlens.model.report import Pipeline
from irlens.model.several import only

MAYBE_UNROLLED = (
    "its bytes are unknown: LLVM may have unrolled the loop, or threads may load the same bytes"
)
#: A value that is carried longer than this is no pipeline's.
_MAX_DISTANCE = 16


def find(kernel: PtxKernel) -> list[Pipeline]:
    """Describe every innermost loop with a load that certainly runs ahead through registers.

    The value of such a load is not used in its own iteration, or only stored to shared memory
    after the compute; its address does not depend on it, and the first iteration finds a value in
    its place that was loaded before the loop.
    """
    return [
        _describe(kernel, index, ahead, loads)
        for index, ahead, loads in _loops_running_ahead(kernel.loops)
    ]


def first_uses(loops: FunctionLoops) -> dict[int, int]:
    """Return the loads that certainly run ahead, each with the first use of its value.

    Both are indices into ``Function.instructions``; of several uses on different paths the first
    in the order of the blocks counts.
    """
    return {
        load: carried.use
        for _, ahead, _ in _loops_running_ahead(loops)
        for load, carried in ahead.items()
    }


def _loops_running_ahead(
    loops: FunctionLoops,
) -> Iterator[tuple[int, dict[int, "_Ahead"], list[int]]]:
    """Yield each loop with loads that run ahead, these loads, and all plain loads of the loop."""
    graph = loops.cfg.graph
    for index in loops.innermost(lambda each: _is_plain_load(loops, each)):
        if not loops.forest.loops[index].irreducible:
            carried = _CarriedValues(loops, graph, index)
            ahead = carried.ahead()
            if ahead:
                yield index, ahead, carried.loads


def _is_plain_load(loops: FunctionLoops, instruction: Instruction) -> bool:
    """Whether it reads global memory into registers, or may: a generic load can."""
    asynchronous = is_cp_async(instruction) or is_bulk_load(instruction)
    return not asynchronous and loops.reads_global(instruction)


def _describe(
    kernel: PtxKernel, index: int, ahead: dict[int, "_Ahead"], loads: Collection[int]
) -> Pipeline:
    """Return the record of a loop; bytes that threads share count once."""
    loops, record = kernel.loops, kernel.blank(index, "register")
    prefetch = min(each.distance for each in ahead.values())
    verdict, reason = judge(prefetch, record.requested_stages, "")
    notes = [reason] if reason else []
    if len(ahead) < len(loads):
        notes.append(f"{len(ahead)} of the loop's {len(loads)} loads run ahead")
    plain = {load: loops.function.instructions[load] for load in loads}
    widths = {load: access_bytes(instruction) for load, instruction in plain.items()}
    traffic = find_traffic(
        {n: (place_in_kernel(i), widths[n]) for n, i in plain.items()},
        threads=loops.threads(index, kernel.threads_per_cta),
        copies=1,
        of_source=loads_of_loop(kernel.of_source, record.source),
    )
    known = traffic.times is None
    if not known:
        notes.append(MAYBE_UNROLLED)
    return msgspec.structs.replace(
        record,
        achieved_stages=prefetch + 1,
        prefetch_iterations=prefetch,
        copies_per_iteration=len(ahead),
        bytes_per_copy=only(widths[load] for load in ahead),
        bytes_per_iteration=total(traffic.brought[n] for n in ahead) if known else None,
        bytes_repeated=total(traffic.repeated[n] for n in ahead) if known else None,
        verdict=verdict,
        reason="; ".join(notes),
    )


#: Registers that hold loaded values, each with a bit set of the loads whose value it may be.
_Holders = dict[str, int]


class _Ahead(msgspec.Struct, frozen=True):
    """A load that runs ahead: iterations to the first use of its value, and that instruction."""

    distance: int
    use: int


class _CarriedValues:
    """Follows the values that one loop loads through its registers."""

    def __init__(self, loops: FunctionLoops, graph: FlowGraph, index: int) -> None:
        self._loops = loops
        self._instructions = loops.function.instructions
        self._loop = loops.forest.loops[index]
        self._body = loops.forest.body(index)
        self._graph, self._before = graph, graph.predecessors
        own = (i for block in self._loop.own for i in _extent(loops, block))
        self.loads = [i for i in own if _is_plain_load(loops, self._instructions[i])]

    def ahead(self) -> dict[int, _Ahead]:
        """The loads that certainly run ahead."""
        bits = {load: 1 << number for number, load in enumerate(self.loads)}
        uses, carried = self._iteration({}, bits)
        used = reduce(or_, uses.values(), 0)
        first = carried
        later = {}
        staged = self._staged(uses, bits)
        for distance in range(1, _MAX_DISTANCE):
            carried = {name: left for name, loads in carried.items() if (left := loads & ~used)}
            if not carried:
                break
            uses, carried = self._iteration(carried, {})
            for load, bit in bits.items():
                use = next((index for index, loads in uses.items() if loads & bit), None)
                if use is not None and not used & bit:
                    later[load] = _Ahead(distance, use)
            used |= reduce(or_, uses.values(), 0)
        return staged | {
            load: ahead
            for load, ahead in later.items()
            if load not in depended_on(self._loops.function, self._instructions[load].operands[1:])
            and self._loaded_before({name for name in first if first[name] & bits[load]})
        }

    def _staged(self, uses: Mapping[int, int], bits: Mapping[int, int]) -> dict[int, _Ahead]:
        """Return the loads whose values are only stored to shared memory, after the compute.

        Nothing reads shared memory after these stores, so that the next iteration does.
        """
        body = sorted(self._body, key=self._graph.rank.__getitem__)
        path = {i: at for at, i in enumerate(i for b in body for i in _extent(self._loops, b))}
        reads = [at for i, at in path.items() if effects.may_read_shared(self._instructions[i])]
        works = [at for i, at in path.items() if effects.computes(self._instructions[i])]
        if not reads or not works or not self._stored_before():
            return {}
        own = {i for block in self._loop.own for i in _extent(self._loops, block)}
        staged = {}
        for load, bit in bits.items():
            users = [i for i, values in uses.items() if values & bit]
            stores = [i for i in users if i in own and effects.stores_shared(self._instructions[i])]
            if not users or stores != users:
                continue
            first = min(path[i] for i in users)
            after = max(reads) < first and any(path[load] < at < first for at in works)
            operands = self._instructions[load].operands[1:]
            if after and load not in depended_on(self._loops.function, operands):
                staged[load] = _Ahead(1, min(users, key=path.__getitem__))
        return staged

    def _stored_before(self) -> bool:
        """Whether shared memory may have been written when the loop is entered."""
        entering = [b for b in self._before[self._loop.header] if b not in self._body]
        ahead = reach(entering, lambda block: {*self._before[block]} - self._body)
        return any(
            effects.stores_shared(self._instructions[i])
            for b in ahead
            for i in _extent(self._loops, b)
        )

    def _iteration(
        self, holders: _Holders, bits: Mapping[int, int]
    ) -> tuple[dict[int, int], _Holders]:
        """Follow the values through the loop's body once.

        Args:
            holders: What registers hold at the header.
            bits: The loads whose values are followed from the load on.

        Returns:
            For each instruction the loads whose value it uses, in the order of the blocks, and
            what registers hold at the end.
        """
        uses: dict[int, int] = {}
        at_end: _Holders = {}

        def after(number: int, holders: _Holders) -> _Holders:
            held = dict(holders)
            for index in _extent(self._loops, number):
                used = self._step(index, held, bits.get(index, 0))
                if used:
                    uses[index] = used | uses.get(index, 0)
            if number in self._loop.latches:
                at_end.update(_merged(at_end, held))
            return held

        header = {self._loop.header: holders}
        solve(self._graph, header, after, _merged, within=self._body - header.keys())
        return uses, at_end

    def _step(self, index: int, held: _Holders, loaded: int) -> int:
        """Update what registers hold after an instruction; return the values it uses."""
        instruction = self._instructions[index]
        accessed = access(instruction)
        if accessed is None:
            # An unknown instruction may use everything.
            return (1 << len(self.loads)) - 1
        values = 0
        for name in accessed.reads:
            values |= held.get(name, 0)
        moves = effects.moves(instruction)
        for name in accessed.writes:
            kept = held.get(name, 0) if instruction.predicate is not None else 0
            held[name] = kept | loaded | (values if moves else 0)
        return 0 if moves else values

    def _loaded_before(self, holders: Collection[str]) -> bool:
        """Whether one of some registers may hold a loaded value when the loop is entered."""
        entering = [b for b in self._before[self._loop.header] if b not in self._body]
        wanted = frozenset(holders)

        def before(number: int, missing: frozenset[str]) -> frozenset[str]:
            for index in reversed(_extent(self._loops, number)):
                instruction = self._instructions[index]
                accessed = access(instruction)
                if accessed is None or missing.isdisjoint(accessed.writes):
                    continue
                if _is_plain_load(self._loops, instruction):
                    found.append(index)
                if instruction.predicate is None:
                    missing -= {*accessed.writes}
                if effects.moves(instruction):
                    missing |= {*accessed.reads}
            return missing

        found = list[int]()
        solve(self._graph.reversed, dict.fromkeys(entering, wanted), before, or_)
        return bool(found)


def _merged(holders: _Holders, more: _Holders) -> _Holders:
    """Return what registers hold where two paths meet."""
    return {**holders, **{name: loads | holders.get(name, 0) for name, loads in more.items()}}


def _extent(loops: FunctionLoops, block: int) -> range:
    return range(loops.cfg.blocks[block].start, loops.cfg.blocks[block].stop)
