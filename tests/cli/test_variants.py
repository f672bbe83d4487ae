"""``irlens variants`` from the command line."""

import json
import shutil
from pathlib import Path

import jsonschema
import msgspec
import pytest
import triton

from irlens.library import capture
from irlens.model.variants import Variant, Variants
from irlens.render.json import schema
from tests.running import Ran, inline, irlens

__all__ = ["inline"]

pytestmark = pytest.mark.usefixtures("inline")

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
    "typed": {"args": {"x": "fp32[64]", "n": 64}, "grid": ["1"]},
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
def typed(x, n, DTYPE: tl.constexpr, MOST: tl.constexpr = float("inf")):
    at = x + tl.arange(0, 16)
    value = tl.minimum(tl.load(at, mask=tl.arange(0, 16) < n, other=0.0), MOST)
    tl.store(at, value.to(DTYPE).to(tl.float32))

@triton.jit
def guarded(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < n) + 1, at < n)
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("variants") / "served.py"
    file.write_text(KERNELS)
    return file


def run(*arguments: str) -> Ran:
    return irlens("variants", *arguments)


def found(*arguments: str) -> Variants:
    ran = run(*arguments, "--json")
    assert ran.code == 0, ran.err
    jsonschema.validate(json.loads(ran.out), json.loads(schema("variants")))
    return msgspec.json.decode(ran.out, type=Variants)


def test_a_number_of_sequences_needs_three_variants_two_of_the_same_code(kernels: Path) -> None:
    place = f"{kernels}:penalties"
    (kernel,) = found(place, "--target", "h100", "--arg", "num_seqs=1..256").kernels
    assert (kernel.number, kernel.launches, kernel.bounded) == (3, 256, "")
    assert [each.launch["num_seqs"] for each in kernel.variants] == ["1", "255", "256"]
    assert [each.code for each in kernel.variants] == [1, 2, 2]
    (split,) = kernel.splits
    assert (split.names, split.kind, split.without) == (["num_seqs"], "argument", 1)
    text = run(place, "--target", "h100", "--arg", "num_seqs=1..256").out
    assert "3 variants for 256 launches" in text
    assert "1 has the machine code of another: needless" in text
    assert "code of 2" in text


def test_rows_name_what_varies_and_columns_what_is_known(kernels: Path, tmp_path: Path) -> None:
    asked = (f"{kernels}:penalties", "-t", "h100", "--arg", "num_seqs=1..256", "--arg", "eps=0.25")
    rows = [line.split() for line in run(*asked).out.splitlines()]
    header = next(cells for cells in rows if cells[:1] == ["launch"])
    assert header == ["launch", "num_seqs", "registers", "time", "against", "others", "code"]
    assert ["3", "num_seqs=256"] in [cells[:2] for cells in rows]
    assert not any("eps" in cell for cells in rows for cell in cells)
    for name in ("specialized-h100-4", "specialized-h100-8"):
        unknown = shutil.ignore_patterns("irlens.json")
        shutil.copytree(SAMPLES / name, tmp_path / name, ignore=unknown)
    captures = run(str(tmp_path)).out
    assert "registers  code" in captures, "no column of times that nothing has"


def test_constexprs_follow_from_sizes(kernels: Path) -> None:
    (kernel,) = found(f"{kernels}:guarded", "-t", "h100", "--arg", "n=1..256").kernels
    blocks = [each.parameter("BLOCK") for each in kernel.variants]
    assert {each.value for each in blocks if each} == {2**power for power in range(9)}
    classes = {(1 << (n - 1).bit_length(), n == 1, n % 16 == 0) for n in range(1, 257)}
    assert kernel.number == len(classes)
    assert kernel.bounded == ""


def test_listed_values_are_all_tried(kernels: Path) -> None:
    (kernel,) = found(f"{kernels}:penalties", "-t", "h100", "--arg", "num_seqs=3,5,7").kernels
    assert (kernel.number, kernel.launches) == (1, 3)
    text = run(f"{kernels}:penalties", "-t", "h100").out
    assert "1 variant for 1 launch" in text
    assert "--arg num_seqs=1..131072" in text


def test_a_single_variant_that_fails_says_why(kernels: Path) -> None:
    text = run(f"{kernels}:guarded", "-t", "h100", "--arg", "n=64", "--set", "BLOCK=48").out
    assert "1 does not compile" in text
    assert "power of 2" in text
    assert "Next" not in text


