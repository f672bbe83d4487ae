"""HTML as a parser reads it: our own elements, and nothing that a capture wrote."""

import base64
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens import load
from irlens.comparison.sets import against_first, match
from irlens.inspection import inspect
from irlens.listing import list_capture
from irlens.model.code import CodeComparison, CodeComparisons, CodeHunk, CodeRow
from irlens.model.listing import Listing
from irlens.model.report import Finding, Report
from irlens.model.source import SourceLocation
from irlens.model.text import printable
from irlens.report import View, load_writer
from irlens.report.html._markup import Markup, escape, join, tag
from irlens.report.html._tokens import MOST_COLOURED_LINES, coloured

SAMPLES = Path(__file__).parents[2] / "samples" / "captures"
REPORTS = load_writer("html", "reports")
COMPARISONS = load_writer("html", "comparisons")
CODE = load_writer("html", "code")
BENIGN = "harmless"
HOSTILE = (
    "<script>window.owned=1</script>", "</style><script>window.owned=1</script>",
    "</script><img src=x onerror=window.owned=1>", "\"onclick='window.owned=1'x=\"",
    "' autofocus onfocus=window.owned=1 '", "<!--", "]]>", "</code></pre></div></details>",
    "javascript:window.owned=1", "&lt;b&gt;&#60;script&#62;", "\x1b[31mred\x1b]0;t\x07",
    "\x00\x0c\r", "a\nb", "a b\tc", "\u202egnp.exe\u2066", "{{7*7}}", "`${1}`", "<svg/onload=x>",
    "@import url(http://evil.example)", "]}; }",
)  # fmt: skip
VOID = frozenset({"meta", "col", "br"})
#: Python's parser closes what these hold by itself.
RAW = frozenset({"style", "script"})


class Page(HTMLParser):
    """What is on a page: its elements with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.lines: dict[str, str] = {}
        self._open: list[tuple[str, str | None]] = []
        self.feed(html)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert len(attributes) == len(attrs), attrs
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
def sample(name: str) -> tuple[Report, Listing]:
    capture = next(iter(load(SAMPLES / name)))
    report = inspect(capture)
    return report, list_capture(capture, report)


def written(name: str) -> str:
    report, listing = sample(name)
    return REPORTS.render([report], View(listings=(listing,)))


@cache
def read(name: str) -> tuple[str, Page]:
    """A sample's page, and what a parser sees in it."""
    text = written(name)
    return text, Page(text)


#: NVIDIA's and AMD's, with and without a pipeline, with and without findings.
SAMPLE_NAMES = ("softmax-h100", "softmax-mi300x", "softmax-t4", "matmul_tma-h100")


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_a_page_is_one_file_that_runs_nothing_foreign(name: str) -> None:
    text, page = read(name)
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
def test_every_link_leads_somewhere(name: str) -> None:
    _, page = read(name)
    ids = list(page.values("id"))
    assert len(ids) == len(set(ids))
    links = [href.removeprefix("#") for href in page.values("href")]
    assert links
    assert set(links) <= set(ids)


@pytest.mark.parametrize("name", SAMPLE_NAMES)
def test_all_of_the_text_is_there(name: str) -> None:
    _, listing = sample(name)
    lines = dict(read(name)[1].lines)
    for index, stage in enumerate(listing.stages.values()):
        for number, line in enumerate(stage.lines, 1):
            assert lines.pop(f"s{index}-{number}") == printable(line)
    (python,) = listing.python.values()
    for number, line in enumerate(python.splitlines(), 1):
        assert lines.pop(f"f0-{number}") == line
    assert not lines


def test_the_same_report_gives_the_same_bytes() -> None:
    assert written("softmax-t4") == written("softmax-t4")


