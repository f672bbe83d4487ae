"""The pages in a real browser: what a click marks, what reads without scripts, what never runs."""

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from irlens.gpus import find
from irlens.model.listing import Listing
from irlens.model.recording import KernelTime, ProgramRun
from irlens.model.report import Report
from irlens.model.scan import Scan, ScanSummary
from irlens.render import render
from tests.render.conftest import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

SAMPLES = Path(__file__).parents[2] / "samples"
NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the PATH"),
    pytest.mark.slow,
]


class Samples(Protocol):
    """The fixture of that name."""

    def find(self, name: str) -> tuple[Report, Listing]: ...

    def page(self, name: str) -> str: ...


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture
def complaints() -> list[str]:
    return []


@pytest.fixture
def tab(browser: "Browser", complaints: list[str]) -> Iterator["Tab"]:
    """A tab that may load one file and nothing else, and notes whatever goes wrong in it."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    opened = watched(context.new_page(), complaints)
    yield opened
    context.close()


def watched(tab: "Tab", complaints: list[str]) -> "Tab":
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("dialog", lambda dialog: complaints.append(dialog.message))
    tab.on("request", lambda request: complaints.extend(
        [request.url] if not request.url.startswith("file:") else []
    ))  # fmt: skip
    return tab


def show(tab: "Tab", folder: Path, text: str) -> None:
    file = folder / "page.html"
    file.write_text(text)
    tab.goto(file.as_uri())


def marked(tab: "Tab", stage: str) -> list[int]:
    numbers = tab.eval_on_selector_all(
        f'.stage[data-name="{stage}"] .l.chosen', "lines => lines.map(line => +line.dataset.n)"
    )
    return [int(number) for number in numbers]


def belonging(listing: Listing, stage: str, file: str, line: int) -> list[int]:
    """The lines of a stage that a line of Python is in the chain of."""
    known = listing.stages[stage]
    return [
        number
        for number, chain in enumerate(known.chain, 1)
        if chain >= 0 and (file, line) in {(e.file, e.line) for e in known.chains[chain]}
    ]


@pytest.mark.parametrize(
    ("name", "machine"), [("softmax-h100", "ptx"), ("softmax-mi300x", "amdgcn")]
)
def test_a_click_on_python_marks_its_lines_at_every_stage(
    tab: "Tab", tmp_path: Path, complaints: list[str], samples: Samples, name: str, machine: str
) -> None:
    _, listing = samples.find(name)
    show(tab, tmp_path, samples.page(name))
    for line in (48, 50, 52, 54):
        tab.locator(f"#f0-{line}").click()
        for stage in ("ttgir", "llir", machine):
            found = belonging(listing, stage, "softmax.py", line)
            assert marked(tab, stage) == found
        assert belonging(listing, machine, "softmax.py", line)
        assert tab.locator(f"#f0-{line}.chosen").count() == 1
        assert f"softmax.py:{line}" in tab.locator(".selection").inner_text()
        first = tab.locator(f'.stage[data-name="{machine}"] .l.chosen').first
        assert in_view(first.bounding_box(), tab)
    tab.keyboard.press("Escape")
    assert marked(tab, machine) == []
    assert complaints == []


def in_view(box: object, tab: "Tab") -> bool:
    size = tab.viewport_size
    assert isinstance(box, dict)
    assert size is not None
    return bool(0 <= box["y"] < size["height"])


def test_a_click_on_a_stage_leads_back_to_python(
    tab: "Tab", tmp_path: Path, samples: Samples
) -> None:
    _, listing = samples.find("softmax-h100")
    show(tab, tmp_path, samples.page("softmax-h100"))
    ptx = listing.stages["ptx"]
    index = list(listing.stages).index("ptx")
    number = next(n for n, line in enumerate(ptx.lines, 1) if "cp.async.wait_group" in line)
    inlined = next(
        n for n, chain in enumerate(ptx.chain, 1) if chain >= 0 and len(ptx.chains[chain]) > 1
    )
    for line in (number, inlined):
        places = ptx.chains[ptx.chain[line - 1]]
        python = next(place for place in places if place.file in listing.python)
        tab.locator(f"#s{index}-{line}").click()
        chosen = tab.locator(".python .l.chosen")
        assert chosen.count() == 1
        assert chosen.get_attribute("id") == f"f0-{python.line}"
        assert marked(tab, "ptx") == belonging(listing, "ptx", python.file, python.line)


def test_a_wait_shows_what_it_waits_for(tab: "Tab", tmp_path: Path, samples: Samples) -> None:
    _, listing = samples.find("softmax-h100")
    show(tab, tmp_path, samples.page("softmax-h100"))
    mark = next(mark for mark in listing.stages["ptx"].marks if mark.partners)
    index = list(listing.stages).index("ptx")
    tab.locator(f"#s{index}-{mark.line}").click()
    partners = tab.eval_on_selector_all(".l.partner", "lines => lines.map(line => +line.dataset.n)")
    assert partners == sorted(mark.partners)


def test_the_keyboard_does_the_same(tab: "Tab", tmp_path: Path, samples: Samples) -> None:
    _, listing = samples.find("softmax-h100")
    show(tab, tmp_path, samples.page("softmax-h100"))
    tab.locator(".python .lines").focus()
    tab.keyboard.press("ArrowDown")
    first = min(
        place.line
        for stage in listing.stages.values() for chain in stage.chains for place in chain
        if place.file == "softmax.py"
    )  # fmt: skip
    assert tab.locator(".python .l.current").get_attribute("id") == f"f0-{first}"
    assert marked(tab, "ptx") == belonging(listing, "ptx", "softmax.py", first)
    tab.keyboard.press("j")
    assert tab.locator(".python .l.current").get_attribute("id") != f"f0-{first}"


def test_a_link_to_a_line_opens_and_marks_it(tab: "Tab", tmp_path: Path, samples: Samples) -> None:
    show(tab, tmp_path, samples.page("softmax-h100"))
    tab.locator(".tile a.place", has_text="softmax.py:48").first.click()
    # The browser tells the page of its new address when it gets to it.
    sync_api.expect(tab.locator("#f0-48.chosen")).to_have_count(1)


def test_panes_open_and_close(tab: "Tab", tmp_path: Path, samples: Samples) -> None:
    show(tab, tmp_path, samples.page("softmax-h100"))
    pane = tab.locator('.stage[data-name="ttir"]')
    button = tab.get_by_role("button", name="ttir", exact=True)
    assert not pane.is_visible()
    button.click()
    assert pane.is_visible()
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert not pane.is_visible()


def test_without_scripts_everything_can_be_read(
    browser: "Browser", tmp_path: Path, complaints: list[str], samples: Samples
) -> None:
    _, listing = samples.find("softmax-h100")
    context = browser.new_context(java_script_enabled=False)
    tab = watched(context.new_page(), complaints)
    show(tab, tmp_path, samples.page("softmax-h100"))
    assert tab.locator("main").is_visible()
    for name, stage in listing.stages.items():
        pane = tab.locator(f'.stage[data-name="{name}"]')
        assert pane.locator("summary").is_visible()
        shown = pane.locator(".l").all_text_contents()
        assert shown == stage.lines
        if pane.get_attribute("open") is None:
            pane.locator("summary").click()
        assert pane.locator(".lines").is_visible()
    context.close()
    assert complaints == []


def test_no_page_is_wider_than_the_screen(tab: "Tab") -> None:
    for page in sorted((SAMPLES).glob("*/*.html")):
        tab.goto(page.as_uri())
        for width, scheme in ((380, "light"), (1400, "dark")):
            tab.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            tab.set_viewport_size({"width": width, "height": 800})
            found = tab.evaluate("document.documentElement.scrollWidth")
            assert found <= width, (page.name, scheme)


def test_nothing_of_a_capture_runs(
    tab: "Tab",
    tmp_path: Path,
    complaints: list[str],
    pages_named: Callable[[str], Sequence[str]],
) -> None:
    for hostile in HOSTILE:
        for number, text in enumerate(pages_named(hostile)):
            show(tab, tmp_path, text)
            mains = "document.querySelectorAll('main').length"
            told = tab.evaluate(f"[window.owned ?? null, {mains}]")
            assert (told, complaints) == ([None, 1], []), (hostile, number)


def test_the_page_lets_no_foreign_script_run(
    tab: "Tab", tmp_path: Path, complaints: list[str], samples: Samples
) -> None:
    text = samples.page("softmax-t4")
    show(tab, tmp_path, text.replace("</main>", "</main><script>window.owned=1</script>"))
    assert tab.evaluate("window.owned") is None
    assert any("Content Security Policy" in told for told in complaints)


def test_a_sweep_is_sorted_and_filtered(tab: "Tab", tmp_path: Path, complaints: list[str]) -> None:
    show(tab, tmp_path, (SAMPLES / "sweeps" / "matmul.html").read_text())
    table = tab.locator("table.sortable").first
    title = table.get_by_role("button", name="registers")
    column = 1 + table.locator("thead th").all_text_contents().index("registers")
    cells = table.locator(f"tbody tr > :nth-child({column})")
    title.click()
    rising = [int(re.sub(r"\D", "", cell)) for cell in cells.all_text_contents()]
    assert rising == sorted(rising)
    assert len(set(rising)) > 1
    title.click()
    falling = [int(re.sub(r"\D", "", cell)) for cell in cells.all_text_contents()]
    assert falling == rising[::-1]
    at = 1 + table.locator("thead th").all_text_contents().index("num_warps")
    warps = table.locator(f"tbody tr > :nth-child({at})").all_text_contents()
    assert set(warps) == {"4", "8"}
    tab.locator("input[type=search]").first.fill("num_warps=8 registers")
    left = table.locator(f"tbody tr:visible > :nth-child({at})").all_text_contents()
    assert left == ["8"] * warps.count("8")
    assert complaints == []


def test_a_note_stays_below_its_row(tab: "Tab", tmp_path: Path, complaints: list[str]) -> None:
    kernels = tuple(
        KernelTime(kernel=name, each_us=us, total_us=us, choice="first", configurations=n)
        for name, us, n in (("slow", 30.0, 2), ("fast", 10.0, 3))
    )
    run = ProgramRun(program="p", target=find("h100").target, kernels=kernels, total_us=40.0)
    none = ScanSummary(
        captures=0, kernels=0, targets={}, excluded=0, skipped=0, occupancy=[], cannot_launch=0,
        occupancy_unknown=0, findings=None, worst=[], duplicates=[],
    )  # fmt: skip
    scan = Scan(schema=1, columns=[], where=[], rows=[], summary=none, programs=[run])
    show(tab, tmp_path, render("html", "scan", scan))
    rows = tab.locator("table.sortable").first.locator("tbody tr")
    tab.locator("table.sortable").first.get_by_role("button", name="kernel").click()
    words = [re.findall(r"fast\b|slow|first of .", text) for text in rows.all_text_contents()]
    assert words == [["fast"], ["first of 3"], ["slow"], ["first of 2"]]
    tab.locator("input[type=search]").first.fill("slow")
    visible = rows.locator("visible=true").all_text_contents()
    assert [re.findall("slow|first of .", text) for text in visible] == [["slow"], ["first of 2"]]
    assert complaints == []
