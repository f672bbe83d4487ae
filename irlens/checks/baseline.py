"""``irlens.baseline.json``: the exact figures of each kernel, and how to reproduce them.

The file is checked in and read in reviews: it is sorted, has one figure per line, and changes
only with the kernel, the compiler or the requested configuration.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from irlens.figures import FIGURES, derived
from irlens.model import files
from irlens.model.config import Config, Target
from irlens.model.errors import ArtifactError
from irlens.model.estimate import Bound, TimeEstimate
from irlens.model.pressure import Pressure
from irlens.model.report import (
    SCHEMA,
    LimitName,
    Multiprocessor,
    Occupancy,
    OccupancyLimits,
    Pipeline,
    PipelineKind,
    Ratio,
    Report,
    Verdict,
    blank_pipeline,
)
from irlens.model.resources import Resources
from irlens.model.source import SourceLocation

NAME = "irlens.baseline.json"
BASELINE_SCHEMA = 1
_RESTORE = "restore it, or remove it and recreate it with --update"

#: The fields of ``Resources`` that a baseline keeps: those that decide occupancy, and spills.
#: Sizes of code and constants change with every edit and decide nothing.
KEPT_RESOURCES = tuple(
    figure.path.removeprefix("resources.")
    for figure in FIGURES
    if figure.in_baseline and figure.path.startswith("resources.")
)


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to reproduce a capture.

    Attributes:
        kernel: KERNEL; a path is relative to the project's folder.
        target: The GPU; ``None`` for captures that exist already.
        settings: Constexprs and compile options, as written on the command line.
    """

    kernel: str
    target: str | None = None
    settings: dict[str, str] = {}
    args: dict[str, str] = {}


class KeptOccupancy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of ``Occupancy`` that a baseline keeps."""

    multiprocessor: Multiprocessor
    blocks_per_sm: int
    active_warps: int
    max_warps: int
    theoretical: Ratio
    launchable: bool
    limited_by: list[LimitName]


class KeptPipeline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of ``Pipeline`` that a baseline keeps; ``code`` is the loop's line of Python."""

    source: SourceLocation | None
    code: str | None
    kind: PipelineKind | None
    requested_stages: int | None
    achieved_stages: int | None
    verdict: Verdict
    product_source: SourceLocation | None = None


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kernel, compiled for one target in one configuration.

    Attributes:
        resources: The fields ``KEPT_RESOURCES`` that are known.
        occupancy: ``None`` where it is unknown.
        pipelines: One for each loop and mechanism; ``None`` where they are unknown.
        findings: Number of findings by code, notes excluded.
        config: Compile and launch parameters without the grid, which follows from them.
        unlooked: Codes of findings that could not be looked for, or not everywhere.
        time_us: Estimated time of the launch in microseconds, nine digits; ``None`` where it is
            unknown, and in files of older versions.
        writes: What the launch writes with, as ``summary.writes``; ``None`` where it is unknown,
            and in files of older versions.
    """

    kernel: str
    target: Target | None
    triton_version: str | None
    recipe: Recipe
    resources: dict[str, int]
    occupancy: KeptOccupancy | None
    pipelines: list[KeptPipeline] | None
    findings: dict[str, int]
    config: Config
    unlooked: list[str] = []
    time_us: float | None = None
    time_bound: Bound | None = None
    writes: str | None = None


class Baseline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file: the version of its layout, and its entries, sorted."""

    schema: int
    entries: list[Entry]


class _Versioned(msgspec.Struct, frozen=True):
    schema: int


def entry(report: Report, recipe: Recipe) -> Entry:
    """Return a report as an entry."""
    resources = {name: getattr(report.resources, name) for name in KEPT_RESOURCES}
    occupancy = report.occupancy
    return Entry(
        kernel=report.kernel,
        target=report.target,
        config=msgspec.structs.replace(report.config, grid=None),
        triton_version=report.triton_version,
        recipe=recipe,
        resources={name: value for name, value in resources.items() if value is not None},
        occupancy=(
            msgspec.convert(occupancy, KeptOccupancy, from_attributes=True) if occupancy else None
        ),
        pipelines=(
            None
            if "pipelines" in report.unknown
            else [_kept(pipeline, report.code) for pipeline in report.pipelines]
        ),
        findings=finding_counts(report),
        unlooked=sorted(
            path.removeprefix("findings.") for path in report.unknown if "findings." in path
        ),
        time_us=_rounded(report.time.estimate_us) if report.time is not None else None,
        time_bound=report.time.bound if report.time is not None else None,
        writes=derived.writes(report),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.9g}")


def finding_counts(report: Report) -> dict[str, int]:
    """Return the number of findings by code, notes excluded."""
    return dict(Counter(one.code for one in report.findings if one.severity != "note"))


