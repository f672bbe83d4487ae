"""The drawings of a comparison, and its code, on the page."""

import re
import zlib
from base64 import b64decode
from pathlib import Path

import pytest

import irlens
from irlens.analyze.capture_code import CaptureCode
from irlens.diff.code.captures import compare_sets
from irlens.diff.report.comparisons import match
from irlens.isa.highlight import lexer_for
from irlens.model.report import Report
from irlens.render import Options, render
from irlens.render.html import code as html_code
from irlens.render.html.highlighting import coloured_line
from irlens.render.view.nodes import Curve, Overlay, Staircase, Timeline
from irlens.render.view.overlays import overlays
from irlens.report.annotations import list_capture

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"


def report(name: str) -> Report:
    (capture,) = irlens.load(CAPTURES / name)
    return irlens.inspect(capture)


def drawn(before: str, after: str) -> list[Overlay]:
    sections = overlays(report(before), report(after), ("then", "now"))
    return [node for section in sections for node in section.children if isinstance(node, Overlay)]


def test_both_sides_of_every_drawing() -> None:
    kinds = [(type(each.before), type(each.after)) for each in drawn("softmax-t4", "softmax-h100")]
    assert kinds == [(Staircase, Staircase), (Staircase, Staircase), (Curve, Curve),
                     (type(None), Timeline)]  # fmt: skip


def test_of_two_vendors_only_what_has_one_unit() -> None:
    pairs = drawn("softmax-h100", "softmax-mi300x")
    assert all(type(each.before) is type(each.after) or None in (each.before, each.after)
               for each in pairs)  # fmt: skip


def test_the_page_draws_them_and_unfolds_the_first_stage_that_differs() -> None:
    names = ("softmax-t4", "softmax-h100")
    (one,), (other,) = (list(irlens.load(CAPTURES / name)) for name in names)
    reports = irlens.inspect(one), irlens.inspect(other)
    code = compare_sets([one], [other], ["ttir", "ttgir", "ptx"]).pairs
    page = render("html", "comparisons", match([reports[0]], [reports[1]]),
                  Options(sides=(reports,), code=tuple(code)))  # fmt: skip
    assert "30 registers: 8 blocks" in page
    assert "26 registers: 4 blocks" in page
    assert page.count('class="curve first"') == 3
    opened = re.findall(r"<details( open)?><summary><b>(\w+)</b>", page)
    first, *others = (pair.stage for pair in code if pair.different)
    assert opened == [(" open", first), *(("", stage) for stage in others)]
    assert "<mark><span class=" in page
    text = render("text", "comparisons", match([reports[0]], [reports[1]]),
                  Options(sides=(reports,)))  # fmt: skip
    assert "blocks/SM over" not in text


def test_marks_and_colours_nest_and_escape() -> None:
    line = coloured_line([("mov.u32 ", False), ("%r1", True), (", <b>;", False)], lexer_for("ptx"))
    assert "<mark><span class=v>%r1</span></mark>" in line
    assert "<b>" not in line
    assert re.sub("<[^>]+>", "", line) == "mov.u32 %r1, &lt;b&gt;;"


def test_a_long_comparison_is_plain_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    sides = [list(irlens.load(CAPTURES / f"layer_norm-b200-{version}")) for version in (3.6, 3.7)]
    code = compare_sets(sides[0], sides[1], ["ptx"])
    page = render("html", "code", code)
    monkeypatch.setattr(html_code, "MOST_COLOURED_LINES", 10)
    plain = render("html", "code", code)
    assert "too long for colours" in plain
    assert "too long for colours" not in page
    table = plain[plain.index("<tbody>") :]
    assert "<span" not in table
    assert "<mark>" in table
    without_colours = re.sub("</?span[^>]*>", "", page[page.index("<tbody>") :])
    assert without_colours == table


def test_large_code_is_packed_once_for_all_reports_that_share_it() -> None:
    (capture,) = irlens.load(CAPTURES / "softmax-h100")
    report = irlens.inspect(capture)
    listing = list_capture(CaptureCode(capture), report)
    count = 400_000 // sum(len(stage.text) for stage in listing.stages.values()) + 1
    plain = render("html", "reports", [report], Options(listings=(listing,)))
    page = render("html", "reports", [report] * count, Options(listings=(listing,) * count))
    assert "<template" not in plain
    packed = dict(re.findall(r"<template id=\"(\w+)\">([^<]*)</template>", page))
    boxes = re.findall(r'data-packed="(\w+)" data-prefix="([\w-]+)"', page)
    assert len(packed) == len(listing.stages)
    assert len(boxes) == len(listing.stages) * count
    assert len({prefix for _, prefix in boxes}) == len(boxes)
    # Inflated, it is what the plain page has, but for the ids of lines.
    ptx = f"s{list(listing.stages).index('ptx')}-"
    name = next(name for name, prefix in boxes if prefix.endswith(ptx))
    lines = zlib.decompress(b64decode(packed[name])).decode()
    assert lines in re.sub(r" id=\w+-\d+", "", plain)
    assert len(page) < len(plain) * 2
