"""A saved report may say anything that its records can hold: every format writes it."""

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.diff.report.comparisons import against_first, match
from irlens.model.report import Report
from irlens.render import DETAILS, Options, format_names, render
from irlens.render.svg import NothingToDrawError

REPORTS = Path(__file__).parents[2] / "samples" / "reports"
VIEWS = (Options(width=20, details=frozenset(DETAILS)), Options())
#: What is put in the place of something of that type.
ODD: dict[type, tuple[object, ...]] = {
    int: (None, 0, -1, 1, 10**9, 10**30, -(10**30)),
    float: (None, 0.0, 1.0, 0.001, 1e308),
    bool: (True, False),
    str: (None, "", "x\x1b[31m", "tma", "unknown", "not pipelined"),
    list: (None, []),
    dict: (None, {}),
    type(None): (None, 0, "tma", 10**30),
}


@cache
def documents() -> list[Any]:
    return [msgspec.json.decode(path.read_bytes()) for path in sorted(REPORTS.glob("*.json"))]


def leaves(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container with a key of it."""
    keys = document if isinstance(document, dict) else range(len(document))
    for key in keys:
        yield document, key
        if isinstance(document[key], dict | list):
            yield from leaves(document[key])


def odd(document: Any, random: Random) -> Report | None:
    """Return it with a few things replaced; ``None`` where that is no report any more."""
    changed = deepcopy(document)
    for container, key in random.sample(list(leaves(changed)), random.randrange(1, 4)):
        container[key] = random.choice(ODD[type(container[key])])
    try:
        return msgspec.convert(changed, Report)
    except msgspec.ValidationError:
        return None


def written(report: Report, whole: Report) -> None:
    compared = (match([whole], [report]), match([report], [whole]), against_first([whole, report]))
    for view in VIEWS:
        for form in format_names("reports"):
            # A picture needs something to draw.
            with suppress(NothingToDrawError) if form == "svg" else nullcontext():
                render(form, "reports", [whole, report], view)
        for form in format_names("comparisons"):
            for each in compared:
                render(form, "comparisons", each, view)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_whatever_a_report_says_is_written(random: Random) -> None:
    document = random.choice(documents())
    report = odd(document, random)
    if report is not None:
        written(report, msgspec.convert(document, Report))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("pressure.ptx.peak", 1),
        ("pressure.ptx.curve", [0, 10**30]),
        ("mix.0.total", 0),
        ("mix.0.classes", {}),
        ("memory.buffers.0.copies", 0),
        ("memory.buffers.0.at_peak", False),
        ("traffic.distinct_read_bytes", 0),
    ],
)
def test_figures_that_contradict_each_other(path: str, value: object) -> None:
    (document,) = (each for each in documents() if each["target"]["arch"] == "sm_80")
    found = changed = deepcopy(document)
    *parents, last = (int(name) if name.isdigit() else name for name in path.split("."))
    for name in parents:
        found = found[name]
    assert found[last] != value
    found[last] = value
    if path.endswith("at_peak"):
        found["bytes"] = changed["memory"]["remainder_bytes"] = 0
        changed["memory"]["buffers"] = [found]
    written(msgspec.convert(changed, Report), msgspec.convert(document, Report))


def test_a_curve_without_a_step_is_none() -> None:
    document = deepcopy(documents()[0])
    document["occupancy"]["curves"][0]["steps"] = []
    with pytest.raises(msgspec.ValidationError, match=r"length >= 1 - at `\$.occupancy.curves"):
        msgspec.convert(document, Report)
