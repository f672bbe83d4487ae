"""Algorithms on directed graphs whose nodes are 0, 1, 2, ...: traversal order and loops.

Everything here is iterative, so that no input exhausts the stack, and near-linear in time.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec

from irlens.model.errors import OutOfWorkError

#: Limit on the steps of loop detection, and its share for each edge. One step for each edge
#: suffices for reducible flow.
_STEPS, _STEPS_OF_EDGE = 1 << 18, 8
#: Nodes by their number, each with the nodes that can follow it.
Successors = Sequence[Sequence[int]]


class Loop(msgspec.Struct, frozen=True):
    """A loop: a header that is entered from outside, and the nodes that can get back to it.

    Attributes:
        parent: Index of the loop around it, or ``None``.
        depth: 1 for an outermost loop.
        own: Nodes whose innermost loop this is, the header included, in ascending order.
        irreducible: Whether control can also enter past the header.
    """

    header: int
    latches: tuple[int, ...]
    parent: int | None
    depth: int
    own: tuple[int, ...]
    children: tuple[int, ...]
    irreducible: bool


class LoopForest(msgspec.Struct, frozen=True):
    """The loops of a graph.

    Attributes:
        loops: Outer loops come before the loops inside them.
        innermost: For each node the index of its innermost loop, or ``None``.
    """

    loops: tuple[Loop, ...]
    innermost: tuple[int | None, ...]

    def body(self, index: int) -> frozenset[int]:
        """All nodes of a loop, those of its inner loops included."""
        nodes: list[int] = []
        pending = [index]
        while pending:
            loop = self.loops[pending.pop()]
            nodes.extend(loop.own)
            pending.extend(loop.children)
        return frozenset(nodes)

    def depth(self, node: int) -> int:
        """Return the number of loops around a node; 0 outside of all."""
        loop = self.innermost[node]
        return self.loops[loop].depth if loop is not None else 0


class FlowGraph:
    """A graph with what analyses ask for again and again, each computed once."""

    def __init__(self, successors: Successors) -> None:
        self.successors = successors

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """For each node those that it can follow, each once, in ascending order."""
        return predecessors(self.successors)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All nodes; back edges aside, each comes after all that lead to it."""
        return _search(self.successors, range(len(self.successors)))[1]

    @cached_property
    def rank(self) -> list[int]:
        """The place of each node in that order."""
        rank = [0] * len(self.order)
        for place, node in enumerate(self.order):
            rank[node] = place
        return rank

    @cached_property
    def reversed(self) -> "FlowGraph":
        """The graph with each edge the other way round, and its nodes in the opposite order."""
        turned = FlowGraph(self.predecessors)
        turned.order = self.order[::-1]
        return turned


def predecessors(successors: Successors) -> tuple[tuple[int, ...], ...]:
    """Return for each node the nodes it can follow, each once, in ascending order."""
    sources: list[list[int]] = [[] for _ in successors]
    for node, targets in enumerate(successors):
        for target in dict.fromkeys(targets):
            sources[target].append(node)
    return tuple(map(tuple, sources))


def reverse_postorder(successors: Successors, entry: int = 0) -> tuple[int, ...]:
    """Return the reachable nodes; back edges aside, each comes after all that lead to it."""
    return _search(successors, (entry,))[1]


def _search(
    successors: Successors, entries: Sequence[int]
) -> tuple[list[int], tuple[int, ...], list[int]]:
    """Depth-first search: nodes in preorder, in reverse postorder, and each node's tree parent."""
    parent = [-1] * len(successors)
    if not successors:
        return [], (), parent
    seen = [False] * len(successors)
    preorder: list[int] = []
    postorder: list[int] = []
    waiting = list(reversed(entries))
    stack: list[tuple[int, Iterator[int]]] = []
    while stack or waiting:
        if not stack:
            entry = waiting.pop()
            if not seen[entry]:
                seen[entry] = True
                preorder.append(entry)
                stack.append((entry, iter(successors[entry])))
            continue
        node, remaining = stack[-1]
        for target in remaining:
            if not seen[target]:
                seen[target] = True
                parent[target] = node
                preorder.append(target)
                stack.append((target, iter(successors[target])))
                break
        else:
            stack.pop()
            postorder.append(node)
    return preorder, tuple(reversed(postorder)), parent


