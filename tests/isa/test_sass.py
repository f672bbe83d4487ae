"""The SASS parser: forms of both generations of nvdisasm, and a corpus read by other means."""

import lzma
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.isa import sass
from irlens.isa.sass import Instruction, Register
from irlens.model.errors import ParseError
from irlens.model.source import SourceLocation
from tests.tables import each_row

pytestmark = pytest.mark.stored

DATA = Path(__file__).parents[1] / "data" / "sass"
CORPUS = sorted(path.name.removesuffix(".sass.xz") for path in DATA.glob("*.sass.xz"))

HEADER = '\t.section\t.text.k,"ax",@progbits\n\t.align\t128\nk:\n.text.k:\n'


def read(name: str) -> str:
    return lzma.decompress((DATA / f"{name}.sass.xz").read_bytes()).decode()


def one(line: str) -> Instruction:
    """The instruction on a line of nvdisasm."""
    parsed = sass.parse(f"{HEADER}        /*0010*/  {line}\n")
    assert parsed.unknown == {}
    (section,) = parsed.sections
    (instruction,) = section.instructions
    return instruction


def test_an_instruction_has_guard_modifiers_and_operands() -> None:
    found = one("@!P4 LDG.E.128 R8, desc[UR18][R2.64+-0x10] ;")
    assert found.offset == 0x10
    assert found.line == 5
    assert found.guard is not None
    assert found.guard.negated
    assert found.guard.register == Register("P", 4)
    assert (found.opcode, found.modifiers) == ("LDG", ("E", "128"))
    result, address = found.operands
    assert (result.kind, result.registers) == ("register", (Register("R", 8),))
    assert address.kind == "memory"
    assert address.registers == (Register("UR", 18), Register("R", 2, ("64",)))


@pytest.mark.parametrize(
    ("line", "kinds", "registers"),
    [
        ("FADD R0, |R21|.reuse, -RZ ;", "rrr", ["R0", "R21", "RZ"]),
        (
            "ISETP.GE.AND P0, PT, R0.reuse, c[0x0][0x228], !UP1 ;",
            "rrrcr",
            ["P0", "PT", "R0", "UP1"],
        ),
        ("S2R R3, SR_CTAID.X ;", "rs", ["R3"]),
        ("CS2R R4, SRZ ;", "rs", ["R4"]),
        ("FSEL R2, R6, -INF , !P0 ;", "rrir", ["R2", "R6", "P0"]),
        ("HGMMA.64x128x16.F32 R24, R132, gdesc[UR8].tnspB, R24, gsb0 ;", "rrdro", None),
        ("P2R R5, PR, RZ, 0x10 ;", "rori", ["R5", "RZ"]),
        ("DEPBAR {5,4,3,2,1,0} ;", "o", []),
        ("LDS R0, [R25+UR36+0x18104] ;", "rm", ["R0", "R25", "UR36"]),
        ("STTM.x64 tmem[UR33+0x20], R4 ;", "dr", ["UR33", "R4"]),
        ("BSSY B0, `(.L_x_0) ;", "rl", ["B0"]),
        ("RET.REL.NODEC R6 `(calls) ;", "r", ["R6"]),
        ("EXIT ;", "", []),
    ],
)
def test_operands_are_told_apart(line: str, kinds: str, registers: list[str] | None) -> None:
    found = one(line)
    assert "".join(operand.kind[0] for operand in found.operands) == kinds
    if registers is not None:
        assert [spelled(each) for o in found.operands for each in o.registers] == registers


def spelled(register: Register) -> str:
    if register.index is None:
        return register.file + ("T" if register.file in ("P", "UP") else "Z")
    return f"{register.file}{register.index}"


def test_targets_are_named_or_inferred() -> None:
    assert one("@P0 BRA `(.L_x_1) ;").targets == (".L_x_1",)
    assert one("CALL.REL.NOINC `($k$slow) ;").targets == ("$k$slow",)
    jump = one('BRX R4 -0x160  ?trans5  (*"BRANCH_TARGETS .L_x_9,.L_x_12"*);')
    assert jump.targets == (".L_x_9", ".L_x_12")
    assert jump.schedule == "?trans5"
    assert [operand.registers for operand in jump.operands] == [(Register("R", 4),)]


