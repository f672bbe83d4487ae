"""Reports to check: those of the samples, as they were reviewed."""

from pathlib import Path

import msgspec
import pytest

from irlens.model.report import Report

REPORTS = Path(__file__).parents[2] / "samples" / "reports"


@pytest.fixture(scope="session")
def reports() -> dict[str, Report]:
    return {
        path.stem: msgspec.json.decode(path.read_bytes(), type=Report)
        for path in sorted(REPORTS.glob("*.json"))
    }


@pytest.fixture
def softmax(reports: dict[str, Report]) -> Report:
    return reports["softmax-h100"]
