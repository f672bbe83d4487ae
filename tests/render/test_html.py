"""HTML as a parser reads it: our own elements, and nothing that a capture wrote."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from html.parser import HTMLParser
from typing import Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from irlens import glossary
from irlens.diff.report.comparisons import match
from irlens.model.listing import Listing
from irlens.model.report import Report
from irlens.model.text import printable
from irlens.render import Options, render
from irlens.render.html.charts import Frame
from irlens.render.html.highlighting import MOST_COLOURED_LINES, coloured
from irlens.render.html.markup import Markup, escape, join, tag
from irlens.render.html.writer import Glosses
from irlens.render.view.drawings import register_budget

REPORTS = partial(render, "html", "reports")
COMPARISONS = partial(render, "html", "comparisons")
BENIGN = "harmless"
VOID = frozenset({"meta", "col", "br"})
#: Python's parser closes what these hold by itself.
RAW = frozenset({"style", "script"})


class Samples(Protocol):
    """The fixture of that name."""

    def find(self, name: str) -> tuple[Report, Listing]: ...

    def page(self, name: str) -> str: ...


class Page(HTMLParser):
    """What is on a page: its elements with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.explained: list[str | None] = []
        self.text: list[str] = []
        self.lines: dict[str, str] = {}
        self._open: list[tuple[str, str | None]] = []
        self.feed(html)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), attrs
        if name == "abbr":  # any text may hold a term of the glossary
            self.explained.append(attributes["title"])
        else:
            self.elements.append((name, attributes))
        if name not in VOID:
            line = "data-n" in attributes
            self._open.append((name, attributes["id"] if line else None))
            if line:
                self.lines[attributes["id"] or ""] = ""

    def handle_endtag(self, name: str) -> None:
        assert self._open, name
        assert self._open.pop()[0] == name

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] in RAW:
            return
        self.text.append(data)
        for _, line in self._open:
            if line is not None:
                self.lines[line] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def skeleton(self) -> list[tuple[str, tuple[str, ...]]]:
        """Elements and the names of their attributes."""
        return [(name, tuple(attributes)) for name, attributes in self.elements]

    def values(self, attribute: str) -> Iterator[str]:
        """Every value of an attribute."""
        for _, attributes in self.elements:
            if attribute in attributes:
                yield attributes[attribute] or ""


@cache
def read(text: str) -> Page:
    """What a parser sees in a page; reading one takes a while."""
    return Page(text)


