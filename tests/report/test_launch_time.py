"""The estimated time of a launch, from a cache entry as Triton left it."""

from pathlib import Path
from typing import Any, cast

import pytest

import irlens
from irlens.analyze.facts import Provenance
from irlens.analyze.time import changes
from irlens.model.capture import Capture
from irlens.model.estimate import TimeEstimate
from irlens.model.report import Report
from irlens.report.launch_time import find_time
from irlens.session.launch import Launch, with_launch
from tests.analyze.h200_launches import arguments, artifact, launches


def capture(number: int, folder: Path, target: str = "h200", **changes: Any) -> Capture:
    """Return a launch that an H200 timed, as Triton left its artifacts."""
    launch = launches()[number]
    for stage in ("ttir", "ttgir", "ptx", "cubin", "json"):
        (folder / f"{launch['kernel']}.{stage}").write_bytes(artifact(launch, stage))
    (found,) = irlens.load(folder)
    given = Launch(args=arguments(launch) | changes, grid=tuple(launch["grid"]))
    return with_launch(found, given, target)


SAMPLES = Path(__file__).parents[2] / "samples" / "captures"


def report(number: int, folder: Path, target: str = "h200", **changes: Any) -> Report:
    return irlens.inspect(capture(number, folder, target, **changes))


@pytest.mark.parametrize(
    ("number", "bound"), [(8, "dram"), (0, "launch"), (54, "xu"), (162, "latency"), (191, "l2")]
)
def test_the_range_holds_what_an_h200_took(number: int, bound: str, tmp_path: Path) -> None:
    found = report(number, tmp_path)
    time, took = found.time, launches()[number]["ms"] * 1e3
    assert time is not None
    assert time.low_us is not None
    assert time.high_us is not None
    assert time.low_us < took < time.high_us
    assert time.bound == bound
    assert not time.reason
    assert "cubin" in found.sources["time"]


@pytest.mark.parametrize(
    ("version", "took", "bound"),
    [("3.6", (57.0, 64.0), "dram"), ("3.7", (90.1, 90.1), "latency")],
)
def test_the_estimate_is_near_what_a_b200_took(
    version: str, took: tuple[float, float], bound: str
) -> None:
    """Of 4,096 rows of 15,360 fp16 (triton-lang/triton, issue 11127)."""
    (found,) = irlens.load(SAMPLES / f"layer_norm-b200-{version}")
    time = irlens.inspect(found).time
    assert time is not None
    assert time.estimate_us is not None
    assert took[0] * 0.9 < time.estimate_us < took[1] * 1.1
    assert time.bound == bound
    assert "measured on another GPU" in time.reason


def test_products_in_tensor_memory_are_timed() -> None:
    (found,) = irlens.load(SAMPLES / "matmul-b200")
    report = irlens.inspect(found)
    assert report.time is not None
    assert report.roofline is not None
    assert report.time.estimate_us is not None
    assert report.time.estimate_us > (report.roofline.floor_us or 0)
    assert report.time.parts["tensor"] >= (report.roofline.compute_us or 0)


def test_without_a_launch_there_is_no_time(tmp_path: Path) -> None:
    launch = launches()[8]
    for stage in ("ttir", "ttgir", "ptx", "cubin", "json"):
        (tmp_path / f"{launch['kernel']}.{stage}").write_bytes(artifact(launch, stage))
    (capture,) = irlens.load(tmp_path)
    assert irlens.inspect(capture).time is None


def test_a_gpu_that_is_no_product_has_no_time(tmp_path: Path) -> None:
    found = report(8, tmp_path, target="sm_90")
    assert found.time is not None
    assert found.time.estimate_us is None
    assert found.time.reason == "how long instructions take on sm_90 is unknown"
    assert found.unknown["time"] == found.time.reason


def test_clusters_have_live_registers_and_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``UCGABAR``, at which the CTAs of a cluster meet, has no registers."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    found = irlens.inspect(irlens.capture("vector_add", target="h100", num_ctas=2), sass=True)
    assert found.pressure is not None
    assert found.pressure.sass is not None
    assert found.time is not None
    assert found.time.reason == "clusters of 2 CTAs are not timed, only single ones (num_ctas=1)"


def test_an_estimate_below_the_floor_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    monkeypatch.setattr(changes, "estimate_with_steps", lambda _: TimeEstimate(estimate_us=1.0))
    (tmp_path / "entry").mkdir()
    found = report(8, tmp_path / "entry")
    assert found.time is not None
    assert found.time.estimate_us is None
    assert "below the roofline floor" in found.unknown["time"]


def test_what_the_driver_does_for_a_launch_has_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A product that prints in its loop took an H200 0.4 s; without what prints 18 µs."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    kernel = f"{SAMPLES.parents[1]}/tests/data/findings/users.py:persistent"
    quiet, prints = (
        irlens.inspect(irlens.capture(kernel, target="h200", PRINT=each)) for each in (False, True)
    )
    assert quiet.time is not None
    assert quiet.time.estimate_us is not None
    assert prints.time is not None
    assert prints.time.estimate_us is None
    assert "calls a function of the driver" in prints.time.reason


def test_units_take_no_longer_than_a_time_between_two_orders_of_addresses() -> None:
    """Random addresses alone keep the L2 busy for longer than the time, which is in between."""
    far = TimeEstimate(
        estimate_us=90.0,
        low_us=70.0,
        high_us=120.0,
        bound="l2",
        parts={"l2": 81.0, "dram": 20.0, "alu": 4.0},
    )
    near = TimeEstimate(
        estimate_us=10.0,
        low_us=8.0,
        high_us=13.0,
        bound="dram",
        parts={"l2": 4.0, "dram": 9.0, "alu": 4.0},
    )
    one, other = cast(Any, [far]), cast(Any, [near])
    time = find_time(
        one, None, None, Provenance(), near=other, estimate=lambda each: cast(Any, each)[0]
    )
    assert time.estimate_us == pytest.approx(30)
    assert time.parts == pytest.approx({"l2": 18.0, "dram": 180**0.5, "alu": 4.0})
    assert time.bound == "l2"


def test_fp64_has_a_unit_of_its_own() -> None:
    """An L40S has two of them to an SM: 16 multiply-adds of a million numbers take 23.4 us."""
    kernel = f"{SAMPLES.parents[1] / 'tests/data/findings/promoted.py'}:halved"
    found = irlens.inspect(irlens.capture(kernel, "l40s"))
    assert found.time is not None
    assert found.time.bound == "fma"
    assert found.time.parts["fma"] == pytest.approx(16 * (1 << 20) / (142 * 2 * 2520), rel=0.2)
