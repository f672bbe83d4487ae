"""``irlens record`` from the command line."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from packaging.version import Version

from irlens.compiler.toolchains import triton_version
from tests.running import inline, irlens

__all__ = ["inline"]

Run: TypeAlias = Callable[..., tuple[int, str, str]]

PROGRAM = """
import sys, triton, triton.language as tl

@triton.jit
def scale(n, BLOCK: tl.constexpr):
    if tl.program_id(0) > n:
        tl.device_print("no", n * BLOCK)

for block in map(int, sys.argv[1:]):
    scale[(1,)](5, BLOCK=block)
print("done")
"""


def run_alone(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run a command in a process of its own, and the program in one that starts from nothing."""
    ran = subprocess.run(
        [sys.executable, "-m", "irlens", *arguments], cwd=folder, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def run(preloaded: None, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command; what it records has imported PyTorch, and prints to this process's streams."""

    def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
        ran = irlens(*arguments, cwd=folder)
        printed = capfd.readouterr()
        return ran.code, printed.out + ran.out, printed.err + ran.err

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "broken.py").write_text(PROGRAM + "raise SystemExit(7)")
    (tmp_path / "idle.py").write_text("print('idle')")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    return tmp_path


def test_stdout_is_the_programs_and_what_is_kept_can_be_inspected(folder: Path) -> None:
    code, out, err = run_alone(folder, "record", "-t", "a100", "program.py", "32", "64")
    assert (code, out) == (0, "done\n")
    assert "captured 2 variants of 1 kernel in irlens-program\n" in err
    assert "2 launches of 1 kernel" in err
    assert re.search(r"^scale +program\.py:10 +2 +[\d.]+.µs", err, re.MULTILINE)
    assert "irlens tui irlens-program" in err
    code, out, _ = run_alone(folder, "inspect", "irlens-program", "--format", "csv")
    assert code == 0
    assert out.count("\nscale,sm_80,a100,") == 2


def test_two_recordings_are_compared_kernel_by_kernel(run: Run, folder: Path) -> None:
    for place in ("before", "after"):
        assert run(folder, "record", "-t", "a100", "-o", f"new/{place}", "program.py", "32")[0] == 0
    assert run(folder, "diff", "new/before", "new/after")[0] == 0
    again = ("-t", "h100", "-o", "new/after", "--force", "program.py", "32")
    assert run(folder, "record", *again)[0] == 0
    assert run(folder, "diff", "new/before", "new/after")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("missing.py",), "missing.py is not a file"),
        (("-t", "h1000", "program.py"), "did you mean"),
        (("-o", "full", "program.py"), "full exists"),
        (("-o", "full", "--force", "program.py"), "full is not a recording"),
        (("-o", "program.py/kept", "program.py"), "cannot write program.py/kept"),
        (("-t", "h100", "idle.py"), "the program compiled no Triton kernel"),
        (("-t", "h100", "-m", "no_such_module"), "the program exited with code 1"),
        (("-t", "h100", "broken.py", "32"), "the program exited with code 7"),
    ],
)
def test_mistakes(run: Run, folder: Path, arguments: tuple[str, ...], complaint: str) -> None:
    code, _, err = run(folder, "record", *arguments)
    assert code == 2, err
    assert complaint in err
    assert "irlens/" not in err  # no traceback through irlens
    assert [path.name for path in (folder / "full").iterdir()] == ["thesis.tex"]
    assert not list(folder.glob(".irlens-tmp-*"))


def test_a_script_of_tests_says_how_to_run_them(run: Run, folder: Path) -> None:
    (folder / "test_scale.py").write_text("def test_scale():\n    pass\n")
    code, _, err = run(folder, "record", "-t", "h100", "test_scale.py")
    assert code == 2
    assert "irlens record -m pytest test_scale.py" in err


def test_kernels_that_do_not_compile_are_reported(run: Run, folder: Path) -> None:
    text = (folder / "program.py").read_text()
    text += "\n@triton.jit\ndef wrong(n):\n    missing(n)\n\nwrong[(1,)](5)\n"
    (folder / "partly.py").write_text(text)
    code, _, err = run(folder, "record", "-t", "h100", "partly.py", "32")
    assert code == 2
    assert re.search(
        r"1 kernel did not compile:\nirlens:   wrong: partly\.py:\d+:5: missing is not", err
    )
    assert "captured 1 variant" in err


@pytest.mark.skipif(Version(triton_version()) < Version("3.9"), reason="this Triton takes any key")
def test_a_refused_autotuner_is_named_once(run: Run, folder: Path) -> None:
    text = (folder / "program.py").read_text()
    text += (
        "\n@triton.autotune([triton.Config({})], key=['missing'])\n"
        "@triton.jit\ndef tuned(n):\n    pass\n"
    )
    (folder / "tuned.py").write_text(text)
    _, _, err = run(folder, "record", "-t", "h100", "tuned.py", "32")
    assert "irlens:   tuned: key contains names" in err
    assert "names are: n; an older Triton accepts it: --triton 3.8.0" in err


def test_what_a_broken_program_compiled_is_kept(run: Run, folder: Path) -> None:
    run(folder, "record", "-t", "h100", "broken.py", "32")
    assert (folder / "irlens-broken" / "0000-scale" / "irlens.json").is_file()


