"""Pages of the samples, and of captures that mean harm."""

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import msgspec
import pytest

from irlens import load
from irlens.analyze.capture_code import CaptureCode
from irlens.diff.report.comparisons import against_first, match
from irlens.model.code import CodeComparison, CodeComparisons, CodeHunk, CodeRow
from irlens.model.listing import Listing
from irlens.model.report import Finding, Report
from irlens.model.source import SourceLocation
from irlens.render import Options, render
from irlens.report import inspect
from irlens.report.annotations import list_capture

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
REPORTS = partial(render, "html", "reports")
COMPARISONS = partial(render, "html", "comparisons")
CODE = partial(render, "html", "code")
HOSTILE = (
    "<script>window.owned=1</script>", "</style><script>window.owned=1</script>",
    "</script><img src=x onerror=window.owned=1>", "\"onclick='window.owned=1'x=\"",
    "' autofocus onfocus=window.owned=1 '", "<!--", "]]>", "</code></pre></div></details>",
    "javascript:window.owned=1", "&lt;b&gt;&#60;script&#62;", "\x1b[31mred\x1b]0;t\x07",
    "\x00\x0c\r", "a\nb", "a b\tc", "\u202egnp.exe\u2066", "{{7*7}}", "`${1}`", "<svg/onload=x>",
    "@import url(http://evil.example)", "]}; }",
)  # fmt: skip


class Samples:
    """The captures in ``samples/``, with what is known of them."""

    @staticmethod
    @cache
    def find(name: str) -> tuple[Report, Listing]:
        """A sample's report and code."""
        capture = next(iter(load(CAPTURES / name)))
        report = inspect(capture)
        return report, list_capture(CaptureCode(capture), report)

    @staticmethod
    @cache
    def page(name: str) -> str:
        """Its page, with the code."""
        report, listing = Samples.find(name)
        return REPORTS([report], Options(listings=(listing,)))


@pytest.fixture(scope="session")
def samples() -> Samples:
    return Samples()


@pytest.fixture(params=HOSTILE)
def hostile(request: pytest.FixtureRequest) -> str:
    """A text that a page must show and nothing else."""
    return str(request.param)


@pytest.fixture(scope="session")
def pages_named() -> Callable[[str], Sequence[str]]:
    """Makes every kind of page that tells of a kernel, stages and code of that name."""
    return cache(_pages)


def _renamed(name: str) -> tuple[Report, Listing]:
    """A report that says ``name`` wherever a capture may say anything."""
    report, listing = Samples.find("softmax-h100")
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


def _pages(text: str) -> list[str]:
    report, listing = _renamed(text)
    other = Samples.find("softmax-h100")[0]
    rows = [CodeRow(kind="changed", before_line=1, after_line=2, before=text, after=text,
                    before_words=((0, 1),))]  # fmt: skip
    compared = match([report], [report]).pairs[0].before
    code = CodeComparison(
        stage=text, before=compared, after=compared, different=True, added=0, removed=0,
        changed=1, before_lines=1, after_lines=1, hunks=[CodeHunk(heading=text, rows=rows)],
    )  # fmt: skip
    codes = CodeComparisons(schema=1, different=True, pairs=[code], missing=[text])
    return [
        REPORTS([report], Options(listings=(listing,))),
        REPORTS([report, other], Options()),
        COMPARISONS(match([other], [report]), Options()),
        COMPARISONS(against_first([other, report]), Options(code=(code,))),
        COMPARISONS(against_first([other, report, other]), Options()),
        CODE(codes, Options()),
    ]
