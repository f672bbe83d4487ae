"""``Pipeline`` records: the verdict, and figures read from groups or barriers."""

from collections.abc import Callable
from functools import cached_property

import msgspec

from irlens.analyze.mlir_loops import RequestedStages
from irlens.analyze.pipelines.distinct_bytes import SourceBytes
from irlens.analyze.pipelines.mbarrier_rings import AwaitedOutside, Ring, awaited_outside
from irlens.analyze.pipelines.products import Products
from irlens.analyze.pipelines.ptx_loops import FunctionLoops
from irlens.analyze.pipelines.steady_state import Unreadable
from irlens.isa.ptx.copies import awaited_barrier, is_bulk_load
from irlens.model.report import COMPUTE_KINDS, Pipeline, PipelineKind, Verdict, blank_pipeline
from irlens.model.source import SourceLocation, user_frame

PASSED_BY = (
    "the wait on line {} is under a branch: figures are of the iterations that do not reach it"
)
IRREDUCIBLE = "control enters the loop at more than one place"


class PtxKernel(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A kernel in PTX, as the mechanisms of NVIDIA's GPUs take it.

    Attributes:
        threads_per_cta: Turns bytes per thread into bytes per CTA; ``None`` leaves these open.
        serialized: Whether ptxas waits for each product of ``wgmma`` at once, whatever the PTX
            says; ``None`` if unknown.
        of_source: What the source's loops load, to count once what threads share.
        flattened: Whether the source's loop at a location is to be fused with its inner one.
    """

    loops: FunctionLoops
    requested: RequestedStages
    threads_per_cta: int | None = None
    serialized: bool | None = None
    of_source: SourceBytes = {}
    flattened: Callable[[tuple[SourceLocation, ...]], bool] = lambda _: False

    @cached_property
    def products(self) -> Products:
        """Its asynchronous matrix products."""
        return Products(self.loops, self.serialized)

    def blank(self, index: int, kind: PipelineKind | None, reason: str = "") -> Pipeline:
        """Return the record of a loop whose figures are unknown."""
        loops = self.loops
        group = loops.warp_group(loops.forest.loops[index].header)
        locations = loops.locations(index)
        record = blank_pipeline(
            stage="ptx",
            loop=loops.name(index),
            line=loops.header(index).line,
            source=user_frame(locations),
            kind=kind,
            # Nobody requests a number of stages of matrix products.
            requested=None
            if kind in COMPUTE_KINDS
            else self.requested(locations, loops.copy(index)),
            reason=reason,
        )
        return record if group is None else msgspec.structs.replace(record, warp_group=group.name)


def with_ring(record: Pipeline, kernel: PtxKernel, index: int, ring: Ring, serial: str) -> Pipeline:
    """Fill in what the barriers of a loop's copies say.

    Args:
        serial: The reason to give where nothing overlaps.
    """
    if kernel.loops.forest.loops[index].irreducible:
        return msgspec.structs.replace(record, reason=IRREDUCIBLE)
    reading = ring.read(index)
    if isinstance(reading, AwaitedOutside):
        return awaited_outside(kernel.loops, index, record, "the copies", reading)
    if isinstance(reading, Unreadable):
        return msgspec.structs.replace(record, reason=reading.reason)
    verdict, reason = judge(reading.prefetch, record.requested_stages, serial)
    reasons = [reason] if reason else []
    optional = [kernel.loops.instructions[each] for each in sorted(reading.optional)]
    waits = (each for each in optional if awaited_barrier(each) is not None)
    reasons += [PASSED_BY.format(each.line) for each in waits]
    if reading.groups_before_loop is None:
        reasons.append("how much is issued before the loop depends on another loop")
    filled = msgspec.structs.replace(
        reading.filled(record),
        copies_per_iteration=(record.copies_per_iteration or 0) - sum(map(is_bulk_load, optional)),
        bytes_per_iteration=reading.bytes_per_iteration,
        bytes_in_flight=reading.bytes_in_flight,
        verdict=verdict,
        reason="; ".join(reasons),
    )
    return kernel.products.overlap(filled, index, reading.after_each)


def judge(prefetch: int, requested: int | None, serial: str) -> tuple[Verdict, str]:
    """Return the verdict on a prefetch distance, with its reason.

    Args:
        serial: The reason where the distance is 0.
    """
    achieved = prefetch + 1
    if achieved == 1:
        return "not pipelined", serial
    if requested is not None and achieved < requested:
        return "shallower", f"{requested} stages requested, {achieved} achieved"
    return "pipelined", ""
