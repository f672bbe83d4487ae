"""The neighbours of a configuration differ from it in one or two settings, by one step each."""

from hypothesis import given
from hypothesis import strategies as st

from irlens.sweeps.neighbourhood import Tried, double_changes, is_block_size, single_changes

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
    pairs = double_changes(current, tried)
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
    pairs = double_changes(current, tried)
    assert pairs[0] == {"num_warps": 8, "BLOCK": 256}
    larger = [each for each in pairs if each.get("BLOCK") == 256]
    assert larger == [{"num_warps": 8, "BLOCK": 256}], "with other stages it spills all the same"


def test_a_size_of_the_data_is_tried_last_and_leaves_no_pairs() -> None:
    current = {"num_warps": 4, "HEAD": 64, "BLOCK": 64}
    order = single_changes(current, {"HEAD"})
    assert order[-2:] == [{"HEAD": 32}, {"HEAD": 128}]
    tried = [Tried(changes, 1.0, leaves="HEAD" in changes) for changes in order]
    assert all("HEAD" not in each for each in double_changes(current, tried))
    assert len(double_changes(current, tried)) == 4


def test_sizes_of_blocks() -> None:
    values = (8, 64, 4, 48, True, None, "64", 8.0, 0, -8)
    assert [value for value in values if is_block_size(value)] == [8, 64]
