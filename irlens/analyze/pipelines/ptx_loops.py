"""Loops of a PTX function, as every mechanism of NVIDIA's GPUs needs them."""

from collections.abc import Iterable, Iterator

from irlens.analyze.cfg import Cfg
from irlens.analyze.loops import Loops
from irlens.analyze.pipelines.warp_specialization import WARP_SIZE, Specialization
from irlens.analyze.solver import reach
from irlens.isa.ptx import Address, Function, Instruction, Operand, Register, Symbol, effects
from irlens.isa.ptx.copies import base_register
from irlens.isa.ptx.registers import access
from irlens.model.resources import WarpGroup
from irlens.model.source import SourceLocation


class FunctionLoops(Loops[Instruction], frozen=True, kw_only=True):
    """A PTX function, its control flow and its loops.

    Attributes:
        lookups: Offsets in the text of loads from the program's own tables.
        specialization: The warp groups and their blocks; ``None`` where all warps do the same.
    """

    function: Function
    lookups: frozenset[int]
    specialization: Specialization | None = None

    def name(self, loop: int) -> str:
        """Label of a loop's header, or its line: the function's first block needs no label."""
        return self.header(loop).label or f"line {self.header(loop).line}"

    def warp_group(self, block: int) -> WarpGroup | None:
        """Return the warps that run a block; ``None`` if all of the CTA do, or if unknown."""
        known = self.specialization
        number = known.of_block.get(block) if known is not None else None
        return known.groups[number] if known is not None and number is not None else None

    def threads(self, loop: int, threads_per_cta: int | None) -> int | None:
        """Return how many threads of a CTA run a loop; ``None`` if unknown."""
        return self.threads_of(self.forest.loops[loop].header, threads_per_cta)

    def threads_of(self, block: int, threads_per_cta: int | None) -> int | None:
        """Return how many threads of a CTA run a block; ``None`` if unknown."""
        if self.specialization is None:
            return threads_per_cta
        group = self.warp_group(block)
        return None if group is None else group.num_warps * WARP_SIZE

    def locations(self, loop: int) -> tuple[SourceLocation, ...]:
        """Return the source location of a loop: that of its back edge.

        Triton gives the branch, and the comparison in front of it, the location of the ``for``.
        Everything else in header and latch comes from the body or was hoisted across it.
        """
        for latch in self.forest.loops[loop].latches:
            instructions = self.block(latch)
            branch = instructions[-1] if instructions else None
            if branch is None:
                continue
            if branch.locations:
                return branch.locations
            for instruction in reversed(instructions[:-1]):
                first = instruction.operands[0] if instruction.operands else None
                if isinstance(first, Register) and first.name == branch.predicate:
                    return instruction.locations
        return ()

    def reads_global(self, instruction: Instruction) -> bool:
        """Whether it reads data from global memory, or may: a generic load can.

        Tables that the program carries do not count: they are small and stay in a cache.
        """
        return instruction.start not in self.lookups and effects.reads_global(instruction)


def analyze_loops(
    function: Function, cfg: Cfg, specialization: Specialization | None = None
) -> FunctionLoops:
    """Find a function's loops."""
    return FunctionLoops(
        function.instructions,
        cfg,
        cfg.forest,
        function=function,
        lookups=table_loads(function),
        specialization=specialization,
    )


def table_loads(function: Function) -> frozenset[int]:
    """Return the offsets of loads whose address comes from a table in the PTX.

    libdevice's ``sin`` walks over such a table, in a loop of its own, for large arguments.
    """
    if not function.tables:
        return frozenset()
    addressing = [each for each in function.instructions if effects.computes_address(each)]
    from_table = set[str]()
    before = -1
    while before < len(from_table):  # until no loop adds any
        before = len(from_table)
        for instruction in addressing:
            named = any(_names(each, function.tables) for each in instruction.operands)
            accessed = access(instruction) if named or from_table else None
            if accessed is not None and (named or not from_table.isdisjoint(accessed.reads)):
                from_table.update(accessed.writes)
    return frozenset(
        instruction.start
        for instruction in function.instructions
        if effects.loads(instruction)
        and any(_names(each, function.tables | from_table) for each in instruction.operands[1:])
    )


def _names(operand: Operand, names: frozenset[str]) -> bool:
    """Whether an operand, or the base of an address, is one of some registers and variables."""
    base = operand.base if isinstance(operand, Address) else operand
    return isinstance(base, Register | Symbol) and base.name in names


def depended_on(function: Function, operands: Iterable[Operand]) -> frozenset[int]:
    """Return the instructions that the value of some operands can depend on (a program slice)."""
    writers: dict[str, list[int]] = {}
    reads: dict[int, tuple[str, ...]] = {}
    for index, instruction in enumerate(function.instructions):
        accessed = access(instruction)
        if accessed is not None:
            reads[index] = accessed.reads
            for name in accessed.writes:
                writers.setdefault(name, []).append(index)
    slice_ = set[int]()

    def read(name: str) -> Iterator[str]:
        for index in writers.get(name, ()):
            slice_.add(index)
            yield from reads[index]

    reach((name for name in map(base_register, operands) if name is not None), read)
    return frozenset(slice_)
