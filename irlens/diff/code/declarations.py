"""Statements whose order means nothing: attribute aliases, attribute groups, metadata, declares.

They are paired by what they say, names of others replaced by what those say. One that changed is
found by its users: an alias stands for another where most operations name the other instead.
"""

from collections.abc import Hashable, Sequence

from irlens.diff.code.keys import opcode
from irlens.diff.code.names import Correspondence
from irlens.diff.code.sequences import Pair
from irlens.diff.code.statements import Statement

#: Metadata may name itself.
_DEEPEST = 4


class Declarations:
    """The declarations of both sides.

    Attributes:
        pairs: Those that say the same, or declare the same function.
        certain: Values whose definitions say the same.
    """

    def __init__(self, before: Sequence[Statement], after: Sequence[Statement]) -> None:
        self._sides = (before, after)
        self._left = [i for i, each in enumerate(before) if not each.ordered]
        self._right = [i for i, each in enumerate(after) if not each.ordered]
        self.pairs = self._take(
            {i: _said(before, i, made) for made in [_made(before)] for i in self._left},
            {i: _said(after, i, made) for made in [_made(after)] for i in self._right},
        )
        self.certain = [
            (before[i].names[0].value, after[j].names[0].value)
            for i, j in self.pairs
            if _defined(before[i]) is not None and _defined(after[j]) is not None
        ]
        # A declare of the same function is the same one, and says which attribute group is which.
        self.pairs += self._take(
            {i: _symbol(before[i]) for i in self._left},
            {i: _symbol(after[i]) for i in self._right},
        )

    def changed(self, correspondence: Correspondence) -> list[Pair]:
        """Return those of the others that are one and the same for their users."""
        before, after = self._sides
        return self._take(
            {i: correspondence.of(_defined(before[i])) for i in self._left},
            {i: _defined(after[i]) for i in self._right},
        )

    def _take(self, ours: dict[int, Hashable], theirs: dict[int, Hashable]) -> list[Pair]:
        """Pair what has the same key, and keep the rest."""
        waiting: dict[Hashable, list[int]] = {}
        for j, key in theirs.items():
            waiting.setdefault(key, []).append(j)
        pairs = [
            (i, waiting[key].pop(0))
            for i, key in ours.items()
            if key is not None and waiting.get(key)
        ]
        gone, here = {i for i, _ in pairs}, {j for _, j in pairs}
        self._left = [i for i in self._left if i not in gone]
        self._right = [j for j in self._right if j not in here]
        return pairs


def _defined(statement: Statement) -> Hashable:
    first = statement.names[0] if statement.names else None
    return first.value if first is not None and first.defines else None


def _symbol(statement: Statement) -> Hashable:
    _, symbol = opcode(statement.skeleton)
    return symbol or None


def _made(side: Sequence[Statement]) -> dict[Hashable, int]:
    return {
        value: i
        for i, each in enumerate(side)
        if not each.ordered and (value := _defined(each)) is not None
    }


def _said(side: Sequence[Statement], index: int, made: dict[Hashable, int]) -> Hashable:
    """What a declaration says, with what those say that it names."""

    def expanded(statement: Statement, depth: int) -> Hashable:
        named = [made.get(n.value) for n in statement.names if not n.defines]
        known = (side[i] for i in named if i is not None)
        inner = [expanded(each, depth - 1) for each in known] if depth else []
        return statement.skeleton, *inner

    return expanded(side[index], _DEEPEST)
