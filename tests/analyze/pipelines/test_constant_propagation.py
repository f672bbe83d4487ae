import ctypes
import operator
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze.pipelines.ptx_loops import depended_on
from irlens.isa.ptx import Address, Function, parse
from irlens.isa.ptx.evaluation import Evaluator, Values
from tests.tables import each_row


def fragment(text: str) -> Function:
    (function,) = parse(text).functions
    return function


def run(text: str, known: Values | None = None) -> Values:
    function = fragment(text)
    values = dict(known or {})
    evaluator = Evaluator(function)
    for instruction in function.instructions:
        evaluator.execute(instruction, values)
    return values


C_TYPES = {
    "u32": ctypes.c_uint32,
    "s32": ctypes.c_int32,
    "u64": ctypes.c_uint64,
    "s64": ctypes.c_int64,
    "u16": ctypes.c_uint16,
    "s16": ctypes.c_int16,
}
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul.lo": operator.mul,
    "min": min,
    "max": max,
    "div": lambda a, b: int(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
    "rem": lambda a, b: int(abs(a) % abs(b) * (1 if a >= 0 else -1)),
    "setp.lt": lambda a, b: int(a < b),
    "setp.ge": lambda a, b: int(a >= b),
}
NUMBERS = st.integers(-(1 << 63), (1 << 64) - 1) | st.integers(-5, 5)


@given(st.sampled_from(sorted(OPERATIONS)), st.sampled_from(sorted(C_TYPES)), NUMBERS, NUMBERS)
def test_arithmetic_is_that_of_c(name: str, kind: str, left: int, right: int) -> None:
    # C, through ctypes, is the judge of how numbers wrap and how signs are taken.
    number = C_TYPES[kind]
    a, b = number(left).value, number(right).value
    if name in ("div", "rem") and b == 0:
        b = 3
    expected = OPERATIONS[name](a, b)
    unsigned = C_TYPES[kind.replace("s", "u")]
    values = run(f"{name}.{kind} %r1, %r2, %r3;", {"%r2": a, "%r3": b})
    assert values["%r1"] == (expected if "setp" in name else unsigned(expected).value)


@each_row(
    ("text", "value"),
    [
        ("mov.b32 %r1, -1;", 0xFFFF_FFFF),
        ("mul.wide.u32 %r1, 0xFFFFFFFF, 0xFFFFFFFF;", 0xFFFF_FFFE_0000_0001),
        ("mul.wide.s32 %r1, -2, 3;", (1 << 64) - 6),
        ("mul.hi.u32 %r1, 0xAAAAAAAB, 9;", 6),
        ("mad.lo.s32 %r1, 3, 4, -13;", 0xFFFF_FFFF),
        ("mad.wide.s32 %r1, -3, 4, 100;", 88),
        ("shl.b32 %r1, 1, 33;", 0),
        ("shr.s32 %r1, -8, 1;", 0xFFFF_FFFC),
        ("shr.u32 %r1, -8, 1;", 0x7FFF_FFFC),
        ("shr.u64 %r1, 256, 70;", 0),
        ("and.b32 %r1, 12, 10;", 8),
        ("xor.b32 %r1, 12, 10;", 6),
        ("not.b32 %r1, 0;", 0xFFFF_FFFF),
        ("neg.s32 %r1, 1;", 0xFFFF_FFFF),
        ("cvt.s64.s32 %r1, -1;", (1 << 64) - 1),
        ("cvt.u64.u32 %r1, -1;", 0xFFFF_FFFF),
        ("cvt.u32.u64 %r1, 0x100000002;", 2),
        ("mov.pred %r1, -1;", 1),
        ("mov.pred %p1, 1; not.pred %r1, %p1;", 0),
        ("mov.pred %p1, 1; and.pred %r1, %p1, !%p1;", 0),
        ("mov.pred %p1, 1; selp.b32 %r1, 5, 6, %p1;", 5),
        ("selp.b32 %r1, 5, 5, %p9;", 5),
    ],
)
def test_a_value(text: str, value: int) -> None:
    assert run(text)["%r1"] == value


@pytest.mark.parametrize(
    "text",
    [
        "mov.u32 %r1, %tid.x;",
        "ld.param.b32 %r1, [n];",
        "add.s32 %r1, %r2, 1;",
        "selp.b32 %r1, 5, 6, %p9;",
        "add.f32 %r1, 0f3F800000, 0f3F800000;",
        "add.cc.u32 %r1, 1, 2;",
        "div.s32 %r1, 1, 0;",
        "mov.b32 %r1, 7; @%p1 mov.b32 %r1, 8;",
        "mov.b32 %r1, 7; shfl.sync.idx.b32 %r1, %r1, 0, 31, -1;",
        "mov.b32 %r1, 7; ld.global.v2.b32 {%r1, %r2}, [0];",
        ".reg .b32 %r<3>; mov.b32 %r1, 7; { .reg .b32 %r1; mov.b32 %r1, 8; }",
    ],
)
def test_what_is_not_certain_is_not_known(text: str) -> None:
    assert "%r1" not in run(text)


def test_a_guarded_write_of_the_same_value_changes_nothing() -> None:
    assert run("mov.b32 %r1, 7; @%p1 mov.b32 %r1, 7;")["%r1"] == 7


def test_variables_have_addresses_that_keep_apart() -> None:
    text = "mov.b32 %r1, smem; mov.b32 %r2, other; add.s32 %r3, %r1, 8; mov.b32 %r4, smem;"
    values = run(text)
    assert values["%r1"] == values["%r4"] == values["%r3"] - 8
    assert abs(values["%r1"] - values["%r2"]) >= 1 << 20


def test_only_what_an_address_depends_on_is_followed() -> None:
    function = fragment(
        "mov.b32 %r1, 4; mov.b32 %r2, 5; add.s32 %r3, %r1, %r4; setp.lt.s32 %p1, %r2, 3;"
        " @%p1 add.s32 %r4, %r4, 1; ld.shared.b32 %r5, [%r3+8];"
    )
    load = function.instructions[-1].operands[1]
    assert isinstance(load, Address)
    # Through the guard of the counter the second move matters, too.
    assert depended_on(function, [load]) == {0, 1, 2, 3, 4}
