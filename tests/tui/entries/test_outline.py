"""Sections of a listing, and the configurations that are folded into one row."""

from msgspec.structs import replace

from irlens.model.config import Config
from irlens.model.ranking import EstimatedTime
from irlens.session.exchange import Entry, Group, Section
from irlens.tui.entries.rows import EntryRows

CONFIG = Config(
    num_warps=4, num_stages=2, num_ctas=1, maxnreg=None, constexprs={}, args={"n": 8},
    grid=(1, 1, 1),
)  # fmt: skip


def compiled(
    number: int, kernel: str = "k", section: Section = "captures", time: float | None = None
) -> Entry:
    return Entry(
        key=f"{kernel} {number}",
        kernel=kernel,
        config=replace(CONFIG, num_warps=number),
        modified=float(number),
        group=Group(section, f"{kernel}.py:{kernel}"),
        findings={},
        time=EstimatedTime(estimated_us=time),
    )


def named(kernel: str, section: Section) -> Entry:
    return Entry(key=kernel, kernel=kernel, group=Group(section, f"{kernel}.py:{kernel}"))


def shown(rows: EntryRows) -> list[str]:
    return [rows.heading(row) or row for row in rows.shown]


def kernel_cell(rows: EntryRows, key: str) -> str:
    return "".join(text for text, _ in rows.texts_of(key)["kernel"])


def test_sections_come_in_their_order_whatever_arrives_first() -> None:
    rows = EntryRows()
    rows.add([named("softmax", "samples"), compiled(1), named("mine", "project")])
    rows.add([compiled(7, "other"), named("alike", "project")])
    assert shown(rows) == [
        "Kernels of this folder", "alike", "mine",
        "Recent captures", "other 7", "k 1",
        "Samples", "softmax",
    ]  # fmt: skip
    assert rows.matching == 5
    rows.sort_by("kernel")
    assert shown(rows)[4:6] == ["k 1", "other 7"], "sorted within the sections"


def test_configurations_are_folded_into_the_newest_until_they_are_unfolded() -> None:
    rows = EntryRows()
    rows.add([*(compiled(number) for number in range(5)), compiled(9, "pair"), compiled(8, "pair")])
    assert shown(rows) == ["Recent captures", "pair 9", "pair 8", "k 4"], "two are not many"
    assert kernel_cell(rows, "k 4") == "▸ k"
    assert rows.texts_of("k 4")["settings"][0][0] == "+ 4 more  "
    rows.toggle("k 4")
    assert shown(rows)[3:] == ["k 4", "k 3", "k 2", "k 1", "k 0"]
    assert [kernel_cell(rows, key) for key in rows.shown[3:5]] == ["▾ k", "  k"]
    rows.toggle("k 1")
    assert shown(rows)[3:] == ["k 4"]


def test_the_fastest_stands_for_its_kernel() -> None:
    rows = EntryRows()
    rows.add(compiled(number, time=10.0 * (1 + abs(number - 2))) for number in range(5))
    assert shown(rows) == ["Recent captures", "k 2"]
    rows.toggle("k 2")
    assert shown(rows)[1:3] == ["k 2", "k 4"]


def test_a_kernel_that_is_compiled_is_not_offered_beside_its_captures() -> None:
    rows = EntryRows()
    rows.add([named("k", "project")])
    assert shown(rows) == ["Kernels of this folder", "k"]
    rows.add([compiled(1, section="project")])
    assert shown(rows) == ["Kernels of this folder", "k 1"]


def test_a_filter_finds_what_is_folded() -> None:
    rows = EntryRows()
    rows.add(compiled(number) for number in range(5))
    rows.filter("num_warps=3")
    assert shown(rows) == ["Recent captures", "k 3"]
    rows.filter("k")
    assert len(rows.shown) == 6
    assert rows.matching == 5


def test_a_listing_of_one_kind_has_no_sections() -> None:
    rows = EntryRows()
    rows.add(replace(compiled(number), group=None) for number in range(5))
    assert len(rows.shown) == 5
    assert not any(map(rows.heading, rows.shown))
    assert rows.order == ("kernel", False)
