"""Integer semantics of SASS."""

from typing import Any

import numpy as np
import pytest

from irlens.analyze.time.shared_wavefronts import NOT_OF_ARRAYS
from irlens.isa import sass
from irlens.isa.sass.operands import SPECIAL, State, ThreadInputs, position
from irlens.isa.sass.semantics import compile_step
from tests.tables import each_row

pytestmark = pytest.mark.stored

LAUNCH = ThreadInputs({0x210: 7, 0x218: 0xFFFFFFFF, 0x21C: 1}, {"SR_CTAID.X": 5})


def state(**registers: int) -> State:
    values = LAUNCH.state(600, None)
    for name, value in registers.items():
        file = name.rstrip("0123456789")
        values[position(file, int(name[len(file) :]))] = value
    return values


def run(code: str, **registers: int) -> State:
    lines = [f"        /*{16 * n:04x}*/  {each} ;" for n, each in enumerate(code.split(";"))]
    text = '.section .text.k,"ax",@progbits\nk:\n' + "\n".join(lines)
    values = state(**registers)
    for each in sass.parse(text).sections[0].instructions:
        step = compile_step(each, LAUNCH)
        assert step is not None, each.opcode
        step(values)
    return values


def value(values: State, name: str) -> int | None:
    file = name.rstrip("0123456789")
    return values[position(file, int(name[len(file) :]))]


#: Operations on words, which take arrays of lanes as well.
OF_ARRAYS = [
    "IADD3 R0, R1, -R2, R3", "IMAD R0, R1, R2, R3", "IMAD.WIDE R8, R1, R2, R4",
    "IMAD.WIDE.U32 R8, R1, R2, R4", "IMAD.HI.U32 R0, R1, R2, R4", "IMAD.HI R0, R1, R2, R4",
    "LEA R0, R1, R2, 0x2", "LEA.HI R0, R1, R2, R3, 0x5", "LEA.HI.SX32 R0, R1, R2, 0x1b",
    "SHF.R.S32.HI R0, RZ, 0x2, R1", "SHF.R.U32.HI R0, RZ, 0x1f, R1", "SHF.L.U32 R0, R1, 0x4, RZ",
    "SHF.R.U64 R0, R1, 0x25, R2", "SHF.R.S64 R0, R1, 0x3f, R2", "SHF.L.U64.HI R0, R1, 0x23, R2",
    "SHF.L.W.U32.HI R0, R1, 0x7, R2", "LOP3.LUT R0, R1, R2, R3, 0x96, !PT",
    "LOP3.LUT R0, R1, 0x1f, RZ, 0xc0, !PT", "IABS R0, R1", "SGXT R0, R1, 0x8",
    "SGXT.U32 R0, R1, 0x1f", "PRMT R0, R1, 0x5410, R2", "PRMT R0, R1, 0xba98, R2", "MOV R0, R1",
    "R2P PR, R1, 0x6", "S2R R0, SR_TID.X", "ISETP.GE.U32.AND P0, PT, R1, R2, PT",
    "ISETP.LT.AND P0, P2, R1, R2, PT", "ISETP.NE.OR P0, PT, R1, R2, !PT",
]  # fmt: skip
#: Operations that refuse them and are computed lane by lane.
OF_LANES = [
    "IADD3 R0, P0, R1, R2, R3", "IADD3.X R0, R1, ~R2, R3, P1, !PT", "LEA R0, P0, R1, R2, 0x4",
    "SHF.R.U32 R0, R1, R2, R3", "LOP3.LUT P0, RZ, R1, R2, RZ, 0xc0, !PT", "SEL R0, R1, R2, P1",
    "VIMNMX R0, R1, R2, PT", "I2FP.F32.S32 R0, R1", "F2I.TRUNC.NTZ R0, R1",
    "ISETP.GE.U32.AND P0, PT, R1, R2, P1", "@P1 IADD3 R0, R1, 0x1, RZ", "P2R R0, PR, R1, 0x3",
    "SHFL.IDX PT, R0, R1, RZ, 0x1f",
]  # fmt: skip