def test_a_second_recording_says_how_to_go_on(run: Run, folder: Path) -> None:
    assert run(folder, "record", "-t", "a100", "program.py", "32", "64")[0] == 0
    code, _, err = run(folder, "record", "-t", "a100", "program.py", "32")
    assert code == 2
    assert "irlens-program exists: 2 variants (scale 2)" in err
    assert "irlens tui irlens-program" in err
    assert "irlens diff irlens-program irlens-program-new" in err
    assert "replace it with  irlens record -t a100 --force program.py 32\n" in err
    assert "with  irlens record -t a100 -o irlens-program-new program.py 32  and" in err
    late = run(folder, "record", "-t", "a100", "program.py", "32", "--force")[2]
    assert "replace it with  irlens record -t a100 --force program.py 32\n" in late


def test_a_program_that_stops_says_how_to_go_on(run: Run, folder: Path) -> None:
    """What it had compiled by then is kept, and replaced by the same command."""
    pytest.importorskip("torch")
    (folder / "reads it.py").write_text(
        "import torch, triton, triton.language as tl\n\n"
        "@triton.jit\ndef fill(x):\n    tl.store(x + tl.program_id(0), 1.0)\n\n"
        "held = torch.empty(32, device='cuda')\nfill[(32,)](held)\n"
        "print('positive' if held.sum() > 0 else 'not')\n"
    )
    code, _, err = run(folder, "record", "-t", "a100", "reads it.py", "32")
    assert (code, "could not continue at" in err) == (2, True), err
    again = "irlens record -t a100 --assume 0 --force 'reads it.py' 32"
    assert f"{again}  goes on with zeros" in err
    assert run(folder, *shlex.split(again)[1:])[0] == 0


def test_another_interpreter_runs_the_program(run: Run, folder: Path) -> None:
    here = sys.executable
    assert run(folder, "record", "-t", "a100", "--python", here, "program.py", "32")[0] == 0
    code, _, err = run(folder, "record", "--python", "no-python", "-o", "x", "program.py")
    assert code == 2
    assert "no-python" in err
    both = ("--python", here, "--triton", "3.6.0")
    assert "exclude each other" in run(folder, "record", *both, "-o", "x", "program.py")[2]


def test_configurations_are_a_number(run: Run, folder: Path) -> None:
    code, _, err = run(folder, "record", "--configs", "0", "program.py")
    assert code == 2
    assert "'0' is not first, all, or a number of configurations" in err


def test_a_target_after_the_program_is_the_programs_and_said(run: Run, folder: Path) -> None:
    (folder / "args.py").write_text("import sys; print(sys.argv[1:])")
    _, out, err = run(folder, "record", "-t", "a100", "args.py", "-t", "h100,b200")
    assert out == "['-t', 'h100,b200']\n"
    own = "for irlens it comes before args.py:  irlens record -t h100,b200 args.py\n"
    assert f"-t h100,b200 goes to args.py; {own}" in err
    _, _, err = run(folder, "record", "-t", "a100", "args.py", "-t", "12")
    assert "goes to" not in err


def test_an_output_after_the_program_is_said_unless_the_program_takes_one(
    run: Run, folder: Path
) -> None:
    (folder / "plain.py").write_text("print('done')")
    _, _, err = run(folder, "record", "-t", "a100", "plain.py", "-o", "captures")
    own = "irlens record -t a100 -o captures plain.py"
    assert f"-o captures goes to plain.py; for irlens it comes before plain.py:  {own}" in err
    (folder / "own.py").write_text("import sys; print(sys.argv[1:])")
    assert "goes to" not in run(folder, "record", "-t", "a100", "own.py", "-o", "x")[2]


def test_tritons_announcement_does_not_leak(folder: Path) -> None:
    _, _, err = run_alone(folder, "record", "-t", "a100", "program.py", "32")
    assert "captured 1 variant" in err
    assert "FP_FUSION" not in err


@pytest.mark.usefixtures("inline")
def test_what_autotuners_would_choose_is_one_command_away(run: Run, folder: Path) -> None:
    (folder / "tuned.py").write_text(PROGRAM.replace(
        "@triton.jit", "@triton.autotune([triton.Config({'BLOCK': n}) for n in (32, 64)], ['n'])\n"
        "@triton.jit").replace("BLOCK=block", "").replace("(5, )", "(5)").replace(
        "[(1,)]", "[lambda meta: (triton.cdiv(64, meta['BLOCK']),)]"))  # fmt: skip
    code, _, err = run(folder, "record", "-t", "a100", "tuned.py", "1")
    assert code == 0, err
    assert "rank all configurations with  irlens inspect irlens-tuned\n" in err
    code, out, err = run(folder, "sweep", "irlens-tuned", "--json")
    assert code == 0, err
    trials = json.loads(out)["trials"]
    assert sorted(each["settings"]["BLOCK"] for each in trials) == [32, 64]
    # With one of them chosen nothing tells the candidates apart.
    code, out, err = run(folder, "inspect", "irlens-tuned", "--set", "BLOCK=32", "--json")
    assert code == 0, err
    assert json.loads(out)["config"]["constexprs"] == {"BLOCK": 32}
    assert "rank all" not in run(folder, "record", "-t", "a100", "program.py", "32")[2]