#: NVIDIA's and AMD's, with and without a pipeline, with and without findings.
SAMPLE_NAMES = ("softmax-h100", "softmax-mi300x", "softmax-t4", "matmul_tma-h100")


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_a_page_is_one_file_that_runs_nothing_foreign(name: str, samples: Samples) -> None:
    text = samples.page(name)
    page = read(text)
    names = {name for name, _ in page.elements}
    assert not names & {"iframe", "object", "embed", "img", "link", "form", "base", "video", "a:"}
    attributes = {key for _, each in page.elements for key in each}
    assert not {key for key in attributes if key.startswith("on")} | attributes & {"src", "style"}
    assert all(href.startswith("#") for href in page.values("href"))
    assert "@import" not in text
    assert "url(" not in text.partition("</style>")[0]
    policy = next(each for each in page.values("content") if "default-src" in each)
    assert "default-src 'none'" in policy
    for element in RAW:
        (content,) = re.findall(rf"<{element}>(.*?)</{element}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_every_link_leads_somewhere(name: str, samples: Samples) -> None:
    page = read(samples.page(name))
    ids = list(page.values("id"))
    assert len(ids) == len(set(ids))
    links = [href.removeprefix("#") for href in page.values("href")]
    assert links
    assert set(links) <= set(ids)


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_all_of_the_text_is_there(name: str, samples: Samples) -> None:
    _, listing = samples.find(name)
    lines = dict(read(samples.page(name)).lines)
    for index, stage in enumerate(listing.stages.values()):
        for number, line in enumerate(stage.lines, 1):
            assert lines.pop(f"s{index}-{number}") == printable(line)
    (python,) = listing.python.values()
    for number, line in enumerate(python.splitlines(), 1):
        assert lines.pop(f"f0-{number}") == line
    assert not lines


def test_the_same_report_gives_the_same_bytes(samples: Samples) -> None:
    report, listing = samples.find("softmax-t4")
    again = REPORTS([report], Options(listings=(listing,)))
    assert again == samples.page("softmax-t4")


def without_lines(page: Page) -> list[tuple[str, tuple[str, ...]]]:
    """The elements but those of highlighted text, and as many lines as names may have."""
    found = []
    for name, attributes in page.elements:
        style = attributes.get("class") or ""
        if name == "span" and len(style) == 1 and set(attributes) == {"class"}:
            continue
        if "data-n" not in attributes:
            found.append((name, tuple(attributes)))
    return found


def test_hostile_text_makes_no_elements(
    hostile: str, pages_named: Callable[[str], Sequence[str]]
) -> None:
    # As long: what is too long to head a column goes by a letter.
    alike = BENIGN.ljust(len(hostile), "e")
    for text, other in zip(pages_named(hostile), pages_named(alike), strict=True):
        page, benign = Page(text), Page(other)
        assert without_lines(page) == without_lines(benign)
        shown = "".join(page.text)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
        assert printable(hostile).partition("\n")[0].strip() in shown


@given(st.text())
def test_text_is_read_as_it_is(text: str) -> None:
    page = Page(tag("p", text, join(["<", Markup("<br>"), ">"]), title=text))
    assert [name for name, _ in page.elements] == ["p", "br"]
    # A parser reads every kind of line break as one.
    assert "".join(page.text) == f"{printable(text)}<>"
    assert page.elements[0][1] == {"title": printable(text)}


@given(st.text(), st.sampled_from(["ttgir", "llir", "ptx", "sass", "amdgcn", "metadata", "python"]))
def test_colours_change_no_text(text: str, stage: str) -> None:
    text = text.removeprefix("\ufeff")  # lexers drop a byte order mark
    lines = coloured(text, stage)
    shown = ["".join(Page(line).text) for line in lines]
    assert shown == (printable(text).removesuffix("\n").split("\n") if text else [])


def test_a_huge_stage_is_plain() -> None:
    lines = coloured("ret;\n" * (MOST_COLOURED_LINES + 1), "ptx")
    assert len(lines) == MOST_COLOURED_LINES + 1
    assert set(lines) == {"ret;"}


def test_a_stage_with_a_line_that_no_compiler_writes_is_plain() -> None:
    (line,) = coloured("ret;" * 30_000, "ptx")
    assert "<span" not in line


def test_a_page_says_that_a_stage_is_plain(samples: Samples) -> None:
    report, listing = samples.find("softmax-t4")
    for number, told in ((MOST_COLOURED_LINES, False), (MOST_COLOURED_LINES + 1, True)):
        ptx = replace(
            listing.stages["ptx"], text="ret;\n" * number, chain=[], live=[], marks=[], loops=[]
        )
        shown = replace(listing, stages={"ptx": ptx}, python={})
        page = REPORTS([report], Options(listings=(shown,)))
        assert ("too long for colours" in page) == told
        assert page.count(">ret") == number


def test_attributes() -> None:
    assert tag("td", None, class_="r", colspan=2, hidden=True, title=None, open=False) == (
        '<td class="r" colspan="2" hidden></td>'
    )
    assert tag("rect", x=1.504, y=2.0) == '<rect x="1.5" y="2"></rect>'
    assert escape("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#x27;"


def test_several_reports_do_not_share_ids(samples: Samples) -> None:
    one, two = samples.find("softmax-t4"), samples.find("softmax-h100")
    page = Page(REPORTS([one[0], two[0]], Options(listings=(one[1], two[1]))))
    ids = list(page.values("id"))
    assert len(ids) == len(set(ids))
    assert {href.removeprefix("#") for href in page.values("href")} <= set(ids)


def test_a_finding_that_changed_says_which_is_which(samples: Samples) -> None:
    one, two = (samples.find(f"layer_norm-b200-{each}")[0] for each in ("3.6", "3.7"))
    found = match([one], [two])
    (delta,) = found.pairs[0].findings
    assert delta.before is not None
    assert delta.after is not None
    text = " ".join("".join(Page(COMPARISONS(found, Options())).text).split())
    was, now = (text.index(each.message) for each in (delta.before, delta.after))
    assert text.rindex("was", 0, was) < was < text.index("now", was) < now


def test_the_register_budget_fills_the_bar_of_live_registers(samples: Samples) -> None:
    report, listing = samples.find("matmul-a100")
    budget = register_budget(report)
    assert budget is not None
    page = REPORTS([report], Options(listings=(listing,)))
    assert f"a full bar is {budget.registers}: {budget.words}" in page
    drawn = {
        int(live): int(level) for level, live in re.findall(r"<i class=h(\d+) data-v=(\d+)", page)
    }
    for live, level in drawn.items():
        assert level == round(min(live / budget.registers, 1) * 10)
    # Its peak is not its budget.
    assert max(drawn.values()) < 10 or max(drawn) >= budget.registers
    unknown = replace(report, occupancy=None)
    assert "a full bar is the stage&#x27;s peak" in REPORTS([unknown], Options(listings=(listing,)))


def test_terms_are_explained_once_in_each_report(samples: Samples) -> None:
    report, _ = samples.find("softmax-h100")
    explained = glossary.find("occupancy")
    assert explained is not None
    alone = Page(REPORTS([report], Options()))
    assert alone.explained.count(explained.explanation) == 1
    # Of several, the comparison of all and each part explain it where they use it.
    several = Page(REPORTS([report, report], Options()))
    assert several.explained.count(explained.explanation) == 3


def test_a_term_is_no_part_of_another_word() -> None:
    explain = Glosses().explain
    assert explain("sm_90, cp.async.bulk, <blocky>") == "sm_90, cp.async.bulk, &lt;blocky&gt;"
    spill = glossary.find("spill")
    assert spill is not None
    explained = tag("abbr", "spills", title=spill.explanation)
    assert explain("no spills, a spill") == f"no {explained}, a spill"


def test_a_curve_above_its_own_peak_stays_in_its_frame() -> None:
    """As in a saved report that somebody edited."""
    frame = Frame(right=10, top=8)
    assert frame.y(10**400) == frame.y(8)
    assert frame.x(10**400) == frame.x(10)
    assert frame.y(4) > frame.y(8)