@each_row("code", [*OF_ARRAYS, *OF_LANES])
def test_arrays_of_lanes_are_computed_with_as_numbers_or_refused(code: str) -> None:
    text = f'.section .text.k,"ax",@progbits\nk:\n        /*0000*/  {code} ;'
    (instruction,) = sass.parse(text).sections[0].instructions
    step = compile_step(instruction, LAUNCH)
    assert step is not None
    random = np.random.default_rng(0)
    words = np.concatenate((
        random.integers(0, 1 << 32, (64, 8)),
        random.choice([0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1], (64, 8)),
    ))  # fmt: skip
    lanes = [LAUNCH.state(600, 0) for _ in words]
    whole: list[Any] = LAUNCH.state(600, 0)
    predicate, lane = position("P", 1), SPECIAL["SR_LANEID"]
    for at in (*range(1, 8), predicate, lane):
        column = words[:, at % 8] & 1 if at == predicate else words[:, at % 8]
        whole[at] = column
        for state, each in zip(lanes, column.tolist(), strict=True):
            state[at] = each
    if code in OF_LANES:
        with pytest.raises(NOT_OF_ARRAYS):
            step(whole)
        return
    step(whole)
    for state in lanes:
        step(state)
    for at, value in enumerate(whole):
        expected = [state[at] for state in lanes]
        assert np.broadcast_to(np.array(value), len(lanes)).tolist() == expected


