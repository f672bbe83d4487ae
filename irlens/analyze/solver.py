"""Data flow: what holds at each node of a graph, whichever way control comes.

One solver for every analysis that follows paths. An analysis is a state where flow begins, what a
node makes of a state, and the state where two paths meet; the solver visits nodes until nothing
changes, and takes a step of the report's budget for each visit (``analyze.work``).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from heapq import heappop, heappush
from typing import TypeVar

from irlens.analyze import work
from irlens.analyze.graph import FlowGraph, Loop, Successors

#: Visits of a node after which what still grows is widened.
MOST_VISITS = 64

T = TypeVar("T")
N = TypeVar("N")


def solve(
    graph: FlowGraph,
    start: Mapping[int, T],
    transfer: Callable[[int, T], T],
    join: Callable[[T, T], T],
    *,
    within: Collection[int] | None = None,
    widen: Callable[[T, T], T] | None = None,
) -> dict[int, T]:
    """Return the least state at the start of each node that is reached.

    Of a graph that is reversed, it is the state at the node's end.

    Args:
        start: The nodes where flow begins, with the state there.
        transfer: Returns the state after a node, given the one before it.
        within: The nodes that are followed into; all if ``None``. Without those where flow begins
            it is that of one iteration.
        widen: Returns a state without what still grows, given also the one before it.
    """
    order, rank = graph.order, graph.rank
    states = dict(start)
    # In the order of the flow. What a back edge brings waits for the next sweep; otherwise deep
    # nests would be swept again for each of their loops.
    pending = sorted(rank[node] for node in start)
    following: list[int] = []
    waiting = set(pending)
    visits: dict[int, int] = {}
    while pending:
        place = heappop(pending)
        waiting.discard(place)
        node = order[place]
        work.spend(1)
        visits[node] = visits.get(node, 0) + 1
        after = transfer(node, states[node])
        for target in graph.successors[node]:
            if within is not None and target not in within:
                continue
            joined = after
            if target in states:
                known = states[target]
                joined = join(known, after)
                if widen is not None and visits.get(target, 0) > MOST_VISITS:
                    joined = widen(joined, known)
                if joined == known:
                    continue
            states[target] = joined
            there = rank[target]
            if there not in waiting:
                waiting.add(there)
                heappush(pending if there > place else following, there)
        if not pending:
            pending, following = following, pending
    return states


def reach(start: Iterable[N], following: Callable[[N], Iterable[N]]) -> dict[N, None]:
    """Return what can be reached from somewhere, the start included, in the order it is found."""
    reached = dict.fromkeys(start)
    pending = list(reached)
    while pending:
        for each in following(pending.pop()):
            if each not in reached:
                reached[each] = None
                pending.append(each)
    return reached


def may_pass(successors: Successors, loop: Loop, body: Collection[int], node: int) -> bool:
    """Whether an iteration of a loop can pass by a node of its body."""
    if node == loop.header:
        return False
    kept = {*body} - {node}
    work.spend(len(kept))
    reached = reach([loop.header], lambda each: kept.intersection(successors[each]))
    return any(latch in reached for latch in loop.latches)
