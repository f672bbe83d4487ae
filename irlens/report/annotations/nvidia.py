"""What is known of each line of PTX and of SASS."""

from collections.abc import Sequence

from irlens.analyze import cfg as ptx_cfg
from irlens.analyze import loops, sass_cfg, sass_marks, sass_pressure, sass_source
from irlens.analyze import pressure as register_pressure
from irlens.analyze.pipelines.loops import analyze_loops, loop_source
from irlens.analyze.pipelines.marks import find_marks
from irlens.analyze.pipelines.originals import Original
from irlens.analyze.sass_loops import match_loops
from irlens.isa import ptx, sass
from irlens.isa.dialect import kernel_named
from irlens.model.capture import Capture
from irlens.model.listing import LoopRange
from irlens.model.report import Report
from irlens.report.annotations.columns import (
    Content,
    live_by_line,
    loop_range,
    loop_ranges,
    of_assembly,
)


def read_ptx(text: str, report: Report) -> Content:
    """Read PTX.

    Raises:
        ArtifactError: It is broken.
    """
    functions = ptx.parse(text).functions
    chains = (
        (each.line, each.end_line, each.locations)
        for function in functions
        for each in function.instructions
    )
    kernel = kernel_named([each for each in functions if each.kind != "func"], report.kernel)
    if kernel is None:
        return Content(chains=chains, problem=_absent(report))
    flow = ptx_cfg.build(kernel)
    pressure = report.pressure.ptx
    if pressure is None or len(pressure.curve) != len(kernel.instructions):
        pressure = register_pressure.analyze(kernel, flow)
    lines = [each.line for each in kernel.instructions]
    found = loop_ranges(analyze_loops(kernel, flow))
    marks = find_marks(kernel, flow, report.pipelines)
    return of_assembly(chains, lines, pressure, found, marks)


def read_sass(text: str, report: Report, capture: Capture) -> Content:
    """Read SASS; its sources are told by the PTX, where the capture has it.

    Raises:
        ArtifactError: One of the two is broken.
    """
    stage = capture.stages.get("ptx")
    functions = ptx.parse(stage.text()).functions if stage is not None else ()
    known = {each.line: each.locations for one in functions for each in one.instructions}
    sections = [sass_source.trace(each, known) for each in sass.parse(text).sections]
    chains = (
        (each.line, each.line, each.locations)
        for section in sections
        for each in section.instructions
    )
    section = kernel_named(sections, report.kernel)
    if section is None:
        return Content(chains=chains, problem=_absent(report))
    pressure = report.pressure.sass
    if pressure is None or len(pressure.curve) != len(section.instructions):
        pressure = sass_pressure.analyze(section)
    lines = [each.line for each in section.instructions]
    original = read_original(functions, report)
    return Content(
        chains=chains,
        live=live_by_line(lines, pressure.curve) if pressure.curve else None,
        loops=_sass_loops(section, original),
        marks=sass_marks.find_marks(section, report.pipelines, original),
        problem=f"not known: {pressure.reason}" if pressure.reason else "",
    )


def read_original(functions: Sequence[ptx.Function], report: Report) -> Original:
    """Return what marks in other stages are to know of the PTX, if it has the kernel."""
    kernel = kernel_named([each for each in functions if each.kind != "func"], report.kernel)
    if kernel is None:
        return Original({}, ())
    flow = ptx_cfg.build(kernel)
    marks = find_marks(kernel, flow, report.pipelines)
    lines = {each.line: each for each in kernel.instructions}
    return Original(lines, marks, analyze_loops(kernel, flow))


def _absent(report: Report) -> str:
    return f"there is no kernel named {report.kernel} in it"


def _sass_loops(section: sass.Section, original: Original) -> list[LoopRange]:
    flow = sass_cfg.build(section)
    if flow.unknown or not flow.blocks:
        return []
    found = loops.find(section, flow)
    ranges = []
    for index, number in enumerate(match_loops(found, original.loops)):
        source = None
        if original.loops is not None and number is not None:
            source = loop_source(original.loops.locations(number))
        ranges.append(loop_range(found, index, source))
    return ranges
