"""The workflow for users, and the page that explains it: safe, and made of commands that exist."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from irlens.checks import project
from irlens.cli.root import root

REPOSITORY = Path(__file__).parents[1]
FILE = REPOSITORY / "samples" / "workflow" / "irlens.yml"
PAGE = REPOSITORY / "docs" / "guide" / "ci.md"
# BaseLoader: to others the key `on` is the truth value.
WORKFLOW: dict[str, Any] = yaml.load(FILE.read_text(), Loader=yaml.BaseLoader)
STEPS = [(name, step) for name, job in WORKFLOW["jobs"].items() for step in job["steps"]]


def scripts() -> Iterator[str]:
    yield from (step["run"] for _, step in STEPS if "run" in step)


def commands() -> Iterator[str]:
    """Yield every command of irlens that the workflow or the page has."""
    for script in scripts():
        yield from re.findall(r"^irlens (.*?)(?: \|\|.*)?$", script, re.M)
    yield from re.findall(r"^ *\$ irlens (.*)$", PAGE.read_text(), re.M)


@pytest.mark.parametrize("command", list(commands()))
def test_every_command_is_one(command: str) -> None:
    name, *arguments = shlex.split(command)
    found = root.get_command(root.make_context("irlens", ["--help"], resilient_parsing=True), name)
    assert found is not None
    found.make_context(name, arguments)


def test_there_are_commands_to_test() -> None:
    assert len(list(commands())) >= 6


@pytest.mark.parametrize("script", list(scripts()))
def test_every_script_is_one(script: str) -> None:
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    # What a pull request says of itself may be code: it reaches scripts by the environment only.
    assert "${{" not in script


def test_actions_are_official_and_pinned() -> None:
    used = [step["uses"] for _, step in STEPS if "uses" in step]
    assert len(used) >= 5
    for action in used:
        assert re.fullmatch(r"(actions|github)/[\w/-]+@[0-9a-f]{40}", action), action


def test_what_may_write_runs_nothing_of_the_pull_request() -> None:
    assert list(WORKFLOW["on"]) == ["pull_request"]
    assert WORKFLOW["permissions"] == {}
    for name, job in WORKFLOW["jobs"].items():
        may_write = "write" in job["permissions"].values()
        runs_theirs = any(
            step.get("uses", "").startswith("actions/checkout")
            or re.search(r"\b(irlens|pip|python) ", step.get("run", ""))
            for step in job["steps"]
        )
        assert may_write != runs_theirs, name
        if may_write:
            assert "head.repo.full_name == github.repository" in job["if"]


def test_a_checkout_keeps_no_credentials() -> None:
    checkouts = [step for _, step in STEPS if step.get("uses", "").startswith("actions/checkout")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == ["false"]


@pytest.mark.parametrize("known", ["", "17\n99\n"])
def test_one_comment_is_posted_and_then_renewed(known: str, tmp_path: Path) -> None:
    gh = tmp_path / "gh"
    gh.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n'
        f'case "$*" in *--paginate*) printf "{known}";; esac\n'
    )
    gh.chmod(0o755)
    (script,) = (text for text in scripts() if "gh api" in text)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "REPOSITORY": "o/r", "NUMBER": "5"}
    subprocess.run(["bash", "-euo", "pipefail", "-c", script], env=environment, check=True)
    *_, last = (tmp_path / "asked").read_text().splitlines()
    place = "PATCH repos/o/r/issues/comments/17" if known else "POST repos/o/r/issues/5/comments"
    assert last == f"api --silent --method {place} -F body=@irlens.md"


def test_the_comment_is_found_by_what_the_report_begins_with() -> None:
    marker, *_ = (REPOSITORY / "samples" / "checks" / "failed.md").read_text().splitlines()
    assert f'startswith("{marker}")' in FILE.read_text()
    assert marker in PAGE.read_text()


def test_the_files_that_the_page_names_are_there() -> None:
    links = re.findall(r"\]\((\.\./[^)]+)\)", PAGE.read_text())
    assert len(links) >= 4
    assert all((PAGE.parent / link).exists() for link in links)


def test_the_budgets_of_the_page_are_budgets(tmp_path: Path) -> None:
    found = []
    for table in re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S):
        lines = (line.strip() for line in table.splitlines())
        (tmp_path / "pyproject.toml").write_text("\n".join(lines))
        found.append(project.find(tmp_path))
    of_figures, of_launches = found
    assert len(of_figures.budgets) == 6
    assert [each.text for each in of_launches.launch_budgets] == [
        "variants <= 3", "limits.tokens > 1000000",
    ]  # fmt: skip
    assert len(of_launches.launches) == 1
