"""The JSON Schema is checked in, current, and describes what irlens writes."""

import json
from pathlib import Path

import jsonschema

from irlens.artifacts.load import load
from irlens.inspection import inspect
from irlens.model.capture import Capture
from irlens.report import View, load_writer
from irlens.report.json import schema

CHECKED_IN = Path(__file__).parents[2] / "samples" / "report.schema.json"


def test_the_schema_checked_in_is_current() -> None:
    assert CHECKED_IN.read_text() == schema(), "run samples/make.py"


def test_reports_are_valid(h200_cache: Path) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(CHECKED_IN.read_text()))
    captures = [found for found in load(h200_cache) if isinstance(found, Capture)]
    for capture in captures[:8]:
        written = load_writer("json", "reports").render([inspect(capture)], View())
        validator.validate(json.loads(written))
