"""``irlens`` alone shows how to begin."""

import re

from click.testing import CliRunner

from irlens.cli.root import COMMANDS, root


def test_three_commands_to_begin_with() -> None:
    result = CliRunner().invoke(root, [])
    assert result.exit_code == 0
    shown = re.findall(r"^  irlens (\w+)", result.output, re.MULTILINE)
    assert len(shown) == 3
    assert set(shown) < set(COMMANDS)
    assert "irlens record FILE.py" in result.output
    assert max(map(len, result.output.splitlines())) <= 80


def test_help_still_lists_every_command() -> None:
    told = CliRunner().invoke(root, ["--help"]).output
    assert all(f"  {name}" in told for name in COMMANDS)
