"""Which statement of one side is which of the other.

First functions are paired by name and loops by their ``for`` in Python, and stand as one thing
each among what is around them. Then statements are paired in rounds, each between what the one
before has paired: those that compute the same from the same, those that look the same, those that
look the same and come in the same order, and at last those that do the same with something else.
Each round is a patience alignment, near-linear in the number of statements.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
from patiencediff import PatienceSequenceMatcher

from irlens.comparison.code.statements import Code, Scope, Statement

#: Index of a statement on the first side, and on the second.
Pair: TypeAlias = tuple[int, int]

_OPCODE = re.compile(r"(?:(?:%(?::\d+)?(?:, )?)+ = )?(?:@!?\S+ )?(?:tail |musttail |notail )?(\S+)")
_SYMBOL = re.compile(r"@[\w$.]+")
_WORD = re.compile(r"[\w.$]+|\S")
#: Part of the words that two statements must share to be one that changed, of runs as long.
_ALIKE = 0.5
_LONGEST_RUN = 3


class Side(msgspec.Struct, frozen=True):
    """A stage with its structure.

    Attributes:
        statements: All of them.
        functions: The functions, as they nest.
        loops: The loops, as they nest.
        loop_keys: What tells each loop from the others in its function, in the same order.
    """

    statements: list[Statement]
    functions: list[Scope]
    loops: list[Scope]
    loop_keys: list[Hashable]


class _Node(NamedTuple):
    """A scope: its elements are statements, by index, and scopes."""

    key: Hashable
    elements: "list[int | _Node]"


_Element: TypeAlias = "int | _Node"


def side(code: Code, loops: Sequence[Scope], key: Callable[[Scope], Hashable]) -> Side:
    """Return a stage with its structure.

    Args:
        code: The stage.
        loops: Its loops.
        key: Tells loops apart; loops with the same key are told apart by their order.
    """
    return Side(code.statements, code.functions, list(loops), [key(loop) for loop in loops])


def align(before: Side, after: Side) -> list[Pair]:
    """Return the statements that are the same, or the same but changed, in the order of both.

    Statements whose order means nothing are not among them.
    """
    keys = _Keys(before.statements, after.statements)
    pairs: list[Pair] = []
    waiting = [(_tree(before), _tree(after))]
    while waiting:
        ours, theirs = waiting.pop()
        for one, two in _level(ours.elements, theirs.elements, keys):
            if isinstance(one, _Node) and isinstance(two, _Node):
                waiting.append((one, two))
            elif isinstance(one, int) and isinstance(two, int):
                pairs.append((one, two))
    return sorted(pairs)


def _tree(side: Side) -> _Node:
    """Nest the statements in functions and loops."""
    scopes: list[tuple[Scope, Hashable]] = [(each, each.name) for each in side.functions]
    scopes += list(zip(side.loops, side.loop_keys, strict=True))
    scopes.sort(key=lambda each: (each[0].first, -each[0].last, each[0].kind))
    root = _Node("", [])
    around: list[tuple[int, _Node]] = []
    seen: Counter[tuple[int, Hashable]] = Counter()
    at = 0
    for index, statement in enumerate(side.statements):
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


def _level(
    ours: list[_Element], theirs: list[_Element], keys: "_Keys"
) -> Iterator[tuple[_Element, _Element]]:
    """Pair the elements of two scopes; a scope that only one side has is opened."""
    common = _keys_of(ours) & _keys_of(theirs)
    left = list(_flat(ours, common))
    right = list(_flat(theirs, common))
    gaps = [(0, len(left), 0, len(right))]
    for rank in keys.ranks:
        remaining: list[tuple[int, int, int, int]] = []
        for gap in gaps:
            one, other = left[gap[0] : gap[1]], right[gap[2] : gap[3]]
            matched = rank(one, other) if one and other else []
            for i, j in matched:
                yield one[i], other[j]
            remaining += _between(gap, matched)
        gaps = remaining


def _keys_of(elements: Sequence[_Element]) -> set[Hashable]:
    return {each.key for each in elements if isinstance(each, _Node)}


def _flat(elements: Sequence[_Element], common: set[Hashable]) -> Iterator[_Element]:
    pending = list(reversed(elements))
    while pending:
        element = pending.pop()
        if isinstance(element, _Node) and element.key not in common:
            pending += reversed(element.elements)
        else:
            yield element


def _between(
    gap: tuple[int, int, int, int], matched: Sequence[Pair]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield what lies between matches and is not empty on either side."""
    first, stop, other_first, other_stop = gap
    at, other_at = first, other_first
    for i, j in [*matched, (stop - first, other_stop - other_first)]:
        if at < first + i and other_at < other_first + j:
            yield at, first + i, other_at, other_first + j
        at, other_at = first + i + 1, other_first + j + 1


class _Keys:
    """What statements are paired by, strictest first, the same number for the same on each side."""

    def __init__(self, before: Sequence[Statement], after: Sequence[Statement]) -> None:
        self._sides = (before, after)
        self._numbers: dict[Hashable, int] = {}
        self._look = [[self._number(each.skeleton) for each in side] for side in self._sides]
        self._origin = [
            self._deeper(each, look) for each, look in zip(self._sides, self._look, strict=True)
        ]
        self._opcodes: list[dict[int, int]] = [{}, {}]
        self.ranks = (
            lambda one, two: _patience(
                self._by(self._origin, one, 0), self._by(self._origin, two, 1)
            ),
            lambda one, two: _patience(self._by(self._look, one, 0), self._by(self._look, two, 1)),
            lambda one, two: _patience(
                _counted(self._by(self._look, one, 0)), _counted(self._by(self._look, two, 1))
            ),
            lambda one, two: _patience(
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

    def _by(self, keys: list[list[int]], elements: list[_Element], side: int) -> list[Hashable]:
        return [keys[side][each] if isinstance(each, int) else each.key for each in elements]

    def _by_opcode(self, elements: list[_Element], side: int) -> list[Hashable]:
        return [
            self._opcode(each, side) if isinstance(each, int) else each.key for each in elements
        ]

    def _opcode(self, index: int, side: int) -> int:
        known = self._opcodes[side]
        if index not in known:
            known[index] = self._number(("opcode", *opcode(self._sides[side][index].skeleton)))
        return known[index]

    def _alike(self, one: list[_Element], two: list[_Element]) -> list[Pair]:
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


def _patience(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[Pair]:
    matcher = PatienceSequenceMatcher(None, one, other)
    return [
        (i + step, j + step)
        for i, j, length in matcher.get_matching_blocks()
        for step in range(length)
    ]
