"""Inspections: a part computed alone equals the full report's, and reads no more than it needs."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from irlens.artifacts.load import load
from irlens.diff.report import compare
from irlens.diff.report.comparisons import match
from irlens.figures import FIGURES, Figure, find
from irlens.model.capture import Capture, Stage
from irlens.model.errors import ArtifactError
from irlens.model.report import Report
from irlens.report import inspect
from irlens.report.inspection import Brief, Inspection
from irlens.session.listed_entries import entry_of_report

SAMPLES = Path(__file__).parents[2] / "samples" / "captures"
PARTS = tuple(
    name for name in Report.__struct_fields__ if name not in ("schema", "sources", "unknown")
)


def sample(name: str) -> Capture:
    (capture,) = load(SAMPLES / name)
    assert isinstance(capture, Capture)
    return capture


@pytest.fixture(scope="module")
def samples() -> list[tuple[Capture, Report]]:
    captures = [sample(path.name) for path in sorted(SAMPLES.iterdir())]
    return [(capture, inspect(capture)) for capture in captures]


def agrees(capture: Capture, report: Report) -> None:
    """Every figure, read first from an inspection of its own, is the report's."""
    for figure in FIGURES:
        if figure.path == "warp_groups" or figure.of_binary:
            assert Inspection(capture).values(figure) == figure.read_each(report), figure.path
    shared = Inspection(capture)
    for figure in reversed(FIGURES):
        assert shared.values(figure) == figure.read_each(report), figure.path


def test_every_figure_of_the_samples(samples: list[tuple[Capture, Report]]) -> None:
    for capture, report in samples:
        agrees(capture, report)


@pytest.mark.slow
def test_every_figure_of_the_corpus(h200_reports: list[tuple[Capture, Report]]) -> None:
    for capture, report in h200_reports:
        agrees(capture, report)


@settings(max_examples=30)
@given(st.data())
def test_parts_in_any_order(samples: list[tuple[Capture, Report]], data: st.DataObject) -> None:
    capture, report = data.draw(st.sampled_from(samples))
    inspection = Inspection(capture)
    for name in data.draw(st.lists(st.sampled_from(PARTS), unique=True, max_size=4)):
        assert getattr(inspection, name) == getattr(report, name), name
    assert inspection.report() == report


@pytest.mark.parametrize(
    "figure", [each for each in FIGURES if each.of_binary], ids=lambda f: f.path
)
def test_resources_and_occupancy_read_no_text(
    figure: Figure, samples: list[tuple[Capture, Report]]
) -> None:
    (capture, report) = next(
        each for each in samples if (each[0].directory or Path()).name == "matmul-a100"
    )
    stages = {
        name: stage if name == "cubin" else Stage(name, path=Path("/nowhere"))
        for name, stage in capture.stages.items()
    }
    unreadable = replace(capture, stages=stages)
    assert Inspection(unreadable).values(figure) == figure.read_each(report)


def test_a_part_that_needs_a_broken_artifact_says_so() -> None:
    capture = sample("matmul-a100")
    broken = replace(capture, stages={**capture.stages, "ptx": Stage("ptx", content=b"\0")})
    inspection = Inspection(broken)
    registers, stages = find("registers"), find("pipeline.achieved")
    assert registers is not None
    assert stages is not None
    assert inspection.values(registers) == (96,)
    with pytest.raises(ArtifactError):
        inspection.values(stages)


def test_a_brief_report_compares_and_is_listed_as_the_whole_one(
    samples: list[tuple[Capture, Report]],
) -> None:
    """Other kernels' findings and times differ, so that each pair shows all that comparisons do."""
    briefs = [Brief(capture).report() for capture, _ in samples]
    wholes = [report for _, report in samples]
    assert briefs != wholes
    for first, second in zip(range(len(samples)), range(1, len(samples)), strict=False):
        expected = compare(wholes[first], wholes[second])
        assert compare(briefs[first], briefs[second]) == expected
        assert compare(briefs[first], wholes[second]) == expected
    for (capture, report), brief in zip(samples, briefs, strict=True):
        entry = entry_of_report("key", report, "")
        assert entry_of_report("key", Brief(capture), "") == entry
        assert entry_of_report("key", brief, "") == entry
    assert len(match(briefs, wholes).pairs) == len(samples)
    assert not match(briefs, wholes).different
