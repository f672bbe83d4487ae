"""Basic blocks of a ttgir, for what is counted along its control flow."""

from collections.abc import Iterable

from irlens.isa.events import Event
from irlens.isa.mlir import Module, Operation

#: Waits that count instructions: what they retire is not followed.
_BY_INSTRUCTIONS = ("amdg.async_wait", "amdgpu.async_wait")
#: Deeper nests are no compiler's.
_MOST_DEPTH = 64


class _UnstructuredError(Exception):
    """Control flow that is not followed."""


class StructuredFlow:
    """Basic blocks of a module's functions, as far as its structured control flow has events.

    Block 0 is empty: functions and the partitions of a warp-specialised kernel, which other warps
    run, start behind it.

    Attributes:
        successors: Of each block.
        events: Of each block that has any. Where the control flow cannot be followed, each event
            stands in a block of its own that nothing leads to.

    Args:
        module: The ttgir.
        found: Events by the operation's index.
    """

    def __init__(self, module: Module, found: dict[int, Event]) -> None:
        self._module = module
        self._found = found
        self._holds = _ancestors(module, found)
        self.successors: list[tuple[int, ...]] = [()]
        self.events: dict[int, list[Event]] = {}
        try:
            if next(module.named(*_BY_INSTRUCTIONS), None) is not None:
                raise _UnstructuredError
            for function in module.named("tt.func"):
                if function.index in self._holds:
                    self._region(function, 0, self._block(0), 0)
        except _UnstructuredError:
            self.successors = [()] * (len(found) + 1)
            self.events = {n: [event] for n, event in enumerate(found.values(), 1)}

    def _block(self, *sources: int) -> int:
        """Make a block that follows others."""
        self.successors.append(())
        made = len(self.successors) - 1
        for source in sources:
            self._lead(source, made)
        return made

    def _lead(self, source: int, target: int) -> None:
        self.successors[source] = (*self.successors[source], target)

    def _region(self, operation: Operation, number: int, block: int, depth: int) -> int:
        """Go through a region that begins in a block; return the block that it ends in."""
        if depth > _MOST_DEPTH:
            raise _UnstructuredError
        blocks = operation.regions[number].blocks
        if len(blocks) > 1:
            raise _UnstructuredError
        for index in blocks[0].operations if blocks else ():
            inner = self._module.operations[index]
            if index in self._found:
                self.events.setdefault(block, []).append(self._found[index])
            if index in self._holds:
                block = self._nested(inner, block, depth + 1)
        return block

    def _nested(self, operation: Operation, block: int, depth: int) -> int:
        """Go through an operation with events inside; return the block behind it."""
        regions = range(len(operation.regions))
        match operation.name:
            case "scf.for":
                header = self._block(block)
                self._lead(self._region(operation, 0, self._block(header), depth), header)
                return self._block(header)
            case "scf.while":
                header = self._block(block)
                asked = self._region(operation, 0, header, depth)
                self._lead(self._region(operation, 1, self._block(asked), depth), header)
                return self._block(asked)
            case "scf.if":
                ends = [self._region(operation, n, self._block(block), depth) for n in regions]
                return self._block(*ends, *([block] if len(ends) == 1 else []))
            case "ttg.warp_specialize":
                for number in regions[1:]:
                    self._region(operation, number, self._block(0), depth)
                return self._region(operation, 0, block, depth) if regions else block
            case _:
                raise _UnstructuredError


def _ancestors(module: Module, indices: Iterable[int]) -> set[int]:
    """The operations that have some others inside."""
    found: set[int] = set()
    for index in indices:
        parent = module.operations[index].parent
        while parent is not None and parent not in found:
            found.add(parent)
            parent = module.operations[parent].parent
    return found
