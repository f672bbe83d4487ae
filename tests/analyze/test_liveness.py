"""Backward liveness against its definition: is there a path to a read with no overwrite on it?"""

from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze import liveness
from irlens.analyze.graph import FlowGraph

REGISTERS = 3


@st.composite
def programs(
    draw: st.DrawFn,
) -> tuple[list[range], list[list[int]], list[int], list[int], dict[int, int]]:
    """Blocks of zero to three instructions, any edges, any reads, kills and live ends."""
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=6))
    count = len(sizes)
    starts = [sum(sizes[:block]) for block in range(count)]
    blocks = [range(start, start + size) for start, size in zip(starts, sizes, strict=True)]
    nodes = st.integers(0, count - 1)
    sets = st.integers(0, 2**REGISTERS - 1)
    total = sum(sizes)
    edges = [draw(st.lists(nodes, max_size=3)) for _ in sizes]
    reads = draw(st.lists(sets, min_size=total, max_size=total))
    kills = draw(st.lists(sets, min_size=total, max_size=total))
    at_end = draw(st.dictionaries(nodes, sets, max_size=2))
    return blocks, edges, reads, kills, at_end


def lives(
    blocks: list[range],
    edges: list[list[int]],
    reads: list[int],
    kills: list[int],
    at_end: dict[int, int],
    block: int,
    position: int,
    register: int,
) -> bool:
    """Search forward from a point, given as block and position in it."""
    pending, seen = [(block, position)], set()
    while pending:
        point = pending.pop()
        if point in seen:
            continue
        seen.add(point)
        block, position = point
        if position == len(blocks[block]):
            if at_end.get(block, 0) >> register & 1:
                return True
            pending.extend((target, 0) for target in edges[block])
            continue
        index = blocks[block][position]
        if reads[index] >> register & 1:
            return True
        if not kills[index] >> register & 1:
            pending.append((block, position + 1))
    return False


@given(programs())
def test_what_is_live_is_what_some_path_reads(
    program: tuple[list[range], list[list[int]], list[int], list[int], dict[int, int]],
) -> None:
    blocks, edges, reads, kills, at_end = program
    after = liveness.live_out(blocks, FlowGraph(edges), reads, kills, at_end)

    def searched(block: int, position: int) -> int:
        return sum(
            lives(blocks, edges, reads, kills, at_end, block, position, register) << register
            for register in range(REGISTERS)
        )

    for block, instructions in enumerate(blocks):
        assert after[block] == searched(block, len(instructions))
        assert liveness.live_in(instructions, after[block], reads, kills) == searched(block, 0)
        steps = list(liveness.walk(instructions, after[block], reads, kills))
        assert [index for index, _, _ in steps] == list(reversed(instructions))
        for index, before, behind in steps:
            position = index - instructions.start
            assert before == searched(block, position)
            assert behind == searched(block, position + 1)


def test_a_long_chain_needs_one_pass() -> None:
    """Each block reads what the last one does not kill; passing it all back must not take long."""
    count = 20_000
    blocks = [range(index, index + 1) for index in range(count)]
    edges = [[index + 1] if index + 1 < count else [] for index in range(count)]
    reads = [0] * (count - 1) + [1]
    after = liveness.live_out(blocks, FlowGraph(edges), reads, [0] * count)
    assert after == [1] * (count - 1) + [0]
