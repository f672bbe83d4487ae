"""``irlens limits`` from the command line, against brute force in narrow integers."""

import json
import re
import shutil
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import triton

import irlens
from irlens.compiler.planning import PlannedVariant
from irlens.model.capture import Capture
from irlens.model.limits import Limits, LimitSearch
from irlens.render import Options, render
from irlens.render.json import schema
from irlens.session import Configurations
from irlens.session import limits as session_limits
from irlens.session.session import Session
from irlens.sweeps import limit_probes
from irlens.sweeps.limit_probes import Probe
from tests import running
from tests.running import Ran, inline

__all__ = ["inline"]

pytestmark = pytest.mark.usefixtures("inline")

LAYER_NORM = Path(__file__).parents[2] / "samples" / "captures" / "layer_norm-b200-3.6"
KERNELS = """
import triton
import triton.language as tl

IRLENS_KERNELS = {
    "rows": {
        "sizes": {"tokens": 8},
        "args": {"x": "fp32[tokens, 4]"},
        "constexprs": {"STRIDE": 4},
        "grid": ["tokens"],
    },
    "persistent": {
        "sizes": {"rows": 8},
        "args": {"x": "fp32[rows, 8]", "n": "rows"},
        "constexprs": {"BLOCK": 8},
        "grid": ["min(rows, 12)"],
    },
    "wide": {
        "sizes": {"m": 8},
        "args": {"x": "fp32[4]"},
        "grid": [1, "m"],
    },
    "block": {
        "sizes": {"n": 8},
        "args": {"x": "fp32[n]"},
        "constexprs": {"BLOCK": "next_power_of_2(n)"},
        "grid": [1],
    },
    "regions": {
        "sizes": {"n": 8},
        "args": {"x": "fp32[n, 4]"},
        "grid": ["1048576 * n"],
    },
    "indirect": {
        "sizes": {"n": 8},
        "args": {"x": "fp32[n]", "index": "int32[n]"},
        "grid": ["n"],
    },
}

@triton.jit
def rows(x, STRIDE: tl.constexpr):
    row = tl.program_id(0).to(tl.int16)
    tl.store(x + row * tl.full((), STRIDE, tl.int16) + tl.arange(0, 4), 0.0)

@triton.jit
def persistent(x, n, BLOCK: tl.constexpr):
    for row in range(tl.program_id(0), n, tl.num_programs(0)):
        start = row.to(tl.int16) * tl.full((), BLOCK, tl.int16)
        tl.store(x + start + tl.arange(0, BLOCK), 0.0)

@triton.jit
def wide(x):
    tl.store(x + tl.arange(0, 4), 0.0)

@triton.jit
def block(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)

@triton.jit
def regions(x):
    row = (tl.program_id(0) // 1048576).to(tl.int16)
    tl.store(x + row * tl.full((), 21, tl.int16) % 4 + tl.arange(0, 4), 0.0)

@triton.jit
def indirect(x, index):
    tl.store(x + tl.load(index + tl.program_id(0)), 0.0)
"""


ROWS = """
import triton
import triton.language as tl

@triton.jit
def rows(x, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int16)
    at = tl.arange(0, BLOCK)
    tl.store(x + row.to(tl.int64) * stride + at, 0.0, at < n)
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("limits") / "sizes.py"
    file.write_text(KERNELS)
    return file


@pytest.fixture(scope="module")
def answers() -> dict[object, Limits]:
    """What was found before."""
    return {}


@pytest.fixture(autouse=True)
def _once(monkeypatch: pytest.MonkeyPatch, answers: dict[object, Limits]) -> None:
    """Find the same limits once: most commands differ in what they do with them."""
    find = session_limits.limits_of

    def once(
        session: Session, kernel: str, selection: Configurations, sizes: Mapping[str, range | None],
        search: LimitSearch,
    ) -> Limits:  # fmt: skip
        most = limit_probes._MOST_HELD
        key = (kernel, _content(kernel), selection, most, *sizes.items())
        if key not in answers:
            answers[key] = find(session, kernel, selection, sizes, search)
        return answers[key]

    monkeypatch.setattr(session_limits, "limits_of", once)


def _content(kernel: str) -> tuple[bytes, ...]:
    """What is at a kernel's path, where one test writes other files than the one before."""
    path = Path(kernel.partition(".py:")[0] + ".py" if ".py:" in kernel else kernel)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return tuple(each.read_bytes() for each in files if each.is_file())


