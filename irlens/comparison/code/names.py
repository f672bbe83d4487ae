"""Which value of one side is which of the other.

Paired statements say so, wherever they name a value in the same place; each says it once. What
most say is believed, one value for one, and those that make a value count twice: where one
operand was replaced by another it is the statement that uses it that changed, not all others.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from irlens.comparison.code.align import Pair
from irlens.comparison.code.statements import Arrived, Name, Statement

_MAKES = 2
_USES = 1


class Correspondence:
    """One value of the first side for one of the second.

    Args:
        before: Statements of the first side.
        after: Statements of the second.
        pairs: Which is which.
        certain: Values that correspond whatever is said.
    """

    def __init__(
        self,
        before: Sequence[Statement],
        after: Sequence[Statement],
        pairs: Iterable[Pair],
        certain: Iterable[tuple[Hashable, Hashable]] = (),
    ) -> None:
        # With another label on one side only, values arrive there that do not on the other.
        self._compares_arrived = _labels(before) == _labels(after)
        said: Counter[tuple[Hashable, Hashable]] = Counter()
        for i, j in pairs:
            for ours, theirs in _together(before[i], after[j]):
                if self._comparable(ours, theirs):
                    makes = ours.defines and theirs.defines
                    said[ours.value, theirs.value] += _MAKES if makes else _USES
        self._after: dict[Hashable, Hashable] = {}
        self._before: dict[Hashable, Hashable] = {}
        for one, other in certain:
            self._bind(one, other)
        # Equal votes: whoever was heard first.
        for (one, other), _ in said.most_common():
            self._bind(one, other)

    def _bind(self, one: Hashable, other: Hashable) -> None:
        if one not in self._after and other not in self._before:
            self._after[one] = other
            self._before[other] = one

    def of(self, value: Hashable) -> Hashable:
        """Return the second side's value for one of the first, ``None`` if it has none."""
        return self._after.get(value)

    def origin(self, value: Hashable) -> Hashable:
        """Return the first side's value for one of the second, ``None`` if it has none."""
        return self._before.get(value)

    def same(self, ours: Name, theirs: Name) -> bool:
        """Whether two names stand for values that correspond, as far as that is known."""
        if not self._comparable(ours, theirs):
            return True
        return self._after.get(ours.value) == theirs.value

    def _comparable(self, ours: Name, theirs: Name) -> bool:
        if ours.value is None or theirs.value is None:
            return False
        arrived = isinstance(ours.value, Arrived), isinstance(theirs.value, Arrived)
        return arrived[0] == arrived[1] and (self._compares_arrived or not arrived[0])

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


def _labels(side: Sequence[Statement]) -> int:
    return sum(statement.flow == "label" for statement in side)
