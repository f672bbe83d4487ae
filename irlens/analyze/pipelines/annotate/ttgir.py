"""Pipeline annotations of ttgir.

Groups of asynchronous copies, and of Hopper's matrix products, are counted in ttgir as they are
in PTX, and followed through the structured control flow in the same way. Barriers are values: a
wait and what it waits for belong together where both lead to the same ring of barriers.
"""

from collections.abc import Iterable, Sequence

from irlens.analyze.graph import FlowGraph
from irlens.analyze.mlir_loops import user_line
from irlens.analyze.pipelines.annotate import Annotator, Key, LoopKey, Site, number_by_source
from irlens.analyze.ttgir_buffers import Buffers
from irlens.isa.events import Event
from irlens.isa.mlir import Module, Operation, copies
from irlens.isa.mlir.types import Scalar
from irlens.isa.mlir.values import Value
from irlens.model.listing import PipelineAnnotation, PipelineRole
from irlens.model.report import Pipeline, PipelineKind
from irlens.model.several import only

#: No compiler nests regions deeper.
_MOST_DEPTH = 64
_BARRIER = Scalar("i64")


def annotate(module: Module, pipelines: Sequence[Pipeline]) -> list[PipelineAnnotation]:
    """Return the annotations of a ttgir, in ascending order.

    Args:
        pipelines: The report's; a loop here is the one with the same ``for``.
    """
    asynchronous = [each for each in module.operations if each.name in copies.KINDS]
    if not asynchronous:
        return []
    annotator = Annotator()
    for wait, begun in copies.GROUPED.items():
        operations = [each for each in asynchronous if each.name in (wait, *begun)]
        _add_groups(annotator, module, operations)
    _Barriers(module, annotator).add(asynchronous)
    return annotator.finish(number_by_source(pipelines))


def _add_groups(annotator: Annotator, module: Module, operations: Sequence[Operation]) -> None:
    """Add the operations that form groups, paired if the control flow can be followed."""
    events = {e.index: event for e in operations if (event := copies.group_event(e)) is not None}
    flow = _StructuredFlow(module, events)
    homes = {event.at: module.operations[index] for index, event in events.items()}
    graph = FlowGraph(flow.successors)
    annotator.add_groups(graph, flow.events, lambda event: _site(module, homes[event.at]))


def _site(module: Module, operation: Operation) -> Site:
    kinds = copies.KINDS[operation.name]
    # Lines of the source have waits of several mechanisms.
    origin = (kinds, operation.location) if operation.location else None
    loops = _loops_around(module, operation, kinds)
    return Site(operation.span.line, loops, origin, str(user_line(operation)))


def _loops_around(
    module: Module, operation: Operation, kinds: Iterable[PipelineKind]
) -> tuple[LoopKey, ...]:
    """Return the pipelines an operation may belong to, the innermost loop's first."""
    loops: list[LoopKey] = []
    parent = operation.parent
    while parent is not None:
        above = module.operations[parent]
        if above.does in ("for", "while"):
            loops += [(str(user_line(above)), kind) for kind in kinds]
        parent = above.parent
    return tuple(loops)


class _Barriers:
    """Joins what signals a ring of barriers with what waits for it.

    Which barrier of its ring an operation means depends on run time. But where a single wait
    polls a ring, it is the wait for everything that signals the ring.
    """

    def __init__(self, module: Module, annotator: Annotator) -> None:
        self._module = module
        self._values = module.values
        self._buffers = Buffers(module)
        self._annotator = annotator

    def add(self, operations: Iterable[Operation]) -> None:
        """Add bulk copies, announcements of bytes, Blackwell's products, and waits."""
        signals: dict[int, list[tuple[Operation, Key]]] = {}
        waits: dict[int | None, list[tuple[Operation, Key]]] = {}
        for operation in operations:
            ring = self._ring(operation)
            if operation.does == "await barrier":
                waits.setdefault(ring, []).append((operation, self._add(operation, "wait")))
            elif operation.name in copies.BULK_COPIES:
                key = self._add(operation, "copy")
                if ring is not None:
                    signals.setdefault(ring, []).append((operation, key))
            elif operation.does == "announce bytes" or operation.name in copies.TCGEN05:
                key = self._add(operation, "commit")
                if ring is not None:
                    signals.setdefault(ring, []).append((operation, key))
        for ring, signaling in signals.items():
            self._pair_copies(signaling)
            self._pair_waits(signaling, waits.get(ring, []), certain=None not in waits)

    def _pair_waits(
        self,
        signals: Sequence[tuple[Operation, Key]],
        waits: Sequence[tuple[Operation, Key]],
        *,
        certain: bool,
    ) -> None:
        """Join what signals a ring with its wait, if that is the only one possible."""
        kinds = {kind for operation, _ in signals for kind in copies.KINDS[operation.name]}
        for operation, key in waits:
            if len(kinds) == 1:
                self._annotator.move(key, _loops_around(self._module, operation, kinds))
        for _, key in signals:
            if key[1] == "commit" and certain and len(waits) == 1:
                self._annotator.join(key, waits[0][1])

    def _add(self, operation: Operation, role: PipelineRole) -> Key:
        return self._annotator.add(operation.start, role, _site(self._module, operation))

    def _pair_copies(self, signals: list[tuple[Operation, Key]]) -> None:
        """Join copies with the announcement of their bytes: the same barrier in the same block."""
        announcements = {
            (each.parent, self._barrier(each)): key for each, key in signals if key[1] == "commit"
        }
        for operation, key in signals:
            commit = announcements.get((operation.parent, self._barrier(operation)))
            if key[1] == "copy" and commit is not None:
                self._annotator.point(key, commit)

    def _barrier(self, operation: Operation) -> Value | None:
        """Return the barrier among the operands: the one that leads to a ring of them."""
        for value in self._values.operands[operation.index]:
            if value is not None and self._rings(value):
                return value
        return None

    def _ring(self, operation: Operation) -> int | None:
        """Return the ring of barriers that an operation works on; ``None`` if not certain."""
        barrier = self._barrier(operation)
        return only(self._rings(barrier)) if barrier is not None else None

    def _rings(self, value: Value) -> list[int]:
        """Return the allocations of barriers that a value may point into, by operation index."""
        operations = self._module.operations
        return [
            n for n in self._buffers.behind(value) if operations[n].result_type.element == _BARRIER
        ]