def find_loops(successors: Successors, entries: Sequence[int] = (0,)) -> LoopForest:
    """Return the loops that are reachable from some nodes, and how they nest.

    Havlak, "Nesting of reducible and irreducible loops" (1997): headers innermost first, each
    collapsing what reaches it backwards into one node.

    Raises:
        OutOfWorkError: It takes many times the number of edges, as only irreducible loops within
            each other do.
    """
    preorder, _, parent = _search(successors, entries)
    backward, forward, last = _edges(successors, preorder, parent)
    number = {node: index for index, node in enumerate(preorder)}
    merged = list(range(len(successors)))
    header_of: dict[int, int] = {}
    latches: dict[int, tuple[int, ...]] = {}
    irreducible: set[int] = set()
    left = _STEPS + _STEPS_OF_EDGE * sum(map(len, successors))
    for header in reversed(preorder):
        if not backward[header]:
            continue
        latches[header] = tuple(backward[header])
        members = {_find(merged, latch) for latch in backward[header]} - {header}
        entering: set[int] = set()
        pending = list(members)
        while pending:
            sources = forward[pending.pop()]
            left -= len(sources)
            if left < 0:
                raise OutOfWorkError("its loops are entered past their headers in too many ways")
            for source in sources:
                node = _find(merged, source)
                if not number[header] <= number[node] <= last[header]:
                    # Seen from the loop around it this is an entry of the collapsed node.
                    irreducible.add(header)
                    entering.add(node)
                elif node != header and node not in members:
                    members.add(node)
                    pending.append(node)
        forward[header] += sorted(entering.difference(forward[header]))
        for member in members:
            header_of[member] = header
            merged[member] = header
    return _forest(len(successors), preorder, header_of, latches, irreducible)


def _edges(
    successors: Successors, preorder: Sequence[int], parent: Sequence[int]
) -> tuple[list[list[int]], list[list[int]], dict[int, int]]:
    """Sources of each node's back edges, of its other edges, and the last number in its subtree.

    An edge is a back edge where its source lies in its target's subtree of the search.
    """
    number = {node: index for index, node in enumerate(preorder)}
    last = number.copy()
    for node in reversed(preorder):
        if parent[node] >= 0:
            last[parent[node]] = max(last[parent[node]], last[node])
    backward: list[list[int]] = [[] for _ in successors]
    forward: list[list[int]] = [[] for _ in successors]
    for target, sources in enumerate(predecessors(successors)):
        for source in sources:
            if source in number:
                back = number[target] <= number[source] <= last[target]
                (backward if back else forward)[target].append(source)
    return backward, forward, last


def _find(merged: list[int], node: int) -> int:
    root = node
    while merged[root] != root:
        root = merged[root]
    while merged[node] != root:
        merged[node], node = root, merged[node]
    return root


def _forest(
    size: int,
    preorder: Sequence[int],
    header_of: dict[int, int],
    latches: dict[int, tuple[int, ...]],
    irreducible: set[int],
) -> LoopForest:
    headers = [node for node in preorder if node in latches]
    index = {header: position for position, header in enumerate(headers)}
    innermost: list[int | None] = [None] * size
    own: list[list[int]] = [[] for _ in headers]
    for node in sorted(preorder):
        header = node if node in index else header_of.get(node)
        if header is not None:
            innermost[node] = index[header]
            own[index[header]].append(node)
    parents = [index[header_of[h]] if h in header_of else None for h in headers]
    children: list[list[int]] = [[] for _ in headers]
    depth: list[int] = []
    for position, above in enumerate(parents):
        depth.append(1 if above is None else depth[above] + 1)
        if above is not None:
            children[above].append(position)
    return LoopForest(
        tuple(
            Loop(
                header=header,
                latches=latches[header],
                parent=parents[position],
                depth=depth[position],
                own=tuple(own[position]),
                children=tuple(children[position]),
                irreducible=header in irreducible,
            )
            for position, header in enumerate(headers)
        ),
        tuple(innermost),
    )
