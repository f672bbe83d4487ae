"""The loads of an iteration of an AMD loop: by lanes, and by waves."""

from collections.abc import Mapping

from irlens.analyze.amdgcn_trace import LoopTrace
from irlens.analyze.pipelines.loops import loop_source
from irlens.analyze.pipelines.repeated import (
    Place,
    SourceLoad,
    Traffic,
    find_traffic,
    place_of,
    total,
)
from irlens.isa.amdgcn import Instruction
from irlens.isa.amdgcn.memory import Transfer, is_scalar_load, transfer
from irlens.model.text import size


def reads_of(trace: LoopTrace) -> dict[int, Transfer]:
    """Return the loads of an iteration by their position."""
    return {n: read for n, each in enumerate(trace.body) if (read := transfer(each))}


def traffic_of(
    trace: LoopTrace, *, threads: int | None, of_source: Mapping[Place, SourceLoad]
) -> Traffic:
    """Return what these loads bring to a workgroup.

    Args:
        trace: The iteration.
        threads: Of a workgroup.
        of_source: What an iteration of the source loads.
    """
    return find_traffic(
        {n: (_place(trace.body[n]), read.bytes) for n, read in reads_of(trace).items()},
        threads=threads,
        copies=len(trace.starts),
        of_source=of_source,
    )


def left_out(trace: LoopTrace, of_source: Mapping[Place, SourceLoad]) -> str:
    """Say what an iteration reads by scalar loads; nothing where it has none.

    A wave loads that once, for itself, and its lanes nothing.

    Args:
        trace: The iteration.
        of_source: What an iteration of the source loads, where it is that; else empty.
    """
    scalar = dict.fromkeys(_place(each) for each in trace.body if is_scalar_load(each))
    if not scalar:
        return ""
    # Of a place with other loads it is not known which of its bytes are whose.
    shared = {_place(trace.body[n]) for n in reads_of(trace)}
    loads = [None if p is None or p in shared else of_source.get(p) for p in scalar]
    amount = total(None if load is None else load.bytes for load in loads)
    if amount is None:
        return "what scalar loads read is left out"
    return f"{size(amount)} per iteration that scalar loads read are left out"


def _place(instruction: Instruction) -> Place | None:
    return place_of(loop_source(instruction.locations))