def run(*arguments: str) -> Ran:
    return running.irlens("limits", *arguments)


def found(*arguments: str) -> Limits:
    ran = run(*arguments, "-t", "h100", "--json")
    assert ran.code == 0, ran.err
    jsonschema.validate(json.loads(ran.out), json.loads(schema("limits")))
    return msgspec.json.decode(ran.out, type=Limits)


def test_an_offset_overflows_at_the_row_where_brute_force_says(kernels: Path) -> None:
    (size,) = found(f"{kernels}:rows", "--along", "tokens=1..100000").sizes
    assert (size.name, size.first, size.last, size.unknown) == ("tokens", 1, 100_000, "")
    (limit,) = size.limits
    right = next(n for n in range(1, 100_000) if (n - 1) * 4 > 32_767)
    assert (limit.kind, limit.size, limit.is_exact) == ("overflow", right, True)
    assert limit.cause.program == (right - 1, 0, 0)
    assert (limit.cause.word, limit.cause.value, limit.cause.bits) == (
        "multiplication", (right - 1) * 4, 16,
    )  # fmt: skip
    text = run(f"{kernels}:rows", "-t", "h100", "--along", "tokens=1..100000").out
    assert f"tokens: an offset overflows from {right:,} on" in text
    assert (
        "row → row.to(tl.int64). Compiled with it: an offset overflows from 32,769 on"
        in " ".join(text.split())
    )


def test_a_fix_of_several_sizes_is_told_once(kernels: Path) -> None:
    one = found(f"{kernels}:rows", "--along", "tokens=1..100000")
    (size,) = one.sizes
    other = msgspec.structs.replace(size, name="batch")
    several = msgspec.structs.replace(one, sizes=[size, other])
    told = [" ".join(render("text", "limits", e, Options()).split()) for e in (one, several)]
    assert [each.count("Compiled with it") for each in told] == [1, 1]
    assert "Fix sizes.py" in told[0]
    assert "Fix tokens, batch: sizes.py" in told[1]


def test_the_fix_is_compiled_and_moves_the_limit(kernels: Path) -> None:
    (size,) = found(f"{kernels}:rows", "--along", "tokens=1..100000").sizes
    fix = size.limits[0].fix
    assert fix is not None
    (edit,) = fix.edits
    assert (edit.before, edit.after) == ("row", "row.to(tl.int64)")
    # What is left is the conversion of the program's number to 16 bits.
    assert (fix.kind, fix.size) == ("overflow", 2**15 + 1)
    asked = (f"{kernels}:rows", "-t", "h100", "--along", "tokens=1..100000")
    text = " ".join(run(*asked).out.split())
    assert f"sizes.py:{edit.line} row → row.to(tl.int64). Compiled with it: an offset" in text
    (result,) = json.loads(run(*asked, "-f", "sarif").out)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("limit", "warning")
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (
        "sizes.py", edit.line,
    )  # fmt: skip
    assert "row.to(tl.int64)" in result["message"]["text"]
    assert f"line={edit.line}" in run(*asked, "-f", "github").out


PACKAGED = """
import triton
import triton.language as tl
from .shared import at

IRLENS_KERNELS = {
    "copy": {
        "sizes": {"tokens": 8},
        "args": {"x": "fp32[tokens, 4096]", "y": "fp32[tokens, 4096]"},
        "grid": ["tokens"],
    },
}

@triton.jit
def copy(x, y):
    pid = tl.program_id(0)
    first = pid * 4096
    value = tl.load(x + at(first, 0))
    tl.store(y + at(pid * 4096, 0), value)
"""


