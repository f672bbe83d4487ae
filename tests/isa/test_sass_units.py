"""Units that instructions occupy, and for how long."""

import pytest

from irlens.isa import sass
from irlens.isa.sass import Instruction, units

pytestmark = pytest.mark.stored


def instruction(text: str) -> Instruction:
    source = f'.section .text.k,"ax",@progbits\nk:\n.text.k:\n        /*0000*/   {text} ;\n'
    (only,) = sass.parse(source).sections[0].instructions
    return only


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("IMAD R0, R1, R2, R3", 2),
        ("IMAD.WIDE.U32 R0, R1, R2, R4", 4),
        ("IMAD.HI.U32 R0, R1, R2, RZ", 4),
        ("IMAD.MOV.U32 R0, RZ, RZ, R3", 0),
        ("IMAD.SHL.U32 R0, R1, 0x4, RZ", 0),
        ("IMAD.IADD R0, R1, 0x1, R3", 0),
        ("FFMA R0, R1, R2, R3", 0),
        ("IADD3 R0, R1, R2, R3", 0),
    ],
)
def test_integer_products_occupy_half_of_the_unit(text: str, cycles: int) -> None:
    assert units.integer_cycles(instruction(text)) == cycles


@pytest.mark.parametrize(
    ("text", "unit", "issues"),
    [
        ("SHFL.BFLY PT, R0, R1, 0x1, 0x1f", "lsu", 1),
        ("F2I.TRUNC.NTZ R0, R1", "xu", 2),
        ("HMMA.16816.F32 R0, R4, R8, R0", "tensor", 1),
        ("UIADD3 UR4, UR4, 0x1, URZ", "uniform", 1),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", "other", 1),
    ],
)
def test_units(text: str, unit: str, issues: int) -> None:
    assert units.unit(instruction(text)) == unit
    assert units.issues(instruction(text)) == issues


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("LDG.E.128 R4, desc[UR4][R2.64]", 16),
        ("LDG.E.U16 R4, desc[UR4][R2.64]", 2),
        ("ATOMG.E.ADD.F32x4.FTZ.RN.STRONG.GPU PT, R4, desc[UR4][R2.64], R4", 16),
        ("REDG.E.ADD.BF16x2.RN.STRONG.GPU desc[UR4][R2.64], R4", 4),
        ("ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU PT, R4, desc[UR4][R2.64], R4", 4),
    ],
)
def test_bytes_of_a_lane(text: str, count: int) -> None:
    assert units.lane_bytes(instruction(text)) == count


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("LDS R0, [R1]", 1),
        ("LDS.128 R0, [R1]", 4),
        ("STS.64 [R1], R2", 2),
        ("LDSM.16.M88.4 R0, [R1]", 4),
        ("LDGSTS.E.BYPASS.128 [R0], desc[UR4][R2.64]", 4),
        ("SHFL.BFLY PT, R0, R1, 0x1, 0x1f", 0),
        ("LDG.E R0, desc[UR4][R2.64]", 0),
    ],
)
def test_cycles_of_shared_memory_without_bank_conflicts(text: str, cycles: float) -> None:
    assert units.shared_cycles(instruction(text)) == cycles


def test_a_shape_with_digits_that_are_no_numbers_has_no_size() -> None:
    assert units.multiply_adds(instruction("HMMA.²x8.F32 R0, R1, R2, R3")) in (None, 0)


@pytest.mark.parametrize(
    ("text", "bypasses"),
    [
        ("LDGSTS.E.BYPASS.128 [R2+0x800], desc[UR8][R4.64]", True),  # cp.async.cg
        ("LDGSTS.E.BYPASS.LTC128B.128 [R2], desc[UR8][R4.64], P0", True),
        ("LDGSTS.E.64 [R2], desc[UR8][R4.64]", False),  # cp.async.ca
        ("LDG.E.128 R4, desc[UR8][R2.64]", False),
        ("LDG.E.128.STRONG.GPU R4, desc[UR8][R2.64]", True),  # ld.global.cg
        ("STG.E.STRONG.GPU desc[UR8][R2.64], R4", False),
    ],
)
def test_copies_of_16_bytes_and_loads_past_the_l1_bypass_it(text: str, bypasses: bool) -> None:
    assert units.bypasses_l1(instruction(text)) is bypasses
