"""What is known of each line of the stages that both vendors have: MLIR and LLVM IR."""

from contextlib import suppress

from irlens.analyze import llir_marks, loops, mlir_loops, ttgir_marks
from irlens.analyze.pipelines.originals import Original
from irlens.isa import mlir, ptx
from irlens.isa.llir import parser as llir
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError
from irlens.model.listing import LoopRange
from irlens.model.report import Report
from irlens.report.annotations.columns import Content, loop_ranges


def read_mlir(stage: str, text: str, report: Report) -> Content:
    """Read ttir or ttgir, or what they were made from.

    Raises:
        ArtifactError: It is broken.
    """
    module = mlir.parse(text, stage=stage)
    loops = [
        LoopRange(
            first=module.operations[index].span.line,
            last=module.operations[index].span.end_line,
            depth=loop.depth + 1,
            source=mlir_loops.user_line(module.operations[index]) if loop.location else None,
        )
        for index, loop in mlir_loops.find_loops(module).items()
    ]
    # An operation's first line is its own, and so is its last: that of a loop carries its place.
    chains = (
        (line, line, operation.location)
        for operation in module.operations
        for line in dict.fromkeys((operation.span.line, operation.span.end_line))
    )
    marks = ttgir_marks.find_marks(module, report.pipelines) if stage == "ttgir" else []
    return Content(chains=chains, loops=loops, marks=marks)


def read_llir(text: str, report: Report, capture: Capture) -> Content:
    """Read LLVM IR; its barriers are told by the PTX, where the capture has it."""
    functions = llir.parse(text).functions
    lines = text.split("\n")
    found = [loops.find(function) for function in functions]
    return Content(
        chains=(
            (each.line, each.end_line, each.locations)
            for function in functions
            for each in function.instructions
        ),
        loops=[each for one in found for each in loop_ranges(one)],
        marks=[
            mark
            for one in found
            for mark in llir_marks.find_marks(
                one, lines, report.pipelines, lambda: _original(capture, report)
            )
        ],
    )


def _original(capture: Capture, report: Report) -> Original:
    stage = capture.stages.get("ptx")
    with suppress(ArtifactError):
        if stage is not None:
            from irlens.report.annotations.nvidia import read_original

            return read_original(ptx.parse(stage.text()).functions, report)
    return Original({}, ())
