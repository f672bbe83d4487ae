"""Times of atomic additions, held against what an H100 took."""

import json
import math
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import irlens

ROOT = Path(__file__).parents[3]
MEASURED = ROOT / "tests" / "data" / "h100" / "atomics.json"
#: One in three launches is compiled; all of them take a minute.
EVERY = 3
LAUNCHES: list[dict[str, Any]] = json.loads(MEASURED.read_text())["launches"]


def _estimate(launch: dict[str, Any]) -> float:
    capture = irlens.capture(
        f"{ROOT}/benchmarks/programs/atomic_ops.py:{launch['kernel']}",
        target="h100",
        args=launch["args"],
        grid=[launch["grid"]],
        num_warps=launch["num_warps"],
        **launch["constexprs"],
    )
    time = irlens.inspect(capture).time
    assert time is not None
    assert time.estimate_us is not None
    return time.estimate_us


@pytest.mark.parametrize("kernel", ["spread", "blocked", "scalar", "split"])
def test_updates_that_meet_take_as_long_as_on_an_h100(kernel: str) -> None:
    """From 6 µs for updates that do not meet, to 1.85 ms for 2^20 at one address."""
    launches = [each for each in LAUNCHES if each["kernel"] == kernel]
    errors = [math.log(_estimate(each) / each["us"]) for each in launches[::EVERY]]
    assert len(errors) >= 2
    assert median(map(abs, errors)) < math.log(1.2)
    assert max(map(abs, errors)) < math.log(2.4), "16-bit numbers, which an H100 adds in pairs"
