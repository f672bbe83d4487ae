import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze.graph import (
    find_loops,
    predecessors,
    reverse_postorder,
)
from irlens.model.errors import OutOfWorkError

Graph = list[list[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 9))
    node = st.integers(0, size - 1)
    return [draw(st.lists(node, max_size=3)) for _ in range(size)]


def reachable(graph: Sequence[Sequence[int]], start: int, without: int | None = None) -> set[int]:
    """Nodes reachable from a start on paths that avoid one node."""
    found: set[int] = set()
    pending = [start] if start != without else []
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending.extend(target for target in graph[node] if target != without)
    return found


def dominators(graph: Graph, node: int) -> set[int]:
    """By definition: the nodes without which this one is out of reach, itself included."""
    return {d for d in range(len(graph)) if node not in reachable(graph, 0, d)} | {node}


def is_reducible(graph: Graph) -> bool:
    """By definition: without the edges to a dominator, what is reachable has no cycle."""
    nodes = reachable(graph, 0)
    kept = [
        [t for t in targets if node in nodes and t not in dominators(graph, node)]
        for node, targets in enumerate(graph)
    ]
    return all(n not in reachable(kept, t) for n in nodes for t in kept[n])


@given(graphs())
def test_predecessors_are_the_edges_turned_round(graph: Graph) -> None:
    edges = {(a, b) for a, targets in enumerate(graph) for b in targets}
    assert {(a, b) for b, sources in enumerate(predecessors(graph)) for a in sources} == edges


@given(graphs())
def test_reverse_postorder_holds_what_is_reachable_and_respects_acyclic_edges(graph: Graph) -> None:
    order = reverse_postorder(graph)
    assert sorted(order) == sorted(reachable(graph, 0))
    for node in order:
        for target in graph[node]:
            if node not in reachable(graph, target):
                assert order.index(node) < order.index(target)


@given(graphs())
def test_loops_of_reducible_graphs_are_the_natural_ones(graph: Graph) -> None:
    forest = find_loops(graph)
    assert any(loop.irreducible for loop in forest.loops) is not is_reducible(graph)
    if not is_reducible(graph):
        return
    nodes = reachable(graph, 0)
    backward = predecessors(graph)
    expected: dict[int, set[int]] = {}
    for latch in nodes:
        for header in graph[latch]:
            if header in dominators(graph, latch):
                inside = reachable(backward, latch, header) & nodes
                expected.setdefault(header, {header}).update(inside)
    assert {loop.header: set(forest.body(i)) for i, loop in enumerate(forest.loops)} == expected
    for loop in forest.loops:
        assert set(loop.latches) == {n for n in expected[loop.header] if loop.header in graph[n]}


@given(graphs())
def test_loops_nest(graph: Graph) -> None:
    forest = find_loops(graph)
    for index, loop in enumerate(forest.loops):
        assert all(forest.innermost[node] == index for node in loop.own)
        if loop.parent is None:
            assert loop.depth == 1
        else:
            above = forest.loops[loop.parent]
            assert loop.parent < index
            assert loop.depth == above.depth + 1
            assert index in above.children
            assert forest.body(index) < forest.body(loop.parent)


def test_no_node_is_no_loop() -> None:
    assert reverse_postorder([]) == ()
    assert find_loops([]).loops == ()


def test_long_and_deep_graphs_need_no_stack() -> None:
    size = 50_000
    chain = [[node + 1] for node in range(size)] + [[0]]
    assert reverse_postorder(chain) == tuple(range(size + 1))
    (loop,) = find_loops(chain).loops
    assert len(loop.own) == size + 1
    headers = [[node + 1] for node in range(size)]
    latches = [[size - 1 - node, size + node + 1] for node in range(size - 1)]
    nest = find_loops([*headers, *latches, [0]])
    assert [loop.depth for loop in nest.loops] == list(range(1, size + 1))


def test_loops_that_are_entered_in_very_many_ways_are_refused() -> None:
    size = 4000
    graph = [[n + 1, n * 7919 % size, (n * 104_729 + 1) % size] for n in range(size - 1)] + [[]]
    begun = time.process_time()
    with pytest.raises(OutOfWorkError, match="entered past their headers in too many ways"):
        find_loops(graph)
    assert time.process_time() - begun < 5
