"""Loops of a PTX function, with what every kind of pipeline wants to know about them."""

from irlens.analyze.cfg import Cfg
from irlens.analyze.graph import find_loops
from irlens.analyze.loops import Loops
from irlens.analyze.pipelines.warp_groups import WARP_SIZE, Specialization
from irlens.isa.ptx import Address, Function, Instruction, Operand, Register, Symbol
from irlens.isa.ptx.registers import access
from irlens.model.source import SourceLocation
from irlens.model.warp_groups import WarpGroup

_STATE_SPACES = frozenset({"const", "global", "local", "param", "shared"})
#: What addresses are made by.
_ADDRESSING = frozenset({"add", "cvta", "mad", "mov", "selp", "sub"})


class FunctionLoops(Loops[Instruction], frozen=True, kw_only=True):
    """A PTX function, its control flow and its loops.

    Attributes:
        function: The function.
        lookups: Where in the text loads of the program's own tables start.
        specialization: Who runs what, where not all warps do the same.
    """

    function: Function
    lookups: frozenset[int]
    specialization: Specialization | None = None

    def name(self, loop: int) -> str:
        """Label of a loop's header; a loop around the function's start has none to jump to."""
        return self.header(loop).label or f"line {self.header(loop).line}"

    def warp_group(self, block: int) -> WarpGroup | None:
        """Return the warps that run a block; ``None`` if all of the CTA do, or it is not known."""
        found = self.specialization
        number = found.of_block.get(block) if found is not None else None
        return found.groups[number] if found is not None and number is not None else None

    def threads(self, loop: int, threads_per_cta: int | None) -> int | None:
        """Return how many threads of a CTA run a loop; ``None`` if it is not known."""
        return self.threads_of(self.forest.loops[loop].header, threads_per_cta)

    def threads_of(self, block: int, threads_per_cta: int | None) -> int | None:
        """Return how many threads of a CTA run a block; ``None`` if it is not known."""
        if self.specialization is None:
            return threads_per_cta
        group = self.warp_group(block)
        return None if group is None else group.num_warps * WARP_SIZE

    def locations(self, loop: int) -> tuple[SourceLocation, ...]:
        """Where the debug information says the loop stands: the location of its back edge.

        Triton gives the branch, and the comparison in front of it, the place of the ``for``.
        What else stands in header and latch comes from the body or was hoisted across it.
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


def analyze_loops(
    function: Function, cfg: Cfg, specialization: Specialization | None = None
) -> FunctionLoops:
    """Find a function's loops."""
    return FunctionLoops(
        function.instructions,
        cfg,
        find_loops(cfg.successors),
        function=function,
        lookups=_lookups(function),
        specialization=specialization,
    )


def _lookups(function: Function) -> frozenset[int]:
    """Return where loads start whose address comes from a table in the PTX.

    libdevice's ``sin`` walks over such a table, in a loop of its own, for large arguments.
    """
    if not function.tables:
        return frozenset()
    addressing = [each for each in function.instructions if each.opcode in _ADDRESSING]
    from_table = set[str]()
    before = -1
    while before < len(from_table):  # until no loop brings more
        before = len(from_table)
        for instruction in addressing:
            found = access(instruction)
            named = any(_names(each, function.tables) for each in instruction.operands)
            if found is not None and (named or not from_table.isdisjoint(found.reads)):
                from_table.update(found.writes)
    return frozenset(
        instruction.start
        for instruction in function.instructions
        if instruction.opcode in ("ld", "ldu")
        and any(_names(each, function.tables | from_table) for each in instruction.operands[1:])
    )


def _names(operand: Operand, names: frozenset[str]) -> bool:
    """Whether an operand, or the base of an address, is one of some registers and variables."""
    base = operand.base if isinstance(operand, Address) else operand
    return isinstance(base, Register | Symbol) and base.name in names


def loop_source(locations: tuple[SourceLocation, ...]) -> SourceLocation | None:
    """Return the user's ``for``: the innermost frame that is in the kernel's own file.

    The outermost frame is in that file; a loop in a helper beside the kernel is named by its
    own line there, and one in a library by the line that calls the library.
    """
    return next((frame for frame in locations if frame.file == locations[-1].file), None)


def reads_global(loops: FunctionLoops, instruction: Instruction) -> bool:
    """Whether it reads data from global memory, or may: a generic load can.

    A table that the program brings with it is no data: it is small, and stays in a cache.
    """
    modifiers = instruction.modifiers
    if instruction.start in loops.lookups:
        return False
    if instruction.opcode in ("ld", "ldu"):
        spaces = _STATE_SPACES.intersection(m.partition("::")[0] for m in modifiers)
        return not spaces or "global" in spaces
    return is_copy(instruction) or is_bulk_load(instruction)


def is_copy(instruction: Instruction) -> bool:
    """Whether it is a non-bulk asynchronous copy (``cp.async.ca`` or ``cp.async.cg``)."""
    return instruction.opcode == "cp" and instruction.modifiers[:2] in (
        ("async", "ca"),
        ("async", "cg"),
    )


def is_bulk_load(instruction: Instruction) -> bool:
    """Whether it is a bulk copy (TMA) from global to shared memory."""
    modifiers = instruction.modifiers
    if (
        instruction.opcode != "cp"
        or modifiers[:2] != ("async", "bulk")
        or "global" not in modifiers
    ):
        return False
    # The destination stands first: a store is ".global.shared::cta", a prefetch has no ".shared".
    source = modifiers.index("global")
    return any(m.startswith("shared::") for m in modifiers[:source])
