"""Every number on a screen is in the JSON, or follows from it by the rules of the formats."""

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from textual.screen import Screen
from textual.widgets import Static

from irlens.figures import COLUMNS
from irlens.model.text import count
from irlens.session.listed_entries import entry_of_report
from irlens.tui.code import Document
from irlens.tui.code.gutters import HeatGutter, describe_line
from irlens.tui.entries.cells import cells
from irlens.tui.entries.summary import EntrySummary
from irlens.tui.screens import stage_comparison
from irlens.tui.screens.browser import BrowserScreen
from irlens.tui.screens.compare import CompareScreen
from irlens.tui.screens.inspector import InspectorScreen
from irlens.tui.widgets.key_bar import KeyBar
from tests.render.test_numbers import NUMBER, Known
from tests.tui.conftest import SAMPLES, FakeWorkbench, load_report
from tests.tui.opening import comparing, inspecting, opened
from tests.tui.waiting import settle, until

REPORTS = sorted(path.stem for path in (SAMPLES / "reports").glob("*.json"))
PAIRS = [
    ("softmax-t4", "softmax-h100"),
    ("softmax-h100", "softmax-mi300x"),
    ("matmul-a100", "matmul-b200"),
    ("layer_norm-b200-3.6", "layer_norm-b200-3.7"),
    ("specialized-h100-4", "specialized-h100-8"),
]
#: Numbers that are no figures of a kernel, and why.
ALLOWED = (
    (r"^iteration .*$|^(?:data|product) \d+.*$", "drawings count iterations from 0"),
    (r"\d Overview|\d Inspector", "keys"),
    (r"loop [\d,]+–[\d,]+( of \S+)?, depth \d+", "lines of the text on show, and its loops"),
    (r"(?:committed|begins|waited for|wait for) .*?at [\d, ]+(?:and \d+ more)?", "lines of text"),
    (r"a (?:warp|wave)'s iteration: .*", "machine code on show, of which reports say nothing"),
    (r"(?:waits for )?\d+(?:–\d+)? of \d+.*? \w+cnt(?:: .*)?", "operations in flight, by lines"),
    (r"^… \d+ more lines?.*$", "lines of a panel without room"),
    (r"\d+ (?:min|h|d) ago|\d{4}-\d\d-\d\d", "when it was captured, of which reports say nothing"),
)


def known_of(document: object) -> Known:
    return Known(json.loads(msgspec.json.encode(document)))


def unknown_numbers(texts: Iterable[str], known: Known) -> set[str]:
    numbers = set()
    for text in texts:
        for pattern, _ in ALLOWED:
            text = re.sub(pattern, " ", text, flags=re.MULTILINE)
        numbers |= {number for number in NUMBER.findall(text) if not known.has(number)}
    return numbers


def texts_of(screen: Screen[Any]) -> list[str]:
    """The contents of everything drawn but code and keys."""
    drawn = [each for each in screen.query(Static) if not isinstance(each, KeyBar)]
    return [str(each.content) for each in drawn if each.display]


@pytest.fixture
def samples(bench: FakeWorkbench) -> FakeWorkbench:
    """Every sample, those too that no snapshot shows."""
    bench.reports = {name: load_report(name) for name in REPORTS}
    return bench


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_the_overview_shows_the_numbers_of_the_json(
    samples: FakeWorkbench, name: str, size: tuple[int, int]
) -> None:
    async with opened(samples, name, size=size) as (app, _):
        texts = texts_of(app.screen)
        assert sum(len(NUMBER.findall(text)) for text in texts) > 40
        assert unknown_numbers(texts, known_of(samples.reports[name])) == set()


@pytest.mark.parametrize("name", REPORTS)
async def test_the_browser_shows_the_numbers_of_the_json(samples: FakeWorkbench, name: str) -> None:
    report = samples.reports[name]
    known = known_of(report)
    entry = entry_of_report(name, report, name)
    shown = {column: "".join(text for text, _ in cell[0]) for column, cell in cells(entry).items()}
    assert len(shown) > len(COLUMNS)
    assert unknown_numbers(shown.values(), known) == set()
    only = {name: report}
    samples.reports, samples.broken = only, []
    async with opened(samples, size=(160, 60)) as (app, pilot):
        assert isinstance(app.screen, BrowserScreen)
        await settle(pilot)
        while app.screen.is_resting:
            await settle(pilot)
        summary = str(app.screen.query_one(EntrySummary).content)
        assert len(NUMBER.findall(summary)) > 5
        assert unknown_numbers([summary], known) == set()


@pytest.mark.parametrize("name", REPORTS)
async def test_the_inspector_shows_the_numbers_of_the_json(
    samples: FakeWorkbench, name: str
) -> None:
    known = known_of(samples.reports[name])
    async with inspecting(samples, name, size=(200, 60)) as (view, _):
        assert isinstance(view, InspectorScreen)
        checked = 0
        for pane in view.panes.panes:
            assert pane.document is not None
            lives = {pane.document.live(line) for line in range(1, len(pane.document) + 1)}
            assert unknown_numbers(_beside(pane.document), known) == set()
            checked += len(lives - {None})
            position = f"{pane.line}/{len(pane.document)}"
            assert str(pane.border_subtitle).startswith(position)
        assert checked > 3
        assert unknown_numbers(texts_of(view), known) == set()


def _beside(document: Document) -> Iterable[str]:
    """What the gutters say of every line, in cells and in words."""
    heat = HeatGutter(document, 200)
    for line in range(1, len(document) + 1):
        yield "".join(text for text, _ in heat.cells(line, 1))
        yield from describe_line(document, line)


@pytest.mark.parametrize("pair", PAIRS, ids="→".join)
async def test_the_comparison_shows_the_numbers_of_the_json(
    samples: FakeWorkbench, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_comparison, "_SLOW", float("inf"))
    comparison = samples.compare(*pair)
    known = known_of(comparison)
    async with comparing(samples, pair, size=(200, 80)) as (screen, pilot):
        assert isinstance(screen, CompareScreen)
        # The stages that are not on show are compared one after the other.
        await until(pilot, lambda: set(screen._comparison.differing_lines) == set(screen.stages))
        await settle(pilot)
        texts = [text for text in texts_of(screen) if text.split()[:1] != screen.stages[:1]]
        assert unknown_numbers(texts, known) == set()
        stages = str(screen.query_one("#stages", Static).content)
        for stage in screen.stages:
            code = samples.code(*pair, stage)
            shown = re.search(rf"\b{stage} ([\d,]+|=)", stages)
            assert shown is not None
            assert (shown[1] == "=") == (not code.different)
            if code.different:
                assert shown[1] == count(code.added + code.removed + code.changed)
