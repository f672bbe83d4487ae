"""Which statement of one side is which of the other.

First functions are paired by name and loops by their ``for`` in Python, and stand as one thing
each among what is around them. Then statements are paired in rounds, each between what the one
before has paired: those that compute the same from the same, those that look the same, those that
look the same and come in the same order, and at last those that do the same with something else.
Each round is near-linear in the number of statements.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence

import msgspec

from irlens.diff.code.keys import Element, Keys, Node
from irlens.diff.code.sequences import Pair, between
from irlens.diff.code.statements import Code, Scope, Statement


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
    keys = Keys(before.statements, after.statements)
    pairs: list[Pair] = []
    waiting = [(_tree(before), _tree(after))]
    while waiting:
        ours, theirs = waiting.pop()
        for one, two in _level(ours.elements, theirs.elements, keys):
            if isinstance(one, Node) and isinstance(two, Node):
                waiting.append((one, two))
            elif isinstance(one, int) and isinstance(two, int):
                pairs.append((one, two))
    return sorted(pairs)


def _tree(side: Side) -> Node:
    """Nest the statements in functions and loops."""
    scopes: list[tuple[Scope, Hashable]] = [(each, each.name) for each in side.functions]
    scopes += list(zip(side.loops, side.loop_keys, strict=True))
    scopes.sort(key=lambda each: (each[0].first, -each[0].last, each[0].kind))
    root = Node("", [])
    around: list[tuple[int, Node]] = []
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
            node = Node((scope.kind, key, seen[id(parent), key]), [])
            parent.elements.append(node)
            around.append((scope.last, node))
        (around[-1][1] if around else root).elements.append(index)
    return root


def _level(
    ours: list[Element], theirs: list[Element], keys: Keys
) -> Iterator[tuple[Element, Element]]:
    """Pair the elements of two scopes; a scope that only one side has is opened."""
    common = _keys_of(ours) & _keys_of(theirs)
    left = list(_flat(ours, common))
    right = list(_flat(theirs, common))
    gaps = [(0, len(left), 0, len(right))]
    if not left or not right:
        return
    for rank in keys.ranks:
        remaining: list[tuple[int, int, int, int]] = []
        for first, stop, other_first, other_stop in gaps:
            found = rank(left[first:stop], right[other_first:other_stop])
            matched = [(first + i, other_first + j) for i, j in found]
            for i, j in matched:
                yield left[i], right[j]
            remaining += between((first, stop, other_first, other_stop), matched)
        gaps = remaining


def _keys_of(elements: Sequence[Element]) -> set[Hashable]:
    return {each.key for each in elements if isinstance(each, Node)}


def _flat(elements: Sequence[Element], common: set[Hashable]) -> Iterator[Element]:
    pending = list(reversed(elements))
    while pending:
        element = pending.pop()
        if isinstance(element, Node) and element.key not in common:
            pending += reversed(element.elements)
        else:
            yield element