class _UnstructuredError(Exception):
    """Control flow that cannot be followed."""


class _StructuredFlow:
    """Basic blocks of a module's functions, as far as the structured control flow has events.

    Block 0 is empty: functions, and the partitions of a warp-specialized kernel, which other
    warps run, follow it.

    Attributes:
        events: Of each block that has any. Where the control flow cannot be followed, each event
            stands in a block of its own that nothing leads to.

    Args:
        by_operation: Events by the operation's index.
    """

    def __init__(self, module: Module, by_operation: dict[int, Event]) -> None:
        self._module = module
        self._by_operation = by_operation
        self._holds = _ancestors(module, by_operation)
        self.successors: list[tuple[int, ...]] = [()]
        self.events: dict[int, list[Event]] = {}
        try:
            if next(module.named(*copies.INSTRUCTION_WAITS), None) is not None:
                raise _UnstructuredError
            for function in module.doing("function"):
                if function.index in self._holds:
                    self._region(function, 0, self._block(0), 0)
        except _UnstructuredError:
            self.successors = [()] * (len(by_operation) + 1)
            self.events = {n: [event] for n, event in enumerate(by_operation.values(), 1)}

    def _block(self, *sources: int) -> int:
        """Add a block that follows others."""
        self.successors.append(())
        block = len(self.successors) - 1
        for source in sources:
            self._lead(source, block)
        return block

    def _lead(self, source: int, target: int) -> None:
        self.successors[source] = (*self.successors[source], target)

    def _region(self, operation: Operation, number: int, block: int, depth: int) -> int:
        """Walk a region that begins in a block; return the block that it ends in."""
        if depth > _MOST_DEPTH:
            raise _UnstructuredError
        blocks = operation.regions[number].blocks
        if len(blocks) > 1:
            raise _UnstructuredError
        for index in blocks[0].operations if blocks else ():
            inner = self._module.operations[index]
            if index in self._by_operation:
                self.events.setdefault(block, []).append(self._by_operation[index])
            if index in self._holds:
                block = self._nested(inner, block, depth + 1)
        return block

    def _nested(self, operation: Operation, block: int, depth: int) -> int:
        """Walk an operation with events inside; return the block after it."""
        regions = range(len(operation.regions))
        match operation.does:
            case "for":
                header = self._block(block)
                self._lead(self._region(operation, 0, self._block(header), depth), header)
                return self._block(header)
            case "while":
                header = self._block(block)
                condition = self._region(operation, 0, header, depth)
                self._lead(self._region(operation, 1, self._block(condition), depth), header)
                return self._block(condition)
            case "if":
                ends = [self._region(operation, n, self._block(block), depth) for n in regions]
                return self._block(*ends, *([block] if len(ends) == 1 else []))
            case "partition":
                for number in regions[1:]:
                    self._region(operation, number, self._block(0), depth)
                return self._region(operation, 0, block, depth) if regions else block
            case _:
                raise _UnstructuredError


def _ancestors(module: Module, indices: Iterable[int]) -> set[int]:
    """Return the operations that contain any of some others."""
    ancestors: set[int] = set()
    for index in indices:
        parent = module.operations[index].parent
        while parent is not None and parent not in ancestors:
            ancestors.add(parent)
            parent = module.operations[parent].parent
    return ancestors
