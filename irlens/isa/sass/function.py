"""SASS code sections as the engines see them: branches and exits, register use, and the file.

Reconvergence barriers and calls are in ``irlens.analyze.sass_cfg``.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar

import msgspec

from irlens.isa.dialect import Access, BlockLabel, ControlFlow, RegisterUse, StackAccess, Terminator
from irlens.isa.sass import registers, units
from irlens.isa.sass.records import Instruction, SectionBody

_ON_STACK = re.compile(r"\[R1(?:\+(?P<offset>-?0x[0-9a-f]+))?\]")
BRANCHES = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU"})
EXITS = frozenset({"EXIT", "RET", "KILL"})
#: What ends a block because it leads elsewhere, or changes where a BSYNC will lead.
_TERMINATORS = BRANCHES | EXITS | {"CALL", "BSYNC", "BSSY", "BMOV"}


class Section(SectionBody, frozen=True, kw_only=True, dict=True):
    """A code section: a kernel and its subroutines (``irlens.isa.dialect.Function``)."""

    stage: ClassVar[str] = "sass"

    @cached_property
    def accesses(self) -> Sequence[Access | None]:
        """What each instruction reads and writes; ``None`` where that is not known."""
        return [each.access for each in self.instructions]

    def control_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin.

        A call leads to what follows it, and a BSYNC nowhere: where the threads that wait at one
        continue depends on the BSSYs that reach it, see ``irlens.analyze.sass_cfg``.
        """
        count = len(self.instructions)
        terminators: dict[int, Terminator] = {}
        unknown: list[str] = []
        for index, each in enumerate(self.instructions):
            if each.opcode not in _TERMINATORS:
                continue
            targets: list[int] = []
            if each.opcode in BRANCHES:
                if not each.targets:
                    unknown.append(f"where {each.opcode} at {each.offset:#06x} leads")
                for label in each.targets:
                    target = self.labels.get(label)
                    if target is None:
                        unknown.append(f"where {label} is")
                    elif target < count:  # a label after the last instruction marks padding
                        targets.append(target)
            terminators[index] = Terminator(tuple(targets), not _always_leaves(each))
        labels = {
            index: BlockLabel(name, self.instructions[index].line)
            for name, index in self.labels.items()
            if index < count
        }
        return ControlFlow(terminators, labels, unknown[0] if unknown else "")

    def register_use(self) -> RegisterUse:
        """Return what each instruction reads, writes and certainly overwrites, calls aside."""
        return registers.register_use(self, self.accesses)

    def stack_accesses(self) -> Iterator[StackAccess]:
        """Yield the instructions that access local memory: STL stores, LDL loads."""
        for index, each in enumerate(self.instructions):
            if each.opcode in units.LOCAL:
                stores, width = each.opcode in units.LOCAL_STORES, units.lane_bytes(each)
                yield StackAccess(index, stores, "memory", width, stack_offset(each))


class Sass(msgspec.Struct, frozen=True):
    """A disassembly.

    Attributes:
        unknown: Lines in code sections that are not understood, by 1-based line number.
    """

    sections: tuple[Section, ...]
    unknown: dict[int, str]


def stack_offset(access: Instruction) -> int | None:
    """Return the offset of an access from the stack pointer; ``None`` for any other address."""
    texts = [operand.text for operand in access.operands if operand.kind == "memory"]
    match = _ON_STACK.fullmatch(texts[0]) if texts else None
    return int(match["offset"] or "0", 16) if match else None


def _always_leaves(last: Instruction) -> bool:
    if last.guard is not None and (last.guard.register.index is not None or last.guard.never):
        return False
    if last.opcode == "BRA":
        # BRA P0, L and BRA.U UP0, L branch under a predicate that is not written as a guard,
        # BRA.DIV UR4, L if the warp has diverged.
        predicates = [register for operand in last.operands for register in operand.registers]
        return all(register.index is None for register in predicates)
    return last.opcode in BRANCHES or last.opcode in EXITS or last.opcode == "BSYNC"
