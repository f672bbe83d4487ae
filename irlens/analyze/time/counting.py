"""Counts what a launch asks of each unit, from its warps' paths and its memory traffic."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import ceil, prod
from statistics import mean
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from irlens.analyze.cfg import Cfg
from irlens.analyze.time.barrier_timeline import BarrierTimeline
from irlens.analyze.time.barriers import BarrierUses
from irlens.analyze.time.counts import Counts, awaited_share
from irlens.analyze.time.cta_schedule import imbalance
from irlens.analyze.time.cta_timeline import CACHED_INSTRUCTIONS, Timeline, tensor_cycles
from irlens.analyze.time.launched import WarpPath, sample
from irlens.analyze.time.shared_wavefronts import Wavefronts
from irlens.analyze.time.tensor_memory import Product
from irlens.analyze.time.transfers import Caches, Spilled, Transfers
from irlens.gpus import Gpu
from irlens.gpus.timing import Timing
from irlens.isa.sass import Section, units
from irlens.isa.sass.records import INSTRUCTION_BYTES
from irlens.isa.sass.timing import demand, is_bulk_copy
from irlens.model.estimate import Cause
from irlens.model.report import NextStep
from irlens.model.schedule import Control
from irlens.model.source import SourceLocation

if TYPE_CHECKING:
    from irlens.analyze.traffic import Repetition

_LANES = 32
#: Fractions of a load below this are rounding errors.
_NONE = 1e-6
#: Bytes of the L1 that are never shared memory: of 256 KB on an H100 at most 228 are, of 192 on an
#: A100 164, of 128 on an L40S 100 ("CUDA C++ Programming Guide", compute capabilities).
_L1_ALONE = 28 << 10
#: Bytes of a CTA's shared memory beyond which Triton asks the driver for as much of it as an SM has
#: (``CU_FUNC_CACHE_PREFER_SHARED`` in ``loadBinary``).
_PREFERRED = 48 << 10


class KernelCode(msgspec.Struct, frozen=True):
    """A kernel's machine code: its instructions, control flow and schedule.

    Attributes:
        wavefronts: Of accesses to shared memory by a warp, by index of the instruction; of those
            that are absent, the least that their width needs are taken.
        products: Those in tensor memory, by index of the instruction.
        removed: Instructions that are taken out, to see what the launch takes without them.
        barriers: What warps do to barriers; ``None`` where the order of copies and waits tells
            which wait is for which copy.
    """

    section: Section
    flow: Cfg
    control: Sequence[Control]
    wavefronts: Mapping[int, Wavefronts]
    products: Mapping[int, Product] = MappingProxyType({})
    removed: frozenset[int] = frozenset()
    barriers: BarrierUses | None = None

    def without_barriers(self) -> "KernelCode":
        """Return the code with waits told by the order of copies alone."""
        return replace(self, barriers=None)


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch runs on.

    Attributes:
        gpu: The GPU; its timing, SMs and tensor cores' rates must be known.
        resident: CTAs that an SM holds at once.
    """

    gpu: Gpu
    resident: int

    def abreast(self, ctas: int) -> int:
        """Return how many of a launch's CTAs run on an SM at once: small grids do not fill it."""
        return min(self.resident, max(1, ceil(ctas / (self.gpu.sm_count or 1))))

    @property
    def timing(self) -> Timing:
        """Latencies and rates.

        Raises:
            ValueError: They are not known.
        """
        if self.gpu.timing is None:
            raise ValueError(f"the timing of {self.gpu.name} is not known")
        return self.gpu.timing

    def caches(self, shared: int) -> Caches:
        """Return the caches of a launch whose CTAs take a number of bytes of shared memory each."""
        arch, product = self.gpu.arch, self.gpu.product
        taken = self.resident * (shared + arch.shared_reserved_per_block if shared else 0)
        if shared > _PREFERRED:
            taken = arch.shared_per_sm
        l2 = (product.l2_bytes if product is not None else None) or 0
        return Caches(
            l1=max(_L1_ALONE, arch.shared_per_sm + _L1_ALONE - taken),
            l2=l2 * (self.timing.l2_share or 1.0),
        )


