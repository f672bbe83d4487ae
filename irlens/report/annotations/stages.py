"""The annotations of a stage's lines: source, live registers, loops and pipelines.

One reader per dialect returns an ``Analysis``, and ``annotated`` puts it into columns as long as
the text. A new stage is a reader in ``_READERS``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.analyze import (
    amdgcn_waits,
    cfg,
    loops,
    mlir_loops,
    pressure,
    sass_origin,
    sass_pressure,
    work,
)
from irlens.analyze.pipelines.annotate import (
    PtxAnnotations,
)
from irlens.analyze.pipelines.annotate import (
    amdgcn as annotate_amdgcn,
)
from irlens.analyze.pipelines.annotate import (
    llir as annotate_llir,
)
from irlens.analyze.pipelines.annotate import (
    ptx as annotate_ptx,
)
from irlens.analyze.pipelines.annotate import (
    sass as annotate_sass,
)
from irlens.analyze.pipelines.annotate import (
    ttgir as annotate_ttgir,
)
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.artifacts import cubin
from irlens.isa import amdgcn, mlir, ptx, sass
from irlens.isa.dialect import Function, Instruction, kernel_named
from irlens.isa.llir import parser as llir
from irlens.isa.sass import control
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError
from irlens.model.listing import LoopRange, PipelineAnnotation, StageListing
from irlens.model.pressure import StagePressure
from irlens.model.report import Report
from irlens.model.source import SourceLocation
from irlens.report.annotations import loop_ranges

Chain: TypeAlias = tuple[SourceLocation, ...]


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """The annotations of a stage, before they are arranged in columns.

    Attributes:
        chains: First line, last line and source of each instruction; where lines overlap, a
            later entry wins.
        live: Live registers by line; ``None`` if unknown.
        loops: In any order.
        marks: Pipeline annotations, in ascending order.
        schedule: Control fields by line, or what a line waits for.
        problem: What could not be analysed; empty if everything was.
    """

    chains: Iterable[tuple[int, int, Chain]] = ()
    live: Mapping[int, int] | None = None
    loops: Sequence[LoopRange] = ()
    marks: Sequence[PipelineAnnotation] = ()
    schedule: Mapping[int, str] = {}
    problem: str = ""


_Reader: TypeAlias = Callable[[str, Report, Capture], Analysis]


def analyze_stage(stage: str, text: str, report: Report, capture: Capture) -> Analysis:
    """Analyze a stage's text; stages without a reader have no annotations.

    Raises:
        ArtifactError: The text, or the PTX of the capture, is broken.
    """
    reader = _READERS.get(stage)
    return reader(text, report, capture) if reader is not None else Analysis()


def annotated(listing: StageListing, analysis: Analysis) -> StageListing:
    """Return the listing of a stage with its annotations.

    Args:
        listing: The text alone.
        analysis: Its annotations, by lines that the text has.
    """
    chains: dict[Chain, int] = {}
    chain = list(listing.chain)
    before, number = None, -1
    for first, last, source in analysis.chains:
        if source is not before:  # neighbours share their chain, and hashing one is slow
            number = chains.setdefault(source, len(chains)) if source else -1
            before = source
        for index in range(first - 1, last):
            chain[index] = number
    live = analysis.live
    return msgspec.structs.replace(
        listing,
        chains=list(chains),
        chain=chain,
        live=[live.get(n, -1) for n in range(1, len(chain) + 1)] if live is not None else [],
        peak=max(live.values(), default=None) if live is not None else None,
        loops=sorted(analysis.loops, key=lambda loop: (loop.first, loop.depth)),
        marks=list(analysis.marks),
        schedule=_by_line(analysis.schedule, len(chain)),
        problem=analysis.problem,
    )


def _marked(analysis: Analysis, marks: Callable[[], Sequence[PipelineAnnotation]]) -> Analysis:
    """Return an analysis with its pipelines' annotations, or why there are none."""
    try:
        with work.budget():
            return msgspec.structs.replace(analysis, marks=marks())
    except work.OutOfWorkError as error:
        problem = f"the pipelines are not annotated: {error.message}"
        return msgspec.structs.replace(
            analysis, problem="; ".join(filter(None, (analysis.problem, problem)))
        )


def _by_line(cells: Mapping[int, str], count: int) -> list[str]:
    """Return a column of text; empty without cells."""
    return [cells.get(line, "") for line in range(1, count + 1)] if cells else []


def _read_mlir(text: str, stage: str) -> tuple[mlir.Module, Analysis]:
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
    # Only the first and last lines of an operation are its own; a loop's last has its location.
    chains = (
        (line, line, operation.location)
        for operation in module.operations
        for line in dict.fromkeys((operation.span.line, operation.span.end_line))
    )
    return module, Analysis(chains=chains, loops=loops)


def _read_source(text: str, report: Report, capture: Capture) -> Analysis:
    return _read_mlir(text, "source")[1]


def _read_ttir(text: str, report: Report, capture: Capture) -> Analysis:
    return _read_mlir(text, "ttir")[1]


def _read_ttgir(text: str, report: Report, capture: Capture) -> Analysis:
    module, analysis = _read_mlir(text, "ttgir")
    return _marked(analysis, lambda: annotate_ttgir.annotate(module, report.pipelines))


