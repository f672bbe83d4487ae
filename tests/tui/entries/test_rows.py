"""The rows of the browser and their order."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from irlens.model.config import Config, Target
from irlens.model.resources import Resources
from irlens.session.exchange import Entry
from irlens.tui.entries.cells import natural
from irlens.tui.entries.layout import elided
from irlens.tui.entries.rows import EntryRows

CONFIG = Config(num_warps=4, num_stages=2, num_ctas=1, maxnreg=None, constexprs={}, args={})
NUMBERS = st.lists(st.none() | st.integers(0, 255), max_size=12)


def entry(number: int, registers: int | None) -> Entry:
    return Entry(
        key=str(number),
        kernel=f"kernel_{number % 3}",
        config=CONFIG,
        resources=Resources(
            registers=registers, shared_dynamic_bytes=None, shared_static_bytes=None,
            local_bytes=None, stack_bytes=None,
        ),
        place=f"{number:02}",
    )  # fmt: skip


@given(NUMBERS, st.booleans())
def test_rows_are_in_order_with_the_unknown_last(
    numbers: list[int | None], descending: bool
) -> None:
    rows = EntryRows()
    rows.sorted_by, rows.descending = "registers", descending
    rows.add(entry(at, number) for at, number in enumerate(numbers))
    shown = [numbers[int(key)] for key in rows.shown]
    known = [number for number in shown if number is not None]
    assert shown == [*known, *[None] * (len(shown) - len(known))]
    assert known == sorted(known, reverse=descending)
    assert sorted(rows.shown, key=int) == [str(at) for at in range(len(numbers))]


@given(NUMBERS)
def test_the_order_does_not_depend_on_arrival(numbers: list[int | None]) -> None:
    entries = [entry(at, number) for at, number in enumerate(numbers)]
    rows, others = EntryRows(), EntryRows()
    rows.add(entries)
    for each in reversed(entries):
        others.add([each])
    for column in ("registers", "registers", "kernel"):
        rows.sort_by(column)
        others.sort_by(column)
        assert rows.shown == others.shown


def test_a_column_never_becomes_narrower() -> None:
    rows = EntryRows()
    rows.add([entry(1, 7)])
    before = rows.needs.widths["kernel"]
    rows.add([Entry(key="2", kernel="a_much_longer_name_than_that")])
    assert rows.needs.widths["kernel"] == len("a_much_longer_name_than_that") > before
    rows.filter("kernel_1")
    assert rows.shown == ["1"]
    assert rows.needs.widths["kernel"] == len("a_much_longer_name_than_that")


@given(st.text(max_size=40), st.integers(3, 40))
def test_a_long_name_keeps_both_ends(name: str, width: int) -> None:
    short = elided(name, width)
    assert cell_len(short) <= max(width, 3)
    assert short == name or "…" in short


def test_settings_are_sorted_by_their_numbers() -> None:
    def warps(number: int) -> Entry:
        config = replace(CONFIG, num_warps=number, maxnreg=8 if number == 16 else None)
        return Entry(key=str(number), kernel="k", config=config)

    rows = EntryRows()
    rows.add(map(warps, (16, 2, 8)))
    assert rows.shown == ["2", "8", "16"]
    rows.sort_by("settings")
    assert rows.shown == ["2", "8", "16"]
    told = ["".join(text for text, _ in rows.cells_of(key)["settings"][0]) for key in rows.shown]
    assert told == [
        "num_warps=2 num_stages=2", "num_warps=8 num_stages=2",
        "num_warps=16 maxnreg=8 num_stages=2",
    ]  # fmt: skip


def test_tensors_come_last_among_the_differences() -> None:
    def sized(number: int) -> Entry:
        args = {"x": f"fp16[{number}, 64]", "n": number}
        config = replace(CONFIG, args=args, constexprs={"BLOCK": number})
        return Entry(key=str(number), kernel="k", config=config)

    rows = EntryRows()
    rows.add(map(sized, (64, 781)))
    apart, *_ = rows.cells_of("781")["settings"][0]
    assert apart == ("n=781 BLOCK=781 x=fp16[781, 64]", "")


def test_products_of_one_architecture_are_distinguished() -> None:
    def made_for(arch: str, product: str | None) -> Entry:
        target = Target(vendor="nvidia", arch=arch, warp_size=32, product=product)
        return Entry(key=product or arch, kernel="k", target=target, config=CONFIG)

    def told(key: str) -> str:
        return rows.cells_of(key)["settings"][0][0][0]

    rows = EntryRows()
    rows.add([made_for("sm_80", "a100"), made_for("sm_90", "h200")])
    assert [told(key) for key in rows.shown] == ["", ""], "the column of targets does"
    rows.add([made_for("sm_90", "h100")])
    assert rows.shown == ["a100", "h100", "h200"]
    assert [told(key) for key in rows.shown] == ["", "h100", "h200"]


@given(st.text())
def test_any_name_has_a_place(name: str) -> None:
    assert natural(name) <= natural(f"{name}1")
    assert natural("9" * 9999) > natural("sm_100"[3:])


def test_names_that_differ_at_the_end_still_do() -> None:
    assert elided("triton_poi_fused_relu_12", 11) == "trito…lu_12"
