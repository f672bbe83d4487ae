"""Counts what a launch asks of each unit, from its warps' paths and its memory traffic."""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from irlens.analyze.cfg import Cfg
from irlens.analyze.time import units
from irlens.analyze.time.counts import Counts
from irlens.analyze.time.cta_timeline import Control, Timeline, tensor_cycles
from irlens.analyze.time.launched import WarpPath
from irlens.gpus import Gpu
from irlens.gpus.timing import Timing
from irlens.isa.sass import Section


class Code(msgspec.Struct, frozen=True):
    """A kernel's machine code: its instructions, control flow and schedule."""

    section: Section
    flow: Cfg
    control: Sequence[Control]


class Transfers(msgspec.Struct, frozen=True, kw_only=True):
    """What a launch moves through the memory system.

    Attributes:
        load_sectors: Sectors that warps' loads touch, copies to shared memory included.
        store_sectors: Sectors that their stores touch.
        bulk_read_bytes: Bytes that bulk copies (TMA) read.
        bulk_written_bytes: Bytes that they write.
        missed_sectors: Those of ``load_sectors`` that the L1 takes from the L2.
        dram_read_bytes: Bytes that come from memory.
        dram_written_bytes: Bytes that go to memory.
        uncertain: What is not exact in these; empty if nothing.
    """

    load_sectors: float
    store_sectors: float
    bulk_read_bytes: float
    bulk_written_bytes: float
    missed_sectors: float
    dram_read_bytes: float
    dram_written_bytes: float
    uncertain: str = ""

    @property
    def l2_read_bytes(self) -> float:
        """Bytes that SMs take from the L2."""
        return self.missed_sectors * 32 + self.bulk_read_bytes

    @property
    def memory_share(self) -> float:
        """Part of them that come from memory, 0..1."""
        read = self.l2_read_bytes
        return min(1.0, self.dram_read_bytes / read) if read else 1.0


def count(
    code: Code,
    followed: Sequence[Sequence[WarpPath]],
    transfers: Transfers,
    gpu: Gpu,
    timing: Timing,
    multiply_adds: float,
    *,
    ctas: int,
    resident: int,
) -> Counts:
    """Return what a launch asks of each unit.

    Args:
        code: The kernel.
        followed: The paths of a sample of its CTAs.
        transfers: What it moves.
        gpu: The GPU.
        timing: The GPU's latencies and rates.
        multiply_adds: Of 16 bits that the tensor cores of an SM do in a cycle.
        ctas: CTAs of the grid.
        resident: CTAs that an SM holds at once.
    """
    executed = _executed(code.flow, followed)
    totals: defaultdict[units.Unit, float] = defaultdict(float)
    sums: defaultdict[str, float] = defaultdict(float)
    for index, times in executed.items():
        each = code.section.instructions[index]
        kind = units.unit(each)
        totals[kind] += times * units.issues(each)
        sums["instructions"] += times
        if each.opcode in units.SHARED:
            sums["shared"] += times * units.shared_wavefronts(each)
        if each.opcode in units.GLOBAL_LOADS:
            sums["asked"] += times * 32 * units.lane_bytes(each)
        if each.opcode == "UTMALDG":
            sums["bulk"] += times
        if kind == "tensor":
            sums["tensor"] += times * tensor_cycles(each, timing, multiply_adds)
    timeline = Timeline(
        timing=timing,
        memory=timing.l2 + (timing.memory - timing.l2) * transfers.memory_share,
        multiply_adds=multiply_adds,
        partitions=gpu.arch.partitions,
        warps=sum(each.of_cta for each in followed[0]),
        request_bytes=transfers.load_sectors * 32 / sums["asked"] if sums["asked"] else 1.0,
        bulk_bytes=transfers.bulk_read_bytes / sums["bulk"] if sums["bulk"] else 0.0,
    )
    written = transfers.store_sectors * 32 + transfers.bulk_written_bytes
    return Counts(
        ctas=ctas,
        resident=resident,
        cta_cycles=_cta_cycles(code, followed, timeline),
        instructions=sums["instructions"],
        units=dict(totals),
        tensor_cycles=sums["tensor"],
        shared_wavefronts=sums["shared"],
        sectors=transfers.load_sectors + transfers.store_sectors,
        l2_bytes=transfers.l2_read_bytes + written,
        dram_bytes=transfers.dram_read_bytes + transfers.dram_written_bytes,
        uncertain=_uncertain(followed, transfers),
    )


def _executed(flow: Cfg, followed: Sequence[Sequence[WarpPath]]) -> dict[int, float]:
    """How many warps execute each instruction, by its index, all times together."""
    blocks: dict[int, float] = {}
    for cta in followed:
        for each in cta:
            for block, times in each.counts.items():
                blocks[block] = blocks.get(block, 0.0) + times * each.warps
    return {index: times for block, times in blocks.items() for index in flow.blocks[block].indices}


def _cta_cycles(code: Code, followed: Sequence[Sequence[WarpPath]], timeline: Timeline) -> float:
    """Cycles of a CTA, the mean over the sample: those of its slowest warps."""
    known: dict[object, float] = {}
    total = 0.0
    for cta in followed:
        slowest = 0.0
        for each in cta:
            if each.path not in known:
                known[each.path] = timeline.duration(
                    code.section, code.flow, each.path, code.control
                )
            slowest = max(slowest, known[each.path])
        total += slowest
    return total / len(followed)


def _uncertain(followed: Sequence[Sequence[WarpPath]], transfers: Transfers) -> str:
    reasons = [transfers.uncertain] if transfers.uncertain else []
    if any(each.path.skipped for cta in followed for each in cta):
        reasons.append("a branch on data is taken to skip what it can")
    return "; ".join(reasons)
