"""Hints in the language of the library and of agents."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import irlens.library
from irlens.cli.root import root
from irlens.model.errors import IrlensError
from irlens.session.wording import COMMANDS, OPTIONS, Caller, reworded, worded

PACKAGE = Path(irlens.__file__).parent
#: Options without a counterpart: they belong to the command line, or to a server's start.
ONLY_THERE = {
    "--assume", "--cluster", "--emit", "--interpret", "--measure", "--most",
    "--no-compile", "--program", "--reference", "--timeout", "--version",
}  # fmt: skip
#: Arguments of other programs.
FOREIGN = re.compile(
    r"--(?:end-of-options|format=tar|no-input|only-binary|regAllocOpt\w+|show-top\w+|verify)"
)


@cache
def texts() -> frozenset[str]:
    """Return the strings below the command line and the TUI that errors may be made of."""
    return frozenset(_texts())


def _texts() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] in ("cli", "tui", "render"):
            continue
        tree = ast.parse(path.read_text())
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            if id(node) not in docstrings and "#!/bin/sh" not in node.value:
                yield node.value


@pytest.mark.parametrize("caller", ["library", "agent"])
def test_no_option_of_the_command_line_is_left_in_an_error(caller: Caller) -> None:
    seen = set()
    for text in texts():
        options = re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", FOREIGN.sub("", text))
        seen |= {*options}
        left = re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", FOREIGN.sub("", worded(text, caller)))
        assert set(left) <= ONLY_THERE, text
    assert len(seen & OPTIONS.keys()) > 10


def test_the_tables_name_what_exists() -> None:
    import click

    ctx = click.Context(root)
    commands = [root.get_command(ctx, name) for name in root.list_commands(ctx)]
    known = {option for each in commands if each for p in each.params for option in p.opts}
    assert OPTIONS.keys() <= known
    assert COMMANDS.keys() <= {*root.list_commands(ctx)}
    for function, _ in COMMANDS.values():
        assert not function or function.removeprefix("irlens.") in vars(irlens.library)


@pytest.mark.parametrize(
    ("text", "library", "agent"),
    [
        ("write --arg x_ptr=...", 'write args={"x_ptr": ...}', 'write `args` {"x_ptr": ...}'),
        ("write --set BLOCK=...", "write BLOCK=...", 'write `settings` {"BLOCK": ...}'),
        ("--num-stages 2,3", "num_stages=[2, 3]", '`settings` {"num_stages": [2, 3]}'),
        ("use --target sm_90", 'use target="sm_90"', "use `targets` sm_90"),
        ("--where leaves none", "where=... leaves none", "`where` leaves none"),
        ("leave out --run: no GPU", "leave out run=True: no GPU", "leave out run: no GPU"),
        (
            "irlens inspect k.py:f --arg x=fp32[8,8] --arg n=5 --set B=64 --target h100",
            'irlens.capture("k.py:f", B=64, target="h100", args={"x": "fp32[8,8]", "n": 5})',
            '`inspect` k.py:f `args` {"x": "fp32[8,8]"} `args` {"n": 5} `settings` {"B": 64}'
            " `targets` h100",
        ),
        (
            "`irlens check KERNEL --update`", 'irlens.check("KERNEL", update=True)',
            "`check` KERNEL update",
        ),
        (
            "`irlens check softmax --update`", 'irlens.check("softmax", update=True)',
            "`check` softmax update",
        ),
        (
            "`irlens check irlens-train --update`", 'irlens.check("irlens-train", update=True)',
            "`check` irlens-train update",
        ),
        (
            "as it is\nfor example  irlens inspect k.py:f --arg 'A=fp16[64,64]' --arg M=64"
            " --arg eps=0.1 --set B=16 --set CAUSAL=true --grid 'cdiv(M, B),M'\nor not",
            'as it is\nfor example  irlens.capture("k.py:f", args={"A": "fp16[64,64]", "M": 64, '
            '"eps": 0.1}, grid=["cdiv(M, B)", "M"], B=16, CAUSAL=True)\nor not',
            'as it is\nfor example  `inspect` {"kernel": "k.py:f", "args": {"A": "fp16[64,64]", '
            '"M": 64, "eps": 0.1}, "settings": {"B": 16, "CAUSAL": true}, '
            '"grid": ["cdiv(M, B)", "M"]}\nor not',
        ),
        (
            "it runs something: irlens record bench/run.py",
            'it runs something: irlens.record("bench/run.py")',
            "it runs something: irlens record bench/run.py",
        ),
        (
            "irlens record -m pytest test_k.py",
            'irlens.record("pytest", "test_k.py", module=True)',
            "irlens record -m pytest test_k.py",
        ),
        (
            "its launches are recorded:  irlens inspect irlens-train",
            'its launches are recorded:  irlens.load("irlens-train")',
            "its launches are recorded:  `inspect` irlens-train",
        ),
        ("or use `irlens inspect`", "or use irlens.inspect", "or use `inspect`"),
    ],
)  # fmt: skip
def test_options_and_commands_are_translated(text: str, library: str, agent: str) -> None:
    assert worded(text, "library") == library
    assert worded(text, "agent") == agent


@pytest.mark.parametrize("text", ["a -- b", "x--y", "--measure", "irlens reads ttir", "----", ""])
def test_other_text_stays(text: str) -> None:
    assert worded(text, "library") == text


def test_an_error_stays_the_same_error() -> None:
    error = IrlensError("no --grid", hint="add --grid")
    assert reworded(error, "library") is error
    assert (str(error), error.hint) == ("no grid=...", "add grid=...")
    assert reworded(IrlensError("none"), "agent").hint is None
