"""Each sample's report in each format is, byte for byte, the reviewed one in ``samples/``."""

from pathlib import Path

import pytest

import irlens
from irlens.inspection import inspect
from irlens.report import DETAILS, View, format_names, load_format

SAMPLES = Path(__file__).parents[1] / "samples"
NAMES = sorted(path.name for path in (SAMPLES / "captures").iterdir() if path.is_dir())
VIEWS = {"": View(), ".all": View(details=frozenset(DETAILS))}


def test_every_capture_has_a_report_in_every_format() -> None:
    extensions = [load_format(name).EXTENSION for name in format_names()]
    expected = {f"{name}.{extension}" for name in NAMES for extension in extensions}
    expected |= {f"{name}.all.txt" for name in NAMES}
    assert {path.name for path in (SAMPLES / "reports").iterdir()} == expected


@pytest.mark.parametrize("form", format_names())
@pytest.mark.parametrize("name", NAMES)
def test_reports_are_as_reviewed(name: str, form: str) -> None:
    (capture,) = irlens.load(SAMPLES / "captures" / name)
    report, writer = inspect(capture), load_format(form)
    for suffix, view in VIEWS.items():
        path = SAMPLES / "reports" / f"{name}{suffix}.{writer.EXTENSION}"
        if path.exists():
            assert writer.render([report], view) == path.read_text(), "run samples/make.py"
