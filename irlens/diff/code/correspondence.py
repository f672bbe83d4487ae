"""Which value of one side is which of the other, and which declaration is which.

Paired statements vote: names in the same place stand for the same value. Each value corresponds to
the one with the most votes, one to one, and the statements that define a value count twice. So
where an operand was replaced by another, the statement that uses it changed, not all others.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from operator import itemgetter

from irlens.diff.code.patience import Pair
from irlens.diff.code.reaching import Itself
from irlens.diff.code.statements import Name, Statement, operation
from irlens.model.several import grouped

DEFINITION_VOTES = 2
_USE_VOTES = 1
#: Values that cannot be voted for: a choice of several, and a register of unknown value.
_NO_SINGLE_VALUE = frozenset({frozenset, Itself})
#: Levels of nested declarations to compare; metadata may name itself.
_DEEPEST = 4


class Correspondence:
    """One value of the first side for one of the second.

    Args:
        certain: Values that correspond whatever the votes.
        compares_lost: Whether a register whose value only one side knows counts as different. If
            only one side has a call, it does not.
        definition_votes: Votes of the statement that defines a value; readers have one each.
    """

    def __init__(
        self,
        before: Sequence[Statement],
        after: Sequence[Statement],
        pairs: Sequence[Pair],
        certain: Iterable[tuple[Hashable, Hashable]] = (),
        *,
        compares_lost: bool = True,
        definition_votes: int = DEFINITION_VOTES,
    ) -> None:
        self._compares_lost = compares_lost
        votes: dict[tuple[Hashable, Hashable], int] = {}
        choices: list[tuple[frozenset[Hashable], frozenset[Hashable]]] = []
        for i, j in pairs:
            for ours, theirs in _names_in_place(before[i], after[j]):
                one, other = ours.value, theirs.value
                if isinstance(one, frozenset) and isinstance(other, frozenset):
                    choices.append((one, other))
                elif _votable(one, other):
                    defines = ours.defines and theirs.defines
                    cast = definition_votes if defines else _USE_VOTES
                    votes[one, other] = votes.get((one, other), 0) + cast
        self._after: dict[Hashable, Hashable] = {}
        self._before: dict[Hashable, Hashable] = {}
        for one, other in certain:
            self._bind(one, other)
        # The sort is stable: of equal votes the first in the text wins.
        for (one, other), count in sorted(votes.items(), key=itemgetter(1), reverse=True):
            if count:
                self._bind(one, other)
        for some, others in choices:
            self._bind_last(some, others)

    def _bind_last(self, ours: frozenset[Hashable], theirs: frozenset[Hashable]) -> None:
        """Bind the last of several values, if all others correspond."""
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
        return _mapped(self._after, value)

    def origin(self, value: Hashable) -> Hashable:
        """Return the first side's value for one of the second, ``None`` if it has none."""
        return _mapped(self._before, value)

    def same(self, ours: Name, theirs: Name) -> bool:
        """Whether two names stand for corresponding values, as far as that is known."""
        if ours.value is None or theirs.value is None:
            return True
        lost = isinstance(ours.value, Itself), isinstance(theirs.value, Itself)
        if lost[0] != lost[1] and not self._compares_lost:
            return True
        return self.of(ours.value) == theirs.value

    def differing(self, ours: Statement, theirs: Statement) -> list[tuple[Name, Name]]:
        """Return the names, of statements that look the same, whose values do not correspond."""
        named = zip(ours.names, theirs.names, strict=True)
        return [(one, other) for one, other in named if not self.same(one, other)]


def _names_in_place(ours: Statement, theirs: Statement) -> Iterable[tuple[Name, Name]]:
    """Return the names in the same place; of a changed statement only what it defines."""
    if ours.looks_like(theirs):
        return zip(ours.names, theirs.names, strict=True)
    one = [name for name in ours.names if name.defines]
    other = [name for name in theirs.names if name.defines]
    # A loop that carries one value more is the same loop: its result stands first.
    count = len(one) if len(one) == len(other) else 1
    return zip(one[:count], other[:count], strict=False)


def _mapped(values: Mapping[Hashable, Hashable], value: Hashable) -> Hashable:
    """Return one value for another, or a set for a set."""
    if not isinstance(value, frozenset):
        return values.get(value)
    mapped = frozenset(map(values.get, value))
    return None if None in mapped else mapped


def _votable(ours: Hashable, theirs: Hashable) -> bool:
    """Whether two values may correspond: a register as such is never another's value."""
    if ours is None or theirs is None:
        return False
    one, other = type(ours), type(theirs)
    return one is other or _NO_SINGLE_VALUE.isdisjoint((one, other))


class Declarations:
    """Pairs the unordered statements: aliases, attribute groups, metadata, declares.

    They are paired by content, the names of others replaced by the content of those. One that
    changed is found by its users: an alias stands for another where most operations name the
    other instead.

    Attributes:
        pairs: Those with equal content, or that declare the same function.
        certain: The values that those with equal content define.
    """

    def __init__(self, before: Sequence[Statement], after: Sequence[Statement]) -> None:
        self._sides = (before, after)
        self._left = [i for i, each in enumerate(before) if not each.ordered]
        self._right = [i for i, each in enumerate(after) if not each.ordered]
        self.pairs = self._take(_contents(before, self._left), _contents(after, self._right))
        self.certain = [
            (before[i].names[0].value, after[j].names[0].value)
            for i, j in self.pairs
            if _defined(before[i]) is not None and _defined(after[j]) is not None
        ]
        # Declares of one function correspond, and with them their attribute groups.
        self.pairs += self._take(
            {i: _symbol(before[i]) for i in self._left},
            {i: _symbol(after[i]) for i in self._right},
        )

    def changed(self, correspondence: Correspondence) -> list[Pair]:
        """Return those of the others that correspond by their users."""
        before, after = self._sides
        return self._take(
            {i: correspondence.of(_defined(before[i])) for i in self._left},
            {i: _defined(after[i]) for i in self._right},
        )

    def _take(self, ours: dict[int, Hashable], theirs: dict[int, Hashable]) -> list[Pair]:
        """Pair declarations with equal keys, and keep the rest."""
        waiting = grouped((key, j) for j, key in theirs.items())
        pairs = [
            (i, waiting[key].pop(0))
            for i, key in ours.items()
            if key is not None and waiting.get(key)
        ]
        left, right = {i for i, _ in pairs}, {j for _, j in pairs}
        self._left = [i for i in self._left if i not in left]
        self._right = [j for j in self._right if j not in right]
        return pairs


def _defined(statement: Statement) -> Hashable:
    first = statement.names[0] if statement.names else None
    return first.value if first is not None and first.defines else None


def _symbol(statement: Statement) -> Hashable:
    _, symbol = operation(statement.skeleton)
    return symbol or None


def _contents(side: Sequence[Statement], declarations: Sequence[int]) -> dict[int, Hashable]:
    """Return each declaration's content, with the content of the declarations that it names."""
    by_value = {value: i for i in declarations if (value := _defined(side[i])) is not None}

    def expanded(statement: Statement, depth: int) -> Hashable:
        named = [by_value.get(n.value) for n in statement.names if not n.defines]
        known = (side[i] for i in named if i is not None)
        inner = [expanded(each, depth - 1) for each in known] if depth else []
        return statement.skeleton, *inner

    return {i: expanded(side[i], _DEEPEST) for i in declarations}
