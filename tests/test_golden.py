"""What each format writes of the samples is, byte for byte, the reviewed file in ``samples/``."""

import importlib.util
from functools import cache
from pathlib import Path

import pytest

import irlens
from irlens.inspection import inspect
from irlens.model.comparison import Comparisons
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


@cache
def comparisons() -> dict[str, Comparisons]:
    """Return what ``samples/make.py`` compares."""
    spec = importlib.util.spec_from_file_location("make_samples", SAMPLES / "make.py")
    assert spec is not None
    assert spec.loader is not None
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    found: dict[str, Comparisons] = make.comparisons()
    return found


def test_every_comparison_is_there_in_every_format() -> None:
    extensions = [load_format(name).EXTENSION for name in format_names()]
    expected = {f"{name}.{extension}" for name in comparisons() for extension in extensions}
    assert len(comparisons()) >= 5
    assert {path.name for path in (SAMPLES / "comparisons").iterdir()} == expected


@pytest.mark.parametrize("form", format_names())
def test_comparisons_are_as_reviewed(form: str) -> None:
    writer = load_format(form)
    for name, compared in comparisons().items():
        path = SAMPLES / "comparisons" / f"{name}.{writer.EXTENSION}"
        assert writer.render_comparison(compared, View()) == path.read_text(), "run samples/make.py"
