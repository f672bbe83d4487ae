"""The annotations of a stage's lines: source, live registers, pipelines, loops and their costs.

One reader per dialect returns an ``Analysis``, and ``annotated`` puts it into columns as long as
the text. A new stage is a reader in ``_READERS``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from irlens.analyze import loop_schedules, mlir_loops, pressure, sass_pressure, work
from irlens.analyze.capture_code import (
    AmdgcnCode,
    CaptureCode,
    Chain,
    LlirCode,
    MlirCode,
    PtxCode,
    SassCode,
)
from irlens.analyze.facts import Provenance
from irlens.analyze.loops import Loops
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
from irlens.analyze.resources import find_gpu, read_demand
from irlens.analyze.sass_origin import match_loops
from irlens.analyze.time import launched
from irlens.analyze.time.cta_timeline import Timeline
from irlens.analyze.time.dataflow import UnknownPathError
from irlens.analyze.time.paths import PathFinder
from irlens.analyze.time.shared_wavefronts import Wavefronts
from irlens.gpus import Gpu
from irlens.isa import amdgcn
from irlens.isa.dialect import Function, Instruction, kernel_named
from irlens.isa.dialects import dialect_of
from irlens.isa.sass.semantics import TENSOR_LOADS
from irlens.model.errors import ArtifactError, OutOfWorkError
from irlens.model.listing import LoopRange, PipelineAnnotation, StageListing
from irlens.model.pressure import StagePressure
from irlens.model.report import Report
from irlens.model.schedule import Awaited, Control, LoopSchedule
from irlens.model.source import SourceLocation, user_frame
from irlens.report.launch_time import arguments_of


def loops_with_lines(kernel_loops: Loops[Instruction]) -> list[LoopRange]:
    """Return the ranges of a function's loops, outer ones before those inside."""
    return [
        _range(kernel_loops, index, user_frame(kernel_loops.locations(index)))
        for index in range(len(kernel_loops.forest.loops))
    ]


def of_sass(
    code: SassCode, original: PtxAnnotations, report: Report, whole: CaptureCode
) -> list[LoopRange]:
    """Return the ranges of a kernel's loops, with what an iteration issues."""
    if code.flow.unknown or not code.flow.blocks:
        return []
    kernel_loops = code.loops
    ranges = []
    for index, number in enumerate(match_loops(kernel_loops, original.loops)):
        source = None
        if original.loops is not None and number is not None:
            source = user_frame(original.loops.locations(number))
        ranges.append(_range(kernel_loops, index, source))
    instructions, fields = kernel_loops.instructions, code.control
    control = [fields[each.line] for each in instructions if each.line in fields]
    if not ranges or len(control) < len(instructions):
        return ranges
    gpu = find_gpu(whole.capture.target, whole.capture.metadata, Provenance())
    wavefronts = _wavefronts(code, gpu, report, whole)
    timeline = _timeline(gpu, wavefronts)
    schedules = (
        loop_schedules.schedule(kernel_loops, index, control, wavefronts, timeline)
        for index in range(len(ranges))
    )
    return _with_schedules(ranges, schedules)


def of_amdgcn(
    kernel: amdgcn.Function, kernel_loops: Loops[amdgcn.Instruction], arch: str
) -> list[LoopRange]:
    """Return the ranges of an AMD kernel's loops, with what an iteration issues."""
    schedules = (
        loop_schedules.schedule_amdgcn(kernel, kernel_loops, index, arch)
        for index in range(len(kernel_loops.forest.loops))
    )
    return _with_schedules(loops_with_lines(kernel_loops), schedules)


def _range(
    kernel_loops: Loops[Instruction], index: int, source: SourceLocation | None
) -> LoopRange:
    """Return a loop's range: compilers rotate loops, so some lines may precede the header."""
    first, last = kernel_loops.lines[index]
    return LoopRange(
        first=first,
        last=last,
        depth=kernel_loops.forest.loops[index].depth,
        source=source,
    )


def _with_schedules(
    ranges: Sequence[LoopRange], schedules: Iterable[LoopSchedule]
) -> list[LoopRange]:
    return [
        msgspec.structs.replace(each, schedule=schedule)
        for each, schedule in zip(ranges, schedules, strict=True)
    ]


