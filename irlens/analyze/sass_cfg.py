"""Control flow that only SASS has: reconvergence barriers and subroutine calls.

Since Volta the threads of a warp diverge and meet again through barrier registers: ``BSSY B0, L``
names the place L where the threads that take part in B0 continue, ``BSYNC B0`` waits for the
others and goes there, ``BREAK B0`` leaves. So the successors of a BSYNC are the targets of
the BSSYs that reach it.

Subroutines are called by ``CALL.REL`` with the return address in a register that a MOV before the
call filled, and they return by ``RET.REL`` through it.
"""

import msgspec

from irlens.analyze import cfg
from irlens.analyze.cfg import Block, Cfg
from irlens.analyze.graph import Successors, reverse_postorder
from irlens.isa.sass import Instruction, Section

#: Barrier registers of a thread: B0 to B15.
_BARRIERS = 16

#: More than ptxas emits; the work grows with their number times the number of blocks.
_MOST_SITES = 2048
_MOST_SUBROUTINES = 256


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call of a subroutine in the same section, which ends a block.

    Attributes:
        block: The block that it ends.
        entry: The block in which the subroutine starts.
    """

    block: int
    entry: int


class SassCfg(Cfg, frozen=True, kw_only=True):
    """Control flow of a section within each function: a call leads to the block behind it.

    Attributes:
        calls: Calls of subroutines in the section.
        returns: Blocks that end in a return.
        outside: What is not known about code of the driver that calls run, outside of the section;
            empty without such calls. It returns behind the call, and leaves groups of
            asynchronous copies alone.
    """

    calls: tuple[Call, ...]
    returns: tuple[int, ...]
    outside: str = ""


def build(section: Section) -> SassCfg:
    """Return the basic blocks of a section and their successors."""
    return _Builder(section).build()


def with_far_jumps(flow: SassCfg) -> Successors:
    """Return the successors, with calls that never return leading to their callee.

    ptxas for sm_80 leaves a loop that way, for code that is far away.
    """
    returns = set(flow.returns)
    successors = list(flow.successors)
    for call in flow.calls:
        if returns.isdisjoint(reverse_postorder(flow.successors, call.entry)):
            targets = (*successors[call.block], call.entry)
            successors[call.block] = tuple(dict.fromkeys(targets))
    return tuple(successors)


class _Builder:
    """Adds barriers and calls to the plain control flow."""

    def __init__(self, section: Section) -> None:
        self.section = section
        plain = cfg.build(section)
        self.blocks: tuple[Block, ...] = plain.blocks if section.instructions else ()
        self.lasts = [section.instructions[block.stop - 1] for block in self.blocks]
        self.successors = list(plain.successors[: len(self.blocks)])
        self.block_at = {block.start: number for number, block in enumerate(self.blocks)}
        self.unknown = [plain.unknown] if plain.unknown else []
        self.outside: list[str] = []

    def build(self) -> SassCfg:
        calls, returns = [], []
        for block, last in enumerate(self.lasts):
            if last.opcode == "RET":
                returns.append(block)
            elif last.opcode == "CALL" and (entry := self._callee(last)) is not None:
                calls.append(Call(block, entry))
        entries = {call.entry for call in calls}
        if len(entries) > _MOST_SUBROUTINES:
            self.unknown.append(f"how {len(entries)} subroutines call each other")
        self._join({0, *entries} if self.blocks else set())
        return SassCfg(
            blocks=self.blocks,
            successors=tuple(self.successors),
            calls=tuple(calls),
            returns=tuple(returns),
            unknown=self.unknown[0] if self.unknown else "",
            outside=self.outside[0] if self.outside else "",
        )

    def _callee(self, call: Instruction) -> int | None:
        entries = self._at(call.targets)
        if len(entries) == 1 and "REL" in call.modifiers:
            return entries[0]
        # ptxas takes the address of what the driver provides from constant bank 4.
        absolute = "ABS" in call.modifiers and not call.targets
        (self.outside if absolute else self.unknown).append(
            f"what the code outside that CALL at {call.offset:#06x} runs does"
        )
        return None

    def _at(self, labels: tuple[str, ...] | list[str]) -> list[int]:
        """Blocks behind labels; none for a label behind the last instruction."""
        blocks = []
        for label in labels:
            index = self.section.labels.get(label)
            if index is None:
                self.unknown.append(f"where {label} is")
            elif index in self.block_at:
                blocks.append(self.block_at[index])
        return blocks

    def _join(self, entries: set[int]) -> None:
        """Lead each BSYNC to the targets of the BSSYs that reach it."""
        barriers = _Barriers(self.lasts)
        if barriers.count > _MOST_SITES:
            self.unknown.append(f"where threads that {barriers.count} BSSYs part meet again")
            return
        state = [0] * len(self.blocks)
        pending = sorted(entries, reverse=True)
        seen = set(pending)
        while pending:
            block = pending.pop()
            last = self.lasts[block]
            if last.opcode == "BSYNC":
                targets = self._at(barriers.named(last, state[block]))
                self.successors[block] = tuple(dict.fromkeys((*self.successors[block], *targets)))
            after = barriers.after(block, state[block])
            for target in self.successors[block]:
                if target not in seen or after & ~state[target]:
                    state[target] |= after
                    seen.add(target)
                    pending.append(target)
        for block in sorted(seen):
            last = self.lasts[block]
            if last.opcode == "BSYNC" and not barriers.named(last, state[block]):
                self.unknown.append(f"where BSYNC at {last.offset:#06x} leads")


class _Barriers:
    """The BSSYs that each barrier register may hold, as bits; BMOV saves and restores them.

    Bit ``register * count + n`` says that the n-th BSSY may be in that register. What BMOV has
    saved counts as one more register: the general register that it went to is not followed.
    """

    def __init__(self, lasts: list[Instruction]) -> None:
        self.lasts = lasts
        self.sites = [n for n, last in enumerate(lasts) if last.opcode == "BSSY"]
        self.number = {block: n for n, block in enumerate(self.sites)}
        self.count = len(self.sites)
        self.every = (1 << self.count) - 1

    def held(self, register: int, state: int) -> int:
        return state >> register * self.count & self.every

    def named(self, sync: Instruction, state: int) -> list[str]:
        """Labels that a BSYNC may lead to."""
        register = _barrier(sync)
        held = self.held(register, state) if register >= 0 else 0
        return [
            target
            for number, block in enumerate(self.sites)
            if held >> number & 1
            for target in self.lasts[block].targets
        ]

    def after(self, block: int, state: int) -> int:
        """State behind a block, whose last instruction is the one that can change it."""
        last = self.lasts[block]
        register = _barrier(last)
        if register < 0:
            return state
        if last.opcode == "BMOV" and _saves(last):
            return state | self.held(register, state) << _BARRIERS * self.count
        if last.opcode == "BMOV":
            arriving = self.held(_BARRIERS, state)
        elif last.opcode == "BSSY":
            arriving = 1 << self.number[block]
        else:
            return state
        if last.guard is None:
            state &= ~(self.every << register * self.count)
        return state | arriving << register * self.count


def _saves(move: Instruction) -> bool:
    """Whether a BMOV goes from a barrier register to a general one."""
    return not move.operands[0].registers or move.operands[0].registers[0].file != "B"


def _barrier(instruction: Instruction) -> int:
    """Return the number of the barrier register that an instruction names; -1 without one."""
    for operand in instruction.operands:
        for register in operand.registers:
            index = register.index
            if register.file == "B" and index is not None and index < _BARRIERS:
                return index
    return -1
