"""What the programs of a launch access, remembered: it depends on the ttir and the launch alone.

Configurations of a kernel mostly differ in what comes after the ttir, and each has its own wave,
layouts and instructions: the accesses are evaluated once for all of them.
"""

from collections import Counter, OrderedDict
from collections.abc import Hashable, Sequence

import msgspec

from irlens.analyze import work
from irlens.analyze.traffic.launch import Launch
from irlens.analyze.traffic.strided_coverage import Strides
from irlens.analyze.traffic.tally import Moved
from irlens.analyze.traffic.tiles import Pattern, Tiles
from irlens.isa.mlir import Module

#: An access: index of its operation, and the argument.
Key = tuple[int, str]

#: Bytes that all remembered launches may take.
_MOST = 64 << 20


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
            self._patterns[key] = tiles.patterns
            self.room -= sum(each.bytes for each in tiles.patterns)
        self.room -= tiles.bases.nbytes + (tiles.kinds.nbytes if len(tiles.patterns) > 1 else 0)
        if tiles.programs is not self._programs:
            self._programs = tiles.programs
            self.room -= tiles.programs.nbytes
        self._keep([(key, tiles)])
        return tiles

    def update(self, other: "Tape") -> None:
        """Add the tape of other programs, which had the room of this one."""
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
        reason: Why an access was not evaluated, and what was assumed, as of ``Evaluation``.
        moved: What each access moves.
        tape: The tiles of all accesses.
    """

    tape: Tape
    executed: Counter[int] = msgspec.field(default_factory=Counter)
    reason: str = ""
    assumed: str = ""
    scattered: bool = False
    may_return: bool = False
    moved: dict[Key, Moved] = {}

    @property
    def bytes(self) -> int:
        """Bytes of memory that it takes."""
        return _MOST - self.tape.room + sum(each.coverage.bytes for each in self.moved.values())


def key_of(module: Module, launch: Launch, programs: int, strides: Strides) -> Hashable:
    """Return what the evaluation of a launch depends on; ``None`` if on too much to compare."""
    if launch.contents:
        return None
    arguments = repr(sorted(launch.arguments.items()))
    terms = (launch.grid, launch.assuming, launch.numbers, programs, strides.known, work.STEPS)
    return module.stage, module.text, arguments, *terms


def new_tape() -> Tape:
    """Return an empty tape with room for what may be remembered."""
    return Tape(_MOST)


_remembered: OrderedDict[Hashable, Evaluated] = OrderedDict()


def recall(key: Hashable) -> Evaluated | None:
    """Return what was evaluated, if it is remembered."""
    found = _remembered.pop(key, None)
    if found is not None:
        _remembered[key] = found  # the latest
    return found


def remember(key: Hashable, evaluated: Evaluated) -> None:
    """Remember what was evaluated in place of the oldest, if it fits."""
    if key is None or not evaluated.tape.is_whole or evaluated.bytes > _MOST:
        return
    _remembered[key] = evaluated
    while sum(each.bytes for each in list(_remembered.values())) > _MOST:
        _remembered.popitem(last=False)
