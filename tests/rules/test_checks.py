"""What every check owes: a code and name of its own, documentation, and tests both ways."""

import ast
import re
from pathlib import Path

import pytest

from irlens import rules as checks
from irlens.analyze.facts import Facts
from irlens.model.config import Config
from irlens.model.errors import UnknownNameError
from irlens.model.resources import Resources
from irlens.rules import Check

EVERY = pytest.mark.parametrize("check", checks.checks(), ids=lambda check: check.CODE)
FAMILIES = {"1": "resources", "2": "pipelining", "3": "memory", "4": "compute", "5": "launch"}


def test_codes_and_names_are_unique() -> None:
    found = checks.checks()
    assert len(found) >= 8
    assert len({check.CODE for check in found}) == len({check.NAME for check in found})
    assert len({check.CODE for check in found}) == len(found)


@EVERY
def test_a_check_is_named_like_its_file(check: Check) -> None:
    assert re.fullmatch(r"IRL\d{3}", check.CODE)
    assert check.CODE[3] in FAMILIES
    assert check.__name__.rpartition(".")[2].replace("_", "-") == check.NAME
    assert check.SEVERITY in ("error", "warning", "note")


@EVERY
def test_a_check_is_documented(check: Check) -> None:
    text = checks.documentation(check)
    title, _, body = text.partition("\n\n")
    assert title == f"# {check.CODE} {check.NAME} ({check.SEVERITY})"
    headings = [line for line in body.splitlines() if line.startswith("## ")]
    assert headings == ["## What it means", "## Example", "## What to do"]
    sections = re.split(r"^## .*$", body, flags=re.MULTILINE)
    assert all(section.strip() for section in sections)
    assert checks.summary(check).endswith(".")
    assert max(map(len, text.splitlines())) <= 100


@EVERY
def test_a_check_has_a_kernel_that_shows_it_and_one_that_does_not(check: Check) -> None:
    path = Path(__file__).with_name(f"test_{check.NAME.replace('-', '_')}.py")
    tests = [node.name for node in ast.parse(path.read_text()).body if hasattr(node, "name")]
    assert any(name.startswith("test_shows") for name in tests)
    assert any(name.startswith("test_silent") for name in tests)


@EVERY
def test_a_check_is_silent_where_nothing_is_known(check: Check) -> None:
    config = Config(
        num_warps=None, num_stages=None, num_ctas=None, maxnreg=None, constexprs={}, args={}
    )
    resources = Resources(
        registers=None,
        shared_dynamic_bytes=None,
        shared_static_bytes=None,
        local_bytes=None,
        stack_bytes=None,
    )
    assert list(check.find(Facts(gpu=None, config=config, resources=resources))) == []


def test_a_check_is_found_by_code_and_by_name() -> None:
    check = checks.find_check("irl201")
    assert check is checks.find_check("IRL201") is checks.find_check("Pipeline-Shallower")
    with pytest.raises(UnknownNameError, match="unknown finding 'IRL999'"):
        checks.find_check("IRL999")
