"""Every number that a format shows is in the JSON, or follows from it by a rule named here."""

import csv
import html
import io
import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html.parser import HTMLParser
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from irlens.render.markdown import UNFOLDED

Json: TypeAlias = Any

SAMPLES = Path(__file__).parents[2] / "samples"
DOCUMENTS = sorted(
    path
    for folder in ("reports", "comparisons", "checks", "sweeps", "code")
    for path in (SAMPLES / folder).glob("*.json")
    if path.name != "irlens.baseline.json"
)
FORMATS = ("txt", "all.txt", "md", "csv", "html")
#: A number as it is written: "−12,288", "37.5", "9e-05". Hashes and names are words.
NUMBER = re.compile(r"(?<![\w.])[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*[a-zA-Z_])")
IN_TEXT = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
#: What a reader needs no record for: the first lines and iterations of a drawing.
SMALL = frozenset(range(3))


class Shown(HTMLParser):
    """The text of a page but for drawings and code, whose numbers are lines and axes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self._skipped: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        is_code = "code" in (dict(attrs).get("class") or "").split()
        if self._skipped:
            if tag not in ("meta", "col", "br"):
                self._skipped.append(tag)
        elif tag in ("style", "script", "svg", "head") or is_code:
            self._skipped.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            self._skipped.pop()

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.text.append(data)


def values(document: Json) -> Iterator[float]:
    """Yield every number of a document, those within its strings too, and every length."""
    if isinstance(document, dict):
        yield len(document)
        for name, value in document.items():
            yield from values(name)
            yield from values(value)
    elif isinstance(document, list):
        yield len(document)
        for value in document:
            yield from values(value)
    elif isinstance(document, str):
        for number in IN_TEXT.findall(document):
            yield float(number.replace(",", ""))
    elif isinstance(document, int | float):
        yield document


def objects(document: Json) -> Iterator[dict[str, Json]]:
    """Yield every object of a document."""
    if isinstance(document, dict):
        yield document
        document = list(document.values())
    if isinstance(document, list):
        for value in document:
            yield from objects(value)


def derived(document: Json) -> Iterator[float]:
    """Yield the figures that formats compute, by rule."""
    for one in objects(document):
        yield from of_launch(one)
        yield from of_roofline(one)
        yield from over_sizes(one)
        yield from of_changed_time(one)
        yield from of_shared_memory(one)
        match one:
            case {"classes": dict() as classes, "total": int() as total, "unknown": dict() as rest}:
                yield from mix(classes, rest, total)
            case {"classes": list() as deltas}:  # "and 7 more"
                yield len(deltas) - 8
            case {"copies": int() as copies, "bytes": int() as size} if copies:
                yield size / copies
            case {"steps": list() as steps} if "parts" not in one:  # the last amount of each step
                yield from (start - 1 for start, _ in steps)
            case {"figures": list() as deltas, "loops": list() as loops, "lines": list() as lines}:
                yield len(lines) - 12
                compared = [loop for loop in loops if loop["what"] == "pipeline"]
                of_loops = [
                    d for loop in compared if loop["presence"] == "both" for d in loop["deltas"]
                ]
                minor = [each for each in [*deltas, *of_loops] if each["weight"] == "little"]
                yield sum(each["before"] != each["after"] for each in minor)
            case {"targets": list() as targets, "trials": list() as trials}:
                for target in targets:
                    yield from groups([each for each in trials if each["target"] == target])
                yield from of_trials(trials)
                yield len(trials) - UNFOLDED  # "28 more rows"
        for listed in one.values():
            if isinstance(listed, list):
                yield from groups(listed)


def of_launch(one: dict[str, Json]) -> Iterator[float]:
    """Yield the figures that formats compute of a launch's traffic, roofline and time."""
    match one:
        case {"config": {"grid": list() as grid}, "occupancy": {"blocks_per_sm": int() as held}}:
            ctas = prod(grid) * (one["config"]["num_ctas"] or 1)
            yield ctas
            if held:
                yield ctas / held
        case {"estimate_us": float() as whole, "parts": dict() as parts}:
            for value in (whole, one["low_us"], one["high_us"], *parts.values()):
                yield from three_digits(value)
                yield round(value / whole, 2)
            for step in one["steps"]:
                yield round(1 - step["estimate_us"] / whole, 2)
                yield from three_digits(-step["change"])
        case {"accesses": list() as accesses, "flops": dict() | None}:
            yield from traffic(one, accesses)
        case {"memory_us": float(), "floor_us": _}:
            for value in one.values():
                if isinstance(value, float):
                    yield from three_digits(value)


