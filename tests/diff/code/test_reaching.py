"""Which instructions may have written what a register holds."""

from irlens.diff.code.reaching import Itself, Step, Written, trace_blocks
from irlens.isa.dialect import OperandUse

R4, R5, P0 = ("R", 4), ("R", 5), ("P", 0)


def wrote(line: int, operand: int = 0) -> Written:
    return Written(line, operand, 0)


def write(line: int, guard: bool | None = None) -> Step:
    use = OperandUse((R4,), reads=False, writes=True, kills=guard is None)
    return Step(line, (use,), guard=None if guard is None else (P0, guard))


def read(line: int, guard: bool | None = None) -> Step:
    return Step(line, (OperandUse((R4,)),), guard=None if guard is None else (P0, guard))


def held(steps: list[Step], line: int) -> object:
    found = trace_blocks("kernel", [range(len(steps))], [()], steps)
    return found.values[line][0][0][0]


def test_the_latest_write_counts() -> None:
    assert held([write(1), write(2), read(3)], 3) == wrote(2)


def test_a_write_that_may_not_happen_leaves_what_was_there() -> None:
    assert held([write(1), write(2, guard=False), read(3)], 3) == {wrote(1), wrote(2)}


def test_under_the_same_condition_it_has_happened() -> None:
    assert held([write(1), write(2, guard=False), read(3, guard=False)], 3) == wrote(2)


def test_one_of_two_opposite_writes_has_happened() -> None:
    steps = [write(1), write(2, guard=False), write(3, guard=True), read(4)]
    assert held(steps, 4) == {wrote(2), wrote(3)}


def test_a_loop_reads_what_it_wrote_and_what_came_before() -> None:
    steps = [write(1), read(2), write(3)]
    found = trace_blocks("kernel", [range(1), range(1, 3)], [(1,), (1,)], steps)
    assert found.values[2][0][0] == [frozenset({wrote(1), wrote(3)})]


def test_behind_a_call_a_register_is_its_name_until_it_is_written() -> None:
    call = Step(2, (), clobbers=True)
    assert held([write(1), call, read(3)], 3) == Itself("kernel", R4)
    assert held([write(1), call, write(3), read(4)], 4) == wrote(3)


def test_both_halves_of_what_is_wide_are_followed() -> None:
    half = Step(2, (OperandUse((R5,), reads=False, writes=True, kills=True),))
    found = trace_blocks(
        "kernel", [range(3)], [()], [write(1), half, Step(3, (OperandUse((R4, R5)),))]
    )
    assert found.values[3][0][0] == [wrote(1), wrote(2)]
