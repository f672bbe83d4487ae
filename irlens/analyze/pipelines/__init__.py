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
they share the counters that a wave waits for. ``settle`` takes care of functions that a kernel
calls: copies of one loop, and calls that cannot be followed.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from irlens.analyze.cfg import Cfg
from irlens.analyze.pipelines import cp_async, registers, tcgen05, tma, wgmma
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.isa.calls import CallingFunction, Expansion
from irlens.isa.dialect import Instruction
from irlens.isa.ptx.copies import is_matrix_product
from irlens.model.report import COMPUTE_KINDS, Pipeline, PipelineKind, blank_pipeline

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
        feeds the tensor core asynchronously has one more for each of its matrix products. A loop
        that Triton adds beside a flattened nest, for an inner loop without iterations, has none.
    """
    every = [pipeline for find in _MECHANISMS.values() for pipeline in find(kernel)]
    added = {kernel.loops.header(loop).line for loop in _without_inner_loop(kernel)}
    every = [pipeline for pipeline in every if pipeline.line not in added]
    described = {(p.line, p.loop) for p in every if p.kind not in (None, *COMPUTE_KINDS)}
    pipelines = [p for p in every if p.kind is not None or (p.line, p.loop) not in described]
    order = (None, *_MECHANISMS)
    return sorted(
        pipelines,
        key=lambda each: (each.line, order.index(each.kind), each.product_line or 0),
    )


def _without_inner_loop(kernel: PtxKernel) -> Iterator[int]:
    """Return the copies of flattened nests that lack the matrix products of another copy."""
    loops = kernel.loops
    every = range(len(loops.forest.loops))
    fused = [loop for loop in every if kernel.flattened(loops.locations(loop))]
    multiplying = {loop for loop in fused if any(map(is_matrix_product, loops.body(loop)))}
    places = {loops.locations(loop) for loop in multiplying}
    return (n for n in fused if n not in multiplying and loops.locations(n) in places)


def settle(
    pipelines: Iterable[Pipeline],
    expansion: Expansion[CallingFunction[Instruction]] | None,
    flow: Cfg,
) -> list[Pipeline]:
    """Return records of equal copies of a loop once, those with an unknown call as unknown.

    Args:
        pipelines: Of the loops of a kernel with what it calls.
        expansion: Its calls; ``None`` without any.
    """
    if expansion is None:
        return list(pipelines)
    unknown = _unknown_loops(expansion, flow)
    settled: list[Pipeline] = []
    for pipeline in pipelines:
        reason = unknown.get(pipeline.line)
        record = pipeline if reason is None else _blank(pipeline, reason)
        if record not in settled:
            settled.append(record)
    return settled


def _unknown_loops(expansion: Expansion[CallingFunction[Instruction]], flow: Cfg) -> dict[int, str]:
    """Return why loops that contain an unfollowed call are unknown, by the line of the loop."""
    if not expansion.unfollowed:
        return {}
    forest = flow.forest
    unknown: dict[int, str] = {}
    for number, block in enumerate(flow.ranges):
        for call in block:
            loop = forest.innermost[number] if call in expansion.unfollowed else None
            while loop is not None:
                line = flow.blocks[forest.loops[loop].header].line
                unknown.setdefault(line, expansion.unfollowed[call])
                loop = forest.loops[loop].parent
    return unknown


def _blank(pipeline: Pipeline, unknown: str) -> Pipeline:
    record = blank_pipeline(
        stage=pipeline.stage,
        loop=pipeline.loop,
        line=pipeline.line,
        source=pipeline.source,
        kind=pipeline.kind,
        requested=pipeline.requested_stages,
        reason=f"{unknown} is not known",
    )
    return msgspec.structs.replace(record, warp_group=pipeline.warp_group)
