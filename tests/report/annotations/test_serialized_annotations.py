"""Marks of products that ptxas serialized."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import irlens
from irlens.analyze.capture_code import CaptureCode
from irlens.model.capture import Capture, Disassembly
from irlens.model.report import Finding, Report
from irlens.report import inspect
from irlens.report.annotations import list_stage

SAMPLES = Path(__file__).parents[3] / "samples" / "captures"
SERIALIZED = Finding(
    code="IRL404", severity="warning", message="", hint="", stage="ptx", line=1, source=None
)


@pytest.fixture(scope="module")
def products() -> tuple[Capture, Report]:
    (capture,) = irlens.load(SAMPLES / "matmul_tma-h100")
    return capture, inspect(capture, Disassembly.REQUIRE)


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("ttgir", ("ttng.warp_group_dot", "ttng.warp_group_dot_wait")),
        ("llir", ("wgmma",)),
        ("ptx", ("wgmma.mma_async", "wgmma.commit_group", "wgmma.wait_group")),
    ],
)
def test_says_so_of_products_and_of_nothing_else(
    products: tuple[Capture, Report], stage: str, words: tuple[str, ...]
) -> None:
    capture, report = products
    plain = list_stage(CaptureCode(capture), stage, report)
    assert plain.note == ""
    assert not any(mark.serialized for mark in plain.marks)
    found = list_stage(CaptureCode(capture), stage, replace(report, findings=[SERIALIZED]))
    assert found.note.startswith("IRL404: ptxas serialized the matrix products")
    undone = [found.lines[mark.line - 1] for mark in found.marks if mark.serialized]
    others = [found.lines[mark.line - 1] for mark in found.marks if not mark.serialized]
    assert others  # copies by TMA
    assert not any(word in line for line in others for word in words)
    for word in words:
        assert any(word in line for line in undone)
    assert all(any(word in line for word in words) for line in undone)


@pytest.mark.parametrize("stage", ["ttir", "sass"])
def test_machine_code_is_what_it_is(products: tuple[Capture, Report], stage: str) -> None:
    capture, report = products
    serialized = replace(report, findings=[SERIALIZED])
    assert list_stage(CaptureCode(capture), stage, serialized) == list_stage(
        CaptureCode(capture), stage, report
    )
