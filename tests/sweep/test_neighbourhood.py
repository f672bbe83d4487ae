"""The neighbours of a configuration differ from it in one or two settings, by one step each."""

from hypothesis import given
from hypothesis import strategies as st

from irlens.sweep.neighbourhood import double_changes, is_block_size, single_changes

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
    time = st.none() | st.floats(1, 1e6)
    times = [(changes, data.draw(time)) for changes in single_changes(current)]
    pairs = double_changes(times)
    assert len({tuple(sorted(each.items())) for each in pairs}) == len(pairs)
    for each in pairs:
        assert len(each) == 2
        assert all(is_step(name, current[name], value) for name, value in each.items())
    known = {next(iter(changes.items())): time for changes, time in times}
    unknown = [any(known[item] is None for item in each.items()) for each in pairs]
    assert unknown == sorted(unknown)


def test_sizes_of_blocks() -> None:
    values = (8, 64, 4, 48, True, None, "64", 8.0, 0, -8)
    assert [value for value in values if is_block_size(value)] == [8, 64]
