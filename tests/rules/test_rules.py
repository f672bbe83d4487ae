"""What every rule owes: a code and name of its own, documentation, and tests both ways."""

import ast
import re
from pathlib import Path
from typing import get_args

from irlens import rules
from irlens.analyze.facts import Facts
from irlens.model.config import Config
from irlens.model.estimate import Cause
from irlens.model.resources import Resources
from irlens.rules import RuleModule
from tests.tables import each_row

EVERY = each_row("rule", rules.all_rules())
FAMILIES = {
    "1": "resources",
    "2": "pipelining",
    "3": "memory",
    "4": "compute",
    "5": "launch",
    "6": "capture",
}


def test_codes_and_names_are_unique() -> None:
    found = rules.all_rules()
    assert len(found) >= 8
    assert len({rule.CODE for rule in found}) == len({rule.NAME for rule in found})
    assert len({rule.CODE for rule in found}) == len(found)


@EVERY
def test_a_rule_is_named_like_its_file(rule: RuleModule) -> None:
    assert re.fullmatch(r"IRL\d{3}", rule.CODE)
    assert rule.CODE[3] in FAMILIES
    assert rule.__name__.rpartition(".")[2].replace("_", "-") == rule.NAME
    assert rule.SEVERITY in ("error", "warning", "note")


@EVERY
def test_a_rule_is_documented(rule: RuleModule) -> None:
    text = rules.documentation(rule)
    title, _, body = text.partition("\n\n")
    assert title == f"# {rule.CODE} {rule.NAME} ({rule.SEVERITY})"
    headings = [line for line in body.splitlines() if line.startswith("## ")]
    assert headings == ["## What it means", "## Example", "## What to do", "## Targets"]
    sections = re.split(r"^## .*$", body, flags=re.MULTILINE)
    assert all(section.strip() for section in sections)
    assert "NVIDIA" in sections[-1]
    assert rules.summary(rule).endswith(".")
    assert max(map(len, text.splitlines())) <= 100


@EVERY
def test_a_rule_has_a_kernel_that_shows_it_and_one_that_does_not(rule: RuleModule) -> None:
    path = Path(__file__).with_name(f"test_{rule.NAME.replace('-', '_')}.py")
    tests = [node.name for node in ast.parse(path.read_text()).body if hasattr(node, "name")]
    assert any(name.startswith("test_shows") for name in tests)
    assert any(name.startswith("test_silent") for name in tests)


@EVERY
def test_a_rule_is_silent_where_nothing_is_known(rule: RuleModule) -> None:
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
    assert list(rule.find(Facts(gpu=None, config=config, resources=resources))) == []


@EVERY
def test_a_rule_says_nothing_of_findings_that_may_not_be_there(rule: RuleModule) -> None:
    """A hint of IRL203 sent the reader to an IRL301 that was not reported."""
    path = Path(rules.__file__).with_name(f"{rule.NAME.replace('-', '_')}.py")
    module = ast.parse(path.read_text("utf-8"))
    texts = [each.value for each in ast.walk(module) if isinstance(each, ast.Constant)]
    said = [each for each in texts if isinstance(each, str) and each != rule.__doc__]
    assert [each for each in said if re.search(r"IRL\d{3}", each) and each != rule.CODE] == []


def test_a_rule_is_found_by_code() -> None:
    rule = rules.find_rule("IRL201")
    assert rule is not None
    assert rule.name == "pipeline-shallower"
    assert rules.find_rule("IRL999") is None


def test_what_an_estimate_tries_is_the_cause_of_a_finding() -> None:
    """A saving is told with the finding that it goes with."""
    tried = set(get_args(Cause)) - {"barriers"}
    assert {getattr(rule, "CAUSE", None) for rule in rules.all_rules()} - {None} == tried
