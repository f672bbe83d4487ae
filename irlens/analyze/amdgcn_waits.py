"""What each wait of AMD machine code waits for: the outstanding operations of its counters.

The queue of each counter is followed through the control flow, along every path. In a loop that
is what was issued before it, in its first iteration, and then what it issues itself.
"""

from collections.abc import Collection, Iterable

from irlens.analyze.loops import Loops
from irlens.analyze.outstanding import GroupFlow, Queue, Queues, in_order, retired
from irlens.isa.amdgcn import Function, Instruction
from irlens.isa.amdgcn.classes import may_access_memory
from irlens.isa.amdgcn.memory import stores_count_apart
from irlens.isa.amdgcn.waits import Counted, counted, limits
from irlens.isa.events import Commit, Event, Wait
from irlens.model.schedule import Awaited

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
    stores_apart = stores_count_apart(kernel)
    apart = any(name in ("loadcnt", "dscnt", "kmcnt") for name in names)
    issued = [counted(each, apart=apart, stores_apart=stores_apart) for each in kernel.instructions]
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
            if isinstance(each.event, Wait) and _can_be_counted(each.state.queues)
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


def _can_be_counted(queues: Collection[Queue] | None) -> bool:
    return queues is not None and max(map(len, queues)) <= _MOST_COUNTED


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
