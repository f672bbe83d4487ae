"""The path that a warp takes through a kernel's machine code, found by computing its branches.

Only what branches depend on is computed: loop counters and what they are compared with. The rest
stays unknown, and a branch on unknown data ends the attempt, unless it only skips code.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from irlens.analyze.graph import find_loops
from irlens.analyze.sass_cfg import SassCfg, with_far_jumps
from irlens.analyze.time.local_words import LocalWords, as_step, find_local_words, word_access
from irlens.analyze.time.operands import Launch, State, Step, position
from irlens.analyze.time.semantics import compile_step, written
from irlens.analyze.time.semantics.predicates import reduces_argument
from irlens.isa.sass import Instruction, Section
from irlens.isa.sass.registers import FILES, access

#: Blocks that a path may run through, repetitions included.
_MOST_BLOCKS = 400_000


class UnknownPathError(Exception):
    """A path cannot be followed; the message says why."""


class Segment(msgspec.Struct, frozen=True):
    """Blocks that run one after the other, so many times in a row."""

    blocks: tuple[int, ...]
    times: int


class Path(msgspec.Struct, frozen=True):
    """What one warp runs.

    Attributes:
        segments: In the order in which they run.
        skipped: Blocks with a branch on data that is taken to skip what it can skip.
    """

    segments: tuple[Segment, ...]
    skipped: frozenset[int]

    def counts(self) -> Counter[int]:
        """Return how often each block runs."""
        counts: Counter[int] = Counter()
        for segment in self.segments:
            for block in segment.blocks:
                counts[block] += segment.times
        return counts


class Slice(msgspec.Struct, frozen=True):
    """The instructions that branches depend on.

    Attributes:
        by_block: Their indices, by block.
        special: Special registers that they read.
        local: The words of local memory that they may pass through.
    """

    by_block: tuple[tuple[int, ...], ...]
    special: frozenset[str]
    local: LocalWords


def branch_slice(
    section: Section, flow: SassCfg, also: Mapping[int, int] = MappingProxyType({})
) -> Slice:
    """Return the instructions that the branches of a section depend on.

    Args:
        section: The kernel.
        flow: Its control flow.
        also: Registers of other instructions that are asked for, as bits, by index.

    Raises:
        UnknownPathError: The registers of an instruction are not known.
    """
    local = find_local_words(section, flow)
    accesses = [_access(each, local) for each in section.instructions]
    successors = with_far_jumps(flow)
    live = [0] * len(flow.blocks)  # at each block's beginning
    wanted: set[int] = set()
    changed = True
    while changed:
        changed = False
        for number in range(len(flow.blocks) - 1, -1, -1):
            needed = 0
            for target in successors[number]:
                needed |= live[target]
            indices = flow.blocks[number].indices
            needed = _through(section, indices, accesses, needed, wanted, also)
            if needed | live[number] != live[number]:
                live[number] |= needed
                changed = True
    by_block = tuple(
        tuple(index for index in block.indices if index in wanted) for block in flow.blocks
    )
    special = frozenset(
        operand.text
        for index in wanted
        for operand in section.instructions[index].operands
        if operand.kind == "special"
    )
    return Slice(by_block, special, local)


def _access(instruction: Instruction, local: LocalWords) -> tuple[int, int, int]:
    """Return what an instruction reads, writes and replaces, as bits: a load reads nothing."""
    accessed = access(instruction)
    if accessed is None:
        where = f"{instruction.opcode} at {instruction.offset:#06x}"
        raise UnknownPathError(f"{where} is not understood")
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


def _through(
    section: Section,
    indices: range,
    accesses: Sequence[tuple[int, int, int]],
    needed: int,
    wanted: set[int],
    also: Mapping[int, int],
) -> int:
    for index in reversed(indices):
        reads, writes, kills = accesses[index]
        instruction = section.instructions[index]
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


def step_of(instruction: Instruction, launch: Launch, local: LocalWords) -> Step:
    """Return what an instruction does to a state: what is not understood makes it unknown."""
    words = local.words.get(instruction.offset)
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


def _decides(instruction: Instruction) -> bool:
    return instruction.opcode in ("BRA", "BRX", "BRXU", "EXIT", "RET", "BSYNC", "KILL")


def _loads(instruction: Instruction) -> bool:
    if instruction.opcode == "SHFL" and "IDX" in instruction.modifiers:
        return [each.text for each in instruction.operands][-2:-1] != ["RZ"]
    return instruction.opcode in ("LDG", "LDS", "LDL", "LD", "SHFL", "ATOMG", "ATOM", "ATOMS")


class Machine:
    """Follows the paths of a kernel's warps.

    Args:
        section: The kernel.
        flow: Its control flow.

    Raises:
        UnknownPathError: Its control flow is not known.
    """

    def __init__(self, section: Section, flow: SassCfg) -> None:
        if flow.unknown:
            raise UnknownPathError(flow.unknown)
        self.section, self.flow = section, flow
        self.slice = branch_slice(section, flow)
        successors = with_far_jumps(flow)
        self._forest = find_loops(successors)
        self._headers = {loop.header for loop in self._forest.loops}
        self._block_at = {block.start: number for number, block in enumerate(flow.blocks)}
        self._callees = {call.block: call.entry for call in flow.calls}
        self._jumps = {call.block for call in flow.calls if call.entry in successors[call.block]}
        self._traps = {
            call.block
            for call in flow.calls
            if any(
                section.instructions[at].opcode == "BPT" for at in flow.blocks[call.entry].indices
            )
        }
        self._assuming = {
            number
            for number, block in enumerate(flow.blocks)
            if any(reduces_argument(section.instructions[index]) for index in block.indices)
        }

    @property
    def varies_by_program(self) -> bool:
        """Whether programs may take different paths."""
        return any(name.startswith("SR_CTAID") for name in self.slice.special)

    @property
    def varies_by_warp(self) -> bool:
        """Whether the warps of a program may take different paths."""
        return bool(self.slice.special & {"SR_TID.X", "SR_VIRTID", "SR_TID"})

    def follow(self, launch: Launch) -> Path:
        """Return the path of one warp, that of its first lane.

        Raises:
            UnknownPathError: A branch depends on data, or the path is too long.
        """
        return _Walk(self, launch).path()


class _Walk:
    """One thread on its way."""

    def __init__(self, machine: Machine, launch: Launch) -> None:
        self.machine = machine
        self.section, self.flow = machine.section, machine.flow
        local = machine.slice.local
        self.state: State = [None] * local.size
        self.steps: list[list[Step]] = [
            [step_of(self.section.instructions[index], launch, local) for index in block]
            for block in machine.slice.by_block
        ]
        self.barriers: dict[int, int] = {}
        self.returns: list[int] = []
        self.skipped: set[int] = set()

    def path(self) -> Path:
        segments: list[Segment] = []
        current: list[int] = []
        block: int | None = 0 if self.flow.blocks else None
        headers = self.machine._headers
        for _ in range(_MOST_BLOCKS):
            if block is None:
                break
            if block in headers and current:
                _append(segments, tuple(current))
                current = []
            current.append(block)
            for step in self.steps[block]:
                step(self.state)
            block = self._next(block)
        else:
            raise UnknownPathError(f"a warp runs through more than {_MOST_BLOCKS:,} blocks")
        if current:
            _append(segments, tuple(current))
        self.skipped |= {b for s in segments for b in s.blocks if b in self.machine._assuming}
        return Path(tuple(segments), frozenset(self.skipped))

    def _next(self, block: int) -> int | None:
        last = self.section.instructions[self.flow.blocks[block].stop - 1]
        opcode = last.opcode
        following = self._following(block)
        if opcode == "BSSY":
            self._arm(last)
            return following
        if opcode == "CALL" and block in self.machine._callees:
            return self._call(block, last, following)
        if opcode == "BSYNC":
            return self.barriers.get(self._barrier(last), following)
        if opcode == "RET":
            return self.returns.pop() if self.returns else None
        if opcode not in ("BRA", "EXIT", "KILL", "BRX", "BRXU", "JMP"):
            return following
        held = self._held(last)
        if opcode in ("EXIT", "KILL"):
            # A lane that leaves early says nothing of its warp.
            return None if held or following is None else following
        if opcode in ("BRX", "BRXU"):
            raise UnknownPathError(f"where {opcode} at {last.offset:#06x} leads")
        target = self._target(last)
        if held is None:
            return self._skip(block, last, target, following)
        return target if held else following

    def _call(self, block: int, last: Instruction, following: int | None) -> int | None:
        """Go to a subroutine, or as with a branch where none returns from it."""
        held = self._held(last)
        if held is None:
            raise UnknownPathError(_data_dependent(last))
        if not held:
            return following
        if following is not None and block not in self.machine._jumps:
            self.returns.append(following)
        return self.machine._callees[block]

    def _following(self, block: int) -> int | None:
        return block + 1 if block + 1 < len(self.flow.blocks) else None

    def _target(self, last: Instruction) -> int | None:
        for label in last.targets:
            at = self.section.labels.get(label)
            if at in self.machine._block_at:
                return self.machine._block_at[at]
        return None

    def _arm(self, last: Instruction) -> None:
        target = self._target(last)
        if target is not None:
            self.barriers[self._barrier(last)] = target

    def _barrier(self, instruction: Instruction) -> int:
        for operand in instruction.operands:
            for register in operand.registers:
                if register.file == "B" and register.index is not None:
                    return register.index
        return -1

    def _held(self, last: Instruction) -> bool | None:
        """Whether the branch is taken; ``None`` if unknown."""
        if "DIV" in last.modifiers:  # to code for a warp that has diverged
            return False
        outcomes: list[bool | None] = []
        guard = last.guard
        if guard is not None:
            value = self._predicate(guard.register.file, guard.register.index)
            outcomes.append(None if value is None else value != guard.negated)
        for operand in last.operands:
            if operand.kind == "register" and operand.registers[0].file in ("P", "UP"):
                register = operand.registers[0]
                value = self._predicate(register.file, register.index)
                negated = operand.text.startswith("!")
                outcomes.append(None if value is None else value != negated)
        if False in outcomes:
            return False
        return None if None in outcomes else True

    def _predicate(self, file: str, index: int | None) -> bool | None:
        if index is None:
            return True
        value = self.state[position(file, index)]
        return None if value is None else bool(value)

    def _skip(
        self, block: int, last: Instruction, target: int | None, following: int | None
    ) -> int | None:
        """Go on behind a branch on data that skips no loop, where both ways lead to the same."""
        forest = self.machine._forest
        if target is None or following is None or target <= block:
            raise UnknownPathError(_data_dependent(last))
        if forest.innermost[target] != forest.innermost[following]:
            raise UnknownPathError(_data_dependent(last))
        if target in self.machine._traps:
            return following
        if not self.machine._headers.isdisjoint(range(following, target)):
            raise UnknownPathError(_data_dependent(last))  # most of the work may be in the loop
        self.skipped.add(block)
        return target


def _data_dependent(last: Instruction) -> str:
    place = f" of {last.locations[0]}" if last.locations else ""
    return f"a branch{place} ({last.opcode} at {last.offset:#06x}) depends on data"


def _append(segments: list[Segment], blocks: tuple[int, ...]) -> None:
    if segments and segments[-1].blocks == blocks:
        segments[-1] = Segment(blocks, segments[-1].times + 1)
    else:
        segments.append(Segment(blocks, 1))
