"""What the programs of a launch access, remembered: it depends on the ttir and the launch alone.

Configurations of a kernel mostly differ in what comes after the ttir, and each has its own wave,
layouts and instructions: the accesses are evaluated once for all of them.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from irlens.analyze import work
from irlens.analyze.traffic.launch import Launch
from irlens.analyze.traffic.tally import Machine, Moved, Tally
from irlens.analyze.traffic.tiles import Pattern, Tiles
from irlens.isa.mlir import Module

T = TypeVar("T")
#: An access: index of its operation, and the argument.
Key = tuple[int, str]

#: Bytes that all remembered launches may take.
_MOST = 64 << 20
#: Most tallies kept per launch.
_MOST_TALLIES = 32
#: Answers of one kind that are remembered.
_MOST_ANSWERS = 64


class Tape:
    """The tiles of accesses, in their order, as long as they fit.

    Args:
        room: Bytes that they may take.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.tiles: list[tuple[Key, Tiles]] = []
        #: The latest patterns of each access.
        self._patterns: dict[Key, tuple[Pattern, ...]] = {}
        self._programs: object = None

    def for_more(self) -> "Tape":
        """Return an empty tape for other programs, with which to update this one."""
        other = Tape(self.room)
        other._patterns = self._patterns
        return other

    @property
    def is_whole(self) -> bool:
        """Whether all of them fitted."""
        return self.room >= 0

    def add(self, key: Key, tiles: Tiles) -> Tiles:
        """Add the tiles of an access, and return them with the patterns of earlier equal ones."""
        known = self._patterns.get(key, ())
        tiles = tiles.like(known)
        if tiles.patterns is not known:
            self._patterns[key] = () if tiles.has_many_patterns else tiles.patterns
            self.room -= sum(each.bytes for each in tiles.patterns)
        self.room -= tiles.bases.nbytes + (tiles.kinds.nbytes if len(tiles.patterns) > 1 else 0)
        if tiles.programs is not self._programs:
            self._programs = tiles.programs
            self.room -= tiles.programs.nbytes
        self._keep([(key, tiles)])
        return tiles

    def update(self, other: "Tape") -> None:
        """Add the tape of further programs, recorded in the room that this one had left."""
        self.room = other.room
        self._keep(other.tiles)

    def _keep(self, tiles: Sequence[tuple[Key, Tiles]]) -> None:
        if self.is_whole:
            self.tiles += tiles
        else:
            self.tiles = []


class Evaluated(msgspec.Struct):
    """What the programs of a launch access, and how often they execute each operation.

    Attributes:
        executed: How often each operation is executed, by index.
        reason: Why an access was not evaluated, what was assumed, and which loop waits, as of
            ``Evaluation``.
    """

    tape: Tape
    executed: Counter[int] = msgspec.field(default_factory=Counter)
    reason: str = ""
    assumed: str = ""
    waits: str = ""
    scattered: bool = False
    may_return: bool = False
    moved: dict[Key, Moved] = {}
    #: The latest tallies, by access and what else they depend on.
    tallies: dict[tuple[Key, Machine], Tally] = {}

    @property
    def bytes(self) -> int:
        """Bytes of memory that it takes; more than all may take if some tiles did not fit."""
        sets = [each.coverage for each in self.moved.values()]
        sets += [each.waves for each in self.tallies.values() if each.waves is not None]
        return _MOST - self.tape.room + sum(each.bytes for each in sets)

    def keep(self, tallies: Mapping[Key, Tally]) -> None:
        """Keep settled tallies; drop the oldest beyond ``_MOST_TALLIES``."""
        self.tallies |= {(key, each.machine): each for key, each in tallies.items()}
        for oldest in list(self.tallies)[:-_MOST_TALLIES]:
            del self.tallies[oldest]


def key_of(module: Module, launch: Launch, *terms: Hashable) -> Hashable:
    """Return what the evaluation of a launch depends on; ``None`` if on too much to compare."""
    if launch.contents:
        return None
    arguments = repr(sorted(launch.arguments.items()))
    how = launch.numbers, work.STEPS
    return module.stage, module.text, arguments, launch.grid, *how, *terms


def new_tape() -> Tape:
    """Return an empty tape with room for what may be remembered."""
    return Tape(_MOST)


class Latest(Generic[T]):
    """The latest answers, by what they depend on.

    Args:
        most: How much all of them may take, and how many there may be.
    """

    def __init__(self, most: int, size: Callable[[T], int] = lambda _: 0) -> None:
        self._most, self._size = most, size
        self._known: OrderedDict[Hashable, T] = OrderedDict()

    def recall(self, key: Hashable) -> T | None:
        """Return an answer, if it is remembered."""
        found = self._known.pop(key, None)
        if found is not None:
            self._known[key] = found
        return found

    def remember(self, key: Hashable, answer: T) -> T:
        """Return an answer, remembered in place of the oldest if it fits; not one without key."""
        if key is not None and self._size(answer) <= self._most:
            self._known[key] = answer
            while len(self._known) > _MOST_ANSWERS or self._taken() > self._most:
                self._known.popitem(last=False)
        return answer

    def _taken(self) -> int:
        return sum(map(self._size, tuple(self._known.values())))


#: Launches that were evaluated.
LAUNCHES = Latest[Evaluated](_MOST, lambda each: each.bytes)
