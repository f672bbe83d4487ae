"""The loops of a stage: their lines, their source, and what an iteration costs a warp."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from irlens.analyze import loop_schedules
from irlens.analyze.capture_code import CaptureCode, SassCode
from irlens.analyze.facts import Provenance
from irlens.analyze.loops import Loops
from irlens.analyze.pipelines.annotate import PtxAnnotations
from irlens.analyze.resources import find_gpu, read_demand
from irlens.analyze.sass_origin import match_loops
from irlens.analyze.time import launched
from irlens.analyze.time.cta_timeline import Timeline
from irlens.analyze.time.dataflow import UnknownPathError
from irlens.analyze.time.paths import PathFinder
from irlens.analyze.time.shared_wavefronts import Wavefronts
from irlens.artifacts import cubin
from irlens.gpus import Gpu
from irlens.isa import amdgcn
from irlens.isa.dialect import Instruction, kernel_named
from irlens.model.errors import ArtifactError
from irlens.model.listing import LoopRange
from irlens.model.report import Report
from irlens.model.schedule import LoopSchedule
from irlens.model.source import SourceLocation, user_frame
from irlens.report.launch_time import arguments_of


def find(kernel_loops: Loops[Instruction]) -> list[LoopRange]:
    """Return the ranges of a function's loops, outer ones before those inside."""
    return [
        _range(kernel_loops, index, user_frame(kernel_loops.locations(index)))
        for index in range(len(kernel_loops.forest.loops))
    ]


def of_sass(
    code: SassCode, original: PtxAnnotations, report: Report, whole: CaptureCode
) -> list[LoopRange]:
    """Return the ranges of a kernel's loops, with what an iteration issues.

    Args:
        code: The machine code, which has the kernel.
        original: Its PTX, whose loops have the source.
    """
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
    gpu = find_gpu(whole.capture, Provenance())
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
    return _with_schedules(find(kernel_loops), schedules)


def _range(
    kernel_loops: Loops[Instruction], index: int, source: SourceLocation | None
) -> LoopRange:
    """Return a loop's range: compilers rotate loops, so some lines may precede the header."""
    lines = [line for each in kernel_loops.body(index) for line in (each.line, each.end_line)]
    header = kernel_loops.header(index).line
    return LoopRange(
        first=min(header, *lines),
        last=max(header, *lines),
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
    kernel = kernel_named(cubin.read(capture.stages["cubin"].read()).kernels, report.kernel)
    usage = read_demand(whole, gpu, Provenance()).usage
    grid = report.config.grid
    if section is None or kernel is None or usage is None or grid is None or whole.source is None:
        return {}
    machine = PathFinder(section, code.flow)
    try:
        arguments = arguments_of(whole.source.named, report.config, grid, usage.threads)
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