def _read_llir(text: str, report: Report, capture: Capture) -> Analysis:
    """Read LLVM IR; pairs that work through barriers come from the PTX, if the capture has it."""
    functions = llir.parse(text).functions
    lines = text.split("\n")
    every = [loops.find(function) for function in functions]

    def original() -> PtxAnnotations:
        try:
            return _original(_ptx_kernels(capture), report)
        except work.OutOfWorkError:
            raise
        except ArtifactError:
            return PtxAnnotations()

    def marks() -> list[PipelineAnnotation]:
        found = (annotate_llir.annotate(one, lines, report.pipelines, original) for one in every)
        return [mark for some in found for mark in some]

    analysis = Analysis(
        chains=_chains(functions), loops=[each for one in every for each in loop_ranges.find(one)]
    )
    return _marked(analysis, marks)


def _read_ptx(text: str, report: Report, capture: Capture) -> Analysis:
    module = ptx.parse(text)
    kernel = kernel_named(module.kernels, report.kernel)
    if kernel is None:
        return Analysis(chains=_chains(module.functions), problem=_no_kernel(report))
    flow = cfg.build(kernel)
    kernel_loops = analyze_loops(kernel, flow)
    known = _known(report.pressure.ptx, kernel) or pressure.analyze(kernel, flow)
    analysis = Analysis(
        chains=_chains(module.functions),
        live=_live_by_line(kernel, known),
        loops=loop_ranges.find(kernel_loops),
        problem=known.reason,
    )
    return _marked(analysis, lambda: annotate_ptx.annotate(kernel_loops, report.pipelines))


def _read_sass(text: str, report: Report, capture: Capture) -> Analysis:
    """Read SASS; its source locations come from the PTX, if the capture has it."""
    kernels = _ptx_kernels(capture)
    lines = sass_origin.lines_of(kernels)
    sections = [sass_origin.trace(each, lines) for each in sass.parse(text).sections]
    fields = _control_fields(sections, capture)
    schedule = {line: each.text for line, each in fields.items()}
    section = kernel_named(sections, report.kernel)
    if section is None:
        return Analysis(chains=_chains(sections), schedule=schedule, problem=_no_kernel(report))
    registers = _known(report.pressure.sass, section) or sass_pressure.analyze(section)
    original = _original(kernels, report)
    analysis = Analysis(
        chains=_chains(sections),
        live=_live_by_line(section, registers),
        loops=loop_ranges.of_sass(section, original, fields, report, capture),
        schedule=schedule,
        problem=f"not known: {registers.reason}" if registers.reason else "",
    )
    return _marked(analysis, lambda: annotate_sass.annotate(section, report.pipelines, original))


def _control_fields(
    sections: Sequence[sass.Section], capture: Capture
) -> dict[int, control.Control]:
    """Return the control fields of a disassembly's instructions by line, from the cubin's bytes."""
    code = cubin.code_sections(capture.stages["cubin"].read())
    found = {}
    for section in sections:
        fields = control.decode_all(code.get(section.name, b""))
        for each in section.instructions:
            index, rest = divmod(each.offset, control.INSTRUCTION_BYTES)
            if index < len(fields) and not rest:
                found[each.line] = fields[index]
    return found


def _read_amdgcn(text: str, report: Report, capture: Capture) -> Analysis:
    program = amdgcn.parse(text)
    kernel = kernel_named(program.kernels, report.kernel)
    if kernel is None:
        return Analysis(chains=_chains(program.functions), problem=_no_kernel(report))
    kernel_loops = loops.find(kernel)
    known = _known(report.pressure.amdgcn, kernel) or pressure.analyze(kernel, kernel_loops.cfg)
    analysis = Analysis(
        chains=_chains(program.functions),
        live=_live_by_line(kernel, known),
        loops=loop_ranges.of_amdgcn(kernel, kernel_loops, program.arch),
        schedule=amdgcn_waits.cells(amdgcn_waits.find_waits(kernel, kernel_loops)),
        problem=known.reason,
    )
    return _marked(
        analysis, lambda: annotate_amdgcn.annotate(kernel, kernel_loops, report.pipelines)
    )


_READERS: dict[str, _Reader] = {
    "source": _read_source,
    "ttir": _read_ttir,
    "ttgir": _read_ttgir,
    "llir": _read_llir,
    "ptx": _read_ptx,
    "sass": _read_sass,
    "amdgcn": _read_amdgcn,
}


def _chains(functions: Sequence[Function[Instruction]]) -> Iterable[tuple[int, int, Chain]]:
    for function in functions:
        for each in function.instructions:
            yield each.line, each.end_line, each.locations


def _no_kernel(report: Report) -> str:
    return f"there is no kernel named {report.kernel} in it"


def _ptx_kernels(capture: Capture) -> Sequence[ptx.Function]:
    stage = capture.stages.get("ptx")
    return ptx.parse(stage.text()).kernels if stage is not None else ()


def _original(kernels: Sequence[ptx.Function], report: Report) -> PtxAnnotations:
    """Return the annotations of the PTX, empty if it does not have the kernel."""
    kernel = kernel_named(kernels, report.kernel)
    if kernel is None:
        return PtxAnnotations()
    kernel_loops = analyze_loops(kernel, cfg.build(kernel))
    return annotate_ptx.annotate_original(kernel_loops, report.pipelines)


def _known(registers: StagePressure | None, kernel: Function[Instruction]) -> StagePressure | None:
    """Return the report's register pressure if it has the curve of this text."""
    fits = registers is not None and len(registers.curve) == len(kernel.instructions)
    return registers if fits else None


def _live_by_line(kernel: Function[Instruction], registers: StagePressure) -> dict[int, int] | None:
    """Return the registers live on each line: the most, where several instructions share one."""
    if registers.peak is None:
        return None
    live: dict[int, int] = {}
    for instruction, number in zip(kernel.instructions, registers.curve, strict=True):
        live[instruction.line] = max(number, live.get(instruction.line, 0))
    return live
