"""What each wait of AMD's machine code waits for: the outstanding operations of its counters.

The queue of each counter is followed through the control flow, along every path. In a loop that
is what was issued before it, in its first iteration, and then what it issues itself.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from irlens.analyze.loops import Loops
from irlens.isa.amdgcn import Function, Instruction
from irlens.isa.amdgcn.classes import may_access_memory
from irlens.isa.amdgcn.memory import stores_count_apart
from irlens.isa.amdgcn.waits import Counted, counted, limits

#: More than any counter counts; hardware stops issuing before that.
_MOST_OUTSTANDING = 64
#: Distinct queues at the start of a block; with more, what a wait finds is unknown.
_MOST_QUEUES = 64

#: The lines of outstanding operations, oldest first; negative where the order is not known.
_Queue = tuple[int, ...]


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """What a wait finds outstanding, on whichever path the wave comes.

    Attributes:
        line: 1-based line of the wait.
        counter: "vmcnt".
        outstanding: The fewest and the most operations before it.
        left: How many may be outstanding behind it.
        retired: 1-based lines of those that it waits for, ascending.
    """

    line: int
    counter: str
    outstanding: tuple[int, int]
    left: int
    retired: tuple[int, ...]

    @property
    def waits(self) -> tuple[int, int]:
        """The fewest and the most operations that it waits for."""
        fewest, most = self.outstanding
        return max(0, fewest - self.left), max(0, most - self.left)


class _Step(msgspec.Struct, frozen=True):
    """An instruction as a counter sees it: an operation it issues, or a limit of a wait."""

    line: int
    issued: Counted | None
    limit: int | None


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
        steps = [
            _Step(each.line, next((one for one in adds if one.counter == name), None), at.get(name))
            for each, adds, at in zip(kernel.instructions, issued, limited, strict=True)
        ]
        blocks = [[steps[index] for index in block.indices] for block in kernel_loops.cfg.blocks]
        found.extend(_awaited(name, blocks, kernel_loops.cfg.successors))
    return sorted(found, key=lambda each: (each.line, each.counter))


def _awaited(
    counter: str, blocks: Sequence[Sequence[_Step]], successors: Sequence[Sequence[int]]
) -> Iterator[Awaited]:
    """Yield what the waits for one counter wait for."""
    starts = _queues(blocks, successors)
    for steps, queues in zip(blocks, starts, strict=True):
        if not queues:
            continue  # unknown, or never reached
        current: set[_Queue] | None = set(queues)
        for step in steps:
            if current is None:
                break
            if step.limit is not None:
                yield _describe(counter, step, current)
            current = _after(step, current)


def _describe(counter: str, step: _Step, queues: set[_Queue]) -> Awaited:
    limit = step.limit or 0
    retired = {
        abs(line)
        for queue in queues
        # Without an order any of them may be among those that it waits for.
        for line in (queue if min(queue, default=0) < 0 else queue[: max(0, len(queue) - limit)])
        if len(queue) > limit
    }
    sizes = [len(queue) for queue in queues]
    return Awaited(
        line=step.line,
        counter=counter,
        outstanding=(min(sizes), max(sizes)),
        left=limit,
        retired=tuple(sorted(retired)),
    )


def _queues(
    blocks: Sequence[Sequence[_Step]], successors: Sequence[Sequence[int]]
) -> list[set[_Queue] | None]:
    """Return the queues at the start of each block; ``None`` where they are too many."""
    starts: list[set[_Queue] | None] = [set() for _ in blocks]
    if not blocks:
        return starts
    starts[0] = {()}
    pending = [0]
    while pending:
        block = pending.pop()
        ends = starts[block]
        for step in blocks[block]:
            ends = None if ends is None else _after(step, ends)
        for target in successors[block]:
            before = starts[target]
            if before is None:
                continue
            merged = None if ends is None else before | ends
            if merged is not None and len(merged) > _MOST_QUEUES:
                merged = None
            if merged != before:
                starts[target] = merged
                pending.append(target)
    return starts


def _after(step: _Step, queues: set[_Queue]) -> set[_Queue] | None:
    """Return the queues behind an instruction; ``None`` where they are unknown."""
    after = queues
    if step.limit is not None:
        if any(len(queue) > step.limit > 0 and min(queue) < 0 for queue in queues):
            return None  # which of them have completed is not known
        after = {queue[len(queue) - step.limit :] if len(queue) > step.limit else queue
                 for queue in queues}  # fmt: skip
    if step.issued is not None:
        line = step.line if step.issued.in_order else -step.line
        after = {(*queue, line) for queue in after}
        if any(len(queue) > _MOST_OUTSTANDING for queue in after):
            return None
    return after


def cells(waits: Sequence[Awaited]) -> Mapping[int, str]:
    """Return a cell for each line with waits: "2 of 3 vmcnt: 77, 78"."""
    texts: dict[int, list[str]] = {}
    for each in waits:
        texts.setdefault(each.line, []).append(_cell(each))
    return {line: "; ".join(some) for line, some in texts.items()}


#: Lines of operations that a cell names.
_MOST_LINES = 2


def _cell(wait: Awaited) -> str:
    lines = ", ".join(map(str, wait.retired[:_MOST_LINES]))
    more = len(wait.retired) - _MOST_LINES
    text = f"{_span(wait.waits)} of {_span(wait.outstanding)} {wait.counter}"
    return text + (f": {lines}" if lines else "") + (f" +{more}" if more > 0 else "")


def _span(numbers: tuple[int, int]) -> str:
    fewest, most = numbers
    return str(most) if fewest == most else f"{fewest}–{most}"