def _wavefronts(
    code: SassCode, gpu: Gpu | None, report: Report, whole: CaptureCode
) -> dict[int, Wavefronts]:
    """Return those of accesses to shared memory, where the first CTA's addresses are known."""
    capture, section = whole.capture, code.kernel
    kernel = kernel_named(whole.cubin.kernels, report.kernel)
    usage = read_demand(whole, gpu, Provenance()).usage
    grid = report.config.grid
    if section is None or kernel is None or usage is None or grid is None or whole.source is None:
        return {}
    known = TENSOR_LOADS if capture.contents else frozenset[str]()
    try:
        machine = PathFinder(section, code.flow, known)
        arguments = arguments_of(
            whole.source.named, capture.config, capture.contents, grid, usage.threads
        )
        (first,) = launched.follow(machine, kernel, arguments, [launched.FIRST])
    except (ArtifactError, UnknownPathError):
        return {}
    return launched.wavefronts(machine, kernel, arguments, first)


def _timeline(gpu: Gpu | None, wavefronts: Mapping[int, Wavefronts]) -> Timeline | None:
    """Return what the time of a warp is computed with that has its SM to itself.

    Of the tensor cores it uses those of one sub-partition.
    """
    if gpu is None or gpu.timing is None or not gpu.multiply_adds:
        return None
    return Timeline(
        timing=gpu.timing,
        memory=0.0,  # an iteration is asked how long a latency it hides
        multiply_adds=gpu.multiply_adds / gpu.arch.partitions,
        partitions=1,
        warps=1,
        wavefronts={index: each.total for index, each in wavefronts.items()},
    )


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """The annotations of a stage, before they are arranged in columns.

    Attributes:
        chains: First line, last line and source of each instruction; where lines overlap, a
            later entry wins.
        live: Live registers by line; ``None`` if unknown.
        marks: Pipeline annotations, in ascending order.
        problem: What could not be analysed; empty if everything was.
    """

    chains: Iterable[tuple[int, int, Chain]] = ()
    live: Mapping[int, int] | None = None
    loops: Sequence[LoopRange] = ()
    marks: Sequence[PipelineAnnotation] = ()
    control: Mapping[int, Control] = {}
    waits: Mapping[int, tuple[Awaited, ...]] = {}
    problem: str = ""


_Reader: TypeAlias = Callable[[Any, CaptureCode, Report], Analysis]


def analyze_stage(code: CaptureCode, stage: str, report: Report) -> Analysis:
    """Analyze a stage; stages without a reader have no annotations.

    Raises:
        ArtifactError: The stage, or the PTX of the capture, is broken.
    """
    reader = _READERS.get(stage)
    return reader(code[stage], code, report) if reader is not None else Analysis()


def annotated(listing: StageListing, analysis: Analysis) -> StageListing:
    """Return the listing of a stage with its annotations."""
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
        control=analysis.control,
        waits=analysis.waits,
        problem=analysis.problem,
        comment=dialect_of(listing.stage).comment,
    )


def _marked(analysis: Analysis, marks: Callable[[], Sequence[PipelineAnnotation]]) -> Analysis:
    """Return an analysis with its pipelines' annotations, or why there are none."""
    try:
        with work.budget():
            return msgspec.structs.replace(analysis, marks=marks())
    except OutOfWorkError as error:
        problem = f"the pipelines are not annotated: {error.message}"
        return msgspec.structs.replace(
            analysis, problem="; ".join(filter(None, (analysis.problem, problem)))
        )


def _by_line(waits: Iterable[Awaited]) -> dict[int, tuple[Awaited, ...]]:
    found: dict[int, tuple[Awaited, ...]] = {}
    for each in waits:
        found[each.line] = (*found.get(each.line, ()), each)
    return found


def _read_mlir(code: MlirCode, whole: CaptureCode, report: Report) -> Analysis:
    operations = code.module.operations
    loops = [
        LoopRange(
            first=operations[index].span.line,
            last=operations[index].span.end_line,
            depth=loop.depth + 1,
            source=mlir_loops.user_line(operations[index]) if loop.location else None,
        )
        for index, loop in code.loops.items()
    ]
    return Analysis(chains=code.locations, loops=loops)


