"""The source of machine code, on what the compiler at hand makes and on hand-made faults."""

import pytest

import irlens
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.sass_origin import PtxLines, lines_of, trace
from irlens.isa import ptx, sass
from irlens.model.source import SourceLocation

LISTING = """\
.section .text.kernel,"ax",@progbits
	//## File "kernel.py", line 30
	//## File ".nv_debug_ptx_txt", line 5
        /*0000*/                   MOV R1, R2 ;
	//## File "kernel.py", line 33
	//## File ".nv_debug_ptx_txt", line 7
        /*0010*/                   LDG.E R3, [R4.64] ;
	//## File "standard.py", line 170
	//## File ".nv_debug_ptx_txt", line 9
        /*0020*/                   FADD R5, R3, R3 ;
        /*0030*/                   EXIT ;
"""
LOAD, ADD = SourceLocation("kernel.py", 30, 9), SourceLocation("kernel.py", 31, 9)
SUM = SourceLocation("standard.py", 170, 27)


def sources(ptx_chains: dict[int, tuple[SourceLocation, ...]]) -> list[tuple[str, ...]]:
    (section,) = sass.parse(LISTING).sections
    traced = trace(section, PtxLines(ptx_chains))
    return [tuple(map(str, each.locations)) for each in traced.instructions]


@pytest.mark.parametrize("shift", [0, 6, -3])
def test_the_ptx_knows_better(shift: int) -> None:
    chains = {5 + shift: (LOAD,), 7 + shift: (LOAD,), 9 + shift: (SUM, ADD)}
    add = ("standard.py:170", "kernel.py:31")
    assert sources(chains) == [("kernel.py:30",), ("kernel.py:30",), add, add]


def test_another_ptx_is_not_believed_but_completes_what_can_mean_one_thing_only() -> None:
    elsewhere = {1000: (SUM, ADD), 2000: (LOAD,)}
    told = sources(elsewhere)
    assert told[:2] == [("kernel.py:30",), ("kernel.py:33",)]
    assert told[2] == ("standard.py:170", "kernel.py:31")
    assert sources({**elsewhere, 3000: (SUM, LOAD)})[2] == ("standard.py:170",)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("kernel", ["vector_add", "softmax"])
def test_loads_and_stores_lead_to_their_own_lines(kernel: str, target: str) -> None:
    capture = irlens.capture(kernel, target=target)
    mapped = CaptureCode(capture)["sass"]
    python = (capture.python(f"{kernel}.py") or "").splitlines()
    text = mapped.text.splitlines()
    met = set()
    for number, chain in mapped.chains.items():
        for opcode, call in (("LDG", "tl.load("), ("STG", "tl.store(")):
            if f" {opcode}" in text[number - 1]:
                met.add(opcode)
                assert call in python[chain[-1].line - 1], text[number - 1]
    assert "STG" in met


#: Behind inline assembly the assembler goes on with the last line that LLVM numbered in it.
NUMBERED_ON = """\
.version 8.0
.target sm_80
.address_size 64
.file 1 "kernel.py"
.visible .entry kernel()
{
 .reg .b32 %r<9>;
 .loc 1 30 9
 mov.b32 %r1, 0;
 // begin inline asm
 .loc 1 33 9
 mov.b32 %r2, %r1;
 // end inline asm
 mov.b32 %r3, %r2;
 mov.b32 %r4, %r3;
 ret;
}
"""


def test_lines_that_go_on_behind_inline_assembly() -> None:
    """All instructions but one have a wrong line, and the PTX is the right one nevertheless."""
    (kernel,) = ptx.parse(NUMBERED_ON).kernels
    lines = [each.line for each in kernel.instructions]
    text = '.section .text.kernel,"ax",@progbits\n' + "".join(
        f'\t//## File "kernel.py", line {30 if at == 0 else 33}\n'
        f'\t//## File ".nv_debug_ptx_txt", line {line}\n'
        f"        /*{16 * at:04x}*/                   MOV R1, R2 ;\n"
        for at, line in enumerate(lines)
    )
    (section,) = sass.parse(text).sections
    traced = trace(section, lines_of([kernel]))
    assert {str(each.locations[0]) for each in traced.instructions} == {"kernel.py:30"}
    assert [each.ptx_line for each in traced.instructions] == lines
