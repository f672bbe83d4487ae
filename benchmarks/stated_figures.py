"""Compare a report with what the files of its capture state, read without irlens's readers.

``mutated_inputs.py`` asks after each damage. Two files that state different values need a finding;
a figure equals what the files state of it; and one whose source is undamaged has the value that it
has in the undamaged capture. Unknown is always right.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.facts import Provenance
from irlens.model.capture import Capture
from irlens.model.report import Report
from irlens.report.agreement import find_agreement
from irlens.report.inspection import Inspection

_NAMES = {
    "ttir": re.compile(r"^  tt\.func public @([\w$.]+)\(", re.MULTILINE),
    "ttgir": re.compile(r"^  tt\.func public @([\w$.]+)\(", re.MULTILINE),
    "llir": re.compile(r"^define (?:ptx|amdgpu)_kernel [^@\n]*@([\w$.]+)\(", re.MULTILINE),
    "ptx": re.compile(r"^\.visible \.entry ([\w$]+)\(", re.MULTILINE),
    "amdgcn": re.compile(r"^\t\.amdhsa_kernel ([\w$.]+)$", re.MULTILINE),
}
_ARCHITECTURES = {
    "ttgir": re.compile(r'^module attributes .*ttg\.target = "(?:cuda|hip):(\w+)"', re.MULTILINE),
    "ptx": re.compile(r"^\.target sm_(\d+)", re.MULTILINE),
    "amdgcn": re.compile(r'^\t\.amdgcn_target "[\w.-]*-(gfx\w+)"', re.MULTILINE),
}
_MOST_WARPS = (1 << 31) - 1
_THREADS = {
    "ptx": re.compile(r"^\.reqntid (\d{1,6})$", re.MULTILINE),
    "amdgcn": re.compile(r"^    \.max_flat_workgroup_size: (\d{1,6})$", re.MULTILINE),
}


def read_stated(folder: Path) -> dict[str, dict[str, str]]:
    """Return what each file of a capture states, by topic: values by stage."""
    stated: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted(folder.iterdir()):
        stage = path.suffix[1:]
        if path.suffix == ".json" and path.name != "irlens.json":
            for topic, value in _of_metadata(path.read_bytes()):
                stated[topic][stage] = value
            continue
        text = path.read_bytes()[:1_000_000].decode("utf-8", "replace") if path.is_file() else ""
        for topic, patterns in (("kernel", _NAMES), ("architecture", _ARCHITECTURES),
                                ("threads", _THREADS)):  # fmt: skip
            found = set(patterns[stage].findall(text)) if stage in patterns else ()
            if len(found) == 1:
                stated[topic][stage] = found.pop().removesuffix("a")
    return stated


def _of_metadata(content: bytes) -> Iterator[tuple[str, str]]:
    try:
        found = json.loads(content)
        target = found["target"]
        if target["backend"] not in ("cuda", "hip"):  # of irlens.json, or damaged
            return
        yield "architecture", str(target["arch"])
        yield "kernel", found["name"]
        if found["num_warps"] in range(_MOST_WARPS + 1):  # more, or a fraction, is not read
            yield "threads", str(found["num_warps"] * target["warp_size"])
        yield "shared memory", str(found["shared"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return


def find_wrong(capture: Capture, folder: Path, original: Report, undamaged: Path) -> Iterator[str]:
    """Yield what is reported that the capture's files, or the undamaged capture, contradict.

    Raises:
        IrlensError: The capture has no report.
    """
    stated, found = read_stated(folder), Inspection(capture)
    if not find_agreement(CaptureCode(capture), Provenance()).contradictions:
        for topic in ("architecture", "kernel", "threads"):
            for (one, value), (other, second) in combinations(stated[topic].items(), 2):
                if value != second:
                    yield f"{topic}: {one} says {value}, {other} {second}, and no finding does"
    for topic, read in _FIGURES.items():
        reported, others = read(found), set(stated[topic].values())
        if reported is not None and others and reported not in others:
            yield f"{topic}: reported is {reported}, the files say {sorted(others)}"
    yield from _changed_sources(found, folder, original, undamaged)
    yield from _impossible(found)


def _architecture(report: Inspection) -> str | None:
    return report.target.arch.removeprefix("sm_") if report.target else None


def _shared(report: Inspection) -> str | None:
    size = report.resources.shared_dynamic_bytes
    return None if size is None else str(size)


_FIGURES: dict[str, Callable[[Inspection], str | None]] = {
    "architecture": _architecture,
    "shared memory": _shared,
}


def _changed_sources(
    report: Inspection, folder: Path, original: Report, undamaged: Path
) -> Iterator[str]:
    """Yield figures that changed although the file that they come from did not."""
    for path, source in original.sources.items():
        room, _, field = path.partition(".")
        if room != "resources" or "." in field:
            continue
        value, before = (getattr(each.resources, field, None) for each in (report, original))
        stage = source.partition(",")[0].replace("Triton's metadata", "json")
        files = [each for each in undamaged.glob(f"*.{stage}") if each.name != "irlens.json"]
        same = files and all(
            (folder / each.name).exists() and (folder / each.name).read_bytes() == each.read_bytes()
            for each in files
        )
        if same and value is not None and value != before:
            yield f"{path} of {source}, which is undamaged, was {before} and is {value}"


def _impossible(report: Inspection) -> Iterator[str]:
    """Yield an occupancy that exceeds what an SM has."""
    occupancy, resources = report.occupancy, report.resources
    if occupancy is None:
        return
    if occupancy.active_warps > occupancy.max_warps:
        yield f"{occupancy.active_warps} of {occupancy.max_warps} warps"
    if resources.registers is None and occupancy.limits.registers is not None:
        yield "a limit by registers, whose number is unknown"
