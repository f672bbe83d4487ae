import os
import subprocess
import sys

import pytest
from click.testing import CliRunner, Result

from irlens import rules as checks
from irlens.cli.commands.explain import command


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False)


@pytest.mark.parametrize("check", checks.checks(), ids=lambda check: check.CODE)
def test_explains_by_code_and_by_name(check: checks.Check) -> None:
    by_code = run(check.CODE)
    assert by_code.exception is None
    assert by_code.output == checks.documentation(check)
    assert run(check.NAME).output == by_code.output
    assert "## What to do" in by_code.output


def test_lists_everything_without_an_argument() -> None:
    lines = run().output.splitlines()
    assert lines[0].split() == ["code", "name", "severity", "what", "is", "found"]
    assert [line.split()[0] for line in lines[1:]] == [check.CODE for check in checks.checks()]


def test_headings_stand_out_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = CliRunner().invoke(command, ["IRL201"], standalone_mode=False, color=True).output
    assert "\x1b[1m## What to do" in coloured
    assert run("IRL201").output.count("\x1b") == coloured.count("\x1b")


def test_an_unknown_finding_is_two_lines_and_exit_code_2() -> None:
    process = subprocess.run(
        [sys.executable, "-c", "from irlens.cli import main; main()", "explain", "IRL20"],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
    )
    assert (process.returncode, process.stdout) == (2, "")
    first, second = process.stderr.splitlines()
    assert first == "irlens: error: unknown finding 'IRL20'"
    assert second.strip().startswith("did you mean IRL2")
