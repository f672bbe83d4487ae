"""Variants of kernels whose numbers of variants were published, and what leaves fewer."""

from pathlib import Path

import pytest

from irlens import gpus
from irlens.compiler import Request
from irlens.model.config import Values
from irlens.model.variants import Advice, KernelVariants, Variants
from irlens.render.options import Options
from irlens.render.text import write
from irlens.render.view.variants import variants_view
from irlens.sweeps.variants import find_variants
from irlens.sweeps.worker_pool import LocalPool, WorkerPool
from tests.running import InlinePool

#: Batch sizes that a server sees; those of vllm#57107.
SIZES = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 47, 48, 63, 64, 96, 127, 128, 129, 192,
         255, 256)  # fmt: skip

KERNELS = """
import triton
import triton.language as tl

IRLENS_KERNELS = {
    # One count that decides nothing but whether a program has a row: 3 variants, 1 would do.
    "per_token": {
        "sizes": {"tokens": 8},
        "args": {"x": "fp32[tokens, 1000]", "row_stride": 1000, "num_tokens": "tokens"},
        "constexprs": {"BLOCK": 1024},
        "grid": ["tokens"],
    },
    # Two slices of token metadata at the same offset: 3 states of two addresses, 2 block sizes.
    "sliced": {
        "sizes": {"k": 0, "block": 64},
        "args": {
            "requests": "int32[4096]:offset[k]", "valid": "int8[4096]:offset[k]",
            "out": "int32[64]",
        },
        "constexprs": {"BLOCK": "block"},
        "grid": [64],
    },
    # A count, and a block that covers it: 14 variants of the sizes above, 9 or 1 would do.
    "per_request": {
        "sizes": {"requests": 8},
        "args": {"x": "fp32[requests]", "num_reqs": "requests"},
        "constexprs": {"BLOCK": "next_power_of_2(requests)"},
        "grid": [1],
    },
    # A number of programs that is declared as a constexpr: a variant for each.
    "counted": {
        "sizes": {"requests": 8},
        "args": {"x": "fp32[requests]"},
        "constexprs": {"REQUESTS": "requests"},
        "grid": ["requests"],
    },
    # A seed is no size, though a size of the description gives it.
    "dropped": {
        "sizes": {"seed": 7},
        "args": {"x": "fp32[4096]", "seed": "seed"},
        "constexprs": {"BLOCK": 64},
        "grid": [64],
    },
    "multiplied": {
        "sizes": {"k": 64},
        "args": {"x": "fp16[64, k]", "y": "fp16[k, 64]", "out": "fp32[64, 64]", "k": "k"},
        "constexprs": {"BLOCK": "next_power_of_2(k)"},
        "grid": [1],
    },
    "tiled": {
        "sizes": {"n": 8},
        "args": {"x": "fp32[4096]"},
        "constexprs": {"BLOCK": "next_power_of_2(n)"},
        "grid": [1],
    },
}

@triton.jit
def per_token(x, row_stride, num_tokens, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row < num_tokens:
        at = tl.arange(0, BLOCK)
        values = tl.load(x + row * row_stride + at, at < row_stride)
        tl.store(x + row * row_stride + at, values * 2, at < row_stride)

@triton.jit
def sliced(requests, valid, out, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    request = tl.load(requests + token)
    if tl.load(valid + token) != 0:
        tl.store(out + request % BLOCK, token)

@triton.jit
def per_request(x, num_reqs, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < num_reqs) + 1, at < num_reqs)

@triton.jit
def counted(x, REQUESTS: tl.constexpr):
    at = tl.program_id(0)
    if at < REQUESTS:
        tl.store(x + at, tl.load(x + at) + 1)

@triton.jit
def dropped(x, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) * tl.rand(seed, at), mask=tl.rand(seed, at) > 0.5)

@triton.jit
def multiplied(x, y, out, k, BLOCK: tl.constexpr):
    row, at = tl.arange(0, 64), tl.arange(0, BLOCK)
    one = tl.load(x + row[:, None] * k + at[None, :], at[None, :] < k)
    other = tl.load(y + at[:, None] * 64 + row[None, :], at[:, None] < k)
    tl.store(out + row[:, None] * 64 + row[None, :], tl.dot(one, other))

@triton.jit
def tiled(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) + 1)
"""


@pytest.fixture(scope="module")
def pool() -> WorkerPool:
    return InlinePool(1)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served") / "served.py"
    path.write_text(KERNELS)
    return path


def find(file: Path, name: str, pool: WorkerPool, **axes: Values) -> KernelVariants:
    request = Request(kernel=f"{file}:{name}", target=gpus.find("h100").target, sm_count=132)
    (found,) = find_variants([request], axes, pool, most=64)
    assert found.bounded == ""
    return found


def advice(found: KernelVariants, change: str, *names: str) -> Advice:
    plain = [each for each in found.advice if not each.fixed]
    return next(each for each in plain if (each.change, each.names) == (change, [*names]))


def test_a_count_needs_three_where_one_would_do(file: Path, pool: WorkerPool) -> None:
    found = find(file, "per_token", pool, num_tokens=[str(each) for each in SIZES])
    assert (found.number, found.launches) == (3, 25)
    best = advice(found, "do_not_specialize", "num_tokens")
    assert best.variants == 1
    assert best.time_ratio == pytest.approx(1, abs=0.01)
    assert advice(found, "do_not_specialize_on_alignment", "num_tokens").variants == 2
    padded = advice(found, "pad", "num_tokens")
    assert (padded.variants, padded.reason) == (1, "")
    assert padded.time_ratio == pytest.approx(1, abs=0.01)
    codes = [each.code for each in found.variants]
    assert len({*codes}) == 2  # of which all that are not 1 share one
    assert [each.as_fast_as for each in found.variants] == [1, 1, 1]


