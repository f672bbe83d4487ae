"""Sides whose labels would widen a table go by letters, which the view explains."""

import json
from pathlib import Path

import msgspec
from msgspec.structs import replace

from irlens.diff.report.comparisons import against_first
from irlens.model.comparison import Comparisons
from irlens.model.report import Report
from irlens.render import Options, render

SOFTMAX = Path(__file__).parents[2] / "samples/reports/softmax-h100.json"
LONG = "x" * 24


def compared(*constexprs: str) -> Comparisons:
    report = msgspec.json.decode(SOFTMAX.read_bytes(), type=Report)
    config = report.config
    return against_first(
        [
            replace(
                report,
                config=replace(config, constexprs={**config.constexprs, "MODE": each}),
                resources=replace(report.resources, registers=40 + 8 * number),
            )
            for number, each in enumerate(constexprs)
        ]
    )


def test_long_sides_are_letters_explained_above_the_table() -> None:
    labels = [f"MODE={LONG}{n}" for n in range(3)]
    found = compared(*(label.removeprefix("MODE=") for label in labels))
    lines = render("text", "comparisons", found, Options()).splitlines()
    heading = next(n for n, line in enumerate(lines) if line.split() == ["A", "B", "C"])
    for letter, label in zip("ABC", labels, strict=True):
        assert [letter, label] in [line.split() for line in lines[:heading]]
    assert all(len(line) <= 80 for line in lines)
    assert "A → C" in render("html", "comparisons", found, Options())
    data = json.loads(render("json", "comparisons", found, Options()))
    assert [pair["after"]["label"] for pair in data["pairs"]] == labels[1:]


def test_long_sides_of_one_pair_are_letters() -> None:
    page = render("markdown", "comparisons", compared(LONG + "1", LONG + "2"), Options())
    assert "| A | B |" in page.replace("  ", " ")


def test_short_sides_keep_their_labels() -> None:
    page = render("text", "comparisons", compared("a", "b", "c"), Options())
    assert any(line.split() == ["MODE=a", "MODE=b", "MODE=c"] for line in page.splitlines())
