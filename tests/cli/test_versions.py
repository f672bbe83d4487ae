"""Several Tritons from the command line: ``--triton`` and ``--python``."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from irlens.compiler.toolchains import triton_version
from irlens.model.comparison import Comparisons

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
HERE = ("vector_add", "--target", "sm_80", "--no-run")


class Ran(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str


def irlens(*arguments: str) -> Ran:
    ran = subprocess.run(
        [sys.executable, "-m", "irlens", *arguments], stdin=subprocess.DEVNULL,
        capture_output=True, env={**os.environ, "COLUMNS": "80"}, check=False, text=True,
    )  # fmt: skip
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_a_version_and_an_interpreter_are_the_two_sides() -> None:
    ran = irlens("diff", *HERE, "--triton", triton_version(), "--python", sys.executable)
    assert ran.code == 0, ran.err
    assert ran.out == "vector_add_kernel on sm_80\nno difference\n"
    assert ran.err == ""


def test_each_config_is_compared_with_its_like() -> None:
    axes = ("--num-warps", "2,4", "--python", f"{sys.executable},{sys.executable}")
    ran = irlens("diff", *HERE, *axes, "--format", "json")
    assert ran.code == 0, ran.err
    pairs = msgspec.json.decode(ran.out, type=Comparisons).pairs
    assert [pair.setting for pair in pairs] == ["num_warps=2", "num_warps=4"]
    assert all(pair.before.config == pair.after.config for pair in pairs)


def test_a_version_can_be_inspected() -> None:
    ran = irlens("inspect", *HERE, "--triton", triton_version())
    assert ran.code == 0, ran.err
    assert f"Triton {triton_version()}" in ran.out


def test_the_lost_occupancy_is_found_and_explained() -> None:
    ran = irlens("diff", *(str(CAPTURES / f"layer_norm-b200-{v}") for v in ("3.6", "3.7")))
    assert ran.code == 1, ran.err
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert lines[:4] == [
        "layer_norm_kernel on sm_100 Triton 3.6.0 → Triton 3.7.1",
        "! likely 41 % more time: 65.4 µs → 92.3 µs (0.92 to 2.17 ×), bound by latency,",
        "before by DRAM · latency 57.8 µs → 87.1 µs: blocks per SM 2 → 1",
        "1 finding changed (IRL102)",
    ]
    hint = lines.index("To regain occupancy") + 1
    assert lines[hint] == "8 fewer registers/thread: 1 → 2 blocks/SM (50 %)"
    # The other way round nothing is to be regained.
    back = irlens("diff", *(str(CAPTURES / f"layer_norm-b200-{v}") for v in ("3.7", "3.6")))
    assert "regain" not in back.out


def test_that_no_more_registers_are_needed_is_told() -> None:
    sides = [str(CAPTURES / f"layer_norm-b200-{version}") for version in ("3.6", "3.7")]
    told = "+8 allocated per thread, while the peak of live registers stayed at 61"
    for form in ("text", "markdown"):
        ran = irlens("diff", *sides, "--sass", "--format", form)
        assert told in " ".join(ran.out.split()), ran.err
    assert told not in irlens("diff", *reversed(sides), "--sass").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--triton", "3.1"), "Triton 3.1: irlens compiles with 3.2 or newer"),
        (("--python", "no-such-python"), "no such version or interpreter: no-such-python"),
        (("--triton", "abc"), "no such version or interpreter: abc"),
        (("--python", "/bin/true"), "/bin/true is not a Python that"),
        (("--triton", ","), "a value is missing"),
    ],
)
def test_what_is_no_triton(options: tuple[str, ...], message: str) -> None:
    ran = irlens("inspect", *HERE, *options)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_a_capture_has_its_triton(tmp_path: Path) -> None:
    shutil.copytree(CAPTURES / "softmax-h100", tmp_path / "x")
    (tmp_path / "x" / "irlens.json").unlink()
    ran = irlens("inspect", str(tmp_path / "x"), "--triton", "3.6.0")
    assert ran.code == 2
    assert "already compiled, and its source is unknown" in ran.err


def test_one_version_alone_is_one_side() -> None:
    ran = irlens("diff", *HERE, "--triton", triton_version())
    assert ran.code == 2
    assert "one side" in ran.err
