"""Machine loops held against the loops of the source that they were made from."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from irlens.analyze.mlir_loops import find_loops, user_line
from irlens.model.memory import LoopLoad
from irlens.model.report import Pipeline
from irlens.model.source import SourceLocation
from irlens.parse.mlir import Module


def against_source(
    pipelines: Sequence[Pipeline], loads: Iterable[LoopLoad], ttgir: Module | None
) -> list[Pipeline]:
    """Return the pipelines of AMD's machine code that are the source's own.

    Loops where the source has none belong to the run-time library, such as those of a
    ``device_print``, and are left out. Of a loop that LLVM unrolled, one iteration runs several
    of the source: how far those run ahead is not what was read, and so it is unknown.

    Args:
        pipelines: As read from amdgcn.
        loads: What the ttgir's loops load, by iterations of the source.
        ttgir: What tells where the source has loops.
    """
    expected = _bytes_by_loop(loads)
    return [_by_iteration(pipeline, expected) for pipeline in _own(pipelines, ttgir)]


def _own(pipelines: Sequence[Pipeline], ttgir: Module | None) -> Sequence[Pipeline]:
    sourced = [pipeline for pipeline in pipelines if pipeline.source is not None]
    # What became branches before the ttgir may be a loop without saying so.
    if ttgir is None or any(ttgir.named("cf.br", "cf.cond_br")):
        return sourced or pipelines
    loops = {_place(user_line(ttgir.operations[index])) for index in find_loops(ttgir)}
    own = [pipeline for pipeline in sourced if _place(pipeline.source) in loops]
    # LLVM may have moved the place of a loop's branch.
    return own or (sourced or pipelines if loops else [])


def _place(source: SourceLocation | None) -> tuple[str, int] | None:
    return (source.file, source.line) if source is not None else None


def _bytes_by_loop(loads: Iterable[LoopLoad]) -> dict[tuple[str, int], int | None]:
    """Bytes per CTA that an iteration of each loop of the source loads."""
    found: dict[tuple[str, int], int | None] = {}
    for load in loads:
        if load.loop_source is not None:
            place = (load.loop_source.file, load.loop_source.line)
            before = found.get(place, 0)
            amount = load.bytes_per_iteration
            found[place] = None if before is None or amount is None else before + amount
    return found


def _by_iteration(pipeline: Pipeline, expected: dict[tuple[str, int], int | None]) -> Pipeline:
    if pipeline.source is None or pipeline.bytes_per_iteration is None:
        return pipeline
    of_source = expected.get((pipeline.source.file, pipeline.source.line))
    if not of_source or pipeline.bytes_per_iteration <= of_source:
        return pipeline
    times = pipeline.bytes_per_iteration / of_source
    return replace(
        pipeline,
        achieved_stages=None,
        prefetch_iterations=None,
        verdict="unknown",
        reason=f"an iteration of the machine code loads what {times:g} iterations of the source"
        " do: LLVM unrolled the loop, and how far ahead each of them runs is not known",
    )
