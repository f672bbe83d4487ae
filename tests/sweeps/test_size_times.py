"""Times over sizes: equal to full reports, near them between sizes, and to what an H200 took."""

import json
import random
from pathlib import Path

import pytest

from irlens.compiler import Request, capture
from irlens.gpus import find
from irlens.model.errors import IrlensError
from irlens.model.sweep import Sweep, Trial
from irlens.report.inspection import Inspection
from irlens.session import Configurations
from irlens.session.grids import sizes_between, time_over_sizes
from irlens.session.session import Session
from irlens.sweeps import worker_pool
from tests.running import InlinePool

_SAMPLES = Path(__file__).parents[2] / "samples" / "sweeps"


def _over(kernel: str, axis: str, values: str, *, settings: dict[str, str] | None = None,
          others: dict[str, str] | None = None, workers: bool = False) -> Sweep:  # fmt: skip
    """Return the times over a size, evaluated in this process or by workers."""
    configurations = Configurations(
        targets=("h200",),
        args=((axis, tuple(values.split(","))), *((n, (v,)) for n, v in (others or {}).items())),
        settings=tuple((n, tuple(v.split(","))) for n, v in (settings or {}).items()),
    )
    with pytest.MonkeyPatch.context() as patch:
        if not workers:
            patch.setattr(worker_pool, "LocalPool", InlinePool)
        return time_over_sizes(Session(), kernel, configurations)


def _reported(kernel: str, trial: Trial) -> float:
    gpu = find("h200")
    request = Request(
        kernel=kernel, target=gpu.target, sm_count=gpu.sm_count, settings=trial.settings,
        args=trial.args,
    )  # fmt: skip
    (captured,) = capture(request)
    time = Inspection(captured).time
    assert time is not None
    assert time.estimate_us is not None
    return time.estimate_us


@pytest.fixture(scope="module")
def softmax() -> Sweep:
    return _over("softmax", "n_cols", "256..8192")


def test_an_evaluated_size_has_the_time_of_its_report(softmax: Sweep) -> None:
    picked = random.Random(0).sample(softmax.trials, 6)
    for trial in picked:
        assert trial.figure("time") == pytest.approx(_reported("softmax", trial))


def test_between_two_sizes_the_time_is_near_a_power_of_the_size(softmax: Sweep) -> None:
    times = {trial.value("n_cols"): trial.figure("time") for trial in softmax.trials}
    for size in (368, 624, 1488, 3408, 6512):
        low = max(each for each in times if each is not None and each <= size)
        high = min(each for each in times if each is not None and each >= size)
        trial = next(each for each in softmax.trials if each.value("n_cols") == low)
        there = _reported("softmax", _at(trial, size))
        ends = sorted((times[low] or 0.0, times[high] or 0.0))
        assert ends[0] * 0.97 <= there <= ends[1] * 1.03


def test_launches_outside_their_tensors_are_found() -> None:
    tensor = "fp32[1024]"
    others = {"x_ptr": tensor, "y_ptr": tensor, "output_ptr": tensor}
    sweep = _over("vector_add", "n_elements", "512..4096..x2", others=others)
    found = {each.value("n_elements"): [f.code for f in each.findings] for each in sweep.trials}
    assert found[512] == found[1024] == []
    assert set(found[2048]) == set(found[4096]) == {"IRL304"}


def test_a_grid_of_as_many_programs_as_fit_is_unknown_where_none_does() -> None:
    """A row of 16,384 elements in four stages exceeds an A100's shared memory."""
    configurations = Configurations(targets=("a100",), args=(("n_cols", ("4096..16384..x2",)),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "LocalPool", InlinePool)
        sweep = time_over_sizes(Session(), "softmax", configurations)
    outcomes = {each.value("n_cols"): (each.outcome, each.reason) for each in sweep.trials}
    assert outcomes[8192] == ("fits", "")
    assert outcomes[16384][0] == "does not fit"
    assert "shared memory" in outcomes[16384][1]


def _at(trial: Trial, size: int) -> Trial:
    import msgspec

    return msgspec.structs.replace(trial, args={**trial.args, "n_cols": str(size)})


def test_each_variant_is_a_series_of_its_own() -> None:
    sweep = _over("vector_add", "n_elements", "100000..100064..4", workers=True)
    names = {trial.value("n_elements"): trial.variant for trial in sweep.trials}
    assert names[100000] == "n_elements divisible by 16"
    assert names[100004] == "n_elements not divisible by 16"
    assert len({*names.values()}) == 2


def test_the_end_of_the_first_wave_is_evaluated() -> None:
    blocks = {"BLOCK_SIZE_M": "128", "BLOCK_SIZE_N": "128", "BLOCK_SIZE_K": "64",
              "GROUP_SIZE_M": "8", "num_warps": "8", "num_stages": "3"}  # fmt: skip
    sweep = _over("matmul", "M", "1024..3072..16", settings=blocks, others={"N": "M", "K": "M"})
    waves = {trial.value("M") or 0: trial.figure("waves") or 0.0 for trial in sweep.trials}
    # Two CTAs fit an SM, so 264 are a wave: 16 × 16 tiles are in it, 17 × 17 are not.
    assert waves[2048] <= 1 < waves[2064]


@pytest.mark.parametrize(
    ("name", "kernel"), [("softmax", "softmax"), ("vector_add", "vector_add"), ("matmul", "matmul")]
)
def test_what_an_h200_took_is_within_the_range(name: str, kernel: str) -> None:
    measured = json.loads((_SAMPLES / f"{name}-h200.json").read_text())
    axis = measured["axis"]
    took = {
        (int(each["args"][axis]), json.dumps(each["settings"], sort_keys=True)): each["timing"]
        for each in measured["trials"]
        if each.get("timing")
    }
    sizes = sorted({size for size, _ in took})
    others = {n: v for n, v in measured["trials"][0]["args"].items() if n != axis}
    sweep = _over(kernel, axis, ",".join(map(str, sizes)), others=others)
    within = []
    for trial in sweep.trials:
        key = trial.value(axis) or 0, json.dumps(trial.settings, sort_keys=True)
        low, high = trial.figure("time_low"), trial.figure("time_high")
        if key in took and low is not None and high is not None:
            within.append(low <= took[key]["median_ms"] * 1e3 <= high)
    assert len(within) >= min(len(took), 12)
    # vector_add's smallest launches take less than any launch that the model was made from.
    assert sum(within) / len(within) >= (0.8 if name == "vector_add" else 0.9)


def test_a_long_range_is_reduced_to_multiples_in_each_octave() -> None:
    sizes, known = sizes_between(["1..131072"])
    assert known.multiple_of == 16
    assert len(sizes) <= 1000
    assert all(size % 16 == 0 for size in sizes)
    assert {1 << power for power in range(4, 18)} <= {*sizes}


@pytest.mark.parametrize(
    "written",
    ["0..16", "7", "2..x", "16..4", "n..3", "1..1" + "0" * 18, "1.." + "9" * 90, "3," + "9" * 5000],
)
def test_what_is_no_range_of_sizes_is_refused(written: str) -> None:
    with pytest.raises(IrlensError):
        sizes_between(written.split(","))