class Repeated(NamedTuple):
    """How far the loads of one place find their data in the L1, since their CTA has loaded it.

    Attributes:
        tiles: Part of their tiles that hold nothing new, 0..1.
        others: Part of the requests for the other tiles that ask for nothing new, by access of the
            ttir: an unrolled loop has several of one place.
    """

    tiles: float
    others: tuple[float, ...]

    @classmethod
    def of(cls, accesses: "Sequence[Repetition]") -> "Repeated":
        """Return that of the accesses of a place."""
        renewed = max(min(1.0, each.new / (each.of_tiles or 1.0)) for each in accesses)
        asked = [renewed * each.touched for each in accesses]
        others = (
            max(0.0, 1 - each.new / of_access) if of_access else 1.0
            for each, of_access in zip(accesses, asked, strict=True)
        )
        return cls(1 - renewed, tuple(others))

    def bringing(self, loads: Sequence[int]) -> list[int]:
        """Return which of a place's loads bring what is new of a tile: the first of each access.

        A single new sector is one that a warp waits for.
        """
        each, left = divmod(len(loads), len(self.others))
        others = self.others if not left else (mean(self.others),)
        each = each if not left else len(loads)
        return [
            load
            for number, other in enumerate(others)
            for load in loads[number * each :][: ceil((1 - other) * each - _NONE)]
        ]


