"""The GitHub Action, its steps run as a runner would run them, and the pre-commit hook."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_workflow import FILE as WORKFLOW_FILE
from tests.test_workflow import scripts as workflow_scripts

REPOSITORY = Path(__file__).parents[1]
FILE = REPOSITORY / "action.yml"
HOOKS = REPOSITORY / ".pre-commit-hooks.yaml"
# BaseLoader: every value is the text that the runner reads.
ACTION: dict[str, Any] = yaml.load(FILE.read_text(), Loader=yaml.BaseLoader)
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
KERNEL = """import torch
import triton
import triton.language as tl

IRLENS_KERNELS = {"k": {"args": {"x_ptr": "fp32[1024]"}, "constexprs": {"N": 1024}}}


@triton.jit
def k(x_ptr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), 1.0)
"""
#: One warp in each of at most 32 CTAs: half the occupancy.
WORSE = KERNEL.replace('"N": 1024}', '"N": 1024}, "options": {"num_warps": 1}')


def named(name: str) -> dict[str, Any]:
    (step,) = (step for step in STEPS if step.get("name", "").startswith(name))
    return step


class Runner:
    """Runs the action's steps in a repository with one commit, in an environment like GitHub's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        tools = folder / "tools"
        tools.mkdir()
        (tools / "irlens").write_text(f'#!/bin/sh\nexec {sys.executable} -m irlens "$@"\n')
        (tools / "python").write_text(f'#!/bin/sh\necho "$@" >> {folder}/pip\n')
        for tool in tools.iterdir():
            tool.chmod(0o755)
        self.output, self.summary = folder / "output", folder / "summary"
        self.pip = folder / "pip"
        self._environment = {
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONPATH": str(REPOSITORY),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_ACTION_PATH": str(REPOSITORY),
            "RUNNER_TEMP": str(folder),
        }
        self.git("init", "-q", "-b", "main")
        (self.folder / "mine.py").write_text(KERNEL)
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "base")
        self.git("remote", "add", "origin", str(self.folder))

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.folder, check=True)

    def run(self, name: str, **inputs: str) -> "subprocess.CompletedProcess[str]":
        step = named(name)
        values = {key: each["default"] for key, each in ACTION["inputs"].items()} | {
            key.replace("_", "-"): value for key, value in inputs.items()
        }
        variables = {}
        for variable, expression in step.get("env", {}).items():
            match = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", expression)
            assert match is not None, expression
            variables[variable] = values[match[1]]
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder, env={**self._environment, **variables},
            capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_inputs_reach_scripts_by_the_environment_only() -> None:
    """What a pull request says of itself may be code."""
    for step in STEPS:
        assert "${{" not in step.get("run", "")
        if "run" in step:
            assert step["shell"] == "bash"
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)


def test_actions_are_those_of_the_workflow() -> None:
    workflow = WORKFLOW_FILE.read_text()
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert len(used) == 2
    assert all(f"uses: {action}" in workflow for action in used)
    (comment,) = (script for script in workflow_scripts() if "gh api" in script)
    assert named("Post the comment")["run"] == comment


def test_every_input_is_used_and_documented() -> None:
    text = FILE.read_text()
    page = (REPOSITORY / "docs" / "guide" / "ci.md").read_text()
    for name, declared in ACTION["inputs"].items():
        assert f"inputs.{name} " in text, name
        assert declared["description"]
        assert f"`{name}`" in page, name


def test_the_install_step_takes_this_irlens_and_what_is_asked_for(runner: Runner) -> None:
    assert runner.run("Install", triton="3.9.0", requirements="einops -r r.txt").returncode == 0
    assert runner.run("Install").returncode == 0
    assert runner.pip.read_text().splitlines() == [
        f"-m pip install {REPOSITORY} triton==3.9.0 einops -r r.txt",
        f"-m pip install {REPOSITORY}",
    ]


def test_a_pull_request_is_compared_with_its_base(runner: Runner) -> None:
    inputs = {"kernels": "mine.py", "targets": "h100", "base_ref": "main"}
    assert runner.run("Make a baseline", **inputs).returncode == 0
    checked = runner.run("Check", **inputs)
    assert checked.returncode == 0, checked.stderr
    assert runner.output.read_text().splitlines() == [
        "report=irlens.md", "sarif=irlens.sarif", "result=passed",
    ]  # fmt: skip
    assert (runner.folder / "irlens.sarif").read_text().startswith("{")

    (runner.folder / "mine.py").write_text(WORSE)
    assert runner.run("Make a baseline", **inputs).returncode == 0, "again, in the same place"
    assert runner.run("Check", **inputs).returncode == 0, "a later step fails, after the comment"
    assert runner.output.read_text().splitlines()[-1] == "result=failed"
    report = (runner.folder / "irlens.md").read_text()
    assert report.startswith("<!-- irlens:check -->")
    assert "occupancy" in report
    assert runner.summary.read_text().count("irlens") >= 2


def test_a_kernel_that_the_base_lacks_is_no_failure_of_the_action(runner: Runner) -> None:
    (runner.folder / "new.py").write_text(KERNEL)
    inputs = {"kernels": "new.py", "targets": "h100", "base_ref": "main"}
    made = runner.run("Make a baseline", **inputs)
    assert made.returncode == 0
    assert "::warning::irlens: main does not compile" in made.stdout


def test_trouble_fails_the_step_at_once(runner: Runner) -> None:
    (runner.folder / "mine.py").write_text("def (")
    assert runner.run("Check", kernels="mine.py", targets="h100").returncode != 0


def test_the_hook_runs_a_command_that_exists() -> None:
    (hook,) = yaml.safe_load(HOOKS.read_text())
    assert hook["entry"] == "irlens check"
    assert hook["language"] == "python"
    assert hook["pass_filenames"] is False
    for path in ("kernels/mine.py", "pyproject.toml", "sub/irlens.baseline.json"):
        assert re.search(hook["files"], path)
    assert not re.search(hook["files"], "README.md")