def of_roofline(one: dict[str, Json]) -> Iterator[float]:
    """Yield the roof and the rate below it: bytes and operations by their least and their time."""
    match one:
        case {
            "traffic": {
                "flops": dict() as flops,
                "distinct_read_bytes": int() as read,
                "distinct_written_bytes": int() as written,
            },
            "roofline": {"memory_us": float() as memory, "compute_us": float() as compute},
            "time": {"estimate_us": float() as estimate},
        } if memory and estimate:
            least = max(memory, compute)
            yield round(100 * least / estimate, 1)
            yield from three_digits((read + written) / memory)
            for number in (*flops.values(), sum(flops.values())):
                yield from three_digits(number / estimate)
                yield from three_digits(number / compute if compute else 0)
                yield number / compute / 1e6 if compute else 0  # TFLOP/s


def of_changed_time(one: dict[str, Json]) -> Iterator[float]:
    """Yield the parts of a time before and after, and how much less or more the whole is."""
    match one:
        case {"ratio": float() as ratio, "parts": list() as parts, "moved_by": _}:
            yield round(100 * (ratio - 1))
            for part in parts:
                for side in ("before", "after"):
                    yield from three_digits(part[side] or 0)
        case {"estimate_us": float() as estimate, "bound": _}:
            yield from three_digits(estimate)
        case {"before": float() as before, "after": float() as after, "unit": "us"}:
            for time in (before, after, abs(after - before)):
                yield from three_digits(time)


def of_shared_memory(one: dict[str, Json]) -> Iterator[float]:
    """Yield wavefronts per request, and how long accesses and conversions are busy."""
    match one:
        case {"requests": float() as requests, "wavefronts": float() as wavefronts, "us": busy}:
            yield wavefronts / requests if requests else 0
            yield from three_digits(busy or 0)


def of_trials(trials: Sequence[Json]) -> Iterator[float]:
    """Yield times in any unit, and how much longer than the fastest of its problem each takes."""
    for trial in trials:
        standing = trial["standing"]
        figures = trial["figures"] or {}
        for time in (figures.get("time"), trial["timing"] and 1e3 * trial["timing"]["median_ms"]):
            yield from three_digits(time or 0)
        rate = trial["rate"] or {}
        yield from three_digits(rate.get("tflop_per_s") or 0)
        yield round(100 * (rate.get("roofline_share") or 0), 1)
        memory, compute = figures.get("memory_us"), figures.get("compute_us")
        if memory and compute:  # the ceilings of the roofline
            moved = figures["distinct_read_bytes"] + figures["distinct_written_bytes"]
            yield from (moved / memory / 1e6, figures["flops"] / compute / 1e6)
        if standing and standing["over_fastest"]:
            yield round(100 * (standing["over_fastest"] - 1))
            yield from three_digits(standing["over_fastest"])


def over_sizes(one: dict[str, Json]) -> Iterator[float]:
    """Yield the figures that sweeps over sizes compute: the bytes moved, the roofline's rate."""
    match one:
        case {"distinct_read_bytes": int() as read, "distinct_written_bytes": int() as written}:
            yield float(f"{(read + written) / 1e9:.4g}")
        case {"roofline_share": float() as share, "gb_per_s": rate, "tflop_per_s": operations}:
            yield from (each / share for each in (rate, operations) if each)


def traffic(whole: Json, accesses: Sequence[Json]) -> Iterator[float]:
    """Yield amounts with three digits, and ratios of what is moved to what must be."""
    yield from three_digits((whole["read_bytes"] or 0) + (whole["written_bytes"] or 0))
    touched, ideal = (
        sum(whole[f"{name}_sectors"] or 0 for name in names)
        for names in (("load", "store"), ("ideal_load", "ideal_store"))
    )
    yield from three_digits(touched / (ideal or 1))
    for one in (whole, *accesses):
        for name, value in one.items():
            if isinstance(value, int):
                yield from three_digits(value)
                yield from three_digits(value / (one.get(f"distinct_{name}") or 1))
                if name == "sectors":
                    yield from three_digits(32 * value)
    for number in (*(whole["flops"] or {}).values(), *(whole["tensor_flops"] or {}).values()):
        yield from three_digits(number)


