"""What a query finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.tui.code.searching import pattern_for, spans


@pytest.mark.parametrize(
    ("query", "line", "found"),
    [
        ("$L__BB0_2", "bra $L__BB0_2;", ["$L__BB0_2"]),
        ("ld.*shared", "ld.shared.b32", ["ld.shared"]),
        ("[%r1", "st [%r1], 0", ["[%r1"]),
        ("add", "ADD add", ["ADD", "add"]),
        ("ADD", "ADD add", ["ADD"]),
        ("x*", "abc", []),
        (r"\d+", "a1 b22", ["1", "22"]),
    ],
)
def test_found(query: str, line: str, found: list[str]) -> None:
    pattern = pattern_for(query)
    assert pattern is not None
    assert [line[first:last] for first, last in spans(pattern, line)] == found


def test_nothing_finds_nothing() -> None:
    assert pattern_for("") is None


@given(st.text(min_size=1), st.text(), st.text())
def test_a_query_finds_itself(query: str, before: str, after: str) -> None:
    pattern = pattern_for(query)
    assert pattern is not None
    assert pattern.search(before + query + after)
