"""Which value of one side is which of the other.

Paired statements say so, wherever they name a value in the same place; each says it once. What
most say is believed, one value for one, and those that make a value count twice: where one
operand was replaced by another it is the statement that uses it that changed, not all others.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import itemgetter

from irlens.diff.code.sequences import Pair
from irlens.diff.code.statements import Itself, Name, Statement

_MAKES = 2
_USES = 1
#: What is no value by itself: several of which one is meant, a register of which none is known.
_SPECIAL = frozenset({frozenset, Itself})


class Correspondence:
    """One value of the first side for one of the second.

    Args:
        before: Statements of the first side.
        after: Statements of the second.
        pairs: Which is which.
        certain: Values that correspond whatever is said.
        compares_lost: Whether a register of which one side knows the value, and the other nothing
            but its name, is another. If there is a call on one side only, that says nothing.
        by_use: Only those that read a value say which it is, not those that make it.
    """

    def __init__(
        self,
        before: Sequence[Statement],
        after: Sequence[Statement],
        pairs: Sequence[Pair],
        certain: Iterable[tuple[Hashable, Hashable]] = (),
        *,
        compares_lost: bool = True,
        by_use: bool = False,
    ) -> None:
        self._compares_lost = compares_lost
        weight = 0 if by_use else _MAKES
        said: dict[tuple[Hashable, Hashable], int] = {}
        merged: list[tuple[frozenset[Hashable], frozenset[Hashable]]] = []
        for i, j in pairs:
            for ours, theirs in _together(before[i], after[j]):
                one, other = ours.value, theirs.value
                if isinstance(one, frozenset) and isinstance(other, frozenset):
                    merged.append((one, other))
                elif _votes(one, other):
                    makes = ours.defines and theirs.defines
                    said[one, other] = said.get((one, other), 0) + (weight if makes else _USES)
        self._after: dict[Hashable, Hashable] = {}
        self._before: dict[Hashable, Hashable] = {}
        for one, other in certain:
            self._bind(one, other)
        # Equal votes: whoever was heard first.
        for (one, other), votes in sorted(said.items(), key=itemgetter(1), reverse=True):
            if votes:
                self._bind(one, other)
        for several, others in merged:
            self._bind_rest(several, others)

    def _bind_rest(self, ours: frozenset[Hashable], theirs: frozenset[Hashable]) -> None:
        """Of several values all but one of which correspond, the last does too."""
        left = [each for each in ours if self._after.get(each) not in theirs]
        right = [each for each in theirs if self._before.get(each) not in ours]
        if len(left) == len(right) == 1:
            self._bind(left[0], right[0])

    def _bind(self, one: Hashable, other: Hashable) -> None:
        if one not in self._after and other not in self._before:
            self._after[one] = other
            self._before[other] = one

    def of(self, value: Hashable) -> Hashable:
        """Return the second side's value for one of the first, ``None`` if it has none."""
        return _each(self._after, value)

    def origin(self, value: Hashable) -> Hashable:
        """Return the first side's value for one of the second, ``None`` if it has none."""
        return _each(self._before, value)

    def same(self, ours: Name, theirs: Name) -> bool:
        """Whether two names stand for values that correspond, as far as that is known."""
        if ours.value is None or theirs.value is None:
            return True
        lost = isinstance(ours.value, Itself), isinstance(theirs.value, Itself)
        if lost[0] != lost[1] and not self._compares_lost:
            return True
        return self.of(ours.value) == theirs.value

    def differing(self, ours: Statement, theirs: Statement) -> list[tuple[Name, Name]]:
        """Return the names of two statements that look the same whose values do not correspond."""
        named = zip(ours.names, theirs.names, strict=True)
        return [(one, other) for one, other in named if not self.same(one, other)]


def _together(ours: Statement, theirs: Statement) -> Iterable[tuple[Name, Name]]:
    """Names that stand in the same place; of a changed statement only what it makes."""
    if ours.looks_like(theirs):
        return zip(ours.names, theirs.names, strict=True)
    one = [name for name in ours.names if name.defines]
    other = [name for name in theirs.names if name.defines]
    # A loop that carries one value more is the same loop: its result stands first.
    count = len(one) if len(one) == len(other) else 1
    return zip(one[:count], other[:count], strict=False)


def _each(values: Mapping[Hashable, Hashable], value: Hashable) -> Hashable:
    """One value for another, or several for as many."""
    if not isinstance(value, frozenset):
        return values.get(value)
    found = frozenset(map(values.get, value))
    return None if None in found else found


def _votes(ours: Hashable, theirs: Hashable) -> bool:
    """Whether two values may be the same one: a register as such is no value of another's."""
    if ours is None or theirs is None:
        return False
    one, other = type(ours), type(theirs)
    return one is other or _SPECIAL.isdisjoint((one, other))
