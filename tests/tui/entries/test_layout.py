"""The columns of the browser that fit."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from irlens.tui.entries.columns import BROWSER_COLUMNS
from irlens.tui.entries.layout import ColumnNeeds, arrange

NAMES = st.sampled_from(sorted(BROWSER_COLUMNS))


@st.composite
def needs(draw: st.DrawFn) -> ColumnNeeds:
    widths = {name: draw(st.integers(1, 24)) for name in BROWSER_COLUMNS}
    widths["mark"] = 1
    widths["settings"] = draw(st.integers(8, 120))
    return ColumnNeeds(
        widths=widths,
        distinction=draw(st.integers(0, widths["settings"])),
        uniform=frozenset(draw(st.sets(NAMES))),
        sorted_by=draw(NAMES),
    )


@given(needs(), st.integers(60, 250), st.integers(0, 12))
def test_columns_are_whole_and_fit(needed: ColumnNeeds, room: int, moved: int) -> None:
    columns = arrange(needed, room, moved)
    assert sum(width + 2 for width in columns.widths.values()) <= room
    assert all(
        width == needed.widths[name] or (name == "settings" and width >= 12)
        for name, width in columns.widths.items()
    )
    hidden = set(BROWSER_COLUMNS) - set(columns.widths)
    if not hidden and columns.widths["settings"] == needed.widths["settings"]:
        assert not columns.has_more


@given(needs(), st.integers(60, 250))
def test_panning_brings_every_column_into_view(needed: ColumnNeeds, room: int) -> None:
    moved, columns = 0, arrange(needed, room)
    seen = set(columns.widths)
    while columns.has_more:
        moved += 1
        columns = arrange(needed, room, moved)
        assert columns.panned == moved
        seen |= set(columns.widths)
    assert seen == set(BROWSER_COLUMNS)
    assert arrange(needed, room, moved + 5) == columns, "that is as far as it goes"


def test_uniform_columns_are_left_out_first() -> None:
    widths = dict.fromkeys(BROWSER_COLUMNS, 10)
    alike = frozenset({"kernel", "shared"})
    needed = ColumnNeeds(widths=widths, distinction=10, uniform=alike, sorted_by="local")
    shown = [set(arrange(needed, room).widths) for room in range(172, 72, -1)]
    assert shown[0] == set(BROWSER_COLUMNS)
    gone = [name for more, less in pairwise(shown) for name in more - less]
    assert gone == [
        "shared", "kernel", "bar", "captured", "pipelines", "target", "occupancy"
    ]  # fmt: skip
