"""Pipelines of bulk copies (PTX ISA, ``cp.async.bulk``, the TMA of sm_90 and newer).

An elected thread announces to a barrier how many bytes to expect and issues the copies; whoever
needs the data waits for the barrier's phase. A ring of barriers, one per stage, lets the copies
run ahead. Copies out of shared memory form commit groups instead, and make no pipeline.
"""

from msgspec.structs import replace

from irlens.analyze.pipelines.mbarrier_rings import Ring
from irlens.analyze.pipelines.verdicts import PtxKernel, with_ring
from irlens.isa.ptx.copies import bulk_barrier, is_bulk_load
from irlens.model.report import Pipeline

SERIAL = "each iteration waits for the copies that it issues"


def find(kernel: PtxKernel) -> list[Pipeline]:
    """Describe every innermost loop that issues bulk copies to shared memory.

    Bytes are those announced to the barriers, per CTA.
    """
    loops = kernel.loops
    chosen = loops.innermost(is_bulk_load)
    if not chosen:
        return []
    ring = Ring(loops, bulk_barrier)
    pipelines = []
    for index in chosen:
        copies = sum(map(is_bulk_load, loops.own(index)))
        record = replace(kernel.blank(index, "tma"), copies_per_iteration=copies)
        pipelines.append(with_ring(record, kernel, index, ring, SERIAL))
    return pipelines
