"""Software pipelining of loops: one module for each mechanism that keeps work in flight.

A mechanism of NVIDIA's GPUs is a module with ``find(kernel: PtxKernel) -> list[Pipeline]``, listed
in ``_MECHANISMS``. What its instructions begin, commit and await is said in ``isa/ptx/copies.py``;
an entry of ``STREAMS``, or a case of ``barrier_role``, also annotates them in the text of every
stage. The engines to build on:

- ``commit_groups``, ``steady_state``: groups that a commit closes and a wait retires.
- ``mbarrier_rings``: work that signals a ring of barriers.
- ``distinct_bytes``: the bytes of an iteration, each counted once.
- ``verdicts``: the record, its verdict and reason.

AMD's mechanisms (loads to registers and directly to LDS) share one module, ``amdgcn``, because
they share the counters that a wave waits for.
"""

from irlens.analyze.pipelines import cp_async, registers, tcgen05, tma, wgmma
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.model.report import COMPUTE_KINDS, Pipeline

#: The mechanisms of NVIDIA's GPUs.
_MECHANISMS = (cp_async, tma, registers, wgmma, tcgen05)
#: The mechanisms of one loop are listed in this order.
_KINDS = (None, "cp.async", "tma", "register", "wgmma", "tcgen05")


def find_pipelines(kernel: PtxKernel) -> list[Pipeline]:
    """Describe how far the loops of a kernel run ahead, by every mechanism of NVIDIA's GPUs.

    Returns:
        In the order of the text. Every innermost loop that reads global memory has one record for
        each mechanism that its reads use, and one without a kind where they use none; a loop that
        feeds the tensor core asynchronously has one more for that.
    """
    every = [pipeline for mechanism in _MECHANISMS for pipeline in mechanism.find(kernel)]
    described = {(p.line, p.loop) for p in every if p.kind not in (None, *COMPUTE_KINDS)}
    pipelines = [p for p in every if p.kind is not None or (p.line, p.loop) not in described]
    return sorted(pipelines, key=lambda pipeline: (pipeline.line, _KINDS.index(pipeline.kind)))