@each_row(
    ("code", "registers", "result"),
    [
        ("IADD3 R0, R1, 0x5, R2", {"R1": 1, "R2": 2}, 8),
        ("IADD3 R0, R1, -R2, RZ", {"R1": 1, "R2": 2}, 0xFFFFFFFF),
        (
            "IADD3 R0, P0, R1, R2, RZ; IADD3.X R0, RZ, RZ, RZ, P0, !PT",
            {"R1": 0xFFFFFFFF, "R2": 2},
            1,
        ),
        ("IADD3 R0, P0, R1, -R2, RZ; IADD3.X R0, R1, ~R2, RZ, P0, !PT", {"R1": 5, "R2": 0}, 5),
        ("IMAD R0, R1, -0x3, R2", {"R1": 2, "R2": 10}, 4),
        ("IMAD.WIDE R0, R1, R2, RZ", {"R1": 0xFFFFFFFF, "R2": 4}, 0xFFFFFFFC),
        ("IMAD.WIDE.U32 R2, R1, R1, RZ; MOV R0, R3", {"R1": 0xFFFFFFFF}, 0xFFFFFFFE),
        ("IMAD.HI.U32 R0, R1, R2, RZ", {"R1": 0x80000000, "R2": 6}, 3),
        # 64 bits times 64: what the sum of the products in the middle carries
        (
            "IMAD.WIDE.U32 R4, P0, R1, R1, R2; SEL R0, R1, RZ, P0",
            {"R1": 0xFFFFFFFF, "R2": 0xFFFFFFFF, "R3": 0xFFFFFFFF},
            0xFFFFFFFF,
        ),
        (
            "IMAD.WIDE.U32 R4, P0, R1, R1, RZ; SEL R0, R1, RZ, P0",
            {"R1": 0xFFFFFFFF, "P0": 1},
            0,
        ),
        ("IMAD.WIDE.U32.X R0, R1, R2, RZ, P0", {"R1": 3, "R2": 5, "P0": 1}, 16),
        ("UIADD3.64 UR4, UPT, UPT, UR4, 0x1, URZ; MOV R0, UR5", {"UR4": 0xFFFFFFFF, "UR5": 6}, 7),
        ("LEA R0, R1, UR4, 0x2", {"R1": 3, "UR4": 100}, 112),
        ("LEA.HI R0, R1, R2, RZ, 0x5", {"R1": 0xF8000000, "R2": 1}, 32),
        ("SHF.R.S32.HI R0, RZ, 0x2, R1", {"R1": 0xFFFFFFF8}, 0xFFFFFFFE),
        ("SHF.R.U32.HI R0, RZ, 0x2, R1", {"R1": 0xFFFFFFF8}, 0x3FFFFFFE),
        ("SHF.L.U32 R0, R1, 0x4, RZ", {"R1": 3}, 48),
        ("USHF.L.U32 UR4, UR5, 0x1, URZ; MOV R0, UR4", {"UR5": 21}, 42),
        ("LOP3.LUT R0, R1, 0x1f, RZ, 0xc0, !PT", {"R1": 0x7A}, 0x1A),
        ("LOP3.LUT R0, R1, R2, R3, 0x96, !PT", {"R1": 1, "R2": 2, "R3": 7}, 4),
        ("SEL R0, R1, R2, P0", {"R1": 1, "R2": 2, "P0": 0}, 2),
        ("VIMNMX R0, R1, R2, PT", {"R1": 0xFFFFFFFF, "R2": 2}, 0xFFFFFFFF),
        ("VIADDMNMX R0, R1, 0x80, R2, PT", {"R1": 1, "R2": 300}, 129),
        ("VIADDMNMX R0, R1, 0x80, R2, PT", {"R1": 1, "R2": 0xFFFFFFFF}, 0xFFFFFFFF),
        ("VIADDMNMX.U32 R0, R1, 0x80, R2, !PT", {"R1": 1, "R2": 0xFFFFFFFF}, 0xFFFFFFFF),
        ("IABS R0, R1", {"R1": 0xFFFFFFFE}, 2),
        ("SGXT R0, R1, 0x8", {"R1": 0x80}, 0xFFFFFF80),
        ("PRMT R0, R1, 0x5410, R2", {"R1": 0x1111, "R2": 0x2222}, 0x22221111),
        ("HFMA2.MMA R0, -RZ, RZ, 0, 5.9604644775390625e-08", {}, 1),
        ("HFMA2 R0, -RZ, RZ, -0.0 , 0", {}, 0x80000000),
        ("HFMA2 R0, RZ, RZ, -0.0 , 0", {}, 0),
        ("HFMA2 R0, -RZ, RZ, 1, -1.5", {}, 0x3C00BE00),
        ("S2R R0, SR_CTAID.X", {}, 5),
        ("P2R R0, PR, RZ, 0x12", {"P0": 1, "P1": 1, "P4": 0}, 2),
        ("P2R.B1 R0, PR, R1, 0x3", {"R1": 0x1FF, "P0": 0, "P1": 1}, 0x2FF & ~0x100),
        ("R2P PR, R1, 0x6; SEL R0, R2, RZ, P1; SEL R0, R0, RZ, !P2", {"R1": 2, "R2": 9}, 9),
        ("UP2UR UR4, UPR, URZ, 0x5; MOV R0, UR4", {"UP0": 0, "UP1": 1, "UP2": 1}, 4),
        ("UR2UP UPR, UR4, 0x2; USEL UR5, UR4, URZ, UP1; MOV R0, UR5", {"UR4": 6}, 6),
        ("ULDC UR4, c[0x0][0x210]; MOV R0, UR4", {}, 7),
        ("ULDC.64 UR4, c[0x0][0x218]; MOV R0, UR5", {}, 1),
        (
            "I2F.RP R1, R2; MUFU.RCP R1, R1; F2I.FTZ.U32.TRUNC.NTZ R0, R3",
            {"R2": 3, "R3": 0x40490FDB},
            3,
        ),
        # Rounding 5,000 / 512 down and up, and -1 / 512, as ptxas does it.
        (
            "I2F.U64 R1, R2; FMUL R1, R1, 0.001953125; F2I.FTZ.FLOOR.NTZ R0, R1",
            {"R2": 5000, "R3": 0},
            9,
        ),
        (
            "I2F.U64 R1, R2; FMUL R1, R1, 0.001953125; F2I.FTZ.CEIL.NTZ R0, R1",
            {"R2": 5000, "R3": 0},
            10,
        ),
        ("I2F.S64 R0, R2", {"R2": 0xFFFFFFFF, "R3": 0xFFFFFFFF}, 0xBF800000),
        (
            "I2FP.F32.S32 R1, R2; FMUL R1, R1, 0.001953125; F2I.FTZ.FLOOR.NTZ R0, R1",
            {"R2": 0xFFFFFFFF},
            0xFFFFFFFF,
        ),
        ("F2I.TRUNC.NTZ R0, R1", {"R1": 0x7FC00000}, 0),
    ],
)
def test_an_instruction_computes(code: str, registers: dict[str, int], result: int) -> None:
    assert value(run(code, **registers), "R0") == result


