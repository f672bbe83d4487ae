"""What a run of the tests leaves out: only what another extent has."""

import argparse
import ast
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.config.argparsing import Parser

from scripts.long_tests import long_tests
from tests import conftest

ROOT = Path(__file__).parents[1]
TESTS = ["a::plain", "a::table[1]", "a::table[2]", "a::long", "b::long[1]", "b::long[2]"]
CASE = '<testcase classname="{0[0]}" name="{0[1]}" time="{0[2]}"/>'


def chosen(extent: str, *args: str) -> tuple[list[str], list[str]]:
    """Return the tests that run, and those that pytest says are left out."""
    left_out: list[Any] = []
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in TESTS]
    config: Any = SimpleNamespace(
        getoption=lambda _: extent, args=args,
        hook=SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items)),
    )  # fmt: skip
    conftest.leave_out(config, items)
    return [each.nodeid for each in items], [each.nodeid for each in left_out]


@pytest.fixture(autouse=True)
def _long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "LONG", frozenset({"a::long", "b::long"}))


def test_a_long_table_has_its_first_row_among_the_usual_tests() -> None:
    runs, left_out = chosen("usual", "tests")
    assert runs == ["a::plain", "a::table[1]", "a::table[2]", "b::long[1]"]
    assert left_out == ["a::long", "b::long[2]"]


def test_the_rest_is_what_the_usual_tests_leave_out() -> None:
    assert chosen("rest") == chosen("usual")[::-1]


@pytest.mark.parametrize(("extent", "args"), [("all", ["tests"]), ("usual", ["a.py::long"])])
def test_nothing_is_left_out_of_all_tests_or_of_those_that_are_named(
    extent: str, args: list[str]
) -> None:
    assert chosen(extent, *args) == (TESTS, [])


@pytest.mark.parametrize("of", [1, 2, 7])
def test_the_shares_are_the_rest_each_test_once(of: int) -> None:
    shares = [chosen(f"{number}/{of}")[0] for number in range(1, of + 1)]
    assert sorted(test for share in shares for test in share) == sorted(chosen("rest")[0])
    runs, left_out = chosen("1/7")
    assert sorted(runs + left_out) == sorted(TESTS)
    usual = chosen("usual")[0]
    assert [set(chosen(f"usual+{number}/{of}")[0]) for number in range(1, of + 1)] == [
        {*usual, *share} for share in shares
    ]
    assert chosen("usual+1/1") == (TESTS, []), "in their order"


@pytest.mark.parametrize("extent", ["some", "0/3", "4/3", "1/", "1/0", "rest+1/2", "usual+4/3"])
def test_an_extent_that_there_is_not_is_refused(extent: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=re.escape(extent)):
        conftest._extent(extent)


def test_without_the_option_the_environment_says_the_extent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def parsed(*arguments: str) -> object:
        parser = Parser(_ispytest=True)
        conftest.pytest_addoption(parser)
        return parser.parse(arguments).extent

    monkeypatch.delenv("IRLENS_TEST_EXTENT", raising=False)
    assert parsed() == "usual"
    monkeypatch.setenv("IRLENS_TEST_EXTENT", "usual+3/10")
    assert (parsed(), parsed("--extent", "rest")) == ("usual+3/10", "rest")
    monkeypatch.setenv("IRLENS_TEST_EXTENT", "usual+3")
    with pytest.raises(pytest.UsageError, match=r"'usual\+3' is not"):
        parsed()


def test_the_projects_own_check_runs_the_usual_tests_and_others() -> None:
    """What the README says runs the usual tests; with them runs a share of the rest, or all."""
    check = (ROOT / ".ci" / "run").read_text("utf-8")
    assert 'IRLENS_TEST_EXTENT="$extent" bash -euo pipefail -c "$command"' in check
    assert re.findall(r"\bextent=(\w+\+?)", check) == ["usual+", "all"]
    assert "EXTENT" not in (ROOT / "README.md").read_text("utf-8").upper()


def test_what_takes_long_is_listed_without_rows(tmp_path: Path) -> None:
    cases = [
        ("tests.a.test_b", "test_long", 1.1), ("tests.a.test_b", "test_short", 0.9),
        ("tests.test_c.TestD", "test_rows[x[0]]", 0.4), ("tests.test_c.TestD", "test_rows[y]", 0.8),
        ("tests.test_c.TestD", "test_few[x]", 0.4), ("tests.test_c.TestD", "test_few[y]", 0.4),
    ]  # fmt: skip
    report = tmp_path / "times.xml"
    report.write_text(f"<testsuites>{''.join(map(CASE.format, cases))}</testsuites>")
    assert long_tests(report) == [
        "tests/a/test_b.py::test_long",
        "tests/test_c.py::TestD::test_rows",
    ]


def test_every_test_that_is_listed_exists() -> None:
    """One that was renamed is among the usual tests, and its old name is to be removed."""
    listed = (ROOT / "tests" / "long.txt").read_text("utf-8").split()
    assert listed == sorted(set(listed))
    files = {each.partition("::")[0] for each in listed}
    there = {f"{file}::{name}" for file in files for name in _names(ROOT / file)}
    assert [each for each in listed if each not in there] == []


def _names(file: Path) -> set[str]:
    """Return the tests of a file, those of classes behind their class."""
    found = set()
    for node in ast.parse(file.read_text("utf-8")).body if file.is_file() else ():
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        before = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        found |= {before + each.name for each in inner if isinstance(each, functions)}
    return found
