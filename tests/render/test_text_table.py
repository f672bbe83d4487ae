"""Tables as text: what does not fit beside the first columns goes on below them."""

from irlens.model.text import printable_line
from irlens.render import Options
from irlens.render.text import write
from irlens.render.view.nodes import Cells, Column, Section, table

HEADS = [
    Column("time", numbers=True),
    Column("bound by"),
    Column("occupancy"),
    Column("registers", numbers=True),
    Column("shared B", numbers=True),
    Column("stages", numbers=True),
]
ROWS: list[Cells] = [
    ["29.2 µs", "DRAM", "25 %", "127", "81,920", "5/5"],
    ["163 µs", "latency", "50 %", "36", "0", "3/3"],
]


def lines(width: int) -> list[str]:
    section = Section("", (table(HEADS, ROWS, "configurations"),), key="t")
    return write(section, Options(width=width)).splitlines()


def test_numbers_without_room_go_below_with_their_titles() -> None:
    found = lines(40)
    assert not [line for line in found if len(line) > 40]
    assert [line.split() for line in found if line.strip()] == [
        ["bound"], ["time", "by", "occupancy", "registers"],
        ["29.2", "µs", "DRAM", "25", "%", "127"], ["shared", "81,920", "B", "stages", "5/5"],
        ["163", "µs", "latency", "50", "%", "36"], ["shared", "0", "B", "stages", "3/3"],
    ]  # fmt: skip


def test_long_names_stand_above_their_numbers() -> None:
    heads = [Column("figure"), Column("before", numbers=True), Column("after", numbers=True)]
    name = "groups in flight of the copies at attention.py:22"
    section = Section("", (table(heads, [["registers", "64", "72"], [name, "2", "4"]]),), key="t")
    found = [line for line in write(section, Options(width=48)).splitlines() if line.strip()]
    assert [line.split() for line in found[:2]] == [heads_of(heads), ["registers", "64", "72"]]
    assert found[2].strip() == name[:48].rsplit(" ", 1)[0]
    assert found[-1].split() == ["2", "4"]
    assert found[-1].index("2") > found[0].index("before"), "below its title"


def heads_of(columns: list[Column]) -> list[str]:
    return [column.title for column in columns]


def test_a_table_that_fits_has_all_titles_above() -> None:
    found = [line for line in lines(80) if line.strip()]
    assert len(found) == 3
    assert found[0].split() == [
        "time",
        "bound",
        "by",
        "occupancy",
        "registers",
        "shared",
        "B",
        "stages",
    ]
    assert found[0].endswith("stages")
    assert all(line == printable_line(line) for line in found)