def three_digits(value: float) -> Iterator[float]:
    """Yield a number with three significant digits, in any unit."""
    for power in range(0, 16, 3):
        yield float(f"{value / 10**power:.3g}")


def mix(classes: Mapping[str, int], unknown: Mapping[str, int], total: int) -> Iterator[float]:
    """Yield shares in per cent, and what the six largest classes leave."""
    for number in (*classes.values(), *unknown.values()):
        yield 100 * number / max(total, 1)
    yield sum(sorted(classes.values())[:-6])
    yield sum(unknown.values())


def groups(listed: Sequence[Json]) -> Iterator[float]:
    """Yield how many items of a list share a word, alone or with others, and their bytes."""
    items = [each for each in listed if isinstance(each, dict)]
    words = Counter(
        (name, value)
        for each in items
        for name, value in each.items()
        if isinstance(value, str | bool)
    )
    yield len(items)
    yield from words.values()
    for name in {name for name, _ in words}:  # what has that word, of all
        yield len(items) - sum(number for (other, _), number in words.items() if other == name)
    spills: dict[str, list[int]] = {}
    for each in items:
        if {"loop_depth", "kind"} <= set(each):
            source = each["source"] or {}
            key = (each["loop_depth"], source.get("line") or each["line"], each["kind"])
            spills.setdefault(str(key), []).append(each["bytes"] or 0)
        if "operation" in each:
            source = each["source"] or {}
            spills.setdefault(f"{each['operation']} {source.get('line')}", []).append(0)
    for sizes in spills.values():
        yield len(sizes)
        yield sum(sizes)
    states = Counter(
        ("new" if not one.get("before") else "gone" if not one.get("after") else "changed")
        for one in items
        if set(one) == {"before", "after"}
    )
    yield from states.values()


def without_drawings(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a text but for charts of dots, and what stands below their axes."""
    drawing = False
    for line in lines:
        dots = any("\u2800" <= each <= "\u28ff" for each in line[2:])  # \u2800 has none of its dots
        drawing = (drawing and bool(line.strip())) or (dots and "  ⠤ " not in line)
        if not drawing:
            yield line


class Known:
    """The numbers of a document, those that follow from them, and the percentages of all."""

    def __init__(self, document: Json) -> None:
        numbers = {*values(document), *derived(document)}
        self._figures = sorted({sign * each for each in numbers for sign in (1, -1, 100, -100)})

    def has(self, shown: str) -> bool:
        """Whether a number is one of them, rounded as it is written."""
        text = shown.replace(",", "").replace("−", "-").lstrip("+")
        number = float(text)
        if number in SMALL:
            return True
        decimals = len(text.partition(".")[2].partition("e")[0])
        digits = len(text.replace(".", "").lstrip("-0"))
        if decimals == 0:
            return self._near(number, 1e-9) or (digits >= 3 and text in self._in_four_digits)
        return self._near(number, 0.5 * 10**-decimals + 1e-9)

    def _near(self, number: float, places: float) -> bool:
        first = bisect_left(self._figures, number - 2 * places)
        last = bisect_right(self._figures, number + 2 * places)
        return any(abs(figure - number) <= places for figure in self._figures[first:last])

    @cached_property
    def _in_four_digits(self) -> set[str]:
        return {f"{figure:.4g}" for figure in self._figures}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_number_shown_is_in_the_json(path: Path) -> None:
    document = json.loads(path.read_text())
    known = Known(document)
    for extension in FORMATS:
        file = path.with_suffix(f".{extension}")
        if not file.exists():
            continue
        text = file.read_text()
        match extension:
            case "html":
                text = " ".join(Shown(text).text)
            case "md":
                text = "\n".join(without_drawings(html.unescape(text).splitlines()))
            case "txt" | "all.txt":
                text = "\n".join(without_drawings(text.splitlines()))
            case "csv":
                text = "\n".join(field for row in csv.reader(io.StringIO(text)) for field in row)
        if path.parent.name == "code":
            text = "\n".join(line for line in text.splitlines() if "→" in line)
        wrong = {number for number in NUMBER.findall(text) if not known.has(number)}
        assert not wrong, (file.name, sorted(wrong))