def test_a_fix_edits_all_that_it_has_to_in_a_package(tmp_path: Path) -> None:
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "shared.py").write_text(
        "import triton\n\n@triton.jit\ndef at(first, second):\n    return first + second\n"
    )
    (package / "served.py").write_text(PACKAGED)
    before = sorted(each.name for each in package.iterdir() if each.suffix == ".py")
    (size,) = found(f"{package / 'served.py'}:copy", "--along", "tokens=1..2000000").sizes
    (limit,) = size.limits
    # The first element of a row: 2^31 / 4096 rows hold.
    assert (limit.kind, limit.size) == ("overflow", 2**31 // 4096 + 1)
    fix = limit.fix
    assert fix is not None
    assert [(each.before, each.after) for each in fix.edits] == [
        ("tl.program_id(0)", "tl.program_id(0).to(tl.int64)")
    ]
    assert (fix.kind, fix.last, fix.unknown) == (None, 2_000_000, "")
    assert sorted(each.name for each in package.iterdir() if each.suffix == ".py") == before
    assert (package / "served.py").read_text() == PACKAGED


DROPOUT = """
import triton
import triton.language as tl

@triton.jit
def drop(x, out, n, seed, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    at = first + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n)
    tl.store(out + at, tl.where(tl.rand(seed, at) > 0.5, value, 0.0), at < n)
"""


def test_tensors_of_one_size_and_seeds_are_no_limits_of_a_kernel(tmp_path: Path) -> None:
    (tmp_path / "drop.py").write_text(DROPOUT)
    tensors = ("-a", "x=fp32[1048576]", "-a", "out=fp32[1048576]")
    numbers = ("-a", "n=4096", "-a", "seed=7", "-s", "BLOCK=1024", "--grid", "cdiv(n, BLOCK)")
    limits = found(f"{tmp_path / 'drop.py'}:drop", *tensors, *numbers)
    assert [each.name for each in limits.sizes] == ["n"], "no access depends on the seed"
    fixed, overflow = limits.sizes[0].limits
    assert (fixed.kind, fixed.size, fixed.cause.fixed) == ("outside", 2**20 + 1, True)
    assert fixed.breaks == "the fixed size of x is exceeded"
    assert (overflow.kind, overflow.size, overflow.cause.fixed) == ("overflow", 2**31 + 1, False)
    # A cast of the sum, or of the product in it, comes too late.
    fix = overflow.fix
    assert fix is not None
    assert [each.after for each in fix.edits] == ["tl.program_id(0).to(tl.int64)"]
    assert (fix.kind, fix.last) == (None, 2**32)
    text = render("text", "limits", limits)
    assert "n: an offset overflows from 2,147,483,649 on" in text


def test_the_program_that_has_the_last_row_need_not_be_the_last(kernels: Path) -> None:
    (size,) = found(f"{kernels}:persistent", "--along", "rows=1..20000").sizes
    right = next(n for n in range(1, 20_000) if (n - 1) * 8 > 32_767)
    (limit,) = size.limits
    assert (limit.size, limit.is_exact) == (right, True)
    assert limit.cause.program == ((right - 1) % 12, 0, 0)


def test_a_grid_is_too_large_and_a_gate_fails(kernels: Path) -> None:
    asked = (f"{kernels}:wide", "-t", "h100", "--along", "m=1..1000000")
    (limit,) = found(*asked[:1], *asked[3:]).sizes[0].limits
    assert (limit.kind, limit.size, limit.cause.most) == ("grid", 65_536, 65_535)
    assert run(*asked, "--at-least", "m=65535").code == 0
    failed = run(*asked, "--at-least", "m=65536")
    assert failed.code == 1
    assert "65,536 CTAs in y, and the GPU takes 65,535" in " ".join(failed.out.split())


def test_what_breaks_just_below_a_launch_that_is_refused_is_found(kernels: Path) -> None:
    """The powers of two are 1,024, which holds, and 2,048, whose grid is not launched at all."""
    (size,) = found(f"{kernels}:regions", "--along", "n=1024..2048").sizes
    right = next(n for n in range(1, 2048) if (n - 1) * 21 > 32_767)
    limits = {limit.kind: (limit.size, limit.cause.value) for limit in size.limits}
    assert limits["overflow"] == (right, (right - 1) * 21)
    assert limits["grid"] == (2048, 2**31)
    assert size.unknown == ""


def test_a_block_becomes_too_large_to_compile(kernels: Path) -> None:
    asked = (f"{kernels}:block", "--along", "n=1048576..2097152", "--num-warps", "32")
    (limit,) = found(*asked).sizes[0].limits
    # Triton's largest tensor has 2^20 elements, of which each thread has 1,024.
    assert (limit.kind, limit.size) == ("compile", 2**20 + 1)


def test_sizes_that_no_launch_reaches_are_not_tried() -> None:
    """A row of millions of elements in one block would compile for minutes."""
    (size,) = found("softmax", "--along", "n_cols=16384..4294967296").sizes
    assert [(limit.kind, limit.size) for limit in size.limits] == [("fit", 16_385)]
    assert "shared memory" in size.limits[0].cause.reason
    assert size.last == 32_768


def test_programs_that_were_not_evaluated_are_no_proof(kernels: Path) -> None:
    asked = (f"{kernels}:regions", "-t", "h100", "--along", "n=512..1024")
    assert found(*asked[:1], *asked[3:]).sizes[0].sampled
    text = run(*asked).out
    assert "? n: nothing found up to 1,024" in text
    assert "of many programs some were evaluated, and others may break" in text
    assert not found(f"{kernels}:rows", "--along", "tokens=1..100").sizes[0].sampled


def test_what_cannot_be_known_is_said(kernels: Path) -> None:
    (size,) = found(f"{kernels}:indirect", "--along", "n=1..64").sizes
    assert size.limits == []
    line = next(n for n, text in enumerate(KERNELS.splitlines(), 1) if "tl.load(index" in text)
    assert f"sizes.py:{line}: what is accessed depends on data" in size.unknown
    text = run(f"{kernels}:indirect", "-t", "h100", "--along", "n=1..64").out
    assert "n: unknown" in text
    assert run(f"{kernels}:indirect", "-t", "h100", "--at-least", "n=2").code == 1


@pytest.mark.skipif(triton.__version__ != "3.9.0", reason="the capture is of Triton 3.9.0")
def test_a_capture_whose_source_is_known_has_limits() -> None:
    """The sizes of its launch are those that the source is compiled with again."""
    capture = LAYER_NORM.parent / "softmax-h100"
    ran = run(str(capture), "--along", "n_rows=1..100000", "--format", "json")
    assert ran.code in (0, 1), ran.err
    assert "compiling from" in ran.err
    limits = msgspec.json.decode(ran.out, type=Limits)
    assert limits.kernel == "softmax_kernel"
    assert [each.name for each in limits.sizes] == ["n_rows"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vector_add", "--along", "m"], "unknown size 'm'"),
        (["vector_add", "--along", "n_elements=9..3"], "not an ascending range"),
        (["vector_add", "--along", "n_elements=0..5"], "0 is not a size: it is at least 1"),
        (["vector_add", "--at-least", "n_elements=many"], "is not NAME=NUMBER"),
        (["vector_add", "--at-least", "n_elements=0"], "is not NAME=NUMBER"),
        (["vector_add", "--at-least", "n_elements=1__0"], "is not NAME=NUMBER"),
        (["vector_add", "--at-least", "n_elements=\u0664"], "is not NAME=NUMBER"),
        (["vector_add", "--along", "n_elements=\u0664..\u0669"], "is neither NAME nor"),
        (["vector_add", "-t", "h100,h200"], "2 configurations are requested"),
        ([str(LAYER_NORM / "layer_norm_kernel.ptx")], "its source is unknown"),
    ],
)
def test_bad_input_is_refused(arguments: list[str], message: str) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""