class CostedLaunch(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A launch whose time is estimated.

    Attributes:
        ideal_sectors: The fewest sectors that hold what its loads, and what its stores access;
            ``None`` if unknown.
        distinct_read_bytes: Bytes that it reads, each counted once.
        spills: Instructions that spill a register or reload it, by index; empty where there are
            others that access the stack.
        next_steps: What admits one more CTA to an SM.
        spare: Return how much less of a resource the same code can do with, by the cause of a
            change; ``None`` if unknown.
        repeated: How far loads find their data in the L1, by their place.
        of_warps: Returns the wavefronts of the code's accesses as the mean over all warps.
    """

    code: KernelCode
    followed: Sequence[Sequence[WarpPath]]
    moved: Transfers
    machine: Placement
    grid: tuple[int, int, int]
    ideal_sectors: tuple[int, int] | None
    distinct_read_bytes: float
    next_steps: Sequence[NextStep]
    spills: frozenset[int] = frozenset()
    spare: Mapping[Cause, Callable[[], int | None]] = MappingProxyType({})
    repeated: Mapping[SourceLocation, Repeated] = MappingProxyType({})
    of_warps: Callable[[], Mapping[int, Wavefronts]] = dict

    @property
    def ctas(self) -> int:
        """CTAs of its grid."""
        return prod(self.grid)

    @cached_property
    def counts(self) -> Counts:
        """What it asks of each unit, see ``count``."""
        return count(self)


def spilled(
    code: KernelCode,
    followed: Sequence[Sequence[WarpPath]],
    machine: Placement,
    cta_bytes: int,
    ctas: int,
) -> Spilled | None:
    """Return a launch's accesses to local memory; ``None`` if there are none.

    Args:
        followed: The paths of a sample of its CTAs.
    """
    loaded = stored = 0.0
    for index, times in executed(code, followed).items():
        each = code.section.instructions[index]
        if each.opcode in units.LOCAL_LOADS:
            loaded += times * _LANES * units.lane_bytes(each)
        elif each.opcode in units.LOCAL_STORES:
            stored += times * _LANES * units.lane_bytes(each)
    if not loaded and not stored:
        return None
    sms = min(ctas, machine.gpu.sm_count or 1)
    return Spilled(loaded, stored, cta_bytes * machine.abreast(ctas), sms)


def count(launch: CostedLaunch, latency: float | None = None) -> Counts:
    """Return what a launch asks of each unit.

    Args:
        latency: Cycles from a load of global memory to its data, however busy the GPU is; by
            default those of the timing, by where the data are.
    """
    code, followed, transfers, machine = launch.code, launch.followed, launch.moved, launch.machine
    timing, multiply_adds = machine.timing, machine.gpu.multiply_adds
    sms = machine.gpu.sm_count or 1
    share = awaited_share(transfers.memory_share, launch.ctas, sms * machine.resident)
    busy = timing.load_latency(share, transfers.l1_share) if latency is None else latency
    totals: defaultdict[units.Unit, float] = defaultdict(float)
    sums: defaultdict[str, float] = defaultdict(float)
    instructions = executed(code, followed)
    occupied = {index: each.cycles for index, each in code.wavefronts.items()}
    for index, times in instructions.items():
        each = code.section.instructions[index]
        asked = demand(each)
        kind = asked.unit
        totals[kind] += times * asked.issues
        sums["instructions"] += times
        sums["integer"] += times * asked.integer_cycles
        if units.computes_fp64(each):
            sums["fp64"] += times * timing.fp64
        shared = times * units.shared_cycles(each, occupied.get(index))
        sums["shared"] += shared
        if each.opcode in units.SHARED:
            sums["exchanged"] += shared
        elif units.shuffles(each):
            sums["exchanged"] += times
        elif kind == "lsu":
            sums["requests"] += times
        if asked.loaded:
            sums["asked"] += times * _LANES * asked.loaded
        if asked.is_bulk_copy:
            sums["bulk"] += times
        if index in code.products:
            product = code.products[index]
            sums["tensor"] += times * product.multiply_adds / multiply_adds
            sums["shared"] += times * product.shared_cycles
        elif kind == "tensor":
            sums["tensor"] += times * tensor_cycles(asked, timing, multiply_adds)
    # Integer products take half of the FMA unit, and fp64 has one of its own.
    totals["fma"] = max(totals["fma"], sums["integer"] / timing.fma, sums["fp64"] / timing.fma)
    copies = sums["bulk"]
    if code.barriers is not None:
        # Else the warps that run a copy share its bytes: so it was when the constants were fitted.
        copies = _bulk_copies(code, followed) * launch.ctas
    timeline = Timeline(
        timing=timing,
        memory=busy,
        local=timing.local_latency(transfers.local_missed),
        multiply_adds=multiply_adds,
        partitions=machine.gpu.arch.partitions,
        wavefronts=occupied,
        products=code.products,
        removed=code.removed,
        warps=sum(each.of_cta for each in followed[0]),
        request_bytes=transfers.load_sectors * 32 / sums["asked"] if sums["asked"] else 1.0,
        bulk_bytes=transfers.bulk_read_bytes / copies if copies else 0.0,
        request_cycles=transfers.occupied.of_request,
    )
    latencies = [busy]
    if latency is None:
        latencies.append(timing.load_latency(share, transfers.l1_share, queues=False))
    cycles, *others = _cycles_by_rounds(launch, timeline, latencies)
    idle = others[0] if others else cycles
    programs = sample(launch.grid, len(followed))
    return Counts(
        ctas=launch.ctas,
        resident=machine.resident,
        cta_cycles=mean(cycles),
        queued_cycles=mean(cycles) - mean(idle),
        awaited=share,
        imbalance=imbalance(launch.grid, programs, cycles, sms, machine.resident),
        longest=max(cycles) / mean(cycles) if mean(cycles) else 1.0,
        instructions=sums["instructions"],
        units=dict(totals),
        tensor_cycles=sums["tensor"],
        shared_wavefronts=sums["shared"] + transfers.bulk_read_bytes / units.WAVEFRONT,
        exchanged=sums["exchanged"],
        # What the data take in the pipe, whichever banks they come from.
        l1_cycles=max(sums["requests"] * timing.lsu, transfers.coalesced.loads),
        delivered_cycles=transfers.occupied.loads,
        sent_cycles=transfers.occupied.stores,
        l2_bytes=transfers.l2_read_bytes + transfers.written_bytes + transfers.local_bytes,
        dram_bytes=transfers.dram_read_bytes + transfers.dram_written_bytes,
        crossed_bytes=transfers.crossed_bytes,
        input_cycles=transfers.input_cycles,
        lookups=transfers.lookups,
        colliding_us=transfers.colliding_us,
        written_bytes=transfers.dram_written_bytes,
        pieces=transfers.pieces,
        uncertain=uncertainty(followed, transfers, len(instructions)),
    )


def executed(code: KernelCode, followed: Sequence[Sequence[WarpPath]]) -> dict[int, float]:
    """Return how often warps execute each instruction, by its index, all warps together."""
    blocks: dict[int, float] = {}
    for cta in followed:
        for each in cta:
            for block, times in each.counts.items():
                blocks[block] = blocks.get(block, 0.0) + times * each.warps
    return {
        index: times
        for block, times in blocks.items()
        for index in code.flow.blocks[block].indices
        if index not in code.removed
    }


def _bulk_copies(code: KernelCode, followed: Sequence[Sequence[WarpPath]]) -> float:
    """Return how many tiles a CTA copies, the mean of some: one of its warps issues each copy."""
    copies = {
        number: copied
        for number, block in enumerate(code.flow.blocks)
        if (copied := sum(is_bulk_copy(code.section.instructions[n]) for n in block.indices))
    }
    return mean(
        sum(
            copied * max(each.counts.get(number, 0) for each in cta)
            for number, copied in copies.items()
        )
        for cta in followed
    )


def _cycles_by_rounds(
    launch: CostedLaunch, timeline: Timeline, latencies: Sequence[float]
) -> list[list[float]]:
    """Return for each latency of memory the cycles of each CTA of the sample.

    They are the mean of rounds that load new sectors and of those that do not: a loop along rows
    loads a sector in one round, and what is left of it, from the L1, in those that follow.
    """
    instructions = launch.code.section.instructions
    at: defaultdict[SourceLocation, list[int]] = defaultdict(list)
    for index, each in enumerate(instructions):
        if each.locations and demand(each).loaded:
            at[each.locations[0]].append(index)
    known = [(at[place], each) for place, each in launch.repeated.items()]
    share = min((each.tiles for _, each in known if each.tiles), default=0.0)
    always = {n for loads, each in known for n in {*loads}.difference(each.bringing(loads))}
    at_times = {n for loads, each in known if each.tiles for n in loads}
    found = []
    for part, repeats in ((1 - share, always), (share, always | at_times)):
        if part:
            line = replace(timeline, repeats=repeats)
            of_part = _cta_cycles(launch.code, launch.followed, line, latencies)
            found.append([[part * cycles for cycles in ctas] for ctas in of_part])
    return [list(map(sum, zip(*parts, strict=True))) for parts in zip(*found, strict=True)]


def _cta_cycles(
    code: KernelCode,
    followed: Sequence[Sequence[WarpPath]],
    timeline: Timeline,
    latencies: Sequence[float],
) -> Iterator[list[float]]:
    """Yield for each latency of memory the cycles of each CTA of the sample: its slowest warps'."""
    if code.barriers is not None:
        instructions, flow = code.section.instructions, code.flow
        for memory in latencies:
            line = replace(timeline, memory=memory)
            together = BarrierTimeline(line, instructions, flow, code.control, code.barriers)
            yield together.of_ctas(followed)
        return
    paths = list(dict.fromkeys(each.path for cta in followed for each in cta))
    instructions = code.section.instructions
    for cycles in timeline.durations_at(latencies, instructions, code.flow, paths, code.control):
        of_path = dict(zip(paths, cycles, strict=True))
        yield [max((of_path[each.path] for each in cta), default=0.0) for cta in followed]


def uncertainty(
    followed: Sequence[Sequence[WarpPath]], transfers: Transfers, instructions: int
) -> str:
    """Return what is not exact in a launch's counts; empty if nothing."""
    reasons = [transfers.uncertain] if transfers.uncertain else []
    if any(each.path.skipped for cta in followed for each in cta):
        reasons.append(
            "where loaded data decide a branch, the count skips what the branch can skip, except"
            " loops; a compare-and-swap succeeds at the first attempt"
        )
    if instructions > CACHED_INSTRUCTIONS:
        reasons.append(
            f"its {instructions * INSTRUCTION_BYTES >> 10} KB of instructions are more than an SM"
            " caches, and other waits hide a part of theirs"
        )
    return "; ".join(reasons)
