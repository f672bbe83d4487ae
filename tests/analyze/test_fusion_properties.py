"""Whatever a program does, its groups are a partition in a legal order that moves no more bytes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.analyze.fusion import ledger_of
from irlens.analyze.fusion.dataflow import flow_of
from irlens.model.ledger import Ledger
from irlens.model.operations import OperationKind, RecordedOperation, RecordedProgram, Region

SHAPES = [(8, 16), (8, 1), (16,), (16, 8), (1,), (128,)]


def region(memory: int, shape: tuple[int, ...], *, turned: bool = False) -> Region:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    if turned and len(shape) == 2:
        return Region(memory, "fp32", 4, shape[::-1], tuple(strides[::-1]))
    return Region(memory, "fp32", 4, shape, tuple(strides))


@st.composite
def programs(draw: Any) -> RecordedProgram:
    """Operations of every kind over a few memories, some of them written in place or in part."""
    shapes = [draw(st.sampled_from(SHAPES)) for _ in range(3)]
    operations = []
    for _ in range(draw(st.integers(1, 14))):
        kind = draw(
            st.sampled_from(
                ["pointwise"] * 6
                + ["reduction", "reduction", "normalization", "product", "gather", "scatter"]
                + ["fill", "random", "join", "view", "kernel", "library"]
            )
        )
        chosen = draw(st.lists(st.integers(0, len(shapes) - 1), min_size=1, max_size=3))
        reads = [region(each, shapes[each], turned=draw(st.booleans())) for each in chosen]
        in_place = kind not in ("reduction", "view") and draw(st.integers(0, 4)) == 0
        space = reads[0].shape
        axes: tuple[int, ...] = ()
        if kind == "reduction":
            axes = (draw(st.integers(0, len(space) - 1)),)
            shape = tuple(1 if axis in axes else extent for axis, extent in enumerate(space))
        elif kind == "normalization":
            shape, axes = space, (len(space) - 1,)
        else:
            shape = space
        if in_place:
            written = region(chosen[0], shapes[chosen[0]])
            if len(written.shape) == 2 and draw(st.booleans()):
                written = Region(written.memory, "fp32", 4, (written.shape[0], 1), written.strides)
        else:
            shapes.append(shape)
            written = region(len(shapes) - 1, shape)
        operations.append(
            RecordedOperation(
                name=f"test.{kind}",
                kind=kind,
                reads=() if kind == "fill" else tuple(dict.fromkeys(reads)),
                writes=() if kind == "view" else (written,),
                space=space,
                axes=axes,
            )
        )
    outputs = draw(st.lists(st.integers(0, len(shapes) - 1), max_size=2))
    return RecordedProgram(
        operations=tuple(operations),
        names={number: f"x{number}" for number in range(3)},
        outputs=tuple(region(each, shapes[each]) for each in outputs)
        if draw(st.booleans())
        else None,
    )


def made(program: RecordedProgram, limit: int) -> Ledger:
    return ledger_of(program, "program", "program", row_limit=limit)


@settings(max_examples=200, deadline=None)
@given(programs(), st.sampled_from([1, 8, 16, 1000]))
def test_groups_partition_the_operations_in_a_legal_order(
    program: RecordedProgram, limit: int
) -> None:
    found = made(program, limit)
    grouped = [number for group in found.groups for number in group.operations]
    moving = [each.number for each in found.operations if each.kind != "view"]
    assert sorted(grouped) == moving
    place = {number: group.number for group in found.groups for number in group.operations}
    for index, needed in enumerate(flow_of(program).before):
        for other in needed:
            assert place[other + 1] <= place[index + 1]
    for each in found.operations:
        assert each.group == place.get(each.number)
    begun = [each.group for each in found.operations if each.reason.startswith("new group: ")]
    assert sorted(filter(None, begun)) == [group.number for group in found.groups]


@settings(max_examples=200, deadline=None)
@given(programs(), st.sampled_from([1, 8, 16, 1000]))
def test_groups_move_no_more_than_their_operations(program: RecordedProgram, limit: int) -> None:
    found = made(program, limit)
    for group in found.groups:
        assert group.read_bytes is not None
        assert group.written_bytes is not None
        assert 0 <= group.read_bytes <= (group.separate_read_bytes or 0)
        assert 0 <= group.written_bytes <= (group.separate_written_bytes or 0)
    assert (found.grouped.total or 0) <= (found.separate.total or 0)
    assert (found.one_pass.written_bytes or 0) <= (found.grouped.written_bytes or 0)
    assert found.grouped.kernels == len(found.groups) <= found.separate.kernels


@settings(max_examples=100, deadline=None)
@given(programs())
def test_the_same_program_has_the_same_ledger(program: RecordedProgram) -> None:
    assert made(program, 1000) == made(program, 1000)


@pytest.mark.parametrize("kind", ["kernel", "library", "random", "scatter"])
def test_kernels_of_others_stay_alone(kind: OperationKind) -> None:
    kinds: list[tuple[str, OperationKind]]
    kinds = [("a", "pointwise"), ("b", kind), ("c", "pointwise")]
    chain = tuple(
        RecordedOperation(
            name=name,
            kind=each,
            reads=(region(n, (8,)),),
            writes=(region(n + 1, (8,)),),
            space=(8,),
        )
        for n, (name, each) in enumerate(kinds)
    )
    found = made(RecordedProgram(operations=chain, names={0: "x"}), 100)
    assert [group.operations for group in found.groups] == [[1], [2], [3]]
