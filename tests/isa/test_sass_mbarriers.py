"""What instructions do to barriers, as their registers say."""

import pytest

from irlens.isa import sass
from irlens.isa.sass.mbarriers import BarrierUse, Meeting, barrier_use, is_other_use, meeting
from irlens.isa.sass.operands import PASSED, REGISTERS, State, ThreadInputs, position
from irlens.isa.sass.records import Instruction
from irlens.isa.sass.registers import access
from irlens.isa.sass.semantics import HANDED_LOADS, compile_step, dependencies
from irlens.isa.sass.semantics.shared import serves_others, store_of


def instruction(code: str) -> Instruction:
    text = f'.section .text.k,"ax",@progbits\nk:\n        /*0000*/  {code} ;'
    (found,) = sass.parse(text).sections[0].instructions
    return found


def state(**registers: int) -> State:
    values: State = [None] * REGISTERS
    for name, value in registers.items():
        file = name.rstrip("0123456789")
        values[position(file, int(name[len(file) :]))] = value
    return values


def use(code: str) -> BarrierUse:
    found = barrier_use(instruction(code))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("code", "registers", "deed", "address", "value"),
    [
        # mbarrier.init of 1 and of 128 arrivals, as ptxas writes them
        ("SYNCS.EXCH.64 URZ, [UR9+0x100], UR6", {"UR9": 1024, "UR6": 0x1FFFFE}, "expects", 1280, 1),
        ("SYNCS.EXCH.64 URZ, [UR9], UR6", {"UR9": 64, "UR6": 0x1FFF00}, "expects", 64, 128),
        ("SYNCS.ARRIVE.TRANS64 RZ, [R6+UR24+0x8], R2", {"R6": 8, "UR24": 16, "R2": 8192},
         "announces", 32, 1),
        ("SYNCS.ARRIVE.TRANS64.ART0 RZ, [UR20], R3", {"UR20": 8, "R3": 128}, "arrives", 8, 128),
        ("SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR20], RZ", {"UR20": 8}, "arrives", 8, 1),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR2], R3", {"UR2": 8, "R3": 1 << 31}, "waits", 8, 1),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR2], R3", {"UR2": 8, "R3": 0}, "waits", 8, 0),
        ("UTMALDG.2D [UR20], [UR10]", {"UR20": 4096, "UR21": 48}, "copies", 48, 1),
    ],
)  # fmt: skip
def test_what_an_instruction_does(
    code: str, registers: dict[str, int], deed: str, address: int, value: int
) -> None:
    found, values = use(code), state(**registers)
    assert (found.deed, found.address(values), found.value(values)) == (deed, address, value)
    assert found.runs(values) == 1
    for name in registers:
        file = name.rstrip("0123456789")
        if (code, name) not in {("SYNCS.ARRIVE.TRANS64 RZ, [R6+UR24+0x8], R2", "R2"),
                                ("UTMALDG.2D [UR20], [UR10]", "UR20")}:  # fmt: skip
            assert found.registers >> position(file, int(name[len(file) :])) & 1


@pytest.mark.parametrize(("held", "runs"), [(1, 0), (0, 1), (None, None)])
def test_a_guard_says_whether_it_runs(held: int | None, runs: int | None) -> None:
    values = state(UR20=8)
    values[position("P", 2)] = held
    assert use("@!P2 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR20], RZ").runs(values) == runs


@pytest.mark.parametrize(
    "code", ["BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R0, [R1]", "SYNCS.CCTL.IV [UR4]"]
)
def test_others_do_nothing_to_a_barrier(code: str) -> None:
    assert barrier_use(instruction(code)) is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("BAR.SYNC.DEFER_BLOCKING 0x1", Meeting(1, None, True)),
        ("BAR.SYNC.DEFER_BLOCKING 0x2, 0x80", Meeting(2, 128, True)),
        ("BAR.ARV 0x3, 0x100", Meeting(3, 256, False)),
        ("BAR.SYNC.DEFER_BLOCKING R4, R5", None),
        ("BAR.RED.POPC.DEFER_BLOCKING 0x0, P0", None),
    ],
)
def test_where_threads_meet(code: str, expected: Meeting | None) -> None:
    assert meeting(instruction(code)) == expected


