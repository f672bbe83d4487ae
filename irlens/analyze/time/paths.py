"""The path that a warp takes through a kernel's machine code, found by computing its branches.

Only what branches depend on is computed: loop counters and what they are compared with. The rest
stays unknown, and a branch on unknown data ends the attempt, unless it only skips code.
"""

from collections import Counter

import msgspec

from irlens.analyze.graph import find_loops
from irlens.analyze.sass_cfg import SassCfg
from irlens.analyze.solver import reach
from irlens.analyze.time.dataflow import DataFlow, UnknownPathError
from irlens.isa.sass import Instruction, Section, units
from irlens.isa.sass.control_flow import barrier, conditions, effect, is_for_divergence
from irlens.isa.sass.operands import Launch, Step, position
from irlens.isa.sass.semantics.predicates import reduces_argument

#: Blocks that a path may run through, repetitions included.
_MOST_BLOCKS = 400_000


class Segment(msgspec.Struct, frozen=True):
    """Blocks that run one after the other, so many times in a row."""

    blocks: tuple[int, ...]
    times: int


class Path(msgspec.Struct, frozen=True):
    """What one warp runs.

    Attributes:
        segments: In the order in which they run.
        skipped: Blocks with a branch on data, which is taken to skip what it can, but to go the
            longer way where that is a loop, and not to repeat a compare-and-swap.
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
        self.data = DataFlow(section, flow)
        self.slice = self.data.slice()
        self._forest = find_loops(flow.successors, flow.entries)
        self._headers = {loop.header for loop in self._forest.loops}
        self._block_at = {block.start: number for number, block in enumerate(flow.blocks)}
        self._callees = {call.block: call.entry for call in flow.calls}
        self._jumps = {call.block for call in flow.calls if call.far_branch}
        self._traps = {
            call.block
            for call in flow.calls
            if any(
                effect(section.instructions[at]) == "traps"
                for at in flow.blocks[call.entry].indices
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

    def reached(self, block: int) -> int:
        """Return how many instructions are reached from a block."""
        found = reach([block], self.flow.successors.__getitem__)
        return sum(self.flow.blocks[n].stop - self.flow.blocks[n].start for n in found)

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
        self.state = machine.data.initial_state()
        self.steps: list[list[Step]] = [
            [machine.data.step(index, launch) for index in block]
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
        following = self._following(block)
        match effect(last):
            case "arms":
                self._arm(last)
                return following
            case "calls" if block in self.machine._callees:
                return self._call(block, last, following)
            case "meets":
                return self.barriers.get(barrier(last), following)
            case "returns":
                return self.returns.pop() if self.returns else None
            case "chooses":
                raise UnknownPathError(f"where {last.opcode} at {last.offset:#06x} leads")
            case "exits":
                # A lane that leaves early says nothing of its warp.
                return None if self._held(last) or following is None else following
            case "branches":
                return self._branch(block, last, following)
        return following

    def _branch(self, block: int, last: Instruction, following: int | None) -> int | None:
        held = self._held(last)
        target = self._target(last)
        if held is None:
            return self._skip(block, last, target, following)
        return target if held else following

    def _call(self, block: int, last: Instruction, following: int | None) -> int | None:
        """Go to a function, or along a far branch."""
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
            self.barriers[barrier(last)] = target

    def _held(self, last: Instruction) -> bool | None:
        """Whether the branch is taken; ``None`` if unknown."""
        if is_for_divergence(last):
            return False
        outcomes: list[bool | None] = []
        for each in conditions(last):
            value = self._predicate(each.register.file, each.register.index)
            outcomes.append(None if value is None else value != each.negated)
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
        """Go on at a branch on data: behind what it may skip, or the longer way if that is a loop.

        Raises:
            UnknownPathError: It leads back, or out of a loop.
        """
        forest = self.machine._forest
        if target is not None and following is not None and self._retries(block, target):
            self.skipped.add(block)
            return following
        if target is None or following is None or target <= block:
            raise UnknownPathError(_data_dependent(last))
        if forest.innermost[target] != forest.innermost[following]:
            raise UnknownPathError(_data_dependent(last))
        if target in self.machine._traps:
            return following
        self.skipped.add(block)
        if not self.machine._headers.isdisjoint(range(following, target)):
            # Most of the work may be in the loop: most programs go the longer way.
            return max(target, following, key=self.machine.reached)
        return target

    def _retries(self, block: int, target: int) -> bool:
        """Whether a branch leads back to a compare-and-swap and to no other access of memory.

        Atomics on types that the hardware cannot add are such loops, and so are locks. The first
        try succeeds where no other thread is at the same word at the same time.
        """
        if target > block:
            return False
        indices = range(self.flow.blocks[target].start, self.flow.blocks[block].stop)
        around = [self.section.instructions[index] for index in indices]
        accesses = [e for e in around if e.opcode in units.GLOBAL_LOADS | units.GLOBAL_STORES]
        return bool(accesses) and all(map(units.is_compare_and_swap, accesses))


def _data_dependent(last: Instruction) -> str:
    place = f" of {last.locations[0]}" if last.locations else ""
    return f"a branch{place} ({last.opcode} at {last.offset:#06x}) depends on data"


def _append(segments: list[Segment], blocks: tuple[int, ...]) -> None:
    if segments and segments[-1].blocks == blocks:
        segments[-1] = Segment(blocks, segments[-1].times + 1)
    else:
        segments.append(Segment(blocks, 1))
