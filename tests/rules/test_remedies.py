"""What hints propose: with the change made, the finding is gone and the launch takes no longer."""

from pathlib import Path
from typing import Any

import pytest

import irlens
from irlens.analyze.counterfactuals import LIMITS
from irlens.model.estimate import RESOLUTION
from irlens.model.report import Report

FINDINGS = Path(__file__).parents[1] / "data" / "findings"
DEEP = {
    "BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "num_warps": 4,
    "num_stages": 5,
}  # fmt: skip
UNGROUPED = DEEP | {"args": dict.fromkeys("MNK", 16384), "GROUP_SIZE_M": 1}
LARGE = {"SIZE": 32768, "STAGES": 1}


def programs(number: int) -> dict[str, Any]:
    return {"args": {"PROGRAMS": number}}


def inspected(kernel: str, target: str, settings: dict[str, Any]) -> Report:
    given = dict(settings)
    args = given.pop("args", {})
    path = str(FINDINGS / kernel) if ".py" in kernel else kernel
    report = irlens.inspect(irlens.capture(path, target, args=args, **given), sass=True)
    plain = (kernel, target, settings) == ("layer_norm", "b200", {})
    if plain and report.resources.registers == 64:
        pytest.skip("before Triton 3.7 it has no more registers than another CTA leaves")
    return report


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "kernel", "target", "settings", "change"),
    [
        ("IRL102", "layer_norm", "b200", {}, {"maxnreg": 64}),
        ("IRL103", "matmul", "h100", DEEP, {"num_stages": 4}),
        ("IRL104", "tile_sum.py", "h100", LARGE, {"num_warps": 8}),
        ("IRL105", "tile_sum.py", "h100", LARGE, {"num_warps": 8}),
        ("IRL106", "tile_sum.py", "h100", LARGE, {"num_warps": 8}),
        ("IRL306", "matmul", "h100", UNGROUPED, {"GROUP_SIZE_M": 8}),
        ("IRL312", "atomics.py:total", "h100", {"args": {"n": 1 << 22}}, {"BLOCK": 4096}),
        ("IRL402", "dots.py", "h100", {"M": 4}, {"M": 16, "N": 16}),
        ("IRL406", "promoted.py", "h100", {}, {"WIDE": False}),
        ("IRL501", "tile_sum.py", "h100", programs(2323), programs(4224)),
    ],
)  # fmt: skip
def test_the_proposed_change_removes_the_finding(
    code: str, kernel: str, target: str, settings: dict[str, Any], change: dict[str, Any]
) -> None:
    before = inspected(kernel, target, settings)
    after = inspected(kernel, target, settings | change)
    assert code in [each.code for each in before.findings]
    if code in LIMITS:  # another CTA may have a limit of its own
        assert before.occupancy is not None
        assert after.occupancy is not None
        assert after.occupancy.theoretical > before.occupancy.theoretical
    else:
        assert code not in [each.code for each in after.findings]
    if "args" not in change and "M" not in change:  # the same problem
        assert before.time is not None
        assert after.time is not None
        assert before.time.estimate_us is not None
        assert after.time.estimate_us is not None
        assert after.time.estimate_us < before.time.estimate_us * (1 + RESOLUTION)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cause", "kernel", "target", "settings", "change"),
    [
        ("registers", "layer_norm", "b200", {}, {"maxnreg": 64}),
        ("shared_memory", "matmul", "h100", DEEP, {"num_stages": 4}),
        ("spills", "layer_norm", "h100", {"num_warps": 1}, {"num_warps": 4}),
    ],
)
def test_a_saving_that_is_told_comes_true(
    cause: str, kernel: str, target: str, settings: dict[str, Any], change: dict[str, Any]
) -> None:
    """Compiled with the change, the estimate is what the step said, or less."""
    before = inspected(kernel, target, settings).time
    after = inspected(kernel, target, settings | change).time
    assert before is not None
    assert before.estimate_us is not None
    assert after is not None
    assert after.estimate_us is not None
    (step,) = (each for each in before.steps if each.cause == cause)
    assert after.estimate_us < step.estimate_us + 0.05 * before.estimate_us
