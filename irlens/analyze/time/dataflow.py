"""What the registers of a kernel's machine code depend on, and what its instructions compute."""

from collections.abc import Mapping
from operator import or_
from types import MappingProxyType

import msgspec

from irlens.analyze.graph import FlowGraph
from irlens.analyze.sass_cfg import SassCfg
from irlens.analyze.solver import solve
from irlens.analyze.time.local_words import (
    REGISTERS,
    LocalWords,
    as_step,
    find_local_words,
    word_access,
)
from irlens.analyze.time.operands import Launch, State, Step
from irlens.analyze.time.semantics import compile_step, written
from irlens.isa.dialect import Access
from irlens.isa.sass import Instruction, Section
from irlens.isa.sass.registers import FILES, access


class UnknownPathError(Exception):
    """A path cannot be followed; the message says why."""


class Slice(msgspec.Struct, frozen=True):
    """The instructions that branches depend on.

    Attributes:
        by_block: Their indices, by block.
        special: Special registers that they read.
    """

    by_block: tuple[tuple[int, ...], ...]
    special: frozenset[str]


class DataFlow:
    """The registers, and the words of local memory, that the instructions of a kernel use.

    Args:
        section: The kernel.
        flow: Its control flow.

    Attributes:
        section: The kernel.
        flow: Its control flow.
        local: The words of local memory.

    Raises:
        UnknownPathError: The registers of an instruction are not known.
    """

    def __init__(self, section: Section, flow: SassCfg) -> None:
        accesses = [_registers(each) for each in section.instructions]
        self.section, self.flow = section, flow
        self.local = find_local_words(section, flow, [each.writes for each in accesses])
        self._accesses = [
            _with_words(instruction, self.local, accessed)
            for instruction, accessed in zip(section.instructions, accesses, strict=True)
        ]
        self._graph = FlowGraph(flow.through_calls)

    def slice(self, also: Mapping[int, int] = MappingProxyType({})) -> Slice:
        """Return the instructions that the branches depend on.

        Args:
            also: Registers of other instructions that are asked for, as bits, by index.
        """
        wanted: set[int] = set()
        blocks = self.flow.blocks

        def before(number: int, needed: int) -> int:
            return self._through(blocks[number].indices, needed, wanted, also)

        nothing = dict.fromkeys(range(len(blocks)), 0)
        solve(self._graph, nothing, before, or_, backward=True)
        special = frozenset(
            operand.text
            for index in wanted
            for operand in self.section.instructions[index].operands
            if operand.kind == "special"
        )
        return Slice(
            tuple(tuple(index for index in block.indices if index in wanted) for block in blocks),
            special,
        )

    def initial_state(self) -> State:
        """Return the state of a thread that begins.

        Registers hold anything, and no path depends on what: ptxas keeps several conditions in the
        bits of one register, which it sets one by one.
        """
        return [0] * REGISTERS + [None] * (self.local.size - REGISTERS)

    def step(self, index: int, launch: Launch) -> Step:
        """Return what an instruction does to a state: what is not understood makes it unknown."""
        instruction = self.section.instructions[index]
        words = self.local.words.get(instruction.offset)
        if words is not None:
            return as_step(instruction, words)
        step = None if _loads(instruction) else compile_step(instruction, launch)
        if step is not None:
            return step
        targets = written(instruction)

        def forget(state: State) -> None:
            for target in targets:
                state[target] = None

        return forget

    def _through(
        self, indices: range, needed: int, wanted: set[int], also: Mapping[int, int]
    ) -> int:
        """Return what is needed before a block, and add its instructions that are wanted."""
        for index in reversed(indices):
            reads, writes, kills = self._accesses[index]
            instruction = self.section.instructions[index]
            if index == indices.stop - 1 and _decides(instruction):
                needed |= reads
                continue
            if instruction.opcode == "CALL" and instruction.guard is not None:
                register = instruction.guard.register
                if register.index is not None:
                    needed |= FILES.bits(register.file, register.index, 1)
            if writes & needed:
                wanted.add(index)
                needed = needed & ~kills | reads
            needed |= also.get(index, 0)
        return needed


def _registers(instruction: Instruction) -> Access:
    accessed = access(instruction)
    if accessed is None:
        where = f"{instruction.opcode} at {instruction.offset:#06x}"
        raise UnknownPathError(f"{where} is not understood")
    return accessed


def _with_words(
    instruction: Instruction, local: LocalWords, accessed: Access
) -> tuple[int, int, int]:
    """Return what an instruction reads, writes and replaces, as bits: a load reads nothing."""
    reads, writes, kills = accessed.reads, accessed.writes, accessed.kills
    if instruction.opcode in ("IMAD", "UIMAD") and "HI" in instruction.modifiers:
        reads |= _upper_halves(instruction)
    words = local.words.get(instruction.offset)
    if words is not None:
        more = word_access(instruction, words)
        return reads | more[0], writes | more[1], kills | more[2]
    return 0 if _loads(instruction) else reads, writes, kills


def _upper_halves(instruction: Instruction) -> int:
    """IMAD.HI adds a pair, of which the disassembly names the lower half."""
    last = next((o for o in reversed(instruction.operands) if o.registers), None)
    if last is None or last.registers[0].index is None:
        return 0
    return FILES.bits(last.registers[0].file, last.registers[0].index, 2)


def _decides(instruction: Instruction) -> bool:
    return instruction.opcode in ("BRA", "BRX", "BRXU", "EXIT", "RET", "BSYNC", "KILL")


def _loads(instruction: Instruction) -> bool:
    if instruction.opcode == "SHFL" and "IDX" in instruction.modifiers:
        return [each.text for each in instruction.operands][-2:-1] != ["RZ"]
    return instruction.opcode in ("LDG", "LDS", "LDL", "LD", "SHFL", "ATOMG", "ATOM", "ATOMS")
