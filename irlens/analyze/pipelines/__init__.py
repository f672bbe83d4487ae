"""Software pipelining of loops: one module for each mechanism that keeps work in flight.

A mechanism of NVIDIA's GPUs is a module with ``find(kernel: PtxKernel) -> list[Pipeline]``,
registered under its ``PipelineKind`` in ``_MECHANISMS``. ``isa/ptx/copies.py`` says what its
instructions begin, commit and await; an entry of ``STREAMS``, or a case of ``barrier_role``, also
annotates them in the text of every stage. The engines to build on:

- ``commit_groups``, ``steady_state``: groups that a commit closes and a wait retires.
- ``mbarrier_rings``: work that signals a ring of barriers.
- ``distinct_bytes``: the bytes of an iteration, each counted once.
- ``verdicts``: the record, its verdict and reason.

AMD's mechanisms (loads to registers and directly to LDS) share one module, ``amdgcn``, because
they share the counters that a wave waits for.
"""

from collections.abc import Callable

from irlens.analyze.pipelines import cp_async, registers, tcgen05, tma, wgmma
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.model.report import COMPUTE_KINDS, Pipeline, PipelineKind

#: The mechanisms of NVIDIA's GPUs, in the order in which those of one loop are listed.
_MECHANISMS: dict[PipelineKind, Callable[[PtxKernel], list[Pipeline]]] = {
    "cp.async": cp_async.find,  # and loops whose reads use no mechanism
    "tma": tma.find,
    "register": registers.find,
    "wgmma": wgmma.find,
    "tcgen05": tcgen05.find,
}


def find_pipelines(kernel: PtxKernel) -> list[Pipeline]:
    """Describe how far the loops of a kernel run ahead, by every mechanism of NVIDIA's GPUs.

    Returns:
        In the order of the text. Every innermost loop that reads global memory has one record for
        each mechanism that its reads use, and one without a kind where they use none; a loop that
        feeds the tensor core asynchronously has one more for each of its matrix products.
    """
    every = [pipeline for find in _MECHANISMS.values() for pipeline in find(kernel)]
    described = {(p.line, p.loop) for p in every if p.kind not in (None, *COMPUTE_KINDS)}
    pipelines = [p for p in every if p.kind is not None or (p.line, p.loop) not in described]
    order = (None, *_MECHANISMS)
    return sorted(
        pipelines,
        key=lambda each: (each.line, order.index(each.kind), each.product_line or 0),
    )