def test_scheduling_notes_are_no_operands() -> None:
    found = one("LDG.E R10, desc[UR6][R6.64]     &req={3,1} &wr=0x1          ?trans4;")
    assert found.schedule == "&req={3,1} &wr=0x1 ?trans4"
    assert len(found.operands) == 2


def test_source_lines_hold_until_the_next_and_run_from_the_inside_out() -> None:
    text = (
        HEADER
        + "        /*0000*/  NOP ;\n"
        + '\t//## File "/a/standard.py", line 196 inlined at "/a/standard.py", line 216\n'
        + '\t//## File "/a/standard.py", line 216 inlined at "C:\\b\\kernel.py", line 61\n'
        + '\t//## File "C:\\b\\kernel.py", line 61\n'
        + "        /*0010*/  NOP ;\n"
        + ".L_x_0:\n"
        + "        /*0020*/  NOP ;\n"
        + '\t//## File "/b/kernel.py", line 7\n'
        + "        /*0030*/  NOP ;\n"
    )
    chains = [each.locations for each in sass.parse(text).sections[0].instructions]
    inlined = tuple(
        SourceLocation(*place)
        for place in (("standard.py", 196), ("standard.py", 216), ("kernel.py", 61))
    )
    assert chains == [(), inlined, inlined, (SourceLocation("kernel.py", 7),)]


def test_sections_functions_and_labels() -> None:
    text = read("sm90_outlined")
    (section,) = sass.parse(text).sections
    assert section.name == "calls"
    assert list(section.functions) == ["calls", "$calls$kernels_$_outline__fp32_i32__"]
    inner = section.instructions[section.functions["$calls$kernels_$_outline__fp32_i32__"]]
    assert inner.offset == 0x220
    # nvdisasm declares the size of a function as the distance between two labels.
    size = re.search(r"\.size\s+calls,\((\S+) - calls\)", text)
    assert size is not None
    assert section.labels[size[1]] == len(section.instructions)


def test_what_is_not_understood_is_kept_and_counted() -> None:
    text = f"{HEADER}        /*0000*/  NOP ;\n  what is this\n        /*zz*/ X ;\n"
    parsed = sass.parse(text)
    assert parsed.unknown == {6: "  what is this", 7: "        /*zz*/ X ;"}
    assert len(parsed.sections[0].instructions) == 1


def test_text_of_other_sections_is_not_read() -> None:
    text = '\t.section\t.nv.info,"",@"SHT_CUDA_INFO"\n\t.byte 4\nnonsense here\n' + HEADER
    assert sass.parse(text).unknown == {}


def test_without_a_code_section_there_is_nothing_to_read() -> None:
    with pytest.raises(ParseError, match=r"^sass:1:1: no code section$") as error:
        sass.parse("hello\nworld\n")
    assert error.value.hint == "hello\n^"


@each_row("name", CORPUS)
def test_nothing_of_real_code_is_left_over(name: str) -> None:
    text = read(name)
    parsed = sass.parse(text)
    assert parsed.unknown == {}
    instructions = [each for section in parsed.sections for each in section.instructions]
    # Counted by eye-catching features instead of by grammar.
    lines = [line for line in text.split("\n") if re.match(r"\s*/\*[0-9a-f]{4,}\*/", line)]
    assert len(instructions) == len(lines)
    opcodes = Counter(each.opcode for each in instructions)
    # "/*0010*/  @!P0 OPCODE.MODIFIER OPERANDS ;": the first word that is no guard.
    words = [line.split("*/", 1)[1].replace(";", " ").split() for line in lines]
    first = [next(word for word in line if not word.startswith("@")) for line in words]
    assert opcodes == Counter(word.split(".")[0] for word in first)
    assert not any(
        operand.kind == "other" and operand.registers and each.opcode != "BRX"
        for each in instructions
        for operand in each.operands
    )
    for section in parsed.sections:
        offsets = [each.offset for each in section.instructions]
        assert offsets == [16 * index for index in range(len(offsets))]
        assert all(
            target in section.labels for each in section.instructions for target in each.targets
        )


@given(st.text(alphabet='R0123 ,[]{}()`*"&?@!P.:;/\n-|xZTU', max_size=80))
def test_arbitrary_text_never_breaks_the_parser(text: str) -> None:
    parsed = sass.parse(HEADER + "        /*0000*/  " + text)
    assert len(parsed.sections) == 1
