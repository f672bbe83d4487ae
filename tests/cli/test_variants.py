"""``irlens variants`` from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import pytest

from irlens.model.variants import Variants
from irlens.render.json import schema

SAMPLES = Path(__file__).parents[2] / "samples" / "captures"

KERNELS = """
import triton
import triton.language as tl

IRLENS_KERNELS = {
    "penalties": {
        "sizes": {"tokens": 32},
        "args": {"x": "fp32[tokens, 512]", "num_seqs": "tokens", "eps": 0.5},
        "constexprs": {"BLOCK": 512},
        "grid": ["tokens"],
    },
    "guarded": {
        "sizes": {"n": 64},
        "args": {"x": "fp32[n]", "n": "n"},
        "constexprs": {"BLOCK": "next_power_of_2(n)"},
        "grid": [1],
    },
}

@triton.jit
def penalties(x, num_seqs, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row < num_seqs:
        at = x + row * BLOCK + tl.arange(0, BLOCK)
        tl.store(at, tl.load(at) * eps)

@triton.jit
def guarded(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < n) + 1, at < n)
"""


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    file = tmp_path / "served.py"
    file.write_text(KERNELS)
    return file


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irlens", "variants", *arguments], capture_output=True, text=True
    )


def found(*arguments: str) -> Variants:
    ran = run(*arguments, "--json")
    assert ran.returncode == 0, ran.stderr
    jsonschema.validate(json.loads(ran.stdout), json.loads(schema("variants")))
    return msgspec.json.decode(ran.stdout, type=Variants)


def test_a_number_of_sequences_needs_three_variants_two_of_the_same_code(kernels: Path) -> None:
    place = f"{kernels}:penalties"
    (kernel,) = found(place, "--target", "h100", "--arg", "num_seqs=1..256").kernels
    assert (kernel.number, kernel.launches, kernel.bounded) == (3, 256, "")
    assert [each.launch["num_seqs"] for each in kernel.variants] == ["1", "255", "256"]
    assert [each.code for each in kernel.variants] == [1, 2, 2]
    (split,) = kernel.splits
    assert (split.names, split.kind, split.without) == (["num_seqs"], "argument", 1)
    text = run(place, "--target", "h100", "--arg", "num_seqs=1..256").stdout
    assert "3 variants for 256 launches" in text
    assert "1 has the machine code of another: needless" in text
    assert "same as 2" in text


def test_constexprs_follow_from_sizes(kernels: Path) -> None:
    (kernel,) = found(f"{kernels}:guarded", "-t", "h100", "--arg", "n=1..4096").kernels
    blocks = [each.parameter("BLOCK") for each in kernel.variants]
    assert {each.value for each in blocks if each} == {2**power for power in range(13)}
    classes = {(1 << (n - 1).bit_length(), n == 1, n % 16 == 0) for n in range(1, 4097)}
    assert kernel.number == len(classes)
    assert kernel.bounded == ""


def test_listed_values_are_all_tried(kernels: Path) -> None:
    (kernel,) = found(f"{kernels}:penalties", "-t", "h100", "--arg", "num_seqs=3,5,7").kernels
    assert (kernel.number, kernel.launches) == (1, 3)
    text = run(f"{kernels}:penalties", "-t", "h100").stdout
    assert "1 variant for 1 launch" in text
    assert "--arg num_seqs=1..131072" in text


def test_the_rest_is_counted(kernels: Path) -> None:
    (kernel,) = found(
        f"{kernels}:penalties", "-t", "h100", "--arg", "num_seqs=1..256", "--most", "1"
    ).kernels
    assert (kernel.number, len(kernel.variants), kernel.codes) == (3, 1, None)


def test_captures_are_compared_as_they_are() -> None:
    found_there = found(str(SAMPLES))
    several = [each for each in found_there.kernels if each.number > 1]
    assert [each.kernel for each in several] == ["matmul"]
    two = run(str(SAMPLES / "specialized-h100-4"), str(SAMPLES / "specialized-h100-8"))
    text = " ".join(two.stdout.split())
    assert "1 and 2 differ because" in text
    assert "num_warps is 4 in 1 and 8 in 2" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vector_add", "--arg", "n_elements=9..3"], "not an ascending range"),
        (["vector_add", "--arg", "m=1..3", "-t", "h100"], "unknown argument 'm'"),
        ([str(SAMPLES), "--arg", "n=1..3"], "--arg has nothing to vary"),
        (["vector_add", "softmax"], "one kernel at a time"),
        (["nowhere.py"], "nowhere.py"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str) -> None:
    ran = run(*arguments)
    assert ran.returncode == 2
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""
