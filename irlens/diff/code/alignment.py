"""Pairs the statements of two sides.

First functions are paired by name and loops by their ``for`` in Python; each stands as one element
among the statements around it. Then statements are paired in rounds, each between the pairs of the
round before: those that compute the same from the same, those that look the same, those that look
the same in the same order, and at last those that apply the same operation to something else. Each
round is near-linear in the number of statements.

``shift_to_best_fit`` then moves pairs among statements that look the same.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from irlens.diff.code.correspondence import Correspondence
from irlens.diff.code.patience import Pair, common, gaps_between
from irlens.diff.code.stage import ComparedStage
from irlens.diff.code.statements import Statement, operation
from irlens.isa.syntax import Scope

_WORD = re.compile(r"[\w.$]+|\S")
#: The share of words that two statements must have in common to count as one that changed, and
#: the longest runs of statements in which that is tried.
_MIN_LIKENESS = 0.5
_LONGEST_RUN = 3


class _Node(NamedTuple):
    """A function or a loop: its elements are statements, by index, and nodes."""

    key: Hashable
    elements: "list[int | _Node]"


_Element: TypeAlias = "int | _Node"
_Round: TypeAlias = Callable[[list[_Element], list[_Element]], list[Pair]]


def align(before: ComparedStage, after: ComparedStage) -> list[Pair]:
    """Return the ordered statements that are the same, or the same but changed, in order."""
    rounds = _Keys(before.code.statements, after.code.statements).rounds
    pairs: list[Pair] = []
    waiting = [(_tree(before), _tree(after))]
    while waiting:
        ours, theirs = waiting.pop()
        for one, other in _align_scope(ours.elements, theirs.elements, rounds):
            if isinstance(one, _Node) and isinstance(other, _Node):
                waiting.append((one, other))
            elif isinstance(one, int) and isinstance(other, int):
                pairs.append((one, other))
    return sorted(pairs)


def _tree(stage: ComparedStage) -> _Node:
    """Return the ordered statements nested in functions and loops."""
    scopes: list[tuple[Scope, Hashable]] = [(each, each.name) for each in stage.code.functions]
    # Loops with equal keys are paired in order.
    scopes += [(each, stage.loop_key(each)) for each in stage.loops]
    scopes.sort(key=lambda each: (each[0].first, -each[0].last, each[0].kind))
    root = _Node("", [])
    around: list[tuple[int, _Node]] = []
    seen: Counter[tuple[int, Hashable]] = Counter()
    at = 0
    for index, statement in enumerate(stage.code.statements):
        if not statement.ordered:
            continue
        while around and around[-1][0] < statement.line:
            around.pop()
        while at < len(scopes) and scopes[at][0].first <= statement.line:
            scope, key = scopes[at]
            at += 1
            if scope.last < statement.line or (around and scope.last > around[-1][0]):
                continue
            parent = around[-1][1] if around else root
            seen[id(parent), key] += 1
            node = _Node((scope.kind, key, seen[id(parent), key]), [])
            parent.elements.append(node)
            around.append((scope.last, node))
        (around[-1][1] if around else root).elements.append(index)
    return root


def _align_scope(
    ours: list[_Element], theirs: list[_Element], rounds: Sequence[_Round]
) -> Iterator[tuple[_Element, _Element]]:
    """Pair the elements of two scopes; a scope that only one side has is flattened."""
    shared = _node_keys(ours) & _node_keys(theirs)
    left = list(_flattened(ours, shared))
    right = list(_flattened(theirs, shared))
    gaps = [(0, len(left), 0, len(right))]
    if not left or not right:
        return
    for pair_up in rounds:
        remaining: list[tuple[int, int, int, int]] = []
        for first, stop, other_first, other_stop in gaps:
            matched = [
                (first + i, other_first + j)
                for i, j in pair_up(left[first:stop], right[other_first:other_stop])
            ]
            for i, j in matched:
                yield left[i], right[j]
            remaining += gaps_between((first, stop, other_first, other_stop), matched)
        gaps = remaining


def _node_keys(elements: Sequence[_Element]) -> set[Hashable]:
    return {each.key for each in elements if isinstance(each, _Node)}


def _flattened(elements: Sequence[_Element], shared: set[Hashable]) -> Iterator[_Element]:
    pending = list(reversed(elements))
    while pending:
        element = pending.pop()
        if isinstance(element, _Node) and element.key not in shared:
            pending += reversed(element.elements)
        else:
            yield element


class _Keys:
    """The keys by which statements are paired: equal numbers for equal keys of both sides.

    Attributes:
        rounds: Strictest first; each pairs elements of one side with elements of the other, by
            their indices.
    """

    def __init__(self, before: Sequence[Statement], after: Sequence[Statement]) -> None:
        self._sides = (before, after)
        self._numbers: dict[Hashable, int] = {}
        self._looks = [[self._number(each.skeleton) for each in side] for side in self._sides]
        self._origins = [
            self._with_origins(each, looks)
            for each, looks in zip(self._sides, self._looks, strict=True)
        ]
        self._operations: list[dict[int, int]] = [{}, {}]
        self.rounds: tuple[_Round, ...] = (
            self._by(lambda index, side: self._origins[side][index]),
            self._by(lambda index, side: self._looks[side][index]),
            self._by(lambda index, side: self._looks[side][index], _numbered),
            self._by(self._operation, _numbered),
            self._by_likeness,
        )

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _with_origins(self, side: Sequence[Statement], looks: list[int]) -> list[int]:
        """Return keys of each statement's look and the looks of what defines its operands."""
        definitions: dict[Hashable, int] = {}
        for index, statement in enumerate(side):
            for name in statement.names:
                if name.defines and name.value is not None:
                    definitions.setdefault(name.value, looks[index])
        return [
            self._number(
                (looks[i], *(definitions.get(n.value, -1) for n in each.names if not n.defines))
            )
            for i, each in enumerate(side)
        ]

    def _by(
        self,
        key: Callable[[int, int], int],
        arranged: Callable[[list[Hashable]], list[Hashable]] = list,
    ) -> _Round:
        """Return a round that pairs equal keys; ``key`` takes a statement's index and side."""

        def keys(elements: list[_Element], side: int) -> list[Hashable]:
            found = [key(each, side) if isinstance(each, int) else each.key for each in elements]
            return arranged(found)

        return lambda one, two: common(keys(one, 0), keys(two, 1))

    def _operation(self, index: int, side: int) -> int:
        known = self._operations[side]
        if index not in known:
            skeleton = self._sides[side][index].skeleton
            known[index] = self._number(("operation", *operation(skeleton)))
        return known[index]

    def _by_likeness(self, one: list[_Element], two: list[_Element]) -> list[Pair]:
        """Pair runs of equal length one by one, where the statements share most words."""
        if len(one) != len(two) or len(one) > _LONGEST_RUN:
            return []
        pairs = []
        for index, (ours, theirs) in enumerate(zip(one, two, strict=True)):
            if isinstance(ours, int) and isinstance(theirs, int):
                texts = self._sides[0][ours].skeleton, self._sides[1][theirs].skeleton
                if _likeness(*texts) >= _MIN_LIKENESS:
                    pairs.append((index, index))
        return pairs


