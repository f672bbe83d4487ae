"""What a user may write after --where and --filter."""

from collections.abc import Callable

import pytest

from irlens import gpus as arch
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.sweep import Trial
from irlens.sweeps.selection import FIGURE_NAMES, allows, check_names, passes, target_facts

NAMES = {"num_warps": 4, "BLOCK": 64, "maxnreg": None, "DTYPE": "tl.float16", "arch": "sm_90"}


@pytest.mark.parametrize(
    ("constraint", "holds"),
    [
        ("BLOCK * num_warps <= 256", True),
        ("BLOCK * num_warps < 256", False),
        ("num_warps in (4, 8)", True),
        ("num_warps in [2, 8]", False),
        ("1 < num_warps < 8 and arch == 'sm_90'", True),
        ("maxnreg == None", True),
        ("maxnreg <= 64", False),
        ("not maxnreg <= 64", False),
        ("cdiv(BLOCK, 60) == 2 and DTYPE == fp16", True),
    ],
)
def test_conditions(constraint: str, holds: bool) -> None:
    assert allows([constraint], NAMES, "--where") is holds


def test_all_have_to_hold() -> None:
    assert not allows(["BLOCK == 64", "num_warps == 8"], NAMES, "--where")
    assert allows([], NAMES, "--where")


def test_limits_of_the_target() -> None:
    facts = target_facts(arch.find("h100"))
    assert facts["sm_count"] == 132
    assert facts["shared_per_block_optin"] == 232448
    assert facts["target"] == "h100"
    assert facts["arch"] == "sm_90"


@pytest.mark.parametrize("look", [check_names, allows])
def test_an_unknown_name_gets_the_nearest(look: Callable[..., object]) -> None:
    with pytest.raises(UnknownNameError, match="unknown name in --where 'num_warp'") as raised:
        look(["num_warp > 4"], NAMES, "--where")
    assert "num_warps" in (raised.value.hint or "")


@pytest.mark.parametrize(
    "constraint",
    ["num_warps >", "num_warps = 4", "__import__('os').abort()", "BLOCK.__class__", "BLOCK / 0",
     "(lambda: 1)()", "DTYPE < 4", "9 ** 9 ** 9", "'a' * 10 ** 9", "", "a" * 500, "(" * 300],
)  # fmt: skip
def test_what_is_no_condition_is_refused(constraint: str) -> None:
    with pytest.raises(IrlensError):
        allows([constraint], NAMES, "--where")


def test_what_is_unknown_passes_no_filter(trial: Callable[..., Trial]) -> None:
    fast = trial(occupancy=0.5, registers=64, settings={"num_warps": 4})
    assert passes(fast, ["occupancy >= 0.5 and registers <= 128 and num_warps == 4"])
    assert not passes(fast, ["local_bytes == 0"])
    assert not passes(trial("failed"), ["registers < 1000"])
    assert passes(trial("failed"), [])
    assert {"occupancy", "stages_achieved", "time_ms"} <= set(FIGURE_NAMES)
