"""The JSON Schemas are checked in, current, and describe what irlens writes."""

import json
from pathlib import Path
from typing import get_args

import jsonschema
import pytest

from irlens.model.capture import Capture
from irlens.model.report import Report
from irlens.render import Kind, Options, render
from irlens.render.json import schema

SAMPLES = Path(__file__).parents[2] / "samples"
KINDS: tuple[Kind, ...] = get_args(Kind)


def checked_in(kind: Kind) -> Path:
    return SAMPLES / f"{'report' if kind == 'reports' else kind}.schema.json"


@pytest.mark.parametrize("kind", KINDS)
def test_the_schemas_checked_in_are_current(kind: Kind) -> None:
    assert checked_in(kind).read_text() == schema(kind), "run samples/make.py"
    jsonschema.Draft202012Validator.check_schema(json.loads(schema(kind)))


@pytest.mark.slow
def test_reports_are_valid(h200_reports: list[tuple[Capture, Report]]) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schema()))
    for _, report in h200_reports[:8]:
        written = render("json", "reports", [report], Options())
        validator.validate(json.loads(written))


@pytest.mark.parametrize(
    ("kind", "folder"),
    [("reports", "reports"), ("comparisons", "comparisons"), ("check", "checks"),
     ("sweep", "sweeps"), ("scan", "scans"), ("ledgers", "ledgers")],
)  # fmt: skip
def test_the_samples_are_valid(kind: Kind, folder: str) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(checked_in(kind).read_text()))
    samples = sorted((SAMPLES / folder).glob("*.json"))
    written = [path for path in samples if path.name != "irlens.baseline.json"]
    assert written
    for path in written:
        validator.validate(json.loads(path.read_text()))