def test_a_size_that_nothing_follows_is_not_said_to_hold() -> None:
    """A recorded launch has numbers for its grid and tensors, whatever size is tried."""
    launch = (
        "vector_add", "--arg", "x_ptr=fp32[4096]", "--arg", "y_ptr=fp32[4096]",
        "--arg", "output_ptr=fp32[4096]", "--grid", "4", "--along", "n_elements=1..4096",
    )  # fmt: skip
    (size,) = found(*launch).sizes
    assert size.alone
    assert not size.limits
    shown = run(*launch, "-t", "h100").out
    assert "? n_elements: nothing breaks up to 4,096 in this grid and these tensors" in shown
    assert "Write them as functions of it" in " ".join(shown.split())
    assert run(*launch, "-t", "h100", "--at-least", "n_elements=4096").code == 1


def test_something_else_binds_the_time_where_inspect_says_so() -> None:
    (size,) = found("vector_add", "--along", "n_elements=65536..4194304").sizes
    before, after = size.bounds[:2]
    assert after.first - before.last == before.multiple_of == 16
    for elements, bound in ((before.last, before.bound), (after.first, after.bound)):
        time = irlens.inspect(
            irlens.capture("vector_add", "h100", args={"n_elements": elements})
        ).time
        assert time is not None
        assert time.bound == bound
    asked = ("vector_add", "-t", "h100", "--along", "n_elements=65536..4194304")
    text = " ".join(run(*asked).out.split())
    assert f"up to {before.last:,}, " in text
    assert f"evaluated up to {size.bounds[-1].last:,}, of multiples of 16" in text


