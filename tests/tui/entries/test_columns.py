"""The columns that the browser takes from the registry of figures."""

import subprocess
import sys

from irlens.figures import COLUMNS, Figure
from irlens.model.comparison import Unit, Weight
from irlens.model.text import count
from irlens.session.exchange import Entry
from irlens.session.listed_entries import entry_of_report
from irlens.tui.entries.columns import BROWSER_COLUMNS, LEAST_USEFUL, browser_columns
from tests.tui.conftest import load_report


def row(path: str, title: str, unit: Unit = "bytes", importance: Weight | None = None) -> Figure:
    return Figure(
        path=path, title=title, unit=unit, importance=importance, column=9, documentation=""
    )


def test_todays_columns() -> None:
    told = {column.name: (column.title, column.letter) for column in BROWSER_COLUMNS.values()}
    assert list(told.items()) == [
        ("mark", ("", "")),
        ("kernel", ("kernel", "n")),
        ("target", ("target", "t")),
        ("time", ("est. time", "e")),
        ("registers", ("regs", "r")),
        ("local", ("local B", "l")),
        ("shared", ("shared B", "m")),
        ("occupancy", ("occup.", "o")),
        ("bar", ("", "")),
        ("findings", ("findings", "f")),
        ("pipelines", ("stages", "p")),
        ("captured", ("captured", "c")),
        ("settings", ("settings", "s")),
    ]
    assert LEAST_USEFUL == [
        "local", "bar", "captured", "shared", "pipelines", "target", "occupancy", "findings",
        "registers", "time", "mark", "kernel",
    ]  # fmt: skip


def test_every_column_of_the_registry_is_one_of_the_browser() -> None:
    assert {column.figure for column in BROWSER_COLUMNS.values() if column.figure} == set(COLUMNS)


def test_new_rows_find_a_place_a_name_and_a_letter() -> None:
    new = [
        row("resources.stack_bytes", "stack", importance="little"),
        row("occupancy.waves", "waves", unit="factor"),
        row("memory.peak_bytes", "peak", importance="much"),
        row("pipelines[].kind", "mechanism", unit="word"),
        row("loads[].buffer_copies", "stack"),
    ]
    columns = browser_columns((*COLUMNS, *new))
    names = [name for name in columns if name not in BROWSER_COLUMNS]
    assert names == ["stack", "waves", "peak", "mechanism", "loads"]
    assert list(columns)[4:9] == ["registers", "local", "shared", "stack", "occupancy"]
    assert list(columns)[-5:] == ["peak", "mechanism", "loads", "captured", "settings"]
    letters = [column.letter for column in columns.values() if column.letter]
    assert len(letters) == len(set(letters))
    assert {name: columns[name] for name in BROWSER_COLUMNS} == BROWSER_COLUMNS
    assert columns["stack"].letter == "a", "s, t, j, k and q are taken"
    assert columns["stack"].kept < columns["shared"].kept < columns["peak"].kept
    assert columns["stack"].is_right_aligned
    assert not columns["mechanism"].is_right_aligned
    assert columns["mechanism"].starts_ascending


def test_many_rows_have_letters_and_names_of_their_own() -> None:
    new = [row(f"resources.a{number}", "same") for number in range(25)]
    columns = browser_columns((*COLUMNS, *new))
    assert len(columns) == len(BROWSER_COLUMNS) + 25
    letters = [column.letter for column in columns.values() if column.letter]
    assert len(letters) == len(set(letters))


def test_an_entry_has_values_of_what_no_early_record_holds() -> None:
    report = load_report("matmul-a100")
    depth = next(row for row in COLUMNS if row.scope == "pipeline")
    registers = next(row for row in COLUMNS if row.title == "registers")
    entry = entry_of_report("key", report, "")
    assert entry.values(registers) == (report.resources.registers,)
    assert entry.values(depth) == tuple(each.achieved_stages for each in report.pipelines)
    early = Entry(key="key", kernel="k", resources=report.resources)
    assert early.values(registers) == (report.resources.registers,)
    assert early.values(depth) is None


#: Adds rows before anything reads the registry, and asks the app for what it shows of them.
SCRIPT = """
import asyncio

from irlens import figures
from irlens.figures import Figure

some = {"importance": "some", "documentation": ""}
new = (
    Figure(path="resources.code_bytes", title="magic", unit="bytes", column=6, fact=True, **some),
    Figure(path="memory.peak_bytes", title="peak", unit="bytes", column=7, **some),
    Figure(path="loads[].bytes_per_iteration", title="tile", unit="bytes", column=8, **some),
)
figures.FIGURES = (*figures.FIGURES, *new)
figures.COLUMNS = (*figures.COLUMNS, *new)

from irlens.tui.entries.summary import EntrySummary
from irlens.tui.entries.table import EntryTable
from tests.tui.conftest import FakeWorkbench
from tests.tui.opening import opened
from tests.tui.waiting import settle


async def main():
    async with opened(FakeWorkbench(), size=(260, 40)) as (app, pilot):
        await pilot.press("o", "a")
        await settle(pilot)
        table = app.screen.query_one(EntryTable)
        print(table.rows.sorted_by, table.rows.shown[0])
        print(*("".join(part.text for part in table.render_line(y)) for y in range(2)), sep="\\n")
        print(app.screen.query_one(EntrySummary).content)


asyncio.run(main())
"""


def test_new_rows_are_columns_that_sort_and_facts_of_the_summary() -> None:
    script = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "magic spill-h100"
    assert lines[1].split()[:-1] == [
        "kernel", "target", "est.", "time", "regs", "local", "B", "shared", "B", "magic", "B▾",
        "occup.", "findings", "stages", "peak", "B", "tile", "B", "captured", "settings",
    ]  # fmt: skip
    report = load_report("spill-h100")
    assert report.memory is not None
    code_bytes = count(report.resources.code_bytes or 0)
    assert code_bytes in lines[2].split()
    assert any(line.split() == ["Magic", code_bytes, "B"] for line in lines)
