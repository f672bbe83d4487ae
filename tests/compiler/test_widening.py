"""Edits of a file that compute an integer in 64 bits."""

import ast

import pytest

from irlens.compiler.sources.widening import operation_start, widened_versions
from irlens.model.source import SourceLocation

FILE = """\
import triton
import triton.language as tl

@triton.jit
def kernel(x, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    row = pid * BLOCK + 3 * n
    for start in range(0, n, BLOCK):
        row += (pid + 1) * BLOCK
    at = "é", tl.arange(0, BLOCK)[:, None] * n
    pid2 = 4096 * n * BLOCK
"""


def edits(text: str, word: str, begins: str) -> list[str]:
    lines = text.splitlines()
    number, line = next((n, each) for n, each in enumerate(lines, 1) if begins in each)
    column = len(line[: line.index(begins)].encode()) + 1
    found = []
    for version, edit in widened_versions(text, SourceLocation("k.py", number, column), word):
        changed = [each for each in version.splitlines() if each not in lines]
        ast.parse(version)
        assert len(changed) == 1
        assert edit.after in changed[0]
        found.append(changed[0].strip())
    return found


@pytest.mark.parametrize(
    ("word", "begins", "first"),
    [
        ("multiplication", "pid * BLOCK", "pid = tl.program_id(0).to(tl.int64)"),
        ("addition", "pid * BLOCK", "pid = tl.program_id(0).to(tl.int64)"),
        ("multiplication", "3 * n", "row = pid * BLOCK + 3 * n.to(tl.int64)"),
        ("multiplication", "(pid + 1)", "row += ((pid + 1).to(tl.int64)) * BLOCK"),
        (
            "multiplication",
            "tl.arange",
            'at = "é", tl.arange(0, BLOCK)[:, None].to(tl.int64) * n',
        ),
        ("multiplication", "4096", "pid2 = 4096 * n.to(tl.int64) * BLOCK"),
    ],
)
def test_the_best_edit_comes_first(word: str, begins: str, first: str) -> None:
    assert edits(FILE, word, begins)[0] == first


def test_a_factor_of_a_product_is_cast_before_the_product() -> None:
    text = FILE.replace(
        "    row = pid * BLOCK + 3 * n", "    first = pid * BLOCK\n    row = first + n * n"
    )
    assert edits(text, "addition", "first + n") == [
        "pid = tl.program_id(0).to(tl.int64)",
        "row = first.to(tl.int64) + n * n",
        "row = first + n.to(tl.int64) * n",
        "row = first + n * n.to(tl.int64)",
        "row = first + (n * n).to(tl.int64)",
    ]


def test_a_name_that_is_assigned_twice_is_edited_where_it_is_used() -> None:
    text = FILE.replace("    row = pid", "    pid = pid % 8\n    row = pid")
    assert edits(text, "multiplication", "pid * BLOCK")[0] == (
        "row = pid.to(tl.int64) * BLOCK + 3 * n"
    )


def test_the_language_goes_by_the_name_that_the_file_gives_it() -> None:
    text = FILE.replace("import triton.language as tl", "from triton import language as lang")
    text = text.replace("tl.", "lang.")
    assert edits(text, "multiplication", "pid * BLOCK")[0].endswith(".to(lang.int64)")


@pytest.mark.parametrize(
    ("word", "line", "column", "first"),
    [
        ("multiplication", 7, 16, "pid = tl.program_id(0).to(tl.int64)"),
        ("addition", 7, 24, "pid = tl.program_id(0).to(tl.int64)"),
        ("multiplication", 7, 28, "row = pid * BLOCK + 3 * n.to(tl.int64)"),
        ("multiplication", 9, 27, "row += ((pid + 1).to(tl.int64)) * BLOCK"),
        ("multiplication", 11, 18, "pid2 = 4096 * n.to(tl.int64) * BLOCK"),
        ("multiplication", 11, 22, "pid2 = (4096 * n).to(tl.int64) * BLOCK"),
    ],
)
def test_triton_3_6_places_an_operation_at_its_right_operand(
    word: str, line: int, column: int, first: str
) -> None:
    before, place = FILE.splitlines(), SourceLocation("k.py", line, column)
    version, _ = next(widened_versions(FILE, place, word))
    assert [each.strip() for each in version.splitlines() if each not in before] == [first]


def test_an_operation_begins_where_it_did_after_an_edit_of_its_operand() -> None:
    for before, after in ((11, 11), (16, 29)):
        version = FILE.replace("row = pid * BLOCK", "row = pid.to(tl.int64) * BLOCK")
        start = operation_start(FILE, SourceLocation("k.py", 7, before), "multiplication")
        assert start == (7, 10)
        edited = SourceLocation("k.py", 7, after)
        assert operation_start(version, edited, "multiplication") == start


def test_what_is_no_operation_has_no_edit() -> None:
    assert not list(widened_versions(FILE, SourceLocation("k.py", 6, 1), "multiplication"))
    assert not list(widened_versions(FILE, SourceLocation("k.py", 7, 11), "conversion"))