def test_the_time_of_very_many_programs_is_unknown(kernels: Path) -> None:
    asked = (f"{kernels}:regions", "--along", "n=8..9")
    (size,) = found(*asked).sizes
    assert (size.bounds, size.untimed) == ([], "at n=8: 8,388,608 programs take too long")
    assert f"Time        n: unknown: {size.untimed}" in run(*asked, "-t", "h100").out


def test_the_launches_of_a_size_share_a_budget_of_work(
    kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irlens.sweeps.limits._STEPS", 400)
    (size,) = found(f"{kernels}:persistent", "--along", "rows=1..65536").sizes
    assert size.limits == []
    assert 1 < size.last < 65_536
    assert re.fullmatch(r"at rows=[\d,]+: .*it takes more than 400 steps of analysis", size.unknown)
    ran = run(f"{kernels}:persistent", "-t", "h100", "--along", "rows=1..65536",
              "--at-least", "rows=65536")  # fmt: skip
    assert ran.code == 1


def test_what_had_equal_values_follows_the_size_of_a_capture(tmp_path: Path) -> None:
    """A launch of numbers breaks where one whose tensors and grid are written over sizes does."""
    file = tmp_path / "rows.py"
    file.write_text(ROWS)
    compiled = irlens.capture(
        f"{file}:rows", "h100", args={"x": "fp32[512, 1000]", "n": 1000, "stride": 1000},
        grid=[512], BLOCK=1024,
    )  # fmt: skip
    ran = run(str(compiled.directory), "--along", "x_shape_0=1..33000", "--json")
    limits = msgspec.json.decode(ran.out, type=Limits)
    assert limits.follows == ["x=fp32[x_shape_0, n]", "stride=n", "grid x_shape_0"]
    ((limit,),) = [each.limits for each in limits.sizes]
    assert (limit.kind, limit.size) == ("overflow", 2**15 + 1)
    written = (
        f"{file}:rows", "--arg", "rows=512", "--arg", "x=fp32[rows, 1000]", "--arg", "n=1000",
        "--arg", "stride=1000", "--set", "BLOCK=1024", "--grid", "rows",
    )  # fmt: skip
    ((same,),) = [each.limits for each in found(*written, "--along", "rows=1..33000").sizes]
    assert (same.kind, same.size) == (limit.kind, limit.size)
    at_least = ("--along", "x_shape_0=1..100", "--at-least", "x_shape_0=100")
    held = run(str(compiled.directory), *at_least)
    assert "? x_shape_0: nothing breaks up to 100 as recorded" in held.out
    assert held.code == 1, "what follows is what values tell"


def test_the_limit_of_what_grows_evenly_is_not_searched_for(
    kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    evaluate = session_limits._probe

    def counted(capture: Capture, planned: PlannedVariant, grid: tuple[int, int, int]) -> Probe:
        tried.append(grid[0])
        return evaluate(capture, planned, grid)

    monkeypatch.setattr(session_limits, "_probe", counted)
    (size,) = found(f"{kernels}:rows", "--along", "tokens=2000..60000").sizes
    assert [each.size for each in size.limits] == [2**13 + 1]
    assert {each for each in tried if 8192 < each < 16384} == {8193}


def test_sizes_follow_a_size_of_the_users(kernels: Path) -> None:
    launch = (f"{kernels}:rows", "--arg", "pairs=4", "--arg", "tokens=2 * pairs")
    (size,) = found(*launch, "--along", "pairs=1000..20000").sizes
    assert [(each.kind, each.size) for each in size.limits] == [("overflow", 2**12 + 1)]
    (size,) = found("matmul", "--arg", "t=64", "--arg", "M=4 * t", "--along", "t=64..65").sizes
    assert (size.limits, size.alone) == ([], False), "tensors follow M, which is an argument, too"


def test_of_an_autotuner_the_configuration_that_was_launched_is_taken(tmp_path: Path) -> None:
    target, kernels = None, []
    for block, launches in ((512, 0), (1024, 1)):
        compiled = irlens.capture("vector_add", "h100", BLOCK_SIZE=block)
        target = compiled.target
        assert compiled.directory is not None
        shutil.copytree(compiled.directory, tmp_path / f"of-{block}")
        launched = {"number": 1, "args": {}, "grid": [96, 1, 1]}
        kernels.append({
            "entry": f"of-{block}", "kernel": "vector_add_kernel",
            "launches": [launched] * launches, "tried": [launched],
        })  # fmt: skip
    runs = [{"target": msgspec.to_builtins(target), "is_fake": True, "kernels": kernels}]
    index = {"schema": 1, "program": "p.py", "runs": runs}
    (tmp_path / "irlens-program.json").write_text(json.dumps(index))
    ran = run(str(tmp_path), "--along", "n_elements=2000000000..2200000000", "--json")
    assert "of 2 launches" not in ran.err
    ((limit,),) = [each.limits for each in msgspec.json.decode(ran.out, type=Limits).sizes]
    assert (limit.size, limit.cause.program) == (2**31 + 1, (2**21, 0, 0))
    only = tmp_path / "of-512"
    assert "an autotuner only tried it" in run(str(only), "--along", "n_elements=1..64").err


PIECES = ROWS.replace("tl.int16", "tl.int32")


def pieces(folder: Path, *, text: str = PIECES, **tiles: int) -> Path:
    """Return a folder of captures of rows of several lengths, each with its tile."""
    file = folder / "pieces.py"
    file.write_text(text)
    (kept := folder / "kept").mkdir()
    for number, (name, length) in enumerate(tiles.items()):
        settings: dict[str, Any] = (
            {} if "heuristics" in text else {"BLOCK": int(name.removeprefix("of_"))}
        )
        compiled = irlens.capture(
            f"{file}:rows", "h100", args={"x": f"fp32[512, {length}]", "n": length,
            "stride": length}, grid=[512], **settings,
        )  # fmt: skip
        assert compiled.directory is not None
        shutil.copytree(compiled.directory, kept / str(number))
    return kept


def test_a_tile_that_stays_covers_no_larger_size(tmp_path: Path) -> None:
    ran = run(str(pieces(tmp_path, of_1024=1000)), "--along", "n=1..5000")
    assert "? n: computed up to 1,024 only, as BLOCK stays 1,024" in ran.out
    assert "beyond 1,024 the kernel leaves elements out" in " ".join(ran.out.split())
    held = run("softmax", "-t", "h100", "--set", "BLOCK_SIZE=1024", "--at-least", "n_cols=5000")
    assert held.code == 1
    held = run("softmax", "-t", "h100", "--set", "BLOCK_SIZE=1024", "--along", "n_cols=1..2000",
               "--at-least", "n_cols=1000")  # fmt: skip
    assert held.code == 0


@pytest.mark.parametrize(
    ("tiles", "follows"),
    [
        ({"of_1024": 1000, "of_512": 300}, ["BLOCK=next_power_of_2(n)"]),
        ({"of_1024": 1000, "of_512": 600}, []),
    ],
)
def test_launches_tell_how_a_tile_follows(
    tmp_path: Path, tiles: dict[str, Any], follows: list[str]
) -> None:
    ran = run(str(pieces(tmp_path, **tiles)), "--along", "n=1..5000", "--json")
    limits = msgspec.json.decode(ran.out, type=Limits)
    assert [each for each in limits.follows if "BLOCK" in each] == follows
    (size,) = limits.sizes
    assert (size.cover is None) == bool(follows)
    assert size.last == 5000


def test_a_tile_that_would_take_minutes_is_not_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irlens.sweeps.limit_probes._MOST_HELD", 8)
    ran = run(str(pieces(tmp_path, of_1024=1000, of_512=300)), "--along", "n=1..5000", "--json")
    (size,) = msgspec.json.decode(ran.out, type=Limits).sizes
    assert size.last == 1024
    assert size.unknown.endswith("takes minutes: BLOCK=2,048 is over 8 elements a thread")


def test_heuristics_of_the_file_decide_for_each_size(tmp_path: Path) -> None:
    heuristics = '{"BLOCK": lambda args: triton.next_power_of_2(args["n"])}'
    text = PIECES.replace("@triton.jit", f"@triton.heuristics({heuristics})\n@triton.jit")
    kept = pieces(tmp_path, text=text, of_1024=1000)
    limits = msgspec.json.decode(run(str(kept), "--along", "n=1..5000", "--json").out, type=Limits)
    assert limits.follows[-1] == "BLOCK by the heuristics of the file"
    assert limits.sizes[0].cover is None
    chosen = run(str(kept), "--set", "BLOCK=2048", "--along", "n=1..5000").out
    assert "computed up to 2,048 only, as BLOCK stays 2,048" in chosen


def test_a_loop_whose_time_grows_with_the_size_is_not_climbed_to_the_end() -> None:
    (size,) = found("matmul", "--along", "K=1..524288").sizes
    assert (size.untimed, size.limits) == ("", [])
    assert len(size.bounds) > 2
    for before, after in pairwise(size.bounds):
        assert after.first - before.last == 16, "the sizes between were not bisected"
    assert size.bounds[-1].last < size.last
    first = size.bounds[-1].first
    swept = irlens.sweep(
        "matmul", "h100", args={"K": [first - 16, first]},
        BLOCK_SIZE_M=128, BLOCK_SIZE_N=256, BLOCK_SIZE_K=64, num_warps=8, num_stages=3,
    )  # fmt: skip
    told = {int(str(trial.args["K"])): trial.bound for trial in swept.trials}
    assert [told[first - 16], told[first]] == [each.bound for each in size.bounds[-2:]]
