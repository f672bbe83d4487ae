"""Which configuration is best where: the fewest that are within the noise at each size."""

import itertools
import random
from collections.abc import Sequence

import msgspec

from irlens.model.config import ConstexprValue, Target
from irlens.model.estimate import Bound, Standing
from irlens.model.ranking import with_standings
from irlens.model.size_ranges import bound_ranges, choices, covered_size
from irlens.model.sweep import Trial

_TARGET = Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h200")


def _trial(size: int, config: int, us: float, bound: Bound = "dram") -> Trial:
    return Trial(
        label="", target=_TARGET, settings={"BLOCK": config}, args={"n": size}, outcome="fits",
        figures={"time": us}, bound=bound,
    )  # fmt: skip


def _bounded(*bounds: tuple[int, Bound]) -> list[Trial]:
    return [_trial(size, 1, 1.0, bound) for size, bound in bounds]


def test_one_configuration_is_one_choice() -> None:
    trials = with_standings([_trial(size, 1, size) for size in (1, 2, 4)])
    (choice,) = choices(trials, "n")
    assert [each.value("n") for each in choice.trials] == [1, 2, 4]


def test_there_are_as_few_choices_as_possible_and_each_is_good() -> None:
    chance = random.Random(1)
    for _ in range(50):
        sizes, configs = range(1, 9), range(4)
        trials = with_standings(
            [_trial(s, c, chance.choice([1.0, 1.02, 1.5])) for s in sizes for c in configs]
        )
        found = choices(trials, "n")
        good = {
            size: {t.settings["BLOCK"] for t in trials if t.value("n") == size and _marked(t)}
            for size in sizes
        }
        for choice in found:
            for trial in choice.trials:
                assert trial.settings["BLOCK"] in good[trial.value("n") or 0]
        assert len(found) == _fewest([good[size] for size in sizes])


def _marked(trial: Trial) -> bool:
    standing: Standing | None = trial.standing
    return standing is not None and standing.is_marked


def _fewest(good: Sequence[set[ConstexprValue]]) -> int:
    """Try every way to cut the sizes into ranges."""
    for number in range(1, len(good) + 1):
        for cuts in itertools.combinations(range(1, len(good)), number - 1):
            ends = [0, *cuts, len(good)]
            if all(set.intersection(*good[a:b]) for a, b in itertools.pairwise(ends)):
                return number
    raise AssertionError


def test_a_brief_bound_goes_with_its_longer_neighbour() -> None:
    trials = _bounded((256, "latency"), (1024, "latency"), (1040, "l2"), (1060, "dram"),
                      (16384, "dram"))  # fmt: skip
    found = bound_ranges(trials, "n")
    assert [each.bound for each in found] == ["latency", "dram"]
    assert [len(each.trials) for each in found] == [2, 3]


def test_bounds_that_hold_are_kept_apart() -> None:
    trials = _bounded((16, "launch"), (64, "l2"), (256, "dram"), (1024, "dram"))
    assert [each.bound for each in bound_ranges(trials, "n")] == ["launch", "l2", "dram"]


def test_a_single_last_size_far_from_the_others_has_its_own_bound() -> None:
    apart = bound_ranges(_bounded((1024, "launch"), (8192, "l2")), "n")
    assert [each.bound for each in apart] == ["launch", "l2"]
    near = bound_ranges(_bounded((1024, "launch"), (8000, "launch"), (8192, "l2")), "n")
    assert [each.bound for each in near] == ["launch"]


def test_a_kernel_leaves_out_what_its_block_does_not_hold() -> None:
    def accessing(*read: int | None) -> list[Trial]:
        return [
            msgspec.structs.replace(
                _trial(size, 1, 1.0),
                figures={"distinct_read_bytes": each, "distinct_written_bytes": each},
            )
            for size, each in zip((256, 512, 1024, 2048, 4096), read, strict=True)
        ]

    assert covered_size(accessing(1, 2, 4, 4, 4), "n") == 1024
    assert covered_size(accessing(1, 2, 4, 8, 16), "n") is None
    assert covered_size(accessing(4, 4, 4, 4, 4), "n") is None, "it never followed the size"
    assert covered_size(accessing(1, 2, None, None, None), "n") is None
    assert covered_size(accessing(None, None, 4, 4, 4), "n") is None
    assert covered_size(accessing(8, 8, 4, 4, 4), "n") is None
    assert covered_size([], "n") is None
