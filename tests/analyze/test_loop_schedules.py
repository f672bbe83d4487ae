"""What an iteration of a loop issues."""

from irlens.analyze import loops, sass_cfg
from irlens.analyze.loop_schedules import LoopSchedule, schedule
from irlens.isa import sass
from irlens.isa.sass.control import Control

LOOP = """
.section .text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   MOV R0, RZ ;
.L_x_0:
        /*0010*/                   LDG.E.128 R8, desc[UR4][R2.64] ;
        /*0020*/                   F2I.S64 R12, R8 ;
        /*0030*/             @!PT  LDS RZ, [RZ] ;
{inner}        /*0060*/                   HMMA.16816.F32 R16, R8, R10, R16 ;
        /*0070*/              @!P0 BRA `(.L_x_0) ;
        /*0080*/                   EXIT ;
"""
SKIP = """        /*0040*/               @P1 BRA `(.L_x_1) ;
        /*0050*/                   FFMA R5, R5, R5, R5 ;
.L_x_1:
"""
NEST = """.L_x_1:
        /*0040*/                   FFMA R5, R5, R5, R5 ;
        /*0050*/               @P1 BRA `(.L_x_1) ;
"""


def of(inner: str) -> list[LoopSchedule]:
    section = sass.parse(LOOP.format(inner=inner)).sections[0]
    found = loops.find(section, sass_cfg.build(section))
    fields = [Control(each.offset // 16 + 1, None, None, 0) for each in section.instructions]
    return [schedule(found, index, fields) for index in range(len(found.forest.loops))]


def test_an_iteration_has_its_slots_cycles_and_bytes() -> None:
    (loop,) = of("")
    assert loop.instructions == 5
    assert loop.cycles == 2 + 3 + 4 + 7 + 8
    # A conversion to an integer occupies its unit twice; @!PT goes to no unit.
    assert loop.units == {"xu": 2, "other": 2, "lsu": 1, "tensor": 1}
    assert loop.requested_bytes == 32 * 16
    assert not loop.branches


def test_code_that_an_iteration_may_skip_makes_an_upper_bound() -> None:
    (loop,) = of(SKIP)
    assert (loop.instructions, loop.units["fma"], loop.branches) == (7, 1, True)


def test_inner_loops_are_apart() -> None:
    outer, inner = sorted(of(NEST), key=lambda each: each.instructions, reverse=True)
    assert (outer.instructions, outer.branches) == (5, False)
    assert inner.units == {"fma": 1, "other": 1}
    assert (inner.instructions, inner.cycles) == (2, 5 + 6)
