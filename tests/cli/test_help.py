"""Help groups the options of a command, and drops none."""

import click
import pytest
from click.testing import CliRunner

from irlens.cli.root import COMMANDS, GROUPS, group_of, root


def commands() -> dict[str, click.Command]:
    context = click.Context(root)
    found = {name: root.get_command(context, name) for name in COMMANDS}
    return {name: command for name, command in found.items() if command is not None}


def told(name: str) -> str:
    return CliRunner().invoke(root, [name, "--help"], env={"COLUMNS": "80"}).output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_stands_once_in_the_help(name: str) -> None:
    lines = told(name).splitlines()
    titles = [n for n, line in enumerate(lines) if line.removesuffix(":") in GROUPS]
    for option in commands()[name].params:
        if isinstance(option, click.Option) and not option.hidden:
            long = max(option.opts, key=len)
            heads = [line.replace(",", "").split()[:2] for line in lines[titles[0] :]]
            shown = [head for head in heads if long in head]
            assert len(shown) == 1, (name, long)
    assert all(len(line) <= 80 for line in lines[titles[0] :])


def test_groups_come_in_order_with_their_options() -> None:
    lines = told("inspect").splitlines()
    titles = [line[:-1] for line in lines if line[:-1] in GROUPS]
    assert titles == [each for each in GROUPS if each != "Options"]
    places = {title: lines.index(f"{title}:") for title in titles}
    for option, group in (("--set", "Selection"), ("--pressure", "What to show"),
                          ("--json", "Output"), ("--triton", "Compilation and runs")):  # fmt: skip
        at = next(n for n, line in enumerate(lines) if option in line.split()[:2] and n > 20)
        assert max(titles, key=lambda title: places[title] if places[title] < at else -1) == group


def test_the_help_option_alone_makes_no_group() -> None:
    assert "\nOptions:\n" not in told("inspect")
    assert "\nOptions:\n" in told("completion")
    assert "\nOptions:\n  --update" in told("check")


def test_the_groups_name_options_that_exist() -> None:
    known = {name for each in commands().values() for p in each.params for name in p.opts}
    named = {f"--{name}" for names in GROUPS.values() for name in names.split()}
    assert named <= known | {"--budget", "--footer"}
    assert group_of("-t, --target GPU,...") == "Selection"
    assert group_of("--sass / --no-sass") == "What to show"
    assert group_of("--baseline FILE") == "Options"