@pytest.mark.parametrize(
    ("code", "registers", "result"),
    [
        ("ISETP.GE.AND P0, PT, R1, 0x2, PT", {"R1": 0xFFFFFFFF}, 0),
        ("ISETP.GE.U32.AND P0, PT, R1, 0x2, PT", {"R1": 0xFFFFFFFF}, 1),
        ("ISETP.LT.OR P0, PT, R1, 0x2, P1", {"R1": 9, "P1": 1}, 1),
        (
            "UISETP.NE.AND UP0, UPT, UR4, URZ, UPT; PLOP3.LUT P0, PT, UP0, PT, PT, 0x80, 0x0",
            {"UR4": 3},
            1,
        ),
        (
            "ISETP.LT.U32.AND P1, PT, R1, R2, PT; ISETP.LT.AND.EX P0, PT, R3, R4, PT, P1",
            {"R1": 1, "R2": 2, "R3": 5, "R4": 5},
            1,
        ),
        (
            "ISETP.LT.U32.AND P1, PT, R1, R2, PT; ISETP.LT.AND.EX P0, PT, R3, R4, PT, P1",
            {"R1": 1, "R2": 2, "R3": 6, "R4": 5},
            0,
        ),
        ("LOP3.LUT P0, RZ, R1, 0x3, RZ, 0xc0, !PT", {"R1": 4}, 0),
    ],
)
def test_a_comparison_sets_a_predicate(code: str, registers: dict[str, int], result: int) -> None:
    assert value(run(code, **registers), "P0") == result


def test_what_is_not_known_stays_unknown() -> None:
    values = run("IADD3 R0, R1, 0x1, RZ; ISETP.GE.AND P0, PT, R1, 0x2, PT")
    assert value(values, "R0") is None
    assert value(values, "P0") is None


def test_an_unknown_term_that_cannot_matter_does_not() -> None:
    values = run("LOP3.LUT R0, R1, RZ, RZ, 0xc0, !PT; ISETP.GE.OR P0, PT, R1, 0x2, P1", P1=1)
    assert value(values, "R0") == 0
    assert value(values, "P0") == 1


@pytest.mark.parametrize(("held", "result"), [(1, 8), (0, 3), (None, None)])
def test_a_guard_decides(held: int | None, result: int | None) -> None:
    registers = {"R0": 3} | ({} if held is None else {"P0": held})
    assert value(run("@P0 MOV R0, 0x8", **registers), "R0") == result


@each_row("code", ["ISETP.NE.U32.AND P0, PT, R1, R2, PT", "ISETP.EQ.AND P0, PT, R1, R2, PT"])
def test_lanes_that_are_not_known_are_not_compared(code: str) -> None:
    (instruction,) = sass.parse(
        f'.section .text.k,"ax",@progbits\nk:\n        /*0000*/  {code} ;'
    ).sections[0].instructions  # fmt: skip
    step = compile_step(instruction, LAUNCH)
    assert step is not None
    lanes: list[Any] = LAUNCH.state(600, 0)
    lanes[position("R", 1)] = np.array([1, None], object)
    with pytest.raises(NOT_OF_ARRAYS):
        step(lanes)
