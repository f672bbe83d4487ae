"""Lists and ranges of option values."""

import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from irlens.cli.options import as_typed, config_options, with_example_as_typed
from irlens.cli.root import root
from irlens.model.errors import IrlensError
from irlens.session import Configurations


@click.command()
@config_options()
def probe(selection: Configurations) -> None:
    click.echo(";".join(f"{name}={','.join(values)}" for name, values in selection.settings))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("4", "4"),
        ("2,4", "2,4"),
        ("1..5", "1,2,3,4,5"),
        ("7..7", "7"),
        ("0..64..16", "0,16,32,48,64"),
        ("0..70..16", "0,16,32,48,64"),
        ("16..128..x2", "16,32,64,128"),
        ("16..100..x2", "16,32,64"),
        ("1..2,8,16..32..x2", "1,2,8,16,32"),
        ("2^3..2^6", "8,16,32,64"),
        ("2^10,10^2..10^3", "1024,100,1000"),
        ("2^3..3^4", "2^3..3^4"),
        ("-2..1", "-2,-1,0,1"),
        ("1.5", "1.5"),
        ("'1..3'", "'1..3'"),
    ],
)
def test_values(given: str, meant: str) -> None:
    ran = CliRunner().invoke(probe, ["--set", f"BLOCK={given}"])
    assert ran.output == f"BLOCK={meant}\n"


def test_the_named_options_come_first() -> None:
    ran = CliRunner().invoke(probe, ["--set", "BLOCK=1", "--num-stages", "1..3"])
    assert ran.output == "num_stages=1,2,3;BLOCK=1\n"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("BM=64,128,BN=32", "BM=64,128;BN=32"),
        ("BM=64, BN = 32,64", "BM=64;BN=32,64"),
        ("T=fp16[2, n],f=(1, b=2),n=n==16", "T=fp16[2, n];f=(1, b=2);n=n==16"),
    ],
)
def test_an_option_sets_several_names(given: str, meant: str) -> None:
    assert CliRunner().invoke(probe, ["--set", given]).output == f"{meant}\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--set", "BLOCK=1,BLOCK=2"], "BLOCK is given twice"),
        (["--num-stages", "5..1"], "is not an ascending range"),
        (["--set", "BLOCK=2^5..2^4"], "is not an ascending range"),
        (["--num-stages", "1..5..0"], "is not an ascending range"),
        (["--num-warps", "1..8..x1"], "is not an ascending range"),
        (["--num-warps", "0..8..x2"], "is not an ascending range"),
        (["--num-warps", "0..4"], "'0' is not an integer of at least 1"),
        (["--set", "BLOCK=1..1000000"], "has more than 1000 numbers"),
        (["--set", "BLOCK=1", "--set", "BLOCK=2"], "BLOCK is given twice"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], complaint: str) -> None:
    ran = CliRunner().invoke(probe, arguments)
    assert ran.exit_code == 2
    assert complaint in ran.output


def test_an_example_knows_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hint = f"for example  irlens inspect {tmp_path / 'k.py'}:add --arg n=1"
    for typed in ("k.py", "k.py:add"):
        error = IrlensError("add needs a value for n", hint=hint)
        shown = with_example_as_typed(error, ["limits", typed, "-t", "h100"]).hint
        assert shown == "for example  irlens limits k.py:add -t h100 --arg n=1"


