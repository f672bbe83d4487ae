"""Machine loops held against the loops of the source that they were made from."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from msgspec.structs import replace

from irlens.analyze.mlir_loops import find_loops, user_line
from irlens.analyze.pipelines.repeated import (
    SourceBytes,
    expected,
    place_of,
    source_bytes,
    total,
)
from irlens.isa.mlir import Module
from irlens.model.memory import LoopLoad
from irlens.model.report import Pipeline


def against_source(
    pipelines: Sequence[Pipeline], loads: Iterable[LoopLoad], ttgir: Module | None
) -> list[Pipeline]:
    """Return the pipelines of AMD's machine code that are the source's own.

    Loops where the source has none belong to the run-time library, such as those of a
    ``device_print``, and are left out. Of a loop that LLVM may have unrolled, one iteration may run
    several of the source: how far those run ahead is not what was read, and so it is unknown.

    Args:
        pipelines: As read from amdgcn.
        loads: What the ttgir's loops load, by iterations of the source.
        ttgir: What tells where the source has loops.
    """
    of_source = source_bytes(loads)
    return [_by_iteration(pipeline, of_source) for pipeline in _own(pipelines, ttgir)]


def _own(pipelines: Sequence[Pipeline], ttgir: Module | None) -> Sequence[Pipeline]:
    sourced = [pipeline for pipeline in pipelines if pipeline.source is not None]
    # What became branches before the ttgir may be a loop without saying so.
    if ttgir is None or any(ttgir.named("cf.br", "cf.cond_br")):
        return sourced or pipelines
    loops = {place_of(user_line(ttgir.operations[index])) for index in find_loops(ttgir)}
    own = [pipeline for pipeline in sourced if place_of(pipeline.source) in loops]
    # LLVM may have moved the place of a loop's branch.
    return own or (sourced or pipelines if loops else [])


def _by_iteration(pipeline: Pipeline, of_source: SourceBytes) -> Pipeline:
    # What is not known already has its reason.
    if pipeline.bytes_per_iteration is None or pipeline.verdict == "unknown":
        return pipeline
    amount = total(load.bytes for load in expected(of_source, pipeline.source).values())
    if not amount or pipeline.bytes_per_iteration <= amount:
        return pipeline
    return of_other_iterations(pipeline, Fraction(pipeline.bytes_per_iteration, amount))


def of_other_iterations(pipeline: Pipeline, times: Fraction) -> Pipeline:
    """Return a pipeline of which it is not known how many iterations of the source its loop's are.

    Args:
        pipeline: As read from amdgcn.
        times: What an iteration of it loads, over what one of the source does.
    """
    return replace(
        pipeline,
        achieved_stages=None,
        prefetch_iterations=None,
        verdict="unknown",
        reason=f"an iteration of the machine code loads {float(times):g} times what one of the"
        " source does: whether LLVM unrolled the loop, or lanes load the same, is not known",
    )
