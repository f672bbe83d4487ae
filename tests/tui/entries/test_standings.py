"""Which entries are marked as the fastest, and when."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from irlens.model.config import Config, Target
from irlens.model.estimate import RESOLUTION
from irlens.model.ranking import EstimatedTime, rank_reports
from irlens.session.exchange import Entry
from irlens.session.listed_entries import entry_of_report
from irlens.tui.entries.rows import MOST_RIVALS, EntryRows, Standings
from tests.tui.conftest import load_report

CONFIG = Config(
    num_warps=4, num_stages=2, num_ctas=1, maxnreg=None, constexprs={},
    args={"x": "fp32[64]", "n": 64}, grid=(1, 1, 1),
)  # fmt: skip
H100 = Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h100")


def entry(number: int, time: float | None, *, kernel: str = "k", n: int = 64) -> Entry:
    return Entry(
        key=f"{kernel} {number}",
        kernel=kernel,
        target=H100,
        config=replace(CONFIG, num_warps=number, args={"x": "fp32[64]", "n": n}),
        findings={},
        time=EstimatedTime(estimated_us=time),
    )


def unread(each: Entry) -> Entry:
    return replace(each, findings=None, time=None)


def text(rows: EntryRows, key: str) -> str:
    return "".join(part for part, _ in rows.cells_of(key)["time"][0]).strip()


def test_the_fastest_and_what_is_as_fast_are_marked_and_come_first() -> None:
    rows = EntryRows()
    rows.add([entry(8, 30.0), entry(4, 10.2), entry(2, 10.0), entry(1, 11.0), entry(16, None)])
    assert [(key, text(rows, key)) for key in rows.shown] == [
        ("k 2", "10.0 µs  fastest"),
        ("k 4", "10.2 µs  as fast"),
        ("k 1", "11.0 µs  +10 %"),
        ("k 8", "30.0 µs  3.00 ×"),
        ("k 16", "–"),
    ]
    rows.sort_by("time")
    assert rows.shown[0] == "k 2", "times start with the least"


def test_other_problems_do_not_compare() -> None:
    rows = EntryRows()
    rows.add(
        [entry(1, 10.0), entry(2, 40.0, n=128), entry(4, 50.0, n=128), entry(1, 5, kernel="j")]
    )
    told = {key: text(rows, key) for key in rows.shown}
    assert told == {
        "j 1": "5.00 µs", "k 1": "10.0 µs",
        "k 2": "40.0 µs  fastest", "k 4": "50.0 µs  +25 %",
    }  # fmt: skip


def test_a_part_has_no_fastest() -> None:
    rows = EntryRows()
    whole = [entry(1, 10.0), entry(2, 9.0), entry(4, 5.0)]
    rows.add([*whole[:2], unread(whole[2])])
    assert [text(rows, each.key) for each in whole] == ["10.0 µs", "9.00 µs", "…"]
    assert set(rows.rivals(["k 1"])) == {"k 1", "k 2", "k 4"}
    rows.add(whole[2:])
    told = [text(rows, each.key) for each in whole]
    assert told == ["10.0 µs  2.00 ×", "9.00 µs  +80 %", "5.00 µs  fastest"]
    rows.clear()
    assert list(rows.rivals(["k 1"])) == []


def test_a_problem_of_very_many_entries_is_analysed_only_where_it_is_asked_for() -> None:
    rows = EntryRows()
    rows.add(unread(entry(number, None)) for number in range(MOST_RIVALS))
    assert len(list(rows.rivals(["k 1"]))) == MOST_RIVALS
    rows.add([unread(entry(MOST_RIVALS, None)), entry(1, None, n=128, kernel="j")])
    assert list(rows.rivals(["k 1", "j 1"])) == ["j 1"]
    rows.sort_by("time")
    assert rows.needs_all_complete


@given(st.lists(st.none() | st.floats(1, 100), min_size=1, max_size=8))
def test_marks_do_not_depend_on_arrival(times: Sequence[float | None]) -> None:
    entries = [entry(at, time) for at, time in enumerate(times)]
    at_once, one_by_one = Standings(), Standings()
    at_once.add(entries)
    one_by_one.add(map(unread, entries))
    for each in reversed(entries):
        one_by_one.add([each])
    known = [time for time in times if time is not None]
    for each, time in zip(entries, times, strict=True):
        standing = at_once.standing(each.key)
        assert one_by_one.standing(each.key).over_fastest == standing.over_fastest
        close = time is not None and len(times) > 1 and time <= min(known) * (1 + RESOLUTION)
        assert standing.is_marked == close


def test_entries_stand_as_their_reports_do() -> None:
    reports = [load_report("layer_norm-b200-3.6"), load_report("layer_norm-b200-3.7")]
    standings = Standings()
    keys = [str(at) for at in range(len(reports))]
    standings.add(entry_of_report(*pair, "") for pair in zip(keys, reports, strict=True))
    assert [standings.standing(key) for key in keys] == list(rank_reports(reports).standings)
