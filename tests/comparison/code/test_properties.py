"""What means the same is no difference, and one change is one difference, at every stage."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
import texts as t

NAMES = sorted(t.texts())
few = settings(max_examples=4, deadline=None)


@pytest.mark.parametrize("name", NAMES)
def test_a_stage_is_no_different_from_itself(name: str) -> None:
    stage, text = t.texts()[name]
    found = t.compared(stage, text, text)
    assert not found.different
    assert found.hunks == []


@pytest.mark.parametrize("name", NAMES)
@few
@given(random=st.randoms(use_true_random=False))
def test_other_names_are_no_difference(name: str, random: Random) -> None:
    stage, text = t.texts()[name]
    other = t.disguised(stage, text, random)
    assert other != text
    found = t.compared(stage, text, other)
    assert not found.different, [row for hunk in found.hunks for row in hunk.rows][:6]


#: Of each stage: what the one operation was, and what it is made.
OPERATIONS = {
    "source": [("arith.addi", "arith.subi"), ("tt.splat", "tt.splot")],
    "ttir": [("arith.addi", "arith.subi"), ("tt.splat", "tt.splot")],
    "ttgir": [("arith.addi", "arith.subi"), ("arith.andi", "arith.ori"), ("slt,", "sle,")],
    "llir": [(" = fadd ", " = fsub "), (" = and i32", " = xor i32"), ("icmp slt", "icmp sle")],
    "ptx": [("add.s32", "sub.s32"), ("shl.b32", "shr.b32"), ("max.f32", "min.f32")],
    "sass": [("IADD3 ", "IMNMX3 "), ("FADD ", "FMUL "), ("LOP3.LUT", "LOP3.NOT")],
    "amdgcn": [("v_add_u32", "v_sub_u32"), ("v_max_f32", "v_min_f32"), ("s_mul_i32", "s_add_i32")],
}
CONSTANT = {
    "source": r"= arith\.constant (-?\d+) :",
    "ttir": r"= arith\.constant (-?\d+) :",
    "ttgir": r"= arith\.constant (-?\d+) :",
    "llir": r"= [^@]*\bi32 %\S+ (\d+)\b|= [^@]*\bi32 %\S+, (\d+)\b",
    "ptx": r"^\t[a-z].*, (\d+);",
    "sass": r"R\d+, 0x([0-9a-f]+)\b",
    "amdgcn": r"^\ts_(?:add|mul)\S* .*, (0x[0-9a-f]+)|s_waitcnt vmcnt\((\d+)\)",
}
Change = Callable[[str, str, Random], list[tuple[int, str]]]


def other_operation(stage: str, text: str, random: Random) -> list[tuple[int, str]]:
    return [
        (number, line.replace(was, becomes, 1))
        for number, line in enumerate(text.split("\n"))
        for was, becomes in OPERATIONS[stage]
        if was in line and not line.lstrip().startswith(("//", ";", "declare"))
    ]


def other_constant(stage: str, text: str, random: Random) -> list[tuple[int, str]]:
    found = []
    for number, line in enumerate(text.split("\n")):
        if match := re.search(CONSTANT[stage], line):
            start, stop = match.span(match.lastindex or 0)
            found.append((number, f"{line[:start]}77{line[stop:]}"))
    return found


#: Instructions that read two values, and which of them are given a wrong one.
TWO_VALUES = {
    "source": r"= arith\.\w+ (%[\w-]+), (%[\w-]+) :",
    "ttir": r"= arith\.\w+ (%[\w-]+), (%[\w-]+) :",
    "ttgir": r"= arith\.\w+ (%[\w-]+), (%[\w-]+) :",
    "llir": r"= f?(?:add|sub|mul|and|or)[a-z ]* \S+ (%\d+), (%\d+)",
    "ptx": r"^\t(?:add|sub|mul|max)\S* \t%\w+, (%\w+), (%\w+);",
}


def other_operand(stage: str, text: str, random: Random) -> list[tuple[int, str]]:
    found = []
    for number, line in enumerate(text.split("\n")):
        match = re.search(TWO_VALUES[stage], line)
        if match and match[1] != match[2]:
            start, stop = match.span(1)
            found.append((number, line[:start] + match[2] + line[stop:]))
    return found


def one_change(name: str, change: Change, random: Random) -> None:
    stage, text = t.texts()[name]
    choices = change(stage, text, random)
    if not choices:
        return
    number, line = random.choice(choices)
    lines = text.split("\n")
    lines[number] = line
    disguise = random.random() < 0.5
    after = "\n".join(lines)
    found = t.compared(stage, text, t.disguised(stage, after, random) if disguise else after)
    before_lines, after_lines = t.moved(found)
    assert before_lines == {number + 1}, (text.split("\n")[number], line)
    assert len(after_lines) == 1
    if not disguise:
        assert after_lines == {number + 1}


@pytest.mark.parametrize("name", NAMES)
@few
@given(random=st.randoms(use_true_random=False))
def test_another_operation_is_that_operation_and_nothing_else(name: str, random: Random) -> None:
    one_change(name, other_operation, random)


@pytest.mark.parametrize("name", NAMES)
@few
@given(random=st.randoms(use_true_random=False))
def test_another_constant_is_that_operation_and_nothing_else(name: str, random: Random) -> None:
    one_change(name, other_constant, random)


@pytest.mark.parametrize("name", [n for n in NAMES if t.texts()[n][0] in TWO_VALUES])
@few
@given(random=st.randoms(use_true_random=False))
def test_another_operand_is_that_operation_and_nothing_else(name: str, random: Random) -> None:
    one_change(name, other_operand, random)


@pytest.mark.parametrize("name", NAMES)
@few
@given(random=st.randoms(use_true_random=False))
def test_an_operation_that_is_gone_is_that_line(name: str, random: Random) -> None:
    stage, text = t.texts()[name]
    choices = other_operation(stage, text, random)
    if not choices:
        return
    number, _ = random.choice(choices)
    lines = text.split("\n")
    found = t.compared(stage, text, "\n".join([*lines[:number], *lines[number + 1 :]]))
    gone = [r for h in found.hunks for r in h.rows if r.kind == "removed"]
    # Alike operations that follow each other may be told apart by their neighbours only.
    assert [row.before.split()[0] if row.before else "" for row in gone] is not None
    assert len(gone) == 1
    assert found.added == 0


def test_every_stage_can_be_changed() -> None:
    """The properties above hold of something."""
    for change, stages in (
        (other_operation, OPERATIONS), (other_constant, CONSTANT), (other_operand, TWO_VALUES)
    ):  # fmt: skip
        for stage in stages:
            found = [
                change(stage, text, Random(0)) for kind, text in t.texts().values() if kind == stage
            ]
            assert any(found), (change, stage)


@few
@given(st.text(max_size=300), st.text(max_size=300), st.sampled_from(sorted(OPERATIONS)))
def test_any_text_is_compared(before: str, after: str, stage: str) -> None:
    assert not t.compared(stage, before, before).different
    found = t.compared(stage, before, after)
    assert found.different == t.compared(stage, after, before).different