def test_an_example_knows_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes name the file by its whole path, and one value of a range."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "k.py").touch()
    hint = f"for example  irlens inspect {tmp_path / 'ops' / 'k.py'}:add --arg n=16 --set B=4"
    typed = ["inspect", "ops.k:add", "-t", "h100", "--arg", "n=1..64"]
    shown = with_example_as_typed(IrlensError("add needs a value for B", hint=hint), typed).hint
    assert shown == "for example  irlens inspect ops.k:add -t h100 --arg n=1..64 --set B=4"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["limits", "k.py", "--along", "n"], "limits k.py:add --along n --arg n=1 --set B=4"),
        (["variants", "k.py", "--arg", "n=1..64"], "variants k.py:add --arg n=1..64 --set B=4"),
        (["diff", "k.py:add", "-an=2,3", "-t", "h100"], "diff k.py:add -an=2,3 -t h100 --set B=4"),
        (["passes", "-t", "h100", "--", "k.py"], "passes -t h100 --arg n=1 --set B=4 -- k.py:add"),
        (["explain", "k.py", "IRL105"], "explain k.py:add IRL105 --arg n=1 --set B=4"),
        (["sweep", "mine"], "inspect k.py:add --arg n=1 --set B=4"),
    ],
)
def test_an_example_is_the_command_as_typed(typed: list[str], shown: str) -> None:
    hint = "for example  irlens inspect k.py:add --arg n=1 --set B=4\nthe file leaves B open"
    error = with_example_as_typed(IrlensError("add needs a value for B", hint=hint), typed)
    assert error.hint == f"for example  irlens {shown}\nthe file leaves B open"


@pytest.mark.parametrize(
    ("typed", "grid"), [([], " --grid 'cdiv(n, B)'"), (["--grid=4"], ""), (["--grid", "4"], "")]
)
def test_an_example_keeps_its_grid_unless_one_is_typed(typed: list[str], grid: str) -> None:
    hint = "for example  irlens inspect k.py:add --arg n=1 --grid 'cdiv(n, B)'"
    command = ["inspect", "k.py:add", *typed]
    error = with_example_as_typed(IrlensError("add needs a value for n", hint=hint), command)
    assert error.hint == f"for example  irlens {shlex.join(command)} --arg n=1{grid}"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (["diff", "k.py", "--git"], "diff irlens-k --git"),
        (["suggest", "k.py:add", "--budget", "60s"], "suggest irlens-k:add --budget 60s"),
        (["sweep", "mine"], "inspect irlens-k"),
    ],
)
def test_a_recording_is_named_in_the_command_as_typed(typed: list[str], shown: str) -> None:
    recorded = "its launches are recorded:  irlens inspect irlens-k"
    hint = f"{recorded}\nfor example  irlens inspect k.py:add --arg n=1"
    error = with_example_as_typed(IrlensError("add needs a value for n", hint=hint), typed)
    assert (error.hint or "").splitlines()[0] == f"its launches are recorded:  irlens {shown}"


def test_a_recording_of_several_kernels_is_named_without_an_example() -> None:
    hint = "its launches are recorded:  irlens inspect irlens-k\nname one"
    error = with_example_as_typed(
        IrlensError("none of 2", hint=hint), ["diff", "ops/k.py", "--git"]
    )
    assert error.hint == "its launches are recorded:  irlens diff irlens-k --git\nname one"


@pytest.mark.parametrize("hint", [None, "see --help", "for example  irlens inspect 'k.py"])
def test_other_hints_stay(hint: str | None) -> None:
    error = with_example_as_typed(IrlensError("wrong", hint=hint), ["inspect", "k.py"])
    assert error.hint == hint


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e400", "0"])
@pytest.mark.parametrize("command", [["sweep", "softmax"], ["mcp"]])
def test_a_time_is_finite(command: list[str], seconds: str) -> None:
    result = CliRunner().invoke(root, [*command, "--timeout", seconds])
    assert result.exit_code == 2
    assert "Invalid value for '--timeout'" in result.output


@pytest.mark.parametrize("command", ["sweep", "scan"])
def test_workers_have_a_limit(command: str) -> None:
    result = CliRunner().invoke(root, [command, "softmax", "--jobs", "999999999"])
    assert result.exit_code == 2
    assert "999999999 is not in the range 1<=x<=1024" in result.output


def test_a_long_command_has_short_options() -> None:
    args = tuple((f"stride_{n}", ("1024",)) for n in range(9))
    selection = Configurations(targets=("h100",), settings=(("BLOCK", ("64",)),), args=args)
    long = as_typed(["k.py"], selection)
    assert long.startswith("k.py -t h100 -s BLOCK=64 -a stride_0=1024 -a stride_1=1024")
    assert as_typed(["k.py"], replace(selection, args=args[:1])).startswith("k.py --target h100")
