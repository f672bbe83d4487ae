"""Which result comes first, what sets configurations apart, and what the autotuner is given."""

from collections.abc import Callable

import msgspec
import pytest

from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import UnknownNameError
from irlens.model.label import setting_labels
from irlens.model.sweep import Trial
from irlens.sweeps.selection import (
    Selection,
    check_keys,
    check_rank,
    prune_list,
    size_axis,
    sort_trials,
    split_top,
)

pytestmark = pytest.mark.stored

A100 = Target(vendor="nvidia", arch="sm_80", warp_size=32, product="a100")


def test_the_default_order(trial: Callable[..., Trial], h100: Target) -> None:
    best = trial(occupancy=0.5, local_bytes=0, stages_achieved=3, registers=100)
    more_registers = trial(occupancy=0.5, local_bytes=0, stages_achieved=3, registers=120)
    shallower = trial(occupancy=0.5, local_bytes=0, stages_achieved=2, registers=10)
    less_occupancy = trial(occupancy=0.25, local_bytes=0, stages_achieved=4, registers=10)
    spills = trial(occupancy=1.0, local_bytes=8, stages_achieved=4, registers=10)
    unknown_spills = trial(occupancy=1.0, stages_achieved=4, registers=10)
    too_big = trial("does not fit", occupancy=0.0, local_bytes=0)
    failed, died = trial("failed"), trial("died")
    expected = [best, more_registers, shallower, less_occupancy, spills, unknown_spills,
                trial("unknown"), too_big, failed, died]  # fmt: skip
    assert sort_trials(expected[::-1], [h100]) == expected


def test_the_fastest_first_where_it_was_measured(trial: Callable[..., Trial], h100: Target) -> None:
    slow, fast = trial(time=2.0, occupancy=1.0), trial(time=1.0, occupancy=0.5)
    assert sort_trials([trial(), slow, fast], [h100]) == [fast, slow, trial()]


def test_a_time_that_was_measured_comes_before_an_estimate(
    trial: Callable[..., Trial], h100: Target
) -> None:
    measured, estimated, slower = trial(time=2.0), trial(), trial()
    for each, us in ((measured, 9.0), (estimated, 1.0), (slower, 3.0)):
        assert each.figures is not None
        each.figures["time"] = us
    assert sort_trials([slower, estimated, measured], [h100]) == [measured, estimated, slower]
    assert sort_trials([slower, estimated], [h100]) == [estimated, slower]


def test_targets_stay_together_and_what_is_equal_in_its_order(
    trial: Callable[..., Trial], h100: Target
) -> None:
    a, b = trial(occupancy=0.1, settings={"A": 1}), trial(occupancy=0.1, settings={"A": 2})
    other = trial(occupancy=1.0, target=A100)
    assert sort_trials([a, other, b], [h100, A100], ["-occupancy"]) == [a, b, other]
    assert sort_trials([a, other, b], [A100, h100], ["-occupancy"]) == [other, a, b]


def test_a_rank_puts_better_values_first() -> None:
    assert Selection(rank="time").order == (), "the order without a rank"
    assert Selection(rank="occupancy").order == ("-occupancy",)
    assert Selection(sort=("registers",)).order == ("registers",)
    check_rank(None)
    check_rank("time")
    with pytest.raises(UnknownNameError, match="'tim'") as raised:
        check_rank("tim")
    assert "time" in (raised.value.hint or "")
    with pytest.raises(UnknownNameError, match="'stages_requested'"):
        check_rank("stages_requested")


def test_the_top_is_of_each_target_and_of_what_fits(trial: Callable[..., Trial]) -> None:
    first, second = trial(registers=10), trial(registers=20)
    other = trial(registers=30, target=A100)
    big = trial("does not fit")
    assert split_top([first, second, big, other], 1) == ([first, big, other], [second])
    assert split_top([first, second], None) == ([first, second], [])


def test_the_top_is_of_each_size(trial: Callable[..., Trial]) -> None:
    sized = [
        msgspec.structs.replace(trial(registers=registers), args={"n": n})
        for n in (8, 16)
        for registers in (10, 20)
    ]
    assert split_top(sized, 1) == ([sized[0], sized[2]], [sized[1], sized[3]])


def test_keys(trial: Callable[..., Trial], h100: Target) -> None:
    few, many = trial(registers=10), trial(registers=20)
    assert sort_trials([many, few], [h100], ["registers"]) == [few, many]
    assert sort_trials([few, many], [h100], ["-registers"]) == [many, few]
    with pytest.raises(UnknownNameError, match="'register'") as raised:
        check_keys(["-register"])
    assert "registers" in (raised.value.hint or "")


def test_labels_say_what_differs() -> None:
    assert setting_labels([{"A": 1, "B": 2, "C": 3}, {"A": 1, "B": 4}]) == ["B=2 C=3", "B=4"]
    assert setting_labels([{"A": 1}, {"A": True}, {"A": 1.0}]) == ["A=1", "A=True", "A=1.0"]
    assert setting_labels([{"A": 1}]) == [""]
    assert setting_labels([]) == []


def test_the_prune_list_has_what_fits_everywhere(trial: Callable[..., Trial]) -> None:
    small: dict[str, object] = {"BLOCK": 64, "num_warps": 4, "num_stages": 3, "maxnreg": None}
    large = {**small, "BLOCK": 256, "ACT": None}
    other = {**small, "BLOCK": 128}
    filtered = {**small, "BLOCK": 32}
    trials = [
        trial(settings=small), trial(settings=small, target=A100),
        trial(settings=large), trial("does not fit", settings=large, target=A100),
        trial(settings=other), trial(settings=other, target=A100),
        trial(settings=filtered), trial(settings=filtered, target=A100),
    ]  # fmt: skip
    kept = [trials[4], *trials[:3], trials[5], trials[6]]
    assert prune_list(trials, kept) == [
        {"kwargs": {"BLOCK": 128}, "num_warps": 4, "num_stages": 3},
        {"kwargs": {"BLOCK": 64}, "num_warps": 4, "num_stages": 3},
    ]
    assert prune_list([], []) == []


@pytest.mark.parametrize(
    ("args", "axis"),
    [
        ([{"n": "8", "m": "4"}, {"n": "16", "m": "4"}], "n"),
        ([{"n": "8", "m": "n"}, {"n": "16", "m": "n"}], "n"),
        ([{"m": 4, "n": 8}, {"m": 8, "n": 16}], "m"),
        ([{"n": "8", "m": "4"}, {"n": "16", "m": "4"}, {"n": "16", "m": "8"}], None),
        ([{"n": "8"}, {"n": "8"}], None),
        ([{"n": "8"}, {}], None),
        ([{"x": "fp16[8]"}, {"x": "fp32[8]"}], None),
        ([{"n": True}, {"n": False}], None),
    ],
)
def test_a_size_is_an_axis_if_nothing_else_varies_freely(
    args: list[dict[str, ConstexprValue]], axis: str | None, trial: Callable[..., Trial]
) -> None:
    trials = [msgspec.structs.replace(trial(), args=each) for each in args for _ in range(2)]
    assert size_axis(trials) == axis


def test_sizes_come_before_times(trial: Callable[..., Trial], h100: Target) -> None:
    def sized(n: int, time: float) -> Trial:
        return msgspec.structs.replace(trial(time=time), args={"n": str(n)})

    ordered = [sized(8, 1.0), sized(8, 2.0), sized(64, 0.5), sized(128, 0.1)]
    assert sort_trials(ordered[::-1], [h100], axis="n") == ordered
    assert sort_trials(ordered[::-1], [h100]) == [*ordered[3:], ordered[2], *ordered[:2]]
