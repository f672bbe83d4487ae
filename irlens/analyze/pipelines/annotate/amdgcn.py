"""Pipeline annotations of AMDGPU assembly: the loads, and the waits that retire them.

A load to registers is part of a pipeline where it runs ahead of its loop. A copy between global
memory and LDS is asynchronous wherever it stands: counters count such copies one by one and in
order, so that they are followed through the control flow as groups of a single copy.
"""

from collections.abc import Sequence

from irlens.analyze.loops import Loops
from irlens.analyze.pipelines.amdgcn import trace_loads
from irlens.analyze.pipelines.annotate import Annotator, Site, number_by_header, site_in_loops
from irlens.isa.amdgcn import Function, Instruction
from irlens.isa.amdgcn.memory import (
    Counter,
    counter_event,
    lds_copy_counter,
    stores_count_apart,
    writes_lds,
)
from irlens.isa.events import Event, Wait
from irlens.model.listing import PipelineAnnotation
from irlens.model.report import Pipeline

#: The counters, and whether they count nothing but copies between global memory and LDS: then
#: every wait for them is a wait for such copies.
_COUNTERS: dict[Counter, bool] = {"load": False, "async": True, "tensor": True}


def annotate(
    kernel: Function, loops: Loops[Instruction], pipelines: Sequence[Pipeline]
) -> list[PipelineAnnotation]:
    """Return the annotations of a kernel, in ascending order.

    Args:
        pipelines: The report's.

    Raises:
        ArtifactError: A branch to a label that does not exist.
    """
    annotator = Annotator()
    _add_lds_copies(annotator, stores_count_apart(kernel), loops)
    for load in trace_loads(kernel):
        around = ((load.header, load.kind),)
        copy = annotator.add(load.line, "copy", Site(load.line, around))
        if load.wait is not None:
            annotator.join(copy, annotator.add(load.wait, "wait", Site(load.wait, around)))
    return annotator.finish(number_by_header(pipelines, "amdgcn"))


def _add_lds_copies(annotator: Annotator, apart: bool, loops: Loops[Instruction]) -> None:
    """Add the copies between global memory and LDS, by their lines.

    Args:
        annotator: Takes them.
        apart: Whether stores have a counter of their own.
        loops: The kernel.
    """
    blocks = [loops.block(number) for number in range(len(loops.cfg.blocks))]
    places = {each.line: (each, number) for number, block in enumerate(blocks) for each in block}

    def site_of(event: Event) -> Site | None:
        instruction, block = places[event.line]
        if isinstance(event, Wait):
            return Site(event.line)
        if lds_copy_counter(instruction, stores_apart=apart) is None:
            return None
        if not writes_lds(instruction):  # the report describes no pipeline of copies out of LDS
            return Site(event.line)
        around = (loops.header(loop).line for loop in loops.around(block))
        return site_in_loops(event.line, instruction.locations, "direct-to-lds", around)

    for counter, only_copies in _COUNTERS.items():
        events = {
            number: some
            for number, block in enumerate(blocks)
            if (
                some := [
                    event
                    for each in block
                    if (event := counter_event(each, counter, stores_apart=apart)) is not None
                ]
            )
        }
        annotator.add_groups(loops.cfg.graph, events, site_of, lone_waits=only_copies)
