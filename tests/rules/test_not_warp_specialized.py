"""Warp specialization that was requested in vain."""

from collections.abc import Callable

import pytest
import triton

from irlens.analyze.facts import Facts
from irlens.model.report import Finding
from irlens.rules import not_warp_specialized

Look = Callable[..., list[Finding]]
CODE = "IRL205"
KERNEL = "warp_specialized.py:ws_matmul"
POINTERS = "go through pointers, not tensor descriptors (TMA)"

SINCE_37 = pytest.mark.skipif(triton.__version__ < "3.7", reason="Triton 3.6 takes one stage")
SINCE_38 = pytest.mark.skipif(
    triton.__version__ < "3.8", reason="Triton 3.7 specializes the loop or fails to compile it"
)
pytestmark = pytest.mark.skipif(triton.__version__ < "3.6", reason="its conditions are unknown")


@pytest.mark.parametrize(
    ("target", "settings", "reason"),
    [
        ("sm_90", {"num_warps": 8}, "Hopper's pass takes num_warps=4, not 8"),
        pytest.param("sm_90", {"num_stages": 1}, "it takes 2 stages or more", marks=SINCE_37),
        pytest.param("sm_100", {"TMA": False}, POINTERS, marks=SINCE_38),
        pytest.param("sm_120", {"TMA": False}, POINTERS, marks=SINCE_38),
        ("sm_80", {}, "Triton specializes no warps on sm_80"),
        ("gfx942", {"TMA": False}, "Triton specializes no warps on gfx942"),
    ],
)
def test_shows_the_condition_that_does_not_hold(
    target: str, settings: dict[str, int], reason: str, look: Look
) -> None:
    (finding,) = look(CODE, KERNEL, target, **settings)
    assert finding.message.endswith(reason)
    assert finding.blame is not None
    assert finding.blame.reason.endswith(reason)


@pytest.mark.parametrize(
    "target", ["sm_90", *(pytest.param(f"sm_{each}", marks=SINCE_38) for each in (100, 120))]
)
def test_shows_a_loop_without_a_product(target: str, look: Look) -> None:
    (finding,) = look(CODE, "warp_specialized.py:ws_sum", target)
    assert finding.message.endswith("no dot is in the loop")


@SINCE_38
@pytest.mark.parametrize(
    ("kernel", "reason", "setting"),
    [
        ("ws_tiles", "takes no nest that flatten=True has made one loop of", "FLAT"),
        ("ws_sparse", "takes no dot in a condition", "SKIP"),
    ],
)
def test_shows_what_hopper_does_not_divide(
    kernel: str, reason: str, setting: str, look: Look
) -> None:
    (finding,) = look(CODE, f"warp_specialized.py:{kernel}", "sm_90")
    assert finding.message.endswith(reason)
    assert look(CODE, f"warp_specialized.py:{kernel}", "sm_90", **{setting: False}) == []


@pytest.mark.parametrize("target", ["sm_90", "sm_100", "sm_120"])
def test_silent_where_warps_are_specialized(target: str, look: Look) -> None:
    assert look(CODE, KERNEL, target) == []


def test_silent_where_nobody_asked_except_on_request(
    look: Look, facts_of: Callable[..., Facts]
) -> None:
    assert look(CODE, KERNEL, "sm_90", WS=False) == []
    facts = facts_of(KERNEL, "sm_90", WS=False)
    (match,) = not_warp_specialized.on_request(facts)
    assert match.message.endswith("warp_specialize=True is not requested for it")
