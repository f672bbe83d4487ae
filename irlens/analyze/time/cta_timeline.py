"""How long a CTA takes with an SM to itself: its code as the machine schedules it.

ptxas writes into each instruction how many cycles to wait after it, which scoreboards it waits for
and which one tells that its result is there. A warp issues in order, so that its time follows from
these and from the latency of what scoreboards track: loads, shared memory, special functions,
barriers, products of tensor cores. Asynchronous copies and products are followed to the waits
that retire them, so that a loop that overlaps them with its work is as fast as the slower of both.
A fence of the GPU, as acquire-release atomics have before them, is a round trip to the L2 that
begins when the warp's writes have made theirs.

One warp stands for all of its CTA, which run side by side: an instruction occupies its unit
once for each of them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from irlens.analyze.cfg import Cfg
from irlens.analyze.time.clock import (
    SCOREBOARDS,
    STORES,
    UNITS,
    Clock,
    Effects,
    TimedInstruction,
    Units,
    issues,
)
from irlens.analyze.time.loop_runs import Path
from irlens.analyze.time.tensor_memory import Product
from irlens.gpus.timing import Timing
from irlens.isa.events import Copy
from irlens.isa.sass import Instruction, units
from irlens.isa.sass.records import INSTRUCTION_BYTES
from irlens.isa.sass.timing import (
    Demand,
    Ordering,
    Origin,
    Stream,
    asynchronous,
    demand,
)
from irlens.model.schedule import Control
from irlens.model.source import SourceLocation

# The caches of instructions, as measured on an H100 and an H200
# (``benchmarks/instruction_fetch.cu``) and assumed of other GPUs.
#: Instructions that fit into an SM's own cache, and into the next one. A loop of 32 KB takes 1.2
#: cycles for each of them, loops of 48 to 112 KB 2.4 to 2.8, those of 144 KB and more 5.6 to 6.1.
_NEAR, CACHED_INSTRUCTIONS = (size * 1024 // INSTRUCTION_BYTES for size in (32, 128))
#: Cycles per instruction fetched from the next cache, and from the L2, while all warps run in step.
_FROM_CACHE, _FROM_L2 = 2.5, 5.9
#: Cycles per instruction fetched from the next cache by warps of a loop that have drifted apart:
#: five launches with loops of 77 to 115 KB took 5.8 to 6.4.
_REPEATED = 6.0


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """What a CTA's time is computed with.

    Attributes:
        memory: Cycles from a load to its data, by where the data are.
        local: The same of a load of local memory; by default the L1's.
        multiply_adds: Of 16 bits that the tensor cores of an SM do in a cycle.
        partitions: Sub-partitions of an SM, which share a CTA's warps.
        request_bytes: Bytes that a load of one warp takes from the L2, for each byte it asks for.
        wavefronts: Of accesses to shared memory, by index, where they are known.
        products: Those in tensor memory, by index of the instruction.
        repeats: Loads of what the CTA has loaded before, by index. The L1 has it when nothing is in
            flight any more.
        request_cycles: Cycles for which one request occupies the L1, by its place; by default those
            that its bytes take.
    """

    timing: Timing
    memory: float
    multiply_adds: float
    partitions: int
    warps: int
    local: float | None = None
    request_bytes: float = 1.0
    bulk_bytes: float = 0.0
    wavefronts: Mapping[int, float] = MappingProxyType({})
    products: Mapping[int, Product] = MappingProxyType({})
    removed: frozenset[int] = frozenset()
    repeats: Collection[int] = frozenset()
    request_cycles: Mapping[SourceLocation, float] = MappingProxyType({})

    def durations_at(
        self,
        memories: Iterable[float],
        instructions: Sequence[Instruction],
        flow: Cfg,
        paths: Sequence[Path],
        control: Sequence[Control],
    ) -> list[list[float]]:
        """Return by latency of memory and by path the cycles of a CTA whose warps all take it.

        Args:
            control: The control fields of each of the instructions.
        """
        executed = {number for path in paths for each in path.segments for number in each.blocks}
        blocks = {
            number: [
                (index, self.timed(index, instructions[index], control[index]))
                for index in self.indices(flow, number)
            ]
            for number in executed
        }
        found = []
        for memory in memories:
            line = self if memory == self.memory else replace(self, memory=memory)
            here = {
                number: [
                    line.timed(index, instructions[index], control[index])
                    if line is not self and each.effects is not None and each.effects.of_memory
                    else each
                    for index, each in block
                ]
                for number, block in blocks.items()
            }
            found.append([self._end(here, path) for path in paths])
        return found

    def indices(self, flow: Cfg, block: int) -> Iterator[int]:
        """Yield the instructions of a block that are not taken out."""
        return (index for index in flow.blocks[block].indices if index not in self.removed)

    def _end(self, blocks: Mapping[int, Sequence[TimedInstruction]], path: Path) -> float:
        clock = Clock(Units(self.timing.port))
        executed = {number for each in path.segments for number in each.blocks}
        size = sum(len(blocks[number]) for number in executed)
        for segment in path.segments:
            code = [each for number in segment.blocks for each in blocks[number]]
            clock.repeat(code, 1, _fetch(size, _FROM_CACHE))
            clock.repeat(code, segment.times - 1, _fetch(len(code), _REPEATED))
        return clock.end()

    def timed(self, index: int, instruction: Instruction, control: Control) -> TimedInstruction:
        """Return an instruction with its times."""
        asked, product = demand(instruction), self.products.get(index)
        per_scheduler = max(1.0, self.warps / self.partitions)
        place = instruction.locations[0] if instruction.locations else None
        number, cycles = self._occupied(asked, per_scheduler, place)
        shared = self._shared_cycles(instruction, asked, self.wavefronts.get(index))
        if product is not None:  # one for the whole CTA
            cycles, shared = product.multiply_adds / self.multiply_adds, product.shared_cycles
        return TimedInstruction(
            None if asked.is_plain and product is None else self.effects(index, instruction),
            SCOREBOARDS[control.wait],
            number,
            cycles,
            shared,
            -1 if control.write is None else control.write,
            self._latency(asked.origin),
            -1 if control.read is None else control.read,
            self.timing.source,
            max(per_scheduler, control.stall),
        )

    def effects(self, index: int, instruction: Instruction) -> Effects:
        """Return what an instruction does besides occupying its unit."""
        asked = demand(instruction)
        work = asynchronous(instruction) if asked.is_asynchronous else None
        if index in self.products:
            work = "tcgen05", Copy(0, None, at=instruction.offset)
        stream, event = work or ("cp.async", None)
        latency = self._latency(asked.origin)
        repeats = index in self.repeats
        return Effects(
            index=index,
            of_memory=asked.origin == "memory" or stream == "tma",
            bytes=self._bytes(asked),
            alone=self.timing.l1 if repeats else latency,
            repeats=repeats,
            queues=event is not None and stream in ("wgmma", "tcgen05") and issues(event),
            ordering=asked.ordering,
            event=event,
            stream=stream,
            takes=self._takes(asked.ordering, stream, latency),
        )

    def _occupied(
        self, asked: Demand, per_scheduler: float, place: SourceLocation | None
    ) -> tuple[int, float]:
        kind, timing = asked.unit, self.timing
        if kind == "tensor":  # each sub-partition has tensor cores of its own
            warps = self.warps if asked.of_warpgroup else max(self.warps, self.partitions)
            return 4, tensor_cycles(asked, timing, self.multiply_adds) * warps
        if kind == "lsu":
            taken = self.request_cycles.get(place, 0.0) if place else 0.0
            if taken and asked.ordering == "write":
                return STORES, taken * self.warps
            known = taken if asked.origin == "memory" else 0.0
            return 3, max(asked.slots * timing.lsu, known) * self.warps
        cost = {"alu": timing.alu, "fma": timing.fma, "xu": timing.xu}.get(kind)
        if cost is None:
            return -1, 0.0
        return UNITS.index(kind), cost * per_scheduler * asked.issues

    def _shared_cycles(
        self, instruction: Instruction, asked: Demand, wavefronts: float | None
    ) -> float:
        if asked.is_bulk_copy:
            return self.bulk_bytes / units.WAVEFRONT
        return units.shared_cycles(instruction, wavefronts) * self.warps

    def _bytes(self, asked: Demand) -> float:
        if asked.loaded:
            return 32 * asked.loaded * self.warps * self.request_bytes
        return self.bulk_bytes if asked.is_bulk_copy else 0.0

    def _latency(self, origin: Origin) -> float:
        timing = self.timing
        match origin:
            case "memory":
                return self.memory
            case "local":
                return timing.l1 if self.local is None else self.local
            case "shared":
                return timing.shared
            case "shuffle":
                return timing.shuffle
            case "constant":
                return timing.constant
            case "special":
                return timing.special

    def _takes(self, orders: Ordering | None, stream: Stream, latency: float) -> float:
        """Return how long a barrier or a fence takes, or else work of a stream once it is begun."""
        timing = self.timing
        if orders is not None:
            return timing.barrier if orders == "barrier" else timing.l2
        if stream == "cp.async":
            return latency
        return self.memory + timing.bulk if stream == "tma" else timing.product


def _fetch(instructions: int, from_cache: float) -> float:
    """Return the cycles until the next instruction is there.

    Args:
        instructions: Those that run between two runs of one.
        from_cache: The cycles if the next cache has it.
    """
    if instructions <= _NEAR:
        return 0.0
    return from_cache if instructions <= CACHED_INSTRUCTIONS else _FROM_L2


def tensor_cycles(asked: Demand, timing: Timing, multiply_adds: float) -> float:
    """Return the cycles for which a warp's product occupies the tensor cores of its SM."""
    if asked.multiplies_fp64:  # there are no faster ones than those of warps
        return asked.multiply_adds / (multiply_adds * timing.fp64_products)
    rate = multiply_adds if asked.of_warpgroup else multiply_adds * timing.warp_products
    if asked.sums_in_fp32:
        rate *= timing.fp32_sums
    return asked.multiply_adds / rate