def _read_ttgir(code: MlirCode, whole: CaptureCode, report: Report) -> Analysis:
    analysis = _read_mlir(code, whole, report)
    return _marked(analysis, lambda: annotate_ttgir.annotate(code.module, report.pipelines))


def _read_llir(code: LlirCode, whole: CaptureCode, report: Report) -> Analysis:
    """Read LLVM IR; pairs that work through barriers come from the PTX, if the capture has it."""
    lines = code.text.split("\n")
    every = [code.loops_of(function) for function in code.functions]

    def original() -> PtxAnnotations:
        try:
            return _original(whole, report)
        except OutOfWorkError:
            raise
        except ArtifactError:
            return PtxAnnotations()

    def marks() -> list[PipelineAnnotation]:
        found = (annotate_llir.annotate(one, lines, report.pipelines, original) for one in every)
        return [mark for some in found for mark in some]

    analysis = Analysis(
        chains=code.locations, loops=[each for one in every for each in loops_with_lines(one)]
    )
    return _marked(analysis, marks)


def _read_ptx(code: PtxCode, whole: CaptureCode, report: Report) -> Analysis:
    kernel = code.kernel
    if kernel is None:
        return Analysis(chains=code.locations, problem=_no_kernel(report))
    kernel_loops = analyze_loops(kernel, code.flow)
    known = _known(report.pressure.ptx, kernel) or pressure.analyze(kernel, code.flow)
    analysis = Analysis(
        chains=code.locations,
        live=_live_by_line(kernel, known),
        loops=loops_with_lines(kernel_loops),
        problem=known.reason,
    )
    return _marked(analysis, lambda: annotate_ptx.annotate(kernel_loops, report.pipelines))


def _read_sass(code: SassCode, whole: CaptureCode, report: Report) -> Analysis:
    """Read SASS; its source locations come from the PTX, if the capture has it."""
    section = code.kernel
    if section is None:
        return Analysis(chains=code.locations, control=code.control, problem=_no_kernel(report))
    registers = _known(report.pressure.sass, section) or sass_pressure.analyze(section, code.flow)
    original = _original(whole, report)
    analysis = Analysis(
        chains=code.locations,
        live=_live_by_line(section, registers),
        loops=of_sass(code, original, report, whole),
        control=code.control,
        problem=f"not known: {registers.reason}" if registers.reason else "",
    )
    return _marked(
        analysis,
        lambda: annotate_sass.annotate(section, code.flow, report.pipelines, original),
    )


def _read_amdgcn(code: AmdgcnCode, whole: CaptureCode, report: Report) -> Analysis:
    kernel = code.kernel
    if kernel is None:
        return Analysis(chains=code.locations, problem=_no_kernel(report))
    known = _known(report.pressure.amdgcn, kernel) or pressure.analyze(kernel, code.flow)
    analysis = Analysis(
        chains=code.locations,
        live=_live_by_line(kernel, known),
        loops=of_amdgcn(kernel, code.loops, code.module.arch),
        waits=_by_line(annotate_amdgcn.find_waits(kernel, code.loops)),
        problem=known.reason,
    )
    return _marked(analysis, lambda: annotate_amdgcn.annotate(kernel, code.loops, report.pipelines))


_READERS: dict[str, _Reader] = {
    "source": _read_mlir,
    "ttir": _read_mlir,
    "ttgir": _read_ttgir,
    "llir": _read_llir,
    "ptx": _read_ptx,
    "sass": _read_sass,
    "amdgcn": _read_amdgcn,
}


def _no_kernel(report: Report) -> str:
    return f"there is no kernel named {report.kernel} in it"


def _original(whole: CaptureCode, report: Report) -> PtxAnnotations:
    """Return the annotations of the PTX, empty if it does not have the kernel."""
    code = whole.ptx
    if code is None or code.kernel is None:
        return PtxAnnotations()
    return annotate_ptx.annotate_original(analyze_loops(code.kernel, code.flow), report.pipelines)


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