def test_a_size_that_is_aligned_saves_the_time_that_its_change_costs(pool: WorkerPool) -> None:
    request = Request(kernel="vector_add", target=gpus.find("h100").target, sm_count=132)
    (found,) = find_variants([request], {"n_elements": ["1", "131071", "131072"]}, pool, most=8)
    lost = advice(found, "do_not_specialize_on_alignment", "n_elements").time_ratio
    assert lost is not None
    assert lost > 1.03
    assert [each.as_fast_as for each in found.variants] == [1, 1, 3]
    assert found.variants[2].time_ratio == pytest.approx(lost)
    assert found.codes == 3
    text = write(variants_view(Variants(schema=1, kernels=[found]), Options()), Options())
    assert "1 differs only in what does not matter to time at the listed launches" in text
    assert "1 saves time" in text


def test_padding_costs_what_the_next_size_takes(file: Path, pool: WorkerPool) -> None:
    found = find(file, "multiplied", pool, k=["249", "256"])
    padded = advice(found, "pad", "k")
    assert (found.number, padded.variants, padded.launch) == (2, 1, {"k": "249"})
    times = {each.launch["k"]: each.time_us for each in found.variants}
    assert times["249"] is not None
    assert times["256"] is not None
    assert padded.time_ratio == pytest.approx(times["256"] / times["249"])
    assert padded.time_ratio != 1


def test_a_seed_is_not_padded(file: Path, pool: WorkerPool) -> None:
    found = find(file, "dropped", pool, seed=["1", "3", "16"])
    assert found.number == 3
    assert advice(found, "do_not_specialize", "seed").variants == 1
    assert not [each for each in found.advice if each.change == "pad"]


def test_what_there_is_no_time_for_is_counted(file: Path) -> None:
    pool = LocalPool(2)
    request = Request(kernel=f"{file}:per_request", target=gpus.find("h100").target)
    axes: dict[str, Values] = {"requests": [range(1, 99_999_999_999)]}
    (found,) = find_variants([request], axes, pool, most=8, seconds=0.0)
    assert found.cut_short
    assert found.number > 60, "a block for each power of two"
    assert [each.outcome for each in found.variants] == [None] * 8
    text = " ".join(
        write(variants_view(Variants(schema=1, kernels=[found]), Options()), Options()).split()
    )
    assert "0 compiled in the time" in text
    assert "Time ended: 8 of 8 variants not compiled." in text.replace("\xa0", " ")
    (whole,) = find_variants([request], {"requests": ["8"]}, pool, most=8)
    assert not whole.cut_short
    assert whole.variants[0].outcome == "fits", "the pool still works"
    pool.stop()


def test_blocks_larger_than_one_that_does_not_fit_are_given_up(
    file: Path, pool: WorkerPool
) -> None:
    sizes = [16384, 64, 1024, 2048, 4096, 8192, 32768]
    found = find(file, "multiplied", pool, k=list(map(str, sizes)))
    outcomes = {each.launch["k"]: (each.outcome, each.reason) for each in found.variants}
    assert outcomes["64"][0] == "fits"
    assert outcomes["1024"][0] == "does not fit"  # 256 KiB of operands
    for size in ("8192", "16384", "32768"):
        assert outcomes[size] == (None, "larger than one that does not fit")
    assert not found.cut_short
    shown = write(variants_view(Variants(schema=1, kernels=[found]), Options()), Options())
    assert "not compiled: larger than one that does not fit" in " ".join(shown.split())


def test_slices_at_one_offset_need_six(file: Path, pool: WorkerPool) -> None:
    found = find(file, "sliced", pool, k=[range(257)], block=["64", "2"])
    assert (found.number, found.launches) == (6, 514)
    assert [len(each.values) for each in found.splits if each.kind == "argument"] == [2, 2]
    together = advice(found, "do_not_specialize_on_alignment", "requests", "valid")
    assert together.variants == 2
    # Scalars are loaded, so alignment changes nothing.
    for block in ("64", "2"):
        codes = {v.code for v in found.variants if v.launch["block"] == block}
        assert len(codes) == 1


def test_a_block_that_covers_a_count_needs_fourteen(file: Path, pool: WorkerPool) -> None:
    found = find(file, "per_request", pool, requests=[str(each) for each in SIZES])
    assert (found.number, found.launches) == (14, 25)
    assert advice(found, "do_not_specialize", "num_reqs").variants == 9
    (best,) = [each for each in found.advice if each.change == "do_not_specialize" and each.fixed]
    assert (best.variants, best.fixed, best.reason) == (1, {"BLOCK": 256}, "")
    assert best.time_ratio is not None
    assert "does not compile" in advice(found, "argument", "BLOCK").reason


def test_a_constexpr_needs_a_variant_for_each_value(file: Path, pool: WorkerPool) -> None:
    found = find(file, "counted", pool, requests=[str(each) for each in SIZES])
    assert found.number == 25
    moved = advice(found, "argument", "REQUESTS")
    assert (moved.variants, moved.reason) == (3, "")
    assert moved.time_ratio is not None


def test_an_extent_must_stay_a_constexpr(file: Path, pool: WorkerPool) -> None:
    found = find(file, "tiled", pool, n=[range(1, 129)])
    assert found.number == 8
    moved = advice(found, "argument", "BLOCK")
    assert "does not compile" in moved.reason
    assert found.advice[-1] == moved
    assert moved.time_ratio is None
