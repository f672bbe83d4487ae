"""``--line`` and ``--interleave``, on the captures in ``samples/``."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

import irlens
from irlens.analyze.capture_code import CaptureCode
from irlens.model.capture import Capture
from irlens.model.errors import IrlensError
from irlens.render.text_listing import line_text
from irlens.render.text_page import Page
from irlens.session.stages import find_line, interleaved

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
STAGES = {
    "softmax-h100": ("ttir", "ttgir", "llir", "ptx"),
    "softmax-mi300x": ("ttir", "ttgir", "llir", "amdgcn"),
}


def sample(name: str) -> Capture:
    (capture,) = irlens.load(CAPTURES / name)
    return capture


def text_of(capture: Capture, place: str) -> str:
    return line_text(find_line(CaptureCode(capture), place), Page(width=0, color=False))


def line_with(capture: Capture, code: str) -> int:
    lines = (capture.python("softmax.py") or "").splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if code in line)
    return number


@pytest.mark.parametrize("name", STAGES)
def test_a_line_is_shown_with_what_it_became(name: str) -> None:
    capture = sample(name)
    number = line_with(capture, "tl.store(")
    title, *sections = text_of(capture, str(number)).split("\n\n")
    assert re.fullmatch(rf"softmax\.py:{number}  tl\.store\(.*\)", title)
    told = {section.split()[0]: section for section in sections}
    assert set(STAGES[name]) <= told.keys()
    stores = {"ttir": "tt.store", "ptx": "st.global", "amdgcn": "buffer_store"}
    for stage in stores.keys() & told.keys():
        assert stores[stage] in told[stage]
    for stage in STAGES[name]:
        text = capture.stages[stage].text().splitlines()
        shown = re.findall(r"^ +(\d+)  (.*?)(?:   < .*)?$", told[stage], re.M)
        assert told[stage].startswith(f"{stage}  {len(shown)} line")
        for line, content in shown:
            assert text[int(line) - 1].rstrip().replace("\t", " ") == content


def test_inlined_code_is_shown_by_its_own_line_with_the_callers() -> None:
    capture = sample("softmax-h100")
    report = text_of(capture, str(line_with(capture, "tl.max(")))
    assert re.search(r"max\.f32 .*   < standard\.py:\d+", report)


@pytest.mark.parametrize("place", ["", "x", "0", "-3", "softmax.py:"])
def test_a_place_that_is_none_is_refused(place: str) -> None:
    with pytest.raises(IrlensError, match="is not a line number"):
        line_text(find_line(CaptureCode(sample("softmax-h100")), place), Page(width=0, color=False))


def test_a_line_without_code_names_those_that_have_some() -> None:
    capture = sample("softmax-h100")
    with pytest.raises(IrlensError, match=r"softmax\.py:1$") as caught:
        line_text(find_line(CaptureCode(capture), "1"), Page(width=0, color=False))
    assert str(line_with(capture, "tl.store(")) in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "stage"), [(name, stage) for name, stages in STAGES.items() for stage in stages]
)
def test_interleaving_only_adds_captions(name: str, stage: str) -> None:
    capture = sample(name)
    mark = ";" if stage in ("llir", "amdgcn") else "//"
    original = capture.stages[stage].text().splitlines()
    added = []
    for line in interleaved(CaptureCode(capture), stage).splitlines():
        if original and line == original[0]:
            del original[0]
        else:
            added.append(line)
    assert original == []
    assert len(added) > 5
    assert all(re.match(rf"{mark} (no source|\w+\.py:\d+  )", line) for line in added)
    assert any("tl.store(" in line for line in added)
    assert all(first != second for first, second in pairwise(added))


def test_what_has_no_source_cannot_be_interleaved() -> None:
    with pytest.raises(IrlensError, match="cubin has no source locations to interleave") as error:
        interleaved(CaptureCode(sample("softmax-h100")), "cubin")
    assert "ptx" in (error.value.hint or "")


def test_a_stage_that_is_not_there_cannot_be_interleaved() -> None:
    with pytest.raises(IrlensError, match="no amdgcn in this capture"):
        interleaved(CaptureCode(sample("softmax-h100")), "amdgcn")
