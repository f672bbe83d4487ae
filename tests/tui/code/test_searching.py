"""What a query finds."""

import re
from collections.abc import Iterator
from itertools import count
from threading import Event

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from irlens.tui.code.search import MOST_HITS, Query, query_for


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
        ("é+", "aéé", ["éé"]),
        ("a(?=b)", "ab a(?=b)", ["a(?=b)"]),
    ],
)
def test_found(query: str, line: str, found: list[str]) -> None:
    assert [line[first:last] for first, last in Query(query).spans(line)] == found


def test_nothing_finds_nothing() -> None:
    assert query_for("") is None


@given(st.text(min_size=1), st.text(), st.text())
def test_a_query_finds_itself(query: str, before: str, after: str) -> None:
    assert Query(query).spans(before + query + after)


@given(st.text("abA.*?|()", min_size=1), st.text("abAB.*|() "))
def test_finds_what_python_finds(query: str, line: str) -> None:
    flags = re.NOFLAG if query != query.lower() else re.IGNORECASE
    found = Query(query)
    pattern = re.escape(query) if found.problem else f"{re.escape(query)}|(?:{query})"
    try:
        oracle = re.compile(pattern, flags)
    except re.error:  # RE2 takes "(?)"
        reject()
    assume(not oracle.match(""))  # where nothing matches the engines go on in different places
    assert found.spans(line) == [match.span() for match in oracle.finditer(line)]


@pytest.mark.parametrize("query", ["(a+)+$", "(a|a)*b", "(a*)*c", "(?:a?){200}a{200}b"])
def test_no_pattern_takes_for_ever(query: str) -> None:
    """Python's engine would not be done with the first of them before the sun is."""
    hits = Query(query).hits([(1, "a" * 10_000 + "!"), (2, "aaa")], Event())
    assert hits in ([], [(2, 0)])


def test_why_it_is_no_regular_expression() -> None:
    assert Query("ld.*").problem == ""
    assert "missing )" in Query("ld(").problem
    assert "(?=" in Query("(?=a)").problem


def test_a_search_ends_after_very_many_matches() -> None:
    lines = ((line, "a" * 1000) for line in count(1))
    assert len(Query("a").hits(lines, Event())) == MOST_HITS


def test_matches_are_found_until_it_is_stopped() -> None:
    lines = [(7, "ab ab"), (9, ""), (12, "b")]
    stop = Event()
    assert Query("b").hits(lines, stop) == [(7, 1), (7, 4), (12, 0)]

    def stopping() -> Iterator[tuple[int, str]]:
        yield lines[0]
        stop.set()
        yield lines[2]

    assert Query("b").hits(stopping(), stop) == [(7, 1), (7, 4)]
