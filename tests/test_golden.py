"""What irlens writes of the samples is, byte for byte, the reviewed files in ``samples/``."""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

from irlens.render import extension, format_names

SAMPLES = Path(__file__).parents[1] / "samples"
#: What is in the folder but not made from the captures in it.
MADE_ELSEWHERE = {
    "make.py", "captures", "checks/pyproject.toml", "ledgers/norm.py", "measured", "workflow",
}  # fmt: skip


@cache
def make() -> ModuleType:
    """Return ``samples/make.py`` as a module."""
    spec = importlib.util.spec_from_file_location("make_samples", SAMPLES / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def generated() -> dict[str, str]:
    return dict(make().generated())


def test_everything_is_as_reviewed() -> None:
    outdated = [path for path, text in generated().items() if (SAMPLES / path).read_text() != text]
    assert not outdated, "run samples/make.py and read the difference"


def test_nothing_is_left_over() -> None:
    there = {
        str(path.relative_to(SAMPLES))
        for path in SAMPLES.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    kept = {path for path in there if {path, path.split("/")[0]} & MADE_ELSEWHERE}
    assert there - kept == set(generated())


def test_every_capture_has_a_report_in_every_format() -> None:
    names = [path.name for path in (SAMPLES / "captures").iterdir() if path.is_dir()]
    assert len(names) >= 7
    for name in names:
        for form in format_names("reports"):
            assert f"reports/{name}.{extension(form)}" in generated()