def _likeness(one: str, other: str) -> float:
    ours, theirs = Counter(_WORD.findall(one)), Counter(_WORD.findall(other))
    return (ours & theirs).total() / max(ours.total(), theirs.total(), 1)


def _numbered(keys: Sequence[Hashable]) -> list[Hashable]:
    """Number equal keys, so that the first is paired with the first and so on."""
    seen: Counter[Hashable] = Counter()
    numbered: list[Hashable] = []
    for key in keys:
        seen[key] += 1
        numbered.append((key, seen[key]))
    return numbered


#: How many values of two statements do not correspond, by the indices of both; -1 if they do not
#: look the same.
_Cost = Callable[[int, int], int]


def shift_to_best_fit(
    before: Sequence[Statement],
    after: Sequence[Statement],
    pairs: Sequence[Pair],
    values: Correspondence,
    by_use: Callable[[], Correspondence],
) -> list[Pair]:
    """Return the pairs, shifted by one where another of several lookalikes was removed or added.

    Of ``FMUL``, ``FMUL``, ``FMUL`` against ``FMUL``, ``FMUL`` an alignment by looks takes any two.
    The values that the statements read tell which one is gone, and so do the readers of the values
    that they define.

    Args:
        pairs: In the order of both.
        by_use: Returns the values that correspond by their readers alone; called if needed.
    """
    by_readers = cache(by_use)

    def cost(i: int, j: int) -> int:
        if not before[i].looks_like(after[j]):
            return -1
        read = values.differing(before[i], after[j])
        defined = by_readers().differing(before[i], after[j])
        return sum(not one.defines for one, _ in read) + sum(one.defines for one, _ in defined)

    def swapped(j: int, i: int) -> int:
        return cost(i, j)

    to_after = dict(pairs)
    for removed in _unpaired(before, to_after):
        _shift(removed, to_after, cost)
    to_before = {j: i for i, j in to_after.items()}
    for added in _unpaired(after, to_before):
        _shift(added, to_before, swapped)
    return sorted((i, j) for j, i in to_before.items())


def _unpaired(side: Sequence[Statement], paired: dict[int, int]) -> Iterator[int]:
    return (i for i, each in enumerate(side) if each.ordered and i not in paired)


def _shift(index: int, paired: dict[int, int], cost: _Cost) -> None:
    """Leave the worst fitting one of a run of lookalikes unpaired."""
    for step in (1, -1):
        if index not in paired:
            _take_over(index, step, list(_gains(index, step, paired, cost)), paired)


def _gains(index: int, step: int, paired: dict[int, int], cost: _Cost) -> Iterator[int]:
    """Yield what each neighbour gains by handing its counterpart on."""
    at, counterpart = index, paired.get(index + step)
    while counterpart is not None and paired.get(at + step) == counterpart:
        moved = cost(at, counterpart)
        kept = cost(at + step, counterpart) if moved >= 0 else -1
        if kept < 0:
            return
        yield kept - moved
        at, counterpart = at + step, counterpart + step


def _take_over(index: int, step: int, gains: Sequence[int], paired: dict[int, int]) -> None:
    """Hand counterparts on as far as the total gain is highest."""
    sums = list(accumulate(gains))
    best = max(sums, default=0)
    if best <= 0:
        return
    for _ in range(sums.index(best) + 1):
        paired[index] = paired.pop(index + step)
        index += step
