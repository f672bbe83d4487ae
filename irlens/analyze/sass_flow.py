"""Control flow of a SASS section: basic blocks, reconvergence, subroutines.

Since Volta threads of a warp part and meet again through barrier registers: ``BSSY B0, L`` names
the place L where those that take part in B0 go on, ``BSYNC B0`` waits for the others and goes
there, ``BREAK B0`` leaves. So the successors of a BSYNC are the places that the BSSYs which reach
it have named.

Subroutines are called by ``CALL.REL`` with the return address in a register that a MOV before the
call filled, and they return by ``RET.REL`` through it.
"""

from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from irlens.analyze.graph import Successors, reverse_postorder
from irlens.isa.sass import Instruction, Section

_BRANCHES = frozenset({"BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU"})
_ENDS = frozenset({"EXIT", "RET", "KILL"})

#: What a block ends with: what leads elsewhere, or changes where a BSYNC will lead.
_LAST = _BRANCHES | _ENDS | {"CALL", "BSYNC", "BSSY", "BMOV"}

#: Barrier registers of a thread: B0 to B15.
_BARRIERS = 16

#: More than ptxas writes; the work grows with their product with the number of blocks.
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


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """Control flow inside each function: a call leads to what follows it.

    Attributes:
        blocks: For each basic block the indices of its instructions.
        successors: For each block those that can follow it.
        calls: Calls of subroutines in the section.
        returns: Blocks that end in a return.
        unknown: What is not known of it; empty if it all is.
        outside: What is not known of the code outside of the section that calls run. They come
            back behind the call, and leave groups of asynchronous copies alone: it is the
            driver's. Empty if there is none.
    """

    blocks: tuple[range, ...]
    successors: Successors
    calls: tuple[Call, ...]
    returns: tuple[int, ...]
    unknown: str = ""
    outside: str = ""


def build(section: Section) -> Flow:
    """Find the basic blocks of a section and how they follow each other."""
    return _Builder(section).build()


def with_far_jumps(flow: Flow) -> Successors:
    """Return the successors with calls that never return leading to what they call.

    ptxas for sm_80 leaves a loop that way, for code that is far away.
    """
    returns = set(flow.returns)
    found = list(flow.successors)
    for call in flow.calls:
        if returns.isdisjoint(reverse_postorder(flow.successors, call.entry)):
            found[call.block] = tuple(dict.fromkeys((*found[call.block], call.entry)))
    return tuple(found)


class _Builder:
    def __init__(self, section: Section) -> None:
        self.instructions = section.instructions
        self.labels = section.labels
        self.unknown: list[str] = []
        self.outside: list[str] = []
        count = len(self.instructions)
        starts = {0, *section.labels.values()}
        starts.update(n + 1 for n, each in enumerate(self.instructions) if each.opcode in _LAST)
        self.starts = sorted(start for start in starts if start < count)
        self.ends = [*self.starts[1:], count] if count else []

    def build(self) -> Flow:
        successors: list[tuple[int, ...]] = []
        calls, returns = [], []
        for block, end in enumerate(self.ends):
            last = self.instructions[end - 1]
            successors.append(tuple(dict.fromkeys(self._following(block, last))))
            if last.opcode == "RET":
                returns.append(block)
            elif last.opcode == "CALL" and (entry := self._callee(last)) is not None:
                calls.append(Call(block, entry))
        entries = {call.entry for call in calls}
        if len(entries) > _MOST_SUBROUTINES:
            self.unknown.append(f"how {len(entries)} subroutines call each other")
        self._join(successors, {0, *entries} if self.ends else set())
        return Flow(
            blocks=tuple(map(range, self.starts, self.ends)),
            successors=tuple(successors),
            calls=tuple(calls),
            returns=tuple(returns),
            unknown=self.unknown[0] if self.unknown else "",
            outside=self.outside[0] if self.outside else "",
        )

    def _following(self, block: int, last: Instruction) -> Iterable[int]:
        if last.opcode in _BRANCHES:
            if not last.targets:
                self.unknown.append(f"where {last.opcode} at {last.offset:#06x} leads")
            for target in last.targets:
                yield from self._at(target)
        if not self._always_leaves(last) and block + 1 < len(self.starts):
            yield block + 1

    def _always_leaves(self, last: Instruction) -> bool:
        if last.guard is not None and (last.guard.register.index is not None or last.guard.never):
            return False
        if last.opcode == "BRA":
            # BRA P0, L and BRA.U UP0, L branch under a predicate that is not written as a guard,
            # BRA.DIV UR4, L if the warp has diverged.
            predicates = [register for operand in last.operands for register in operand.registers]
            return all(register.index is None for register in predicates)
        return last.opcode in _BRANCHES or last.opcode in _ENDS or last.opcode == "BSYNC"

    def _callee(self, call: Instruction) -> int | None:
        found = [entry for target in call.targets for entry in self._at(target)]
        if len(found) == 1 and "REL" in call.modifiers:
            return found[0]
        # ptxas takes the address of what the driver provides from constant bank 4.
        absolute = "ABS" in call.modifiers and not call.targets
        told = self.outside if absolute else self.unknown
        told.append(f"what the code outside that CALL at {call.offset:#06x} runs does")
        return None

    def _at(self, label: str) -> Iterable[int]:
        """Block behind a label; none for a label behind the last instruction."""
        index = self.labels.get(label)
        if index is None:
            self.unknown.append(f"where {label} is")
        elif index < len(self.instructions):
            yield bisect_right(self.starts, index) - 1

    def _join(self, successors: list[tuple[int, ...]], entries: set[int]) -> None:
        """Lead each BSYNC to the places that the BSSYs which reach it have named."""
        barriers = _Barriers([self.instructions[end - 1] for end in self.ends])
        if barriers.count > _MOST_SITES:
            self.unknown.append(f"where threads that {barriers.count} BSSYs part meet again")
            return
        state = [0] * len(self.ends)
        pending = sorted(entries, reverse=True)
        seen = set(pending)
        while pending:
            block = pending.pop()
            last = self.instructions[self.ends[block] - 1]
            if last.opcode == "BSYNC":
                names = barriers.named(last, state[block])
                targets = [place for name in names for place in self._at(name)]
                successors[block] = tuple(dict.fromkeys((*successors[block], *targets)))
            after = barriers.after(block, state[block])
            for target in successors[block]:
                if target not in seen or after & ~state[target]:
                    state[target] |= after
                    seen.add(target)
                    pending.append(target)
        for block in sorted(seen):
            last = self.instructions[self.ends[block] - 1]
            if last.opcode == "BSYNC" and not barriers.named(last, state[block]):
                self.unknown.append(f"where BSYNC at {last.offset:#06x} leads")


class _Barriers:
    """Which BSSY each barrier register may stem from, as bits; BMOV saves and restores them.

    Bit ``register * count + n`` says that the n-th BSSY may be in that register. What BMOV has
    saved is kept as one more register: which general register it went to is not followed.
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
    """Number of the barrier register that an instruction names; -1 if there is none."""
    for operand in instruction.operands:
        for register in operand.registers:
            index = register.index
            if register.file == "B" and index is not None and index < _BARRIERS:
                return index
    return -1
