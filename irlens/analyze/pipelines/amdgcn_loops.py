"""Loops of an AMDGPU kernel: the instructions of one iteration, and how far LLVM unrolled it.

LLVM also unrolls loops for a trip count known only at run time. It leaves the remaining iterations
to an epilogue loop at the same location, whose block it names ``.epil``, and the one before it
``.epil.preheader`` (``lib/Transforms/Utils/LoopUnrollRuntime.cpp``). One iteration of the epilogue
is one of the source, so two ratios give the unroll factor: that of the loop counters' steps, and
that of the bytes that a lane loads at each location. LLVM may have replaced the counter or widened
the loads: the factor is certain only if both ratios agree.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Self, TypeAlias

from irlens.analyze import loops
from irlens.analyze.cfg import Cfg
from irlens.analyze.loops import Loops
from irlens.analyze.solver import reach
from irlens.isa.amdgcn import Function, Instruction
from irlens.isa.amdgcn.function import branches
from irlens.isa.amdgcn.memory import transfer, writes_lds
from irlens.isa.amdgcn.records import Label, Operand, Operation
from irlens.model.source import SourceLocation

#: Where an instruction comes from, through the functions that it was inlined into.
Place: TypeAlias = tuple[SourceLocation, ...]

_REMAINDER = re.compile(r";\s*%\S*\.epil(?P<before>\.preheader)?\s*$", re.MULTILINE)
_ADDS = re.compile(r"s_(add|sub)(?:k|_nc|_co|k_co)?_[iu](?:32|64)")
_INTEGER = re.compile(r"-?(?:0x[0-9a-f]{1,8}|\d{1,9})")


class KernelLoops(Loops[Instruction], frozen=True):
    """The loops of one kernel.

    Attributes:
        lds_filled: For each block whether LDS may have been written when it ends.
    """

    lds_filled: tuple[bool, ...]

    @classmethod
    def of(cls, function: Function, flow: Cfg | None = None) -> Self:
        """Find the loops of a kernel.

        Raises:
            ArtifactError: A branch to a label that does not exist.
        """
        kernel = loops.find(function, flow)
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
        entering = self.cfg.graph.predecessors[self.forest.loops[index].header]
        return any(self.lds_filled[block] for block in entering if block not in body)

    @cached_property
    def loads(self) -> list[Counter[Place]]:
        """For each loop the bytes that a lane loads at each place in a round of it."""
        return [_loads(self.body(index)) for index in range(len(self.forest.loops))]

    def loading_alike(self, index: int) -> list[int]:
        """Return the loops that have their loads at the places of a loop's, itself among them."""
        return self._by_loads[frozenset(self.loads[index])]

    @cached_property
    def _by_loads(self) -> dict[frozenset[Place], list[int]]:
        alike: defaultdict[frozenset[Place], list[int]] = defaultdict(list)
        for index, loads in enumerate(self.loads):
            alike[frozenset(loads)].append(index)
        return alike


def _lds_filled(kernel: Loops[Instruction]) -> tuple[bool, ...]:
    """Return for each block whether LDS may have been written when it ends."""
    every = range(len(kernel.cfg.blocks))
    written = (n for n in every if any(map(writes_lds, kernel.block(n))))
    filled = reach(written, kernel.cfg.successors.__getitem__)
    return tuple(n in filled for n in every)


def remainders(function: Function, loops: Loops[Instruction]) -> frozenset[int]:
    """Return the loops that run the iterations left over from one that LLVM unrolled.

    The block of a loop whose source had none of its own has no name, but the one before it has.
    """
    labels = {
        each.line: bool(named["before"])
        for each in function.statements
        if isinstance(each, Label) and (named := _REMAINDER.search(each.text)) is not None
    }

    def runs_the_rest(index: int) -> bool:
        if labels.get(loops.header(index).line) is False:
            return True
        before = loops.cfg.graph.predecessors[loops.forest.loops[index].header]
        return any(labels.get(loops.cfg.blocks[each].line) for each in before)

    return frozenset(filter(runs_the_rest, range(len(loops.forest.loops))))


def unroll_factor(loops: KernelLoops, rests: frozenset[int], index: int) -> int | None:
    """Return how many iterations of the source a round of a loop runs; ``None`` if uncertain.

    Args:
        rests: Those of them that run left-over iterations.
    """
    if not rests:
        return None
    alike = loops.alike(index) if loops.locations(index) else []
    if len(alike) != 2:  # LLVM may have moved a branch back to the line of another instruction
        alike = loops.loading_alike(index) if loops.loads[index] else []
    rest = [n for n in alike if n in rests]
    if len(alike) != 2 or len(rest) != 1:
        return None
    if index in rests:
        return 1
    steps = [_step(loops, n) for n in (index, *rest)]
    loads, once = loops.loads[index], loops.loads[rest[0]]
    if None in steps or not once or loads.keys() != once.keys():
        return None
    factors = {divmod(loads[at], once[at]) for at in once} | {divmod(steps[0] or 0, steps[1] or 1)}
    factor, left = factors.pop()
    return factor if not factors and not left and factor > 1 else None


def _loads(body: Iterable[Instruction]) -> Counter[Place]:
    loads = Counter[Place]()
    for instruction in body:
        read = transfer(instruction)
        if read is not None:
            loads[instruction.locations] += read.bytes or 0
    return Counter({at: amount for at, amount in loads.items() if amount})


def _step(loops: Loops[Instruction], index: int) -> int | None:
    """Return the amount by which a loop's counter changes; ``None`` if unknown or 0.

    The counter is the only operand of the comparison before the branch back that the loop changes.
    """
    operations = [each for instruction in loops.own(index) for each in instruction.operations]
    compared = next((o for o in reversed(operations) if o.mnemonic.startswith("s_cmp_")), None)
    counters = [n for o in compared.operands for n in _scalars(o)] if compared else []
    writes = [o for o in operations if any(n in counters for n in _scalars(*o.operands[:1]))]
    writes = [o for o in writes if not (o.mnemonic.startswith("s_cmp_") or branches(o.mnemonic))]
    return _constant(writes[0]) if len(writes) == 1 else None


def _scalars(*operands: Operand) -> Iterator[int]:
    """Yield the numbers of the scalar registers of some operands."""
    for operand in operands:
        for each in operand.registers:
            if each.file == "s":
                yield from range(each.first, each.first + each.count)


def _constant(operation: Operation) -> int | None:
    """Return the constant's amount where an operation adds one to its own destination."""
    match = _ADDS.fullmatch(operation.mnemonic)
    to, *others = operation.operands
    constants = [each for each in others if _INTEGER.fullmatch(each.text)]
    kept = [each for each in others if each not in constants]
    if match is None or len(constants) != 1 or any(each.text != to.text for each in kept):
        return None
    return abs(int(constants[0].text, 0)) or None
