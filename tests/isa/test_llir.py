import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.isa.llir import parser as llir
from irlens.model.errors import ParseError
from irlens.model.source import SourceLocation

pytestmark = pytest.mark.stored

INLINED = """\
define ptx_kernel void @"odd name"(ptr %0) !dbg !4 {
entry:
  %1 = load i32, ptr %0, align 4, !dbg !10
  switch i32 %1, label %more [
    i32 0, label %more
    i32 1, label %more
  ], !dbg !11
more:                                             ; preds = %entry
  %2 = tail call i32 @llvm.umax.i32(i32 %1, i32 7), !dbg !12
  ret void
}

!1 = !DIFile(filename: "kernel.py", directory: "/somewhere")
!4 = distinct !DISubprogram(name: "kernel", scope: !1, file: !1, line: 3)
!5 = !DIFile(filename: "lib/standard.py", directory: "/elsewhere")
!6 = distinct !DILexicalBlockFile(scope: !4, file: !5, discriminator: 0)
!10 = !DILocation(line: 4, column: 9, scope: !4)
!11 = !DILocation(line: 0, scope: !4)
!12 = !DILocation(line: 170, column: 27, scope: !6, inlinedAt: !13)
!13 = distinct !DILocation(line: 5, column: 13, scope: !4)
"""


def test_chains_lead_from_the_library_to_the_kernel() -> None:
    (function,) = llir.parse(INLINED).functions
    assert function.name == "odd name"
    assert [(i.line, i.end_line, i.opcode, i.locations) for i in function.instructions] == [
        (3, 3, "load", (SourceLocation("kernel.py", 4, 9),)),
        (4, 7, "switch", ()),  # line 0 is LLVM's way of saying that there is none
        (
            *(9, 9, "call"),
            (SourceLocation("standard.py", 170, 27), SourceLocation("kernel.py", 5, 13)),
        ),
        (10, 10, "ret", ()),
    ]


def test_every_instruction_of_the_h200_kernels_is_read(h200_cache: Path) -> None:
    for path in h200_cache.glob("*/*.llir"):
        text = path.read_text()
        module = llir.parse(text)
        assert module.unknown == ()
        read = [i for function in module.functions for i in function.instructions]
        body = re.findall(r"^define.*?^}", text, re.M | re.S)
        # Independently: what is indented by two, but for the cases of a switch.
        expected = sum(len(re.findall(r"^  [^\s\]]", each, re.M)) for each in body)
        assert len(read) == expected
        assert sum(bool(i.locations) for i in read) == len(re.findall(r"^  .*!dbg", text, re.M))


def test_a_truncated_module_is_an_error() -> None:
    with pytest.raises(ParseError, match="llir:1:1: the function that begins here does not end"):
        llir.parse(INLINED[:150])


@given(st.text('!()=:,0123456789 \nDILocationine{}"define@%scope', max_size=300))
def test_arbitrary_text_raises_nothing_else(text: str) -> None:
    with suppress(ParseError):
        llir.parse(INLINED + text)


def test_a_cycle_of_inlining_ends() -> None:
    text = INLINED.replace("line: 5, column: 13, scope: !4", "line: 5, scope: !4, inlinedAt: !12")
    (function,) = llir.parse(text).functions
    assert len(function.instructions[2].locations) == 64
