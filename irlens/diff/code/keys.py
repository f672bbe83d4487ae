"""What statements are paired by, strictest first."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeAlias

from irlens.diff.code.sequences import Pair, common
from irlens.diff.code.statements import Statement

_OPCODE = re.compile(r"(?:(?:%(?::\d+)?(?:, )?)+ = )?(?:@!?\S+ )?(?:tail |musttail |notail )?(\S+)")
_SYMBOL = re.compile(r"@[\w$.]+")
_WORD = re.compile(r"[\w.$]+|\S")
#: Part of the words that two statements must share to be one that changed, of runs as long.
_ALIKE = 0.5
_LONGEST_RUN = 3


class Node(NamedTuple):
    """A scope: its elements are statements, by index, and scopes."""

    key: Hashable
    elements: "list[int | Node]"


Element: TypeAlias = "int | Node"
_Rank: TypeAlias = Callable[[list[Element], list[Element]], list[Pair]]


class Keys:
    """The keys of both sides: the same number for the same on each.

    Attributes:
        ranks: Each pairs elements of one side with elements of the other, by their indices.
    """

    def __init__(self, before: Sequence[Statement], after: Sequence[Statement]) -> None:
        self._sides = (before, after)
        self._numbers: dict[Hashable, int] = {}
        self._look = [[self._number(each.skeleton) for each in side] for side in self._sides]
        self._origin = [
            self._deeper(each, look) for each, look in zip(self._sides, self._look, strict=True)
        ]
        self._opcodes: list[dict[int, int]] = [{}, {}]
        self.ranks: tuple[_Rank, ...] = (
            lambda one, two: common(self._by(self._origin, one, 0), self._by(self._origin, two, 1)),
            lambda one, two: common(self._by(self._look, one, 0), self._by(self._look, two, 1)),
            lambda one, two: common(
                _counted(self._by(self._look, one, 0)), _counted(self._by(self._look, two, 1))
            ),
            lambda one, two: common(
                _counted(self._by_opcode(one, 0)), _counted(self._by_opcode(two, 1))
            ),
            self._alike,
        )

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _deeper(self, side: Sequence[Statement], look: list[int]) -> list[int]:
        """Add to how each statement looks how those look that made the values it reads."""
        made: dict[Hashable, int] = {}
        for index, statement in enumerate(side):
            for name in statement.names:
                if name.defines and name.value is not None:
                    made.setdefault(name.value, look[index])
        return [
            self._number((look[i], *(made.get(n.value, -1) for n in each.names if not n.defines)))
            for i, each in enumerate(side)
        ]

    def _by(self, keys: list[list[int]], elements: list[Element], side: int) -> list[Hashable]:
        return [keys[side][each] if isinstance(each, int) else each.key for each in elements]

    def _by_opcode(self, elements: list[Element], side: int) -> list[Hashable]:
        return [
            self._opcode(each, side) if isinstance(each, int) else each.key for each in elements
        ]

    def _opcode(self, index: int, side: int) -> int:
        known = self._opcodes[side]
        if index not in known:
            known[index] = self._number(("opcode", *opcode(self._sides[side][index].skeleton)))
        return known[index]

    def _alike(self, one: list[Element], two: list[Element]) -> list[Pair]:
        """Pair runs of the same length one by one, where the statements share most words."""
        if len(one) != len(two) or len(one) > _LONGEST_RUN:
            return []
        found = []
        for index, (ours, theirs) in enumerate(zip(one, two, strict=True)):
            if isinstance(ours, int) and isinstance(theirs, int):
                texts = self._sides[0][ours].skeleton, self._sides[1][theirs].skeleton
                if _likeness(*texts) >= _ALIKE:
                    found.append((index, index))
        return found


def opcode(skeleton: str) -> tuple[str, ...]:
    """Return what a statement does: its operation, with the symbol that it names (a callee)."""
    found = _OPCODE.match(skeleton)
    symbol = _SYMBOL.search(skeleton)
    return (found[1] if found else "", symbol.group() if symbol else "")


def _likeness(one: str, other: str) -> float:
    ours, theirs = Counter(_WORD.findall(one)), Counter(_WORD.findall(other))
    return (ours & theirs).total() / max(ours.total(), theirs.total(), 1)


def _counted(keys: Sequence[Hashable]) -> list[Hashable]:
    """Tell the first of its kind from the second: what is alike is paired in its order."""
    seen: Counter[Hashable] = Counter()
    counted: list[Hashable] = []
    for key in keys:
        seen[key] += 1
        counted.append((key, seen[key]))
    return counted