def test_no_argument_is_suggested_twice(kernels: Path) -> None:
    text = run(f"{kernels}:penalties", "-t", "h100", "--arg", "num_seqs=32").out
    assert "1 variant for 1 launch" in text
    assert "--arg num_seqs=1..131072" not in text


def test_the_rest_is_counted(kernels: Path) -> None:
    (kernel,) = found(
        f"{kernels}:penalties", "-t", "h100", "--arg", "num_seqs=1..256", "--most", "1"
    ).kernels
    assert (kernel.number, len(kernel.variants), kernel.codes) == (3, 1, None)


def test_a_limit_fails_the_command(kernels: Path) -> None:
    asked = (f"{kernels}:penalties", "-t", "h100", "--arg", "num_seqs=1..256", "--at-most")
    assert run(*asked, "3").code == 0
    failed = run(*asked, "2")
    assert failed.code == 1
    assert "3 variants" in failed.out


@pytest.mark.usefixtures("preloaded")
def test_a_recording_ends_with_what_was_recompiled(kernels: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = kernels.with_name("serve.py")
    program.write_text(
        "import torch\nfrom served import penalties, guarded\n"
        "x = torch.zeros(64, 512, device='cuda')\n"
        "for n in (1, 3, 5, 16, 48):\n    penalties[(n,)](x, n, 0.5, 512)\n"
        "guarded[(1,)](x, 64, 64)\n"
    )
    kept = tmp_path / "kept"
    ran = irlens("record", "-t", "h100", "-o", kept, program, cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "penalties has 3 variants, told apart by num_seqs" in ran.err
    assert "guarded has" not in ran.err
    several, single = found(str(kept)).kernels
    assert (several.kernel, single.kernel) == ("penalties", "guarded")
    assert sorted(each.launches or 0 for each in several.variants) == [1, 2, 2]
    assert several.launches == 5


def test_candidates_of_an_autotuner_are_no_variants(tmp_path: Path) -> None:
    for name in ("specialized-h100-4", "specialized-h100-8"):
        shutil.copytree(SAMPLES / name, tmp_path / name)
    target = json.loads(run(str(tmp_path), "--json").out)["kernels"][0]["target"]
    launch = {"number": 9, "args": {}, "grid": [1, 1, 1]}

    def index(*launches: list[object]) -> None:
        names = ("specialized-h100-4", "specialized-h100-8")
        kernels = [
            {"entry": name, "kernel": "matmul", "launches": own, "tried": [launch]}
            for name, own in zip(names, launches, strict=True)
        ]
        run_ = {"target": target, "is_fake": True, "kernels": kernels}
        index = {"schema": 1, "program": "p.py", "runs": [run_]}
        (tmp_path / "irlens-program.json").write_text(json.dumps(index))

    index([launch], [])
    (kernel,) = found(str(tmp_path)).kernels
    assert (kernel.number, kernel.launches, kernel.candidates) == (1, 9, 1)
    assert [each.entry for each in kernel.variants] == ["specialized-h100-4"]
    (named,) = found(f"{tmp_path}:matmul").kernels
    assert (named.number, named.launches, named.candidates) == (1, 9, 1)
    text = run(str(tmp_path)).out
    assert "1 variant for 9 launches" in text
    assert "not counted: 1 candidate that an autotuner only tried" in text
    index([], [])
    (kernel,) = found(str(tmp_path)).kernels
    assert (kernel.number, kernel.launches, kernel.candidates) == (2, 0, 2)
    assert "No launch used these" in run(str(tmp_path)).out


def test_captures_are_compared_as_they_are() -> None:
    found_there = found(str(SAMPLES))
    several = [each for each in found_there.kernels if each.number > 1]
    assert [each.kernel for each in several] == ["matmul"]
    two = run(str(SAMPLES / "specialized-h100-4"), str(SAMPLES / "specialized-h100-8"))
    text = " ".join(two.out.split())
    assert "num_warps = 4" in text.partition("Variant 1 (")[2].partition(")")[0]
    assert "num_warps = 8" in text.partition("and variant 2 (")[2].partition(")")[0]


def test_captures_of_one_launch_are_compared_by_time() -> None:
    blocks = ((1024, 4), (1024, 8), (32, 1))
    made = [
        capture("vector_add", "h100", num_warps=warps, BLOCK_SIZE=block) for block, warps in blocks
    ]
    (kernel,) = found(*(str(each.directory) for each in made)).kernels
    assert [each.as_fast_as for each in kernel.variants] == [1, 1, 3]
    slow = kernel.variants[2]
    assert None not in (slow.time_us, kernel.variants[0].time_us)
    assert slow.time_ratio == pytest.approx(
        min(each.time_us or 0.0 for each in kernel.variants[:2]) / (slow.time_us or 0.0)
    )


@pytest.mark.skipif(triton.__version__ != "3.9.0", reason="the capture is of Triton 3.9.0")
def test_given_arguments_replace_those_of_a_capture() -> None:
    (kernel,) = found(str(SAMPLES / "softmax-h100"), "--arg", "n_rows=1..4096").kernels
    assert (kernel.kernel, kernel.number) == ("softmax_kernel", 3)
    assert {split.names[0] for split in kernel.splits} == {"n_rows"}


@pytest.mark.parametrize(
    ("target", "name", "settings"),
    [
        ("h100", "guarded", ()),
        ("mi300x", "guarded", ()),
        ("h100", "typed", ("--set", "DTYPE=fp16", "--set", "MOST=2.5")),
    ],
)
@pytest.mark.usefixtures("preloaded")
def test_the_warmup_script_compiles_each_variant(
    kernels: Path, tmp_path: Path, target: str, name: str, settings: tuple[str, ...],
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if target == "mi300x":
        pytest.importorskip("torch")  # Triton 3.6 imports it to specialize a pointer for AMD
    script = tmp_path / "lists" / "warmup.py"
    script.parent.mkdir()
    place = f"{kernels}:{name}"
    varied = ("-t", target, *settings, "--arg", "n=1..64")
    (kernel,) = found(place, *varied, "--emit", str(script)).kernels
    ran = irlens("record", "-t", target, "-o", tmp_path / "kept", script, cwd=tmp_path)
    assert f"compiled {kernel.number} variants" in capfd.readouterr().out, ran.err
    (recorded,) = found(str(tmp_path / "kept")).kernels
    assert recorded.number == kernel.number

    def compiled_for(variants: list[Variant]) -> set[str]:
        return {str([str(each) for each in variant.specialization]) for variant in variants}

    assert compiled_for(recorded.variants) == compiled_for(kernel.variants)


def test_a_broken_capture_hides_no_other(tmp_path: Path) -> None:
    for name in ("one", "two", "broken"):
        shutil.copytree(SAMPLES / "softmax-h100", tmp_path / name)
    (tmp_path / "broken" / "softmax_kernel.cubin").write_bytes(b"")
    ran = run(str(tmp_path))
    assert (ran.code, "2 variants" in ran.out) == (0, True)
    assert f"skipped {tmp_path}/broken: " in ran.err
    alone = run(str(tmp_path / "broken"))
    assert alone.code == 2
    assert f"{tmp_path}/broken: " in alone.err


def test_a_constexpr_that_cannot_be_written_is_refused(kernels: Path, tmp_path: Path) -> None:
    target = ("-t", "h100", "--arg", "n=16", "--set", "DTYPE=fp16")
    ran = run(f"{kernels}:typed", *target, "--emit", str(tmp_path / "warmup.py"))
    assert (ran.code, ran.out) == (2, "")
    assert "MOST is inf, which --emit cannot write" in ran.err
    assert not (tmp_path / "warmup.py").exists()


def test_a_warmup_list_is_whole_or_refused(kernels: Path, tmp_path: Path) -> None:
    place, target = f"{kernels}:penalties", ("-t", "h100", "--arg", "num_seqs=1..64")
    listed = kernels.with_name("whole.json")
    found(place, *target, "--emit", str(listed))
    (kernel,) = json.loads(listed.read_text())["kernels"]
    assert kernel["file"] == kernels.name
    assert [each["args"]["num_seqs"] for each in kernel["launches"]] == [1, 17, 16]
    ran = run(place, *target, "--most", "1", "--emit", str(tmp_path / "few.json"))
    assert (ran.code, ran.out) == (2, "")
    assert "2 variants of penalties are not" in ran.err
    assert not (tmp_path / "few.json").exists()


@pytest.mark.parametrize(
    ("named", "file", "message"),
    [
        ("vector_add", "list.txt", "ends neither in .py nor in .json"),
        ("vector_add", "-", "ends neither in .py nor in .json"),
        ("vector_add", "nowhere/list.py", "nowhere/list.py: No such file or directory"),
        (str(SAMPLES / "softmax-h100"), "list.py", "softmax-h100 is compiled: --emit needs the"),
    ],
)
def test_what_cannot_be_emitted_is_refused_before_compiling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, file: str, message: str
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    path = file if file == "-" else str(tmp_path / file)
    ran = run(named, "-t", "h100", "--emit", path)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert not list(tmp_path.rglob("*.cubin")), "nothing was compiled"
    assert not (tmp_path / "list.py").exists()


def test_a_warmup_list_leaves_out_what_does_not_compile(kernels: Path, tmp_path: Path) -> None:
    place, listed = f"{kernels}:guarded", tmp_path / "warmup.json"
    varied = ("-t", "h100", "--arg", "n=16,64", "--set", "BLOCK=48", "--emit", str(listed))
    ran = run(place, *varied)
    assert ran.code == 2
    assert "no variant of guarded can be launched: " in ran.err
    assert not listed.exists()
    odd = ("-t", "h100", "--arg", "n=64,5000000", "--emit", str(listed))
    (kernel,) = found(place, *odd).kernels
    assert [each.outcome for each in kernel.variants].count("failed") == 1
    ran = run(place, *odd)
    assert f"{listed} leaves out 1 variant that cannot be launched: " in ran.err
    (written,) = json.loads(listed.read_text())["kernels"]
    assert [each["args"]["BLOCK"] for each in written["launches"]] == [64]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vector_add", "--arg", "n_elements=9..3"], "not an ascending range"),
        (["vector_add", "--arg", "n_elements="], "a value is missing"),
        (["vector_add", "--arg", f"n_elements=1..{'9' * 5000}"], "more than 100 digits"),
        (["vector_add", "--arg", "m=1..3", "-t", "h100"], "unknown argument 'm'"),
        ([str(SAMPLES), "--arg", "n=1..3"], "its source is unknown"),
        (["vector_add", "softmax"], "one kernel at a time"),
        (["nowhere.py"], "nowhere.py"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""


#: Token counts of a mixture of experts follow from routing; two tiles are in use. And metadata of
#: sliced requests: 32-bit and 8-bit tensors begin at the same token, two block sizes are in use.
PUBLISHED = """
import triton
import triton.language as tl

IRLENS_KERNELS = {
    "experts": {
        "sizes": {"EM": 4096, "valid": 2048},
        "args": {"x": "fp16[EM, 64]", "y": "fp16[EM, 64]", "EM": "EM", "valid": "valid"},
        "constexprs": {"BLOCK": 16},
        "grid": ["cdiv(EM, BLOCK)"],
    },
    "sliced": {
        "sizes": {"k": 0},
        "args": {
            "requests": "int32[4096]:offset[k]", "is_valid": "int8[4096]:offset[k]",
            "out": "int32[4096]",
        },
        "constexprs": {"BLOCK": 64},
        "grid": [64],
    },
}

@triton.jit
def experts(x, y, EM, valid, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = rows[:, None] * 64 + tl.arange(0, 64)[None, :]
    inside = (rows < EM) & (rows < valid)
    tl.store(y + at, tl.load(x + at, mask=inside[:, None], other=0.0), mask=inside[:, None])

@triton.jit
def sliced(requests, is_valid, out, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    request, valid = tl.load(requests + token), tl.load(is_valid + token)
    at = tl.arange(0, BLOCK)
    tl.store(out + token * BLOCK + at, tl.where(valid != 0, request + at, -1))
"""


@pytest.mark.parametrize(
    ("name", "varied", "count", "left", "names"),
    [
        (
            "experts",
            ("--arg", "EM=4096,4097", "--arg", "valid=2048,2049", "--set", "BLOCK=16,32"),
            8, 2, {"EM", "valid"},
        ),
        ("sliced", ("--arg", "k=0..1023", "--set", "BLOCK=2,64"), 6, 2, {"requests", "is_valid"}),
    ],
)  # fmt: skip
def test_published_counts_and_the_advice_that_was_taken(
    tmp_path: Path, name: str, varied: tuple[str, ...], count: int, left: int, names: set[str]
) -> None:
    file = tmp_path / "published.py"
    file.write_text(PUBLISHED)
    (kernel,) = found(f"{file}:{name}", "-t", "h100", *varied).kernels
    assert (kernel.number, kernel.bounded) == (count, "")
    taken = [each for each in kernel.advice if {*each.names} == names and not each.fixed]
    assert [each.variants for each in taken] == [left]
    assert taken[0].change in ("do_not_specialize", "do_not_specialize_on_alignment")
    assert taken[0].reason == "", "compiled, with its price in time"
    assert taken[0].time_ratio is not None
