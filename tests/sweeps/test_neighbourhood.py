"""The neighbours of a configuration differ from it in one or two settings, by one step each."""

from hypothesis import given
from hypothesis import strategies as st

from irlens.sweeps.neighbourhood import (
    Changes,
    Tried,
    is_block_size,
    is_needless,
    next_changes,
    single_changes,
)

CURRENT = st.fixed_dictionaries(
    {
        "num_warps": st.sampled_from([1, 2, 4, 8, 16, 32]),
        "num_stages": st.integers(1, 8),
    },
    optional={name: st.sampled_from([8, 64, 1024]) for name in ("BLOCK_M", "BLOCK_N")},
)


def is_step(name: str, before: int, after: int) -> bool:
    if name == "num_stages":
        return abs(after - before) == 1 and after >= 1
    highest = 32 if name == "num_warps" else 2 * before
    return after in (before // 2, before * 2) and 1 <= after <= highest


@given(CURRENT)
def test_one_setting_changes_by_one_step(current: dict[str, int]) -> None:
    single = single_changes(current)
    assert all(len(each) == 1 for each in single)
    steps = [(name, value) for each in single for name, value in each.items()]
    assert len(set(steps)) == len(steps)
    assert all(is_step(name, current[name], value) for name, value in steps)
    tried = {name for name, _ in steps}
    assert tried == set(current)


@given(CURRENT, st.data())
def test_pairs_change_two_settings_and_the_fastest_come_first(
    current: dict[str, int], data: st.DataObject
) -> None:
    ratio = st.none() | st.floats(0.1, 10)
    tried = [Tried(changes, data.draw(ratio)) for changes in single_changes(current)]
    pairs = next_changes(current, tried)
    assert len({tuple(sorted(each.items())) for each in pairs}) == len(pairs)
    for each in pairs:
        assert len(each) == 2
        assert all(is_step(name, current[name], value) for name, value in each.items())
    known = {next(iter(each.changes.items())): each.ratio for each in tried}
    unknown = [any(known[item] is None for item in each.items()) for each in pairs]
    assert unknown == sorted(unknown)


def test_what_compiles_fast_and_spills_least_comes_first() -> None:
    order = single_changes({"num_warps": 4, "num_stages": 3, "BLOCK": 64})
    assert order[:2] == [{"num_warps": 8}, {"BLOCK": 32}]
    assert order[-2:] == [{"num_warps": 2}, {"BLOCK": 128}]


def test_a_block_that_spills_is_tried_early_with_more_warps() -> None:
    """A tile of twice the size needs twice the warps: alone both are slower."""
    current = {"num_warps": 4, "num_stages": 3, "BLOCK": 128}
    times = {("num_warps", 8): 1.1, ("BLOCK", 256): 4.0}
    tried = [
        Tried(changes, times.get(item, 1.5), crowded=item == ("BLOCK", 256))
        for changes in single_changes(current)
        for item in changes.items()
    ]
    pairs = next_changes(current, tried)
    assert pairs[0] == {"num_warps": 8, "BLOCK": 256}
    larger = [each for each in pairs if each.get("BLOCK") == 256]
    assert larger == [{"num_warps": 8, "BLOCK": 256}], "with other stages it spills all the same"


def test_a_size_of_the_data_is_tried_last_and_leaves_no_pairs() -> None:
    current = {"num_warps": 4, "HEAD": 64, "BLOCK": 64}
    order = single_changes(current, {"HEAD"})
    assert order[-2:] == [{"HEAD": 32}, {"HEAD": 128}]
    tried = [Tried(changes, 1.0, leaves="HEAD" in changes) for changes in order]
    assert all("HEAD" not in each for each in next_changes(current, tried))
    assert len(next_changes(current, tried)) == 4


def _walk(times: dict[int, float], **more: object) -> list[Changes]:
    """Return the steps of the stages after those of ``times`` from 2 on."""
    tried = [Tried({"num_stages": n}, time, **more) for n, time in times.items()]  # type: ignore[arg-type]
    return next_changes({"num_stages": 2, "num_warps": 4}, tried, 1.35)


def test_a_step_that_may_be_no_worse_is_looked_past() -> None:
    assert _walk({3: 1.16}) == [{"num_stages": 4}]
    assert _walk({3: 1.16, 4: 1.16}) == [{"num_stages": 5}]
    assert _walk({3: 1.16, 4: 1.16, 5: 1.16}) == [], "not without an end"
    assert _walk({3: 1.16, 4: 1.16, 5: 0.6, 6: 0.6}) == [{"num_stages": 7}]
    assert _walk({3: 1.4}) == [], "slower than the estimate may be wrong"
    assert _walk({3: 1.0}, crowded=True) == []
    assert _walk({1: 0.9}) == [], "no fewer than one"


def test_blocks_are_looked_past_by_one_step() -> None:
    for ratios, following in (([1.0], [256]), ([1.0, 1.0], []), ([1.0, 0.9], [512])):
        tried = [Tried({"BLOCK": 128 << n}, ratio) for n, ratio in enumerate(ratios)]
        assert next_changes({"BLOCK": 64}, tried, 1.35) == [{"BLOCK": n} for n in following]


def test_more_of_what_gains_nothing_is_needless() -> None:
    tried = [Tried({"num_stages": n}, time) for n, time in ((1, 0.6), (3, 1.1), (5, 0.6), (7, 0.6))]
    tried += [Tried({"num_stages": 7, "BLOCK": 64}, 0.6), Tried({"maxnreg": 64}, 0.6)]
    current = {"num_stages": 2, "BLOCK": 128}
    needless = [each.changes for each in tried if is_needless(current, each, tried)]
    assert needless == [{"num_stages": 7}]


def test_the_fastest_step_in_each_direction_is_paired() -> None:
    tried = [Tried({"num_stages": n}, 1 / n) for n in (3, 4, 5)]
    tried += [Tried({"num_warps": 8}, 1.0), Tried({"num_warps": 2}, 1.1)]
    assert next_changes({"num_stages": 2, "num_warps": 4}, tried, 0.0) == [
        {"num_stages": 5, "num_warps": 8},
        {"num_stages": 5, "num_warps": 2},
    ]


def test_sizes_of_blocks() -> None:
    values = (8, 64, 4, 48, True, None, "64", 8.0, 0, -8)
    assert [value for value in values if is_block_size(value)] == [8, 64]
