"""What a thread does on its path, and in a loop, remembered by what it depends on."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from irlens.analyze.time.dataflow import DataFlow, Slice
from irlens.isa.bitsets import members
from irlens.isa.sass import Instruction
from irlens.isa.sass.control_flow import Effect
from irlens.isa.sass.operands import State, ThreadInputs

#: A loop's header, and what the way through it depends on: values, and barriers that are armed.
Key: TypeAlias = tuple[int, tuple[int | None, ...], tuple[tuple[int, int], ...]]


class Segment(msgspec.Struct, frozen=True):
    """Blocks that run one after the other, a number of times in a row."""

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


class End(msgspec.Struct, frozen=True):
    """How a block ends.

    Attributes:
        jump: The position of the register that an indexed jump adds to a place, and the place.
        conditions: The positions of the predicates that must hold, ``None`` for PT, and whether
            each is negated.
    """

    last: Instruction
    effect: Effect | None
    following: int | None
    target: int | None
    barrier: int
    conditions: tuple[tuple[int | None, bool], ...]
    jump: tuple[int, int] | None = None


class Region(msgspec.Struct, frozen=True):
    """A loop as what a path through it depends on.

    Attributes:
        inputs: The positions of the state that it reads.
        writes: What the instructions of each block write that branches depend on, as bits.
        replaces: The same without what a guard may leave as it was.
        guarded: What no instruction of the loop writes without a guard, as bits.
    """

    body: frozenset[int]
    inputs: tuple[int, ...]
    writes: Mapping[int, int]
    replaces: Mapping[int, int]
    guarded: int


class Run(msgspec.Struct, frozen=True):
    """What a thread does from where it enters a loop until it leaves it.

    Attributes:
        segments: What it runs, up to the last time that it comes to the header of a loop.
        count: How many blocks run, repetitions included.
        state: What it leaves in the state, by position.
        skipped: Blocks with a branch on data.
    """

    segments: tuple[Segment, ...]
    tail: tuple[int, ...]
    count: int
    block: int | None
    state: Mapping[int, int | None]
    barriers: Mapping[int, int]
    skipped: frozenset[int]


class Entered(msgspec.Struct):
    """A loop that is being run.

    Attributes:
        key: Its header and the state where it was entered.
        skipped: Blocks with a branch on data before.
    """

    region: Region
    key: Key
    count: int
    segments: list[Segment]
    skipped: set[int]


def find_region(
    body: frozenset[int], header: int, data: DataFlow, slice_: Slice, ends: Sequence[End]
) -> Region | None:
    """Return a loop; ``None`` where paths through it depend on more than the state.

    Args:
        header: The one that it is entered at.
    """
    if any(ends[block].effect in ("calls", "chooses", "returns") for block in body):
        return None
    reads = 0
    writes, replaces = dict.fromkeys(body, 0), dict.fromkeys(body, 0)
    for block in body:
        for index in slice_.by_block[block]:
            accessed = data.accessed(index)
            reads |= accessed.reads
            writes[block] |= accessed.writes
            replaces[block] |= accessed.kills
        for at, _ in ends[block].conditions:
            reads |= 0 if at is None else 1 << at
    guarded = reduce(or_, writes.values()) & ~reduce(or_, replaces.values())
    inputs = tuple(members((reads | guarded) & slice_.needed[header]))
    return Region(body, inputs, writes, replaces, guarded)


def append(segments: list[Segment], segment: Segment) -> None:
    """Add a segment behind others; equal blocks in a row are one."""
    if segments and segments[-1].blocks == segment.blocks:
        segments[-1] = Segment(segment.blocks, segments[-1].times + segment.times)
    else:
        segments.append(segment)


class Executions:
    """Runs what some instructions depend on.

    Args:
        asked: The registers of these instructions that are asked for, as bits, by index.
    """

    def __init__(self, data: DataFlow, asked: Mapping[int, int]) -> None:
        self.data, self.asked = data, asked
        self.chosen = [frozenset(each) for each in data.slice(asked).by_block]
        self.blocks = [
            [index for index in block.indices if index in asked or index in chosen]
            for block, chosen in zip(data.flow.blocks, self.chosen, strict=True)
        ]

    def along(
        self, path: Path, thread: ThreadInputs, rounds: Mapping[int, int] = MappingProxyType({})
    ) -> Iterator[tuple[int, State]]:
        """Yield each instruction that is asked for before it runs, with the thread's state.

        Args:
            rounds: How often segments run, by how often they do on the path; by default as often.
        """
        state = thread.state(self.data.local.size, None)
        steps = {n: self.data.step(n, thread) for chosen in self.chosen for n in chosen}
        for segment in path.segments:
            for _ in range(rounds.get(segment.times, segment.times)):
                for block in segment.blocks:
                    for index in self.blocks[block]:
                        if index in self.asked:
                            yield index, state
                        if index in self.chosen[block]:
                            steps[index](state)
