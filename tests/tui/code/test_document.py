"""What is known of a text's lines, and what is said of it."""

import msgspec
import pytest

from irlens.model.listing import LoopRange, PipelineAnnotation, StageListing
from irlens.model.report import Finding
from irlens.model.source import SourceLocation
from irlens.tui.code import (
    LANDMARKS,
    Document,
    following,
    nearest,
    other_line,
    partner_line,
    python_document,
    stage_document,
)
from irlens.tui.code.gutters import describe_chain, describe_line

LOAD = SourceLocation("kernel.py", 7, 3)
MAX = SourceLocation("standard.py", 90)


def document() -> Document:
    listing = StageListing(
        stage="ptx",
        text="header\n.loc 1\nload\n.loc 2\nmax\n\nload\ncommit\nwait\nreturn\n",
        chains=[(LOAD,), (MAX, LOAD), (SourceLocation("kernel.py", 9),)],
        chain=[-1, -1, 0, -1, 1, -1, 0, 2, 2, -1],
        live=[-1, -1, 4, -1, 9, -1, 9, 3, 2, -1],
        peak=9,
        loops=[
            LoopRange(first=3, last=9, depth=1, source=LOAD),
            LoopRange(first=5, last=7, depth=2, source=None),
        ],
        marks=[
            PipelineAnnotation(line=7, role="copy", pipeline=0, partners=(8,)),
            PipelineAnnotation(line=8, role="commit", pipeline=0, partners=(9,)),
            PipelineAnnotation(line=9, role="wait", pipeline=0),
        ],
    )
    finding = Finding(
        code="IRL203", severity="warning", message="it is slow", hint="", stage="ptx", line=5,
        source=LOAD,
    )  # fmt: skip
    return Document("ptx", listing, {5: [finding]}, "ptx")


def test_lines_come_from_every_line_of_their_chain() -> None:
    assert document().places(("kernel.py", 7)) == [3, 5, 7]
    assert document().places(("standard.py", 90)) == [5]
    assert document().places(("kernel.py", 1)) == []
    assert document().chain(5) == (MAX, LOAD)
    assert document().chain(1) == document().chain(99) == document().chain(0) == ()


def test_what_is_no_instruction_divides_no_run() -> None:
    assert document().runs([3, 5, 7]) == [3]
    assert document().runs([3, 7]) == [3, 7]
    assert document().runs([]) == []


def test_lines_without_code_are_no_code_lines() -> None:
    assert document().code_lines == [1, 3, 5, 7, 8, 9, 10]


def test_the_innermost_loop_is_the_one_a_line_is_in() -> None:
    loops = [document().loop(line) for line in (2, 4, 6, 9)]
    assert [loop and loop.depth for loop in loops] == [None, 1, 2, 1]


def test_what_is_said_of_a_line() -> None:
    assert describe_chain(document(), 5) == "kernel.py:7 ▸ standard.py:90"
    assert describe_line(document(), 5) == [
        "▲ IRL203 it is slow",
        "9 live virtual registers, peak 9",
        "loop 5–7, depth 2",
    ]
    assert describe_line(document(), 8) == [
        "● commit, waited for at 9",
        "3 live virtual registers, peak 9",
        "loop 3–9 of kernel.py:7, depth 1",
    ]
    assert describe_line(document(), 7)[0] == "↓ copy, its group is committed at 8"
    assert describe_line(document(), 9)[0] == "○ wait"  # for what is not known
    assert describe_line(document(), 1) == []


def test_what_ptxas_undid_is_told_with_the_mark() -> None:
    found = document()
    marks = [msgspec.structs.replace(found.listing.marks[0], serialized=True)]
    listing = msgspec.structs.replace(found.listing, marks=marks, note="IRL404: ptxas ...")
    undone = Document("ptx", listing, {}, "ptx")
    assert describe_line(undone, 7)[:2] == ["↓ copy, waited for at 8", "IRL404: ptxas ..."]
    assert "IRL404: ptxas ..." not in describe_line(undone, 5)
    (finding,) = found.findings[5]
    told = msgspec.structs.replace(finding, code="IRL404", message="ptxas did it")
    where_it_is_found = Document("ptx", listing, {7: [told]}, "ptx")
    assert "IRL404: ptxas ..." not in describe_line(where_it_is_found, 7)


def test_what_nothing_commits_is_waited_for() -> None:
    marks = [
        PipelineAnnotation(line=7, role="copy", pipeline=0, partners=(9,)),
        PipelineAnnotation(line=9, role="wait", pipeline=0, partners=(7,)),
    ]
    found = document()
    listing = msgspec.structs.replace(found.listing, marks=marks)
    found = Document("amdgcn", listing, {}, "amdgcn")
    assert describe_line(found, 7)[0] == "↓ copy, waited for at 9"
    assert describe_line(found, 9)[0] == "○ wait for what begins at 7"


def test_landmarks_and_partners() -> None:
    lines = {name: list(mark.lines(document())) for name, mark in LANDMARKS.items()}
    assert lines == {"finding": [5], "peak": [5, 7], "loop": [3, 5], "mark": [7, 8, 9]}
    assert [partner_line(document(), line) for line in (7, 8, 9, 1)] == [8, 9, None, None]


def test_lines_are_followed_around_the_ends() -> None:
    assert [following([2, 5], line, 1) for line in (1, 2, 5)] == [2, 5, 2]
    assert [following([2, 5], line, -1) for line in (1, 2, 5)] == [5, 5, 2]
    assert following([], 1, 1) is None
    assert other_line([4], 4, 1) is None
    assert [nearest([2, 8], line) for line in (1, 4, 6, 9)] == [2, 2, 8, 8]
    assert nearest([], 3) is None


HELPER_FIRST = """\
import triton


@triton.jit
def helper(x):
    return x


@triton.autotune(
    configs=[],
)
@triton.jit
def kernel_inner(x):
    pass


@triton.jit
def kernel(x):
    pass
"""


@pytest.mark.parametrize(
    ("text", "kernel", "line"),
    [
        (HELPER_FIRST, "kernel", 18),
        (HELPER_FIRST, "kernel_inner", 13),
        (HELPER_FIRST, "named_otherwise", 5),
        ("import triton\n\n@triton.autotune(\n)\n@jit\ndef f(x):\n    pass\n", "g", 6),
        ("x = 1\n", "kernel", 1),
        ("", "a(b", 1),
    ],
)
def test_python_begins_where_the_kernel_is_defined(text: str, kernel: str, line: int) -> None:
    assert python_document("kernel.py", text, kernel, None).begin == line


def test_a_stage_begins_with_its_first_line_from_python() -> None:
    listing = document().listing
    assert stage_document(listing, None).begin == 3
    unknown = msgspec.structs.replace(listing, chain=[-1] * 10)
    assert stage_document(unknown, None).begin == 1


def test_findings_stand_where_they_were_seen() -> None:
    assert stage_document(document().listing, None).findings == {}
    python = python_document("kernel.py", "a\nb\n", "kernel", None)
    assert (python.stage, python.name, len(python)) == ("python", "kernel.py", 2)
    assert python.chain(2) == (SourceLocation("kernel.py", 2),)
    assert python.live(1) is None
