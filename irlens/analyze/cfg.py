"""Control flow graphs: basic blocks and their successors, for every dialect."""

from functools import cached_property

import msgspec

from irlens.analyze.graph import FlowGraph, LoopForest, find_loops, reverse_postorder
from irlens.isa.dialect import Function, Instruction


class Block(msgspec.Struct, frozen=True, gc=False):
    """Instructions that always run one after the other.

    Attributes:
        start: Index into ``Function.instructions`` of the first one.
        stop: Index after the last one.
        label: The label that branches use to get here; ``None`` if there is none.
        line: 1-based line of the label, or of the first instruction.
    """

    start: int
    stop: int
    label: str | None
    line: int

    @property
    def indices(self) -> range:
        """Indices of the block's instructions."""
        return range(self.start, self.stop)


class Cfg(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Control flow of one function; block 0 is its entry.

    Attributes:
        blocks: In the order of the text. A label at the very end makes an empty block.
        successors: For each block the blocks that can follow it: branch targets first, then
            the block after it.
        unknown: What is not known about the control flow; empty if all of it is.
    """

    blocks: tuple[Block, ...]
    successors: tuple[tuple[int, ...], ...]
    unknown: str = ""

    @cached_property
    def graph(self) -> FlowGraph:
        """The graph of the blocks."""
        return FlowGraph(self.successors)

    @cached_property
    def forest(self) -> LoopForest:
        """The loops of the blocks; raises as ``find_loops`` does."""
        return find_loops(self.successors, self.entries)

    @property
    def entries(self) -> tuple[int, ...]:
        """The blocks in which control may begin."""
        return (0,) if self.blocks else ()

    def loop_depths(self) -> list[int | None]:
        """Return how many loops are around each block; ``None`` where that is not known."""
        if self.unknown:
            return [None] * len(self.blocks)
        forest = self.forest
        reached = set(reverse_postorder(self.successors))
        return [forest.depth(n) if n in reached else None for n in range(len(self.blocks))]

    @property
    def ranges(self) -> tuple[range, ...]:
        """The indices of each block's instructions."""
        return tuple(block.indices for block in self.blocks)


def build(function: Function[Instruction]) -> Cfg:
    """Cut a function into basic blocks.

    A call comes back, unless the dialect says otherwise.

    Raises:
        ArtifactError: A branch to a label that does not exist.
    """
    flow = function.control_flow()
    instructions = function.instructions
    count = len(instructions)
    cuts = (index + 1 for index in flow.terminators if index + 1 < count)
    starts = sorted({0, *flow.labels, *flow.starts, *cuts})
    block_at = {start: block for block, start in enumerate(starts)}
    blocks, successors = [], []
    for block, (start, stop) in enumerate(zip(starts, [*starts[1:], count], strict=True)):
        label = flow.labels.get(start)
        if label is not None:
            blocks.append(Block(start, stop, label.name, label.line))
        else:
            line = instructions[start].line if start < stop else function.line
            blocks.append(Block(start, stop, None, line))
        following: list[int] = []
        terminator = flow.terminators.get(stop - 1) if start < stop else None
        if terminator is not None:
            following = [block_at[target] for target in terminator.targets]
        falls_through = terminator is None or terminator.falls_through
        if start < stop and falls_through and block + 1 < len(starts):
            following.append(block + 1)
        successors.append(tuple(dict.fromkeys(following)))
    return Cfg(blocks=tuple(blocks), successors=tuple(successors), unknown=flow.unknown)
