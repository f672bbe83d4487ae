"""Liveness: which registers hold a value that some path still reads.

The classic backward data flow (Aho, Lam, Sethi, Ullman, "Compilers", section 9.2.5) over sets
that are the bits of an integer. It knows nothing about instructions: each is a set that it reads
and a set that it certainly overwrites. A write under a predicate may not happen and overwrites
nothing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

from irlens.analyze.graph import FlowGraph
from irlens.analyze.solver import solve
from irlens.isa.bitsets import members

#: Nothing is live where control leaves.
_NOTHING: Mapping[int, int] = {}


def live_out(
    blocks: Sequence[range],
    graph: FlowGraph,
    reads: Sequence[int],
    kills: Sequence[int],
    at_end: Mapping[int, int] = _NOTHING,
    within: Collection[int] | None = None,
) -> list[int]:
    """Return the live-out registers of each block.

    Args:
        blocks: For each basic block the indices of its instructions.
        reads: For each instruction the set it reads, before it writes.
        kills: For each instruction the set it overwrites whenever it is reached.
        at_end: Live-out registers of a block for reasons outside of the graph.
        within: The blocks to stay within, all if ``None``; others have no live-out registers.
    """
    nodes = range(len(blocks)) if within is None else within
    flows = {node: _transfer(blocks[node], reads, kills) for node in nodes}

    def before(node: int, after: int) -> int:
        exposed, killed = flows[node]
        return exposed | after & ~killed

    start = {node: at_end.get(node, 0) for node in nodes}
    after = solve(graph.reversed, start, before, or_, within=within)
    return [after.get(node, 0) for node in range(len(blocks))]


def live_in(block: range, after: int, reads: Sequence[int], kills: Sequence[int]) -> int:
    """Return the live-in registers of a block, given its live-out ones."""
    exposed, killed = _transfer(block, reads, kills)
    return exposed | after & ~killed


def walk(
    block: range, after: int, reads: Sequence[int], kills: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """Walk a block backwards.

    Yields:
        The index of each instruction, the registers live before it, and those live after it.
    """
    for index in reversed(block):
        before = reads[index] | after & ~kills[index]
        yield index, before, after
        after = before


def written_before(blocks: Sequence[range], graph: FlowGraph, writes: Sequence[int]) -> list[int]:
    """Return for each block the registers that some path has written when it begins.

    Without it a register that is only ever written under a predicate, as by a masked load, would
    count from the start of the kernel on.
    """
    written = [reduce(or_, writes[block.start : block.stop], 0) for block in blocks]
    nothing = dict.fromkeys(range(len(blocks)), 0)
    before = solve(graph, nothing, lambda node, earlier: earlier | written[node], or_)
    return [before[node] for node in range(len(blocks))]


def last_writers(
    blocks: Sequence[range],
    graph: FlowGraph,
    writes: Sequence[int],
    kills: Sequence[int],
    live: int,
    at: int,
    *,
    leaving_it: bool,
) -> dict[int, int]:
    """Return for each register of a set the last instruction whose result it may hold.

    This is the liveness of a program in which one instruction reads all of them and no other
    reads anything: an instruction that writes a register live there may have written its value.

    Args:
        blocks: For each basic block the indices of its instructions.
        writes: For each instruction the set it writes, or may write.
        kills: For each instruction the set it overwrites whenever it is reached.
        leaving_it: Whether they are live after it, its own results among them, and not before it.

    Returns:
        The instruction's index, the last in the order of the text, by the register's number.
        Registers that nothing writes are absent.
    """
    reads = [0] * len(writes)
    reads[at] = live
    last: dict[int, int] = {}
    if leaving_it:
        reads[at] &= ~kills[at]
        last = dict.fromkeys(members(writes[at] & live), at)
    after = live_out(blocks, graph, reads, kills)
    for block, leaving in zip(blocks, after, strict=True):
        for writer, _, following in walk(block, leaving, reads, kills):
            for number in members(writes[writer] & following):
                last[number] = max(last.get(number, writer), writer)
    return last


def _transfer(block: range, reads: Sequence[int], kills: Sequence[int]) -> tuple[int, int]:
    """The registers that a block reads before it writes them, and those it overwrites."""
    exposed = killed = 0
    for index in reversed(block):
        exposed = reads[index] | exposed & ~kills[index]
        killed |= kills[index]
    return exposed, killed
