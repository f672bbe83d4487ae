"""Times of atomic additions, held against what an H100 took."""

import json
import math
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

import irlens
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.time.transfers import colliding_us
from irlens.analyze.traffic import Updates
from irlens.analyze.warp_requests import WarpAccess, count
from irlens.isa.mlir.encoding_maps import linear_map
from irlens.isa.mlir.linear_maps import LinearMap
from irlens.model.capture import Capture
from irlens.report import inspect
from irlens.session.reports import codes_of

ROOT = Path(__file__).parents[3]
MEASURED = ROOT / "tests" / "data" / "h100" / "atomics.json"
#: One in three launches is compiled; all of them take a minute.
EVERY = 3
LAUNCHES: list[dict[str, Any]] = json.loads(MEASURED.read_text())["launches"]
#: Of these Triton 3.6, which the launches ran with, gave each lane 16 bytes in a row, which it
#: updates one by one; later versions give it one element.
LANE_BY_LANE = ("i32", "i64", "fp64")


def _capture(launch: dict[str, Any]) -> Capture:
    return irlens.capture(
        f"{ROOT}/benchmarks/programs/atomic_ops.py:{launch['kernel']}",
        target="h100",
        args=launch["args"],
        grid=[launch["grid"]],
        num_warps=launch["num_warps"],
        **launch["constexprs"],
    )


def _estimate(code: CaptureCode) -> float:
    time = inspect(code).time
    assert time is not None
    assert time.estimate_us is not None
    return time.estimate_us


@pytest.mark.parametrize("kernel", ["spread", "blocked", "scalar", "split"])
def test_updates_that_meet_take_as_long_as_on_an_h100(kernel: str) -> None:
    """From 6 µs for updates that do not meet, to 1.85 ms for 2^20 at one address."""
    launches = [each for each in LAUNCHES if each["kernel"] == kernel][::EVERY]
    launches = [each for each in launches if not each["args"]["x"].startswith(LANE_BY_LANE)]
    codes = codes_of([_capture(each) for each in launches])  # disassembled together
    pairs = zip(codes, launches, strict=True)
    errors = [math.log(_estimate(code) / each["us"]) for code, each in pairs]
    assert len(errors) >= 2
    assert median(map(abs, errors)) < math.log(1.2)
    assert max(map(abs, errors)) < math.log(2.4), "16-bit numbers, which an H100 adds in pairs"


@pytest.mark.parametrize("addresses", [8, 32, 256])
def test_integers_that_lanes_update_one_by_one_take_as_long_as_on_an_h100(addresses: int) -> None:
    """However many lanes of an instruction share an address, and however many sectors it has."""
    (us,) = (
        each["us"]
        for each in LAUNCHES
        if each["args"]["x"] == "i32[1048576]" and each["constexprs"].get("K") == addresses
    )
    blocked = "sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]"
    layout = linear_map(f"#ttg.blocked<{{{blocked}}}>", [1024])
    assert isinstance(layout, LinearMap)
    found = count(WarpAccess(layout, "update", 4, 4), np.arange(1024) % addresses * 4)
    updates = Updates(
        line=1,
        argument="out",
        passes=1024 * found.wavefronts,
        depth=(1 << 20) / addresses,
        granules=math.ceil(addresses * 4 / 512),
        element_bytes=4,
        floating=False,
    )
    assert us == pytest.approx(colliding_us([updates]), rel=0.15)


def test_many_addresses_that_no_granule_divides_have_a_time() -> None:
    """2^23 addresses, 384 bytes apart: neither 512 nor the step is a multiple of the other."""
    size, step = 1 << 23, 96
    capture = irlens.capture(
        f"{ROOT}/benchmarks/programs/atomic_ops.py:spread",
        target="h100",
        args={"x": f"fp32[{size}]", "out": f"fp32[{size * step}]"},
        grid=[size // 1024],
        K=1 << 30, STRIDE=step, SEM="relaxed", B=1024,
    )  # fmt: skip
    report = irlens.inspect(capture)
    assert report.traffic is not None
    assert report.traffic.distinct_written_bytes == 4 * size
    assert report.time is not None
    assert report.time.bound == "dram"
