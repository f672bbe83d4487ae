"""Loops of an AMDGPU kernel: which ones read memory, and what one iteration is."""

from collections.abc import Iterable, Iterator

from irlens.analyze.amdgcn_cfg import Block, Cfg, build
from irlens.analyze.graph import find_loops, predecessors
from irlens.isa.amdgcn import Function, Instruction
from irlens.isa.amdgcn.memory import is_scalar_load, transfer, writes_lds
from irlens.model.source import SourceLocation


class KernelLoops:
    """The loops of one kernel, by their index.

    Args:
        function: The kernel.

    Raises:
        ArtifactError: A branch to a label that is not there.
    """

    def __init__(self, function: Function) -> None:
        self._cfg = build(function)
        self._forest = find_loops(self._cfg.successors)
        self._before = predecessors(self._cfg.successors)
        self._filled = _filled_behind(self._cfg)

    def innermost(self) -> list[int]:
        """Return the innermost loops whose own instructions read global memory."""
        below = [False] * len(self._forest.loops)
        found = []
        for index in reversed(range(len(below))):
            loop = self._forest.loops[index]
            inside = any(below[child] for child in loop.children)
            own = self._instructions(loop.own)
            below[index] = inside or any(transfer(each) or is_scalar_load(each) for each in own)
            if below[index] and not inside:
                found.append(index)
        return found

    def header(self, index: int) -> Block:
        """Return the block that a loop is entered by."""
        return self._cfg.blocks[self._forest.loops[index].header]

    def body(self, index: int) -> Iterator[Instruction]:
        """Yield a loop's instructions, those of loops inside it included."""
        return self._instructions(self._forest.body(index))

    def iteration(self, index: int) -> list[Instruction] | None:
        """Return the instructions of one iteration in order; ``None`` where iterations differ.

        Code that is skipped where no lane is active counts as taken.
        """
        loop = self._forest.loops[index]
        if loop.irreducible or loop.children or len(loop.latches) != 1:
            return None
        body = self._forest.body(index)
        path, block = [loop.header], loop.header
        while block != loop.latches[0]:
            following = [target for target in self._cfg.successors[block] if target in body]
            last = self._cfg.instructions[self._cfg.blocks[block].stop - 1].mnemonic
            if len(following) == 2 and last == "s_cbranch_execz":
                following = following[1:]
            if len(following) != 1 or following[0] == loop.header:
                return None
            block = following[0]
            path.append(block)
        return list(self._instructions(path)) if len(path) == len(body) else None

    def locations(self, index: int) -> tuple[SourceLocation, ...]:
        """Return where the debug information puts the branch back: at the ``for``."""
        for latch in self._forest.loops[index].latches:
            instructions = list(self._instructions([latch]))
            if instructions and instructions[-1].locations:
                return instructions[-1].locations
        return ()

    def is_lds_filled_before(self, index: int) -> bool:
        """Whether LDS may hold something when a loop is entered, put there by the kernel."""
        body = self._forest.body(index)
        entering = self._before[self._forest.loops[index].header]
        return any(self._filled[block] for block in entering if block not in body)

    def _instructions(self, blocks: Iterable[int]) -> Iterator[Instruction]:
        return (self._cfg.instructions[i] for block in blocks for i in self._cfg.indices(block))


def _filled_behind(cfg: Cfg) -> list[bool]:
    """For each block whether LDS may have been written when it ends."""
    filled = [any(writes_lds(cfg.instructions[i]) for i in block) for block in cfg.ranges]
    pending = [block for block, written in enumerate(filled) if written]
    while pending:
        for target in cfg.successors[pending.pop()]:
            if not filled[target]:
                filled[target] = True
                pending.append(target)
    return filled
