"""Loops of an AMDGPU kernel, and the instructions of one iteration in order."""

from typing import Self

from irlens.analyze import loops
from irlens.analyze.graph import predecessors
from irlens.analyze.loops import Loops
from irlens.isa.amdgcn import Function, Instruction
from irlens.isa.amdgcn.memory import writes_lds


class KernelLoops(Loops[Instruction], frozen=True):
    """The loops of one kernel.

    Attributes:
        lds_filled: For each block whether LDS may have been written when it ends.
    """

    lds_filled: tuple[bool, ...]

    @classmethod
    def of(cls, function: Function) -> Self:
        """Find the loops of a kernel.

        Raises:
            ArtifactError: A branch to a label that does not exist.
        """
        kernel = loops.find(function)
        return cls(kernel.instructions, kernel.cfg, kernel.forest, _lds_filled(kernel))

    def iteration(self, index: int) -> list[Instruction] | None:
        """Return the instructions of one iteration in order; ``None`` where iterations differ.

        Code that is skipped if no lane is active counts as executed.
        """
        loop = self.forest.loops[index]
        if loop.irreducible or loop.children or len(loop.latches) != 1:
            return None
        body = self.forest.body(index)
        path, block = [loop.header], loop.header
        while block != loop.latches[0]:
            following = [target for target in self.cfg.successors[block] if target in body]
            if len(following) == 2 and self.block(block)[-1].mnemonic == "s_cbranch_execz":
                following = following[1:]
            if len(following) != 1 or following[0] == loop.header:
                return None
            block = following[0]
            path.append(block)
        if len(path) != len(body):
            return None
        return [instruction for block in path for instruction in self.block(block)]

    def is_lds_filled_before(self, index: int) -> bool:
        """Whether the kernel may have written to LDS when a loop is entered."""
        body = self.forest.body(index)
        entering = predecessors(self.cfg.successors)[self.forest.loops[index].header]
        return any(self.lds_filled[block] for block in entering if block not in body)


def _lds_filled(kernel: Loops[Instruction]) -> tuple[bool, ...]:
    """Return for each block whether LDS may have been written when it ends."""
    filled = [any(map(writes_lds, kernel.block(n))) for n in range(len(kernel.cfg.blocks))]
    pending = [block for block, written in enumerate(filled) if written]
    while pending:
        for target in kernel.cfg.successors[pending.pop()]:
            if not filled[target]:
                filled[target] = True
                pending.append(target)
    return tuple(filled)
