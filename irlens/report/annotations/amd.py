"""What is known of each line of AMDGPU assembly."""

from irlens.analyze import amdgcn_marks, loops
from irlens.analyze import pressure as register_pressure
from irlens.isa import amdgcn
from irlens.isa.dialect import kernel_named
from irlens.model.report import Report
from irlens.report.annotations.columns import Content, loop_ranges, of_assembly


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
    kernel = kernel_named(program.kernels, report.kernel)
    if kernel is None:
        return Content(chains=chains, problem=f"there is no kernel named {report.kernel} in it")
    found = loops.find(kernel)
    pressure = report.pressure.amdgcn
    if pressure is None or len(pressure.curve) != len(kernel.instructions):
        pressure = register_pressure.analyze(kernel, found.cfg)
    lines = [each.line for each in kernel.instructions]
    marks = amdgcn_marks.find_marks(kernel, found.cfg, report.pipelines)
    return of_assembly(chains, lines, pressure, loop_ranges(found), marks)