def renamed(name: str) -> tuple[Report, Listing]:
    """A report that says ``name`` wherever a capture may say anything."""
    report, listing = sample("softmax-h100")
    replace = msgspec.structs.replace
    source = SourceLocation(name, 48)
    finding = Finding(
        code=name, severity="warning", message=name, hint=name, stage=name, line=1, source=source
    )
    memory = report.memory
    assert memory is not None
    ptx = report.pressure.ptx
    assert ptx is not None
    stage = listing.stages["ttgir"]
    changed = replace(
        report,
        kernel=name,
        triton_version=name,
        config=replace(report.config, constexprs={name: name}, args={name: name}),
        pipelines=[replace(report.pipelines[0], source=source, loop=name, reason=name)],
        loads=[replace(report.loads[0], source=source, element=name, reason=name)],
        findings=[finding],
        memory=replace(
            memory,
            buffers=(replace(memory.buffers[0], source=source, element=name),),
            scratch=(replace(memory.scratch[0], operation=name, source=source),),
            reason=name,
        ),
        pressure=replace(
            report.pressure,
            ptx=replace(ptx, source=source, lines=(replace(ptx.lines[0], source=source),)),
        ),
        mix=[replace(report.mix[0], classes={name: 1}, unknown={name: 1}, stage=name)],
        code={f"{name}:48": name},
        sources={name: name},
        unknown={name: name},
    )
    text = replace(
        stage, text=f"{name}\n", stage=name, problem=name, chains=[(source,)], chain=[0], live=[3],
        peak=3, loops=[], marks=[],
    )  # fmt: skip
    return changed, Listing(kernel=name, python={name: f"{name}\n"}, stages={name: text})


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


@cache
def pages(text: str) -> list[Page]:
    """Every kind of page that tells of a kernel, stages and code named ``text``."""
    report, listing = renamed(text)
    other = sample("softmax-h100")[0]
    rows = [CodeRow(kind="changed", before_line=1, after_line=2, before=text, after=text,
                    before_words=((0, 1),))]  # fmt: skip
    compared = match([report], [report]).pairs[0].before
    code = CodeComparison(
        stage=text, before=compared, after=compared, different=True, added=0, removed=0,
        changed=1, before_lines=1, after_lines=1, hunks=[CodeHunk(heading=text, rows=rows)],
    )  # fmt: skip
    codes = CodeComparisons(schema=1, different=True, pairs=[code], missing=[text])
    return [
        Page(each)
        for each in (
            REPORTS.render([report], View(listings=(listing,))),
            REPORTS.render([report, other], View()),
            COMPARISONS.render(match([other], [report]), View()),
            COMPARISONS.render(against_first([other, report]), View(code=(code,))),
            COMPARISONS.render(against_first([other, report, other]), View()),
            CODE.render(codes, View()),
        )
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_makes_no_elements(name: str) -> None:
    for page, benign in zip(pages(name), pages(BENIGN), strict=True):
        assert without_lines(page) == without_lines(benign)
        shown = "".join(page.text)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
        assert printable(name).partition("\n")[0].strip() in shown


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
    assert shown == (printable(text).removesuffix("\n").split("\n") if text.strip("\n") else shown)


def test_a_huge_stage_is_plain() -> None:
    lines = coloured("ret;\n" * (MOST_COLOURED_LINES + 1), "ptx")
    assert len(lines) == MOST_COLOURED_LINES + 1
    assert set(lines) == {"ret;"}


def test_attributes() -> None:
    assert tag("td", None, class_="r", colspan=2, hidden=True, title=None, open=False) == (
        '<td class="r" colspan="2" hidden></td>'
    )
    assert tag("rect", x=1.504, y=2.0) == '<rect x="1.5" y="2"></rect>'
    assert escape("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#x27;"


def test_several_reports_do_not_share_ids() -> None:
    one, two = sample("softmax-t4"), sample("softmax-h100")
    page = Page(REPORTS.render([one[0], two[0]], View(listings=(one[1], two[1]))))
    ids = list(page.values("id"))
    assert len(ids) == len(set(ids))
    assert {href.removeprefix("#") for href in page.values("href")} <= set(ids)