def test_warps_work_for_others_where_the_cta_meets_at_a_barrier_of_its_own() -> None:
    assert serves_others([instruction("BAR.SYNC.DEFER_BLOCKING 0x1")])
    assert not serves_others([instruction("BAR.SYNC.DEFER_BLOCKING 0x0")])
    assert not serves_others([instruction("BAR.SYNC.DEFER_BLOCKING 0x1, 0x80")])


def test_a_load_sees_what_was_written_before_the_last_barrier() -> None:
    shared = {16: ((0, 7), (2, 9))}
    launch = ThreadInputs({}, {}, (), shared)
    load = compile_step(instruction("LDS.U8 R6, [R3+UR4]"), launch)
    wait = compile_step(instruction("BAR.SYNC.DEFER_BLOCKING 0x1"), launch)
    assert load is not None
    assert wait is not None
    values = state(R3=6, UR4=10)
    values[PASSED] = 0
    seen = []
    for _ in range(4):
        load(values)
        seen.append(values[position("R", 6)])
        wait(values)
    assert seen == [None, 7, 7, 9]


def test_a_load_of_four_registers_knows_those_that_were_written() -> None:
    shared = {16 + n: ((0, n),) for n in (*range(4), *range(8, 16))}
    load = compile_step(instruction("LDS.128 R4, [UR4]"), ThreadInputs({}, {}, (), shared))
    assert load is not None
    values = state(UR4=16, R5=1)
    values[PASSED] = 1
    load(values)
    at = position("R", 4)
    assert values[at : at + 4] == [0x03020100, None, 0x0B0A0908, 0x0F0E0D0C]


def test_a_store_of_a_pair_writes_eight_bytes() -> None:
    found = store_of(instruction("STS.64 [UR9+0x8], R2"))
    assert found is not None
    values = state(UR9=8, R2=0x03020100, R3=0x07060504)
    assert list(found.written(values)) == [(16 + n, n) for n in range(8)]
    low_alone = list(found.written(state(UR9=8, R2=1)))
    assert low_alone == [(16, 1), (17, 0), (18, 0), (19, 0)]
    assert not list(found.written(state(R2=1, R3=2))), "its address is unknown"
    assert store_of(instruction("@P0 STS.64 [UR9+0x8], R2")) is None


def test_a_load_depends_on_barriers_where_warps_work_for_others() -> None:
    load = instruction("LDS R6, [R3]")
    accessed = access(load)
    assert accessed is not None
    assert dependencies(load, accessed, None).reads == 0
    assert dependencies(load, accessed, None, HANDED_LOADS).reads == accessed.reads | 1 << PASSED


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("UBLKCP.S.G [UR4], [UR6], UR8", True),  # a bulk copy without a tensor map
        ("ARRIVES.LDGSTSBAR.64 [UR4+0x8]", True),  # of the copies of a thread
        ("SYNCS.CAS.64 R2, [UR4], R4, R6", True),
        ("SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR20], RZ", False),
        ("SYNCS.CCTL.IV [UR4]", False),
        ("LDS R0, [R1]", False),
    ],
)
def test_other_uses_of_a_barrier_are_told_apart(code: str, other: bool) -> None:
    assert is_other_use(instruction(code)) == other


def test_a_guarded_barrier_of_threads_runs_where_its_guard_holds() -> None:
    values = state()
    values[position("P", 0)] = 0
    assert use("@P0 BAR.SYNC.DEFER_BLOCKING 0x1").runs(values) == 0
    assert use("@!P0 BAR.SYNC.DEFER_BLOCKING 0x1").runs(values) == 1
    assert barrier_use(instruction("BAR.SYNC.DEFER_BLOCKING 0x1")) is None
