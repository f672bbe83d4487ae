"""The solver against the definition of a data flow: the union over all paths."""

from collections.abc import Sequence
from operator import or_

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze import work
from irlens.analyze.graph import FlowGraph
from irlens.analyze.solver import reach, solve
from irlens.model.errors import OutOfWorkError

NODES = 6
EDGES = st.lists(st.lists(st.integers(0, NODES - 1), max_size=3), min_size=NODES, max_size=NODES)
BITS = st.lists(st.integers(0, 7), min_size=NODES, max_size=NODES)


def by_rounds(
    edges: Sequence[Sequence[int]], start: dict[int, int], gen: Sequence[int], kill: Sequence[int]
) -> dict[int, int]:
    """The least solution, by trying all edges until nothing changes."""
    states = dict(start)
    while True:
        before = dict(states)
        for node, targets in enumerate(edges):
            for target in targets if node in states else ():
                states[target] = states.get(target, 0) | gen[node] | states[node] & ~kill[node]
        if states == before:
            return states


def reversed_edges(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    return [[n for n in range(NODES) if node in edges[n]] for node in range(NODES)]


@given(
    EDGES, BITS, BITS, st.dictionaries(st.integers(0, NODES - 1), st.integers(0, 7)), st.booleans()
)
def test_every_path_counts(
    edges: list[list[int]], gen: list[int], kill: list[int], start: dict[int, int], backward: bool
) -> None:
    graph = FlowGraph(edges).reversed if backward else FlowGraph(edges)
    found = solve(graph, start, lambda n, s: gen[n] | s & ~kill[n], or_)
    along = reversed_edges(edges) if backward else edges
    assert found == by_rounds(along, start, gen, kill)


@given(EDGES, BITS, st.sets(st.integers(0, NODES - 1)))
def test_one_iteration_stays_in_the_loop(
    edges: list[list[int]], gen: list[int], body: set[int]
) -> None:
    found = solve(
        FlowGraph(edges), {0: 0}, lambda node, state: state | gen[node], or_, within=body - {0}
    )
    inside = [[t for t in targets if t in body and t != 0] for targets in edges]
    assert found == by_rounds(inside, {0: 0}, gen, [0] * NODES)
    assert found.keys() == reach([0], inside.__getitem__).keys()


def test_what_grows_for_ever_is_widened() -> None:
    found = solve(
        FlowGraph([[1], [1]]), {0: 0}, lambda _, n: n + 1, max, widen=lambda new, old: 10**6
    )
    assert found[1] >= 10**6


def test_each_visit_takes_a_step_of_the_budget() -> None:
    chain = FlowGraph([[1], [2], []])
    with work.budget(3):
        solve(chain, {0: 0}, lambda _, state: state, or_)
    with work.budget(2), pytest.raises(OutOfWorkError):
        solve(chain, {0: 0}, lambda _, state: state, or_)