def figures(kept: Entry) -> Report:
    """Return an entry as a report with its figures and nothing else, to compare it."""
    occupancy = kept.occupancy
    return Report(
        schema=SCHEMA,
        kernel=kept.kernel,
        target=kept.target,
        triton_version=kept.triton_version,
        config=kept.config,
        stages={},
        resources=msgspec.convert({**dict.fromkeys(KEPT_RESOURCES), **kept.resources}, Resources),
        occupancy=_occupancy(occupancy) if occupancy is not None else None,
        pipelines=[_pipeline(one) for one in kept.pipelines or ()],
        loads=[],
        memory=None,
        pressure=Pressure(),
        spills=None,
        mix=[],
        findings=[],
        run=None,
        time=_time(kept) if kept.time_us is not None else None,
        code={str(one.source): one.code for one in kept.pipelines or () if one.source and one.code},
        sources={},
        unknown={
            **{f"findings.{code}": "it was not looked for" for code in kept.unlooked},
            **({"pipelines": "they were unknown"} if kept.pipelines is None else {}),
        },
    )


def read(path: Path) -> Baseline | None:
    """Read a baseline; ``None`` if there is no such file.

    Raises:
        ArtifactError: The file is unreadable, damaged, or has another schema.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror}") from error
    try:
        version = msgspec.json.decode(content, type=_Versioned).schema
        if version != BASELINE_SCHEMA:
            raise ArtifactError(
                f"{path} has schema {version}, this irlens reads schema {BASELINE_SCHEMA}",
                hint="use the irlens that wrote it, or remove it and recreate it with --update",
            )
        baseline = msgspec.json.decode(content, type=Baseline)
    except msgspec.ValidationError as error:
        raise ArtifactError(f"{path}: not a baseline: {error}", hint=_RESTORE) from error
    except files.DECODE_ERRORS as error:
        raise _malformed(path, content, str(error)) from error
    _check_names(path, baseline)
    return baseline


def written(baseline: Baseline) -> bytes:
    """Return the file's content."""
    # In the order of the records' fields: an entry starts with its kernel.
    encoded = msgspec.json.encode(baseline, order="deterministic")
    return msgspec.json.format(encoded, indent=2) + b"\n"


def sort(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries in the file's order."""

    def key(one: Entry) -> tuple[object, ...]:
        requested = msgspec.json.encode((one.config, one.recipe), order="sorted")
        return one.kernel, one.target.arch if one.target else "", requested, repr(one.resources)

    return sorted(entries, key=key)


def _kept(pipeline: Pipeline, code: dict[str, str]) -> KeptPipeline:
    source, product = pipeline.source, pipeline.product_source
    return KeptPipeline(
        source=msgspec.structs.replace(source, column=0) if source else None,
        code=code.get(str(source)),
        kind=pipeline.kind,
        requested_stages=pipeline.requested_stages,
        achieved_stages=pipeline.achieved_stages,
        verdict=pipeline.verdict,
        product_source=msgspec.structs.replace(product, column=0) if product else None,
    )


def _time(kept: Entry) -> TimeEstimate:
    return TimeEstimate(estimate_us=kept.time_us, bound=kept.time_bound)


def _occupancy(kept: KeptOccupancy) -> Occupancy:
    return Occupancy(
        **msgspec.structs.asdict(kept),
        limits=OccupancyLimits(
            warps=None, blocks=None, registers=None, shared_memory=None, barriers=None
        ),
        next_step=[],
        refusals=[],
    )


def _pipeline(kept: KeptPipeline) -> Pipeline:
    blank = blank_pipeline(
        stage="",
        loop="",
        line=0,
        source=kept.source,
        kind=kept.kind,
        requested=kept.requested_stages,
        reason="",
    )
    return msgspec.structs.replace(
        blank,
        achieved_stages=kept.achieved_stages,
        verdict=kept.verdict,
        product_source=kept.product_source,
    )


def _check_names(path: Path, baseline: Baseline) -> None:
    for index, one in enumerate(baseline.entries):
        for name in one.resources:
            if name not in KEPT_RESOURCES:
                raise ArtifactError(
                    f"{path}: unknown figure '{name}' - at `$.entries[{index}].resources`",
                    hint=f"known: {', '.join(KEPT_RESOURCES)}",
                )


def _malformed(path: Path, content: bytes, message: str) -> ArtifactError:
    """Return an error that names the line where a file stops being JSON."""
    place = re.search(r"\(byte (\d+)\)", message)
    line = content.count(b"\n", 0, int(place[1])) + 1 if place else None
    conflict = re.search(rb"^<{7} ", content, re.MULTILINE)
    if conflict:
        line = content.count(b"\n", 0, conflict.start()) + 1
        message = "it has conflict markers"
    return ArtifactError(
        f"{path}{f':{line}' if line else ''}: not JSON: {message.partition(' (byte')[0]}",
        hint="keep either side, then run `irlens check --update`" if conflict else _RESTORE,
    )
