"""Software pipelining of loops: one module for each mechanism that keeps work in flight."""

from irlens.analyze.cfg import Cfg
from irlens.analyze.pipelines import cp_async, registers, tcgen05, tma, wgmma
from irlens.analyze.pipelines.describe import RequestedStages
from irlens.analyze.pipelines.loops import analyze_loops
from irlens.analyze.pipelines.repeated import SourceBytes
from irlens.analyze.pipelines.warp_groups import Specialization
from irlens.isa.ptx import Function
from irlens.model.report import Pipeline

#: In this order the mechanisms of one loop are listed.
_KINDS = (None, "cp.async", "tma", "register", "wgmma", "tcgen05")


def find_pipelines(
    function: Function,
    cfg: Cfg,
    *,
    threads_per_cta: int | None,
    requested: RequestedStages,
    serialized: bool | None,
    specialization: Specialization | None = None,
    of_source: SourceBytes | None = None,
) -> list[Pipeline]:
    """Describe how far the loops of a kernel run ahead, by every mechanism of NVIDIA's GPUs.

    Args:
        function: The kernel, in PTX.
        cfg: Its control flow.
        threads_per_cta: To turn bytes per thread into bytes per CTA; ``None`` leaves these open.
        requested: Stages asked for, given the source location of a loop, innermost frame first.
        serialized: Whether ptxas serialized the matrix products of ``wgmma``; ``None`` where that
            is unknown.
        specialization: Who runs what, where not all warps do the same.
        of_source: What the source's loops load: what threads share counts once, then.

    Returns:
        In the order of the text. Every innermost loop that reads global memory has one record for
        each mechanism that its reads use, and one without a kind where they use none; a loop that
        feeds the tensor core asynchronously has one more for that.
    """
    loops = analyze_loops(function, cfg, specialization)
    loads = [
        *cp_async.find(
            loops,
            threads_per_cta=threads_per_cta,
            requested=requested,
            of_source=of_source,
        ),
        *tma.find(loops, requested=requested),
        *registers.find(
            loops,
            threads_per_cta=threads_per_cta,
            requested=requested,
            of_source=of_source,
        ),
    ]
    described = {(p.line, p.loop) for p in loads if p.kind is not None}
    found = [p for p in loads if p.kind is not None or (p.line, p.loop) not in described]
    found += [*wgmma.find(loops, serialized=serialized), *tcgen05.find(loops)]
    return sorted(found, key=lambda pipeline: (pipeline.line, _KINDS.index(pipeline.kind)))
