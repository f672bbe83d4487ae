"""Pipeline annotations of AMDGPU assembly: the loads, and what each wait retires.

A load to registers is part of a pipeline where it runs ahead of its loop. A copy between global
memory and LDS is asynchronous wherever it stands: counters count such copies one by one and in
order, so that they are followed through the control flow as groups of a single copy.
"""

from collections.abc import Collection, Iterable, Sequence

from irlens.analyze.loops import Loops
from irlens.analyze.outstanding import GroupFlow, Queue, Queues, in_order, retired
from irlens.analyze.pipelines.amdgcn import trace_loads
from irlens.analyze.pipelines.annotate import Annotator, Site, number_by_header, site_in_loops
from irlens.isa.amdgcn import Function, Instruction
from irlens.isa.amdgcn.memory import Counter, writes_lds
from irlens.isa.amdgcn.units import may_access_memory
from irlens.isa.amdgcn.waits import SEPARATE, SHARED, Counted, Counters, counted, limits
from irlens.isa.events import Commit, Event, Wait
from irlens.model.listing import PipelineAnnotation
from irlens.model.report import Pipeline
from irlens.model.schedule import Awaited

#: The counters, and whether they count nothing but copies between global memory and LDS: then
#: every wait for them is a wait for such copies.
_COUNTERS: dict[Counter, bool] = {"load": False, "async": True, "tensor": True}


def annotate(
    kernel: Function, loops: Loops[Instruction], pipelines: Sequence[Pipeline]
) -> list[PipelineAnnotation]:
    """Return the annotations of a kernel, in ascending order.

    Raises:
        ArtifactError: A branch to a label that does not exist.
    """
    annotator = Annotator()
    _add_lds_copies(annotator, Counters.of(kernel), loops)
    for load in trace_loads(kernel):
        around = ((load.header, load.kind),)
        copy = annotator.add(load.line, "copy", Site(load.line, around))
        if load.wait is not None:
            annotator.join(copy, annotator.add(load.wait, "wait", Site(load.wait, around)))
    return annotator.finish(number_by_header(pipelines, "amdgcn"))


def _add_lds_copies(annotator: Annotator, counters: Counters, loops: Loops[Instruction]) -> None:
    """Add the copies between global memory and LDS, by their lines."""
    blocks = [loops.block(number) for number in range(len(loops.cfg.blocks))]
    places = {each.line: (each, number) for number, block in enumerate(blocks) for each in block}

    def site_of(event: Event) -> Site | None:
        instruction, block = places[event.line]
        if isinstance(event, Wait):
            return Site(event.line)
        if counters.raised_by_lds_copy(instruction) is None:
            return None
        if not writes_lds(instruction):  # the report describes no pipeline of copies out of LDS
            return Site(event.line)
        around = (loops.header(loop).line for loop in loops.around(block))
        return site_in_loops(event.line, instruction.locations, "direct-to-lds", around)

    for counter, only_copies in _COUNTERS.items():

        def events_of(block: Iterable[Instruction], counter: Counter = counter) -> list[Event]:
            found = (counters.event(each, counter) for each in block)
            return [each for each in found if each is not None]

        events = loops.events(events_of)
        annotator.add_groups(loops.cfg.graph, events, site_of, lone_waits=only_copies)


#: More than any counter counts; hardware stops issuing before that.
_MOST_COUNTED = 64


def find_waits(kernel: Function, kernel_loops: Loops[Instruction]) -> list[Awaited]:
    """Return what the waits of a kernel wait for, by line and counter.

    Waits that can be reached with too many different queues are left out, and all of a kernel
    with a wait or an access to memory that is not understood, or with control flow that is unknown.
    """
    understood = [limits(each) for each in kernel.instructions]
    if kernel_loops.cfg.unknown or None in understood:
        return []
    if any(may_access_memory(each.operations[0]) for each in kernel.instructions):
        return []
    limited = [each or {} for each in understood]
    names = sorted({name for each in limited for name in each})
    counters = Counters.of(kernel)
    counter_names = SHARED if set(SEPARATE).isdisjoint(names) else SEPARATE
    issued = [counted(each, counters, counter_names) for each in kernel.instructions]
    found: list[Awaited] = []
    for name in names:
        happening = [
            _event(each.line, name, adds, at.get(name))
            for each, adds, at in zip(kernel.instructions, issued, limited, strict=True)
        ]
        events = {
            number: [event for index in block.indices if (event := happening[index]) is not None]
            for number, block in enumerate(kernel_loops.cfg.blocks)
        }
        flow = GroupFlow(kernel_loops.cfg.graph, events, Queues())
        found.extend(
            _describe(name, each.event, each.state.queues or ())
            for each in flow.observe(flow.entries)
            if isinstance(each.event, Wait)
            and each.state.queues is not None
            and max(map(len, each.state.queues)) <= _MOST_COUNTED
        )
    return sorted(found, key=lambda each: (each.line, each.counter))


def _event(line: int, counter: str, adds: Iterable[Counted], most: int | None) -> Event | None:
    """Return the event that an instruction causes on a counter; every operation is a group."""
    if most is not None:
        return Wait(line, most, certain=True, at=line)
    orders = (each.in_order for each in adds if each.counter == counter)
    in_order = next(orders, None)
    if in_order is None:
        return None
    return Commit(line, certain=True, at=line, copies=True, in_order=in_order)


def _describe(counter: str, wait: Wait, queues: Collection[Queue]) -> Awaited:
    ended = {
        at if at >= 0 else ~at
        for queue in queues
        # Without an order any of them may be among those that it waits for.
        for at, _ in (retired(queue, wait.limit if in_order(queue) else 0))
        if len(queue) > wait.limit
    }
    sizes = [len(queue) for queue in queues]
    return Awaited(
        line=wait.line,
        counter=counter,
        outstanding=(min(sizes), max(sizes)),
        left=wait.limit,
        retired=tuple(sorted(ended)),
    )
