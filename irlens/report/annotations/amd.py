"""What is known of each line of AMDGPU assembly."""

from irlens.analyze import amdgcn_cfg, amdgcn_liveness, amdgcn_marks
from irlens.analyze.graph import find_loops
from irlens.analyze.kernels import by_name
from irlens.analyze.pipelines.loops import loop_source
from irlens.isa import amdgcn
from irlens.model.listing import LoopRange
from irlens.model.report import Report
from irlens.report.annotations.columns import Content, loop_range, of_assembly


def read_amdgcn(text: str, report: Report) -> Content:
    """Read AMDGPU assembly.

    Raises:
        ArtifactError: It is broken.
    """
    program = amdgcn.parse(text)
    chains = (
        (each.line, each.end_line, each.locations)
        for function in program.functions
        for each in function.instructions
    )
    kernel = by_name(program.kernels, report.kernel)
    if kernel is None:
        return Content(chains=chains, problem=f"there is no kernel named {report.kernel} in it")
    flow = amdgcn_cfg.build(kernel)
    pressure = report.pressure.amdgcn
    if pressure is None or len(pressure.curve) != len(flow.instructions):
        pressure = amdgcn_liveness.analyze(kernel, flow)
    lines = [each.line for each in flow.instructions]
    marks = amdgcn_marks.find_marks(kernel, flow, report.pipelines)
    return of_assembly(chains, lines, pressure, _loops(flow), marks)


def _loops(flow: amdgcn_cfg.Cfg) -> list[LoopRange]:
    forest = find_loops(flow.successors)
    found = []
    for index, loop in enumerate(forest.loops):
        body = (i for block in forest.body(index) for i in flow.indices(block))
        lines = [flow.instructions[i].line for i in body]
        back = flow.indices(loop.latches[0])
        source = loop_source(flow.instructions[back[-1]].locations) if back else None
        found.append(loop_range(lines, flow.blocks[loop.header].line, loop.depth, source))
    return found
