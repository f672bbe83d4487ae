"""``irlens.baseline.json``: the exact figures of each kernel, and how to make them again.

The file is checked in and read in reviews: it is sorted, holds one figure a line, and nothing in
it changes unless the kernel, the compiler or what was asked for did.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from irlens.model.config import Config, Target
from irlens.model.errors import ArtifactError
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
)
from irlens.model.resources import Resources
from irlens.model.source import SourceLocation

NAME = "irlens.baseline.json"
BASELINE_SCHEMA = 1
_RESTORE = "restore it, or remove it and make it anew with --update"

#: Those fields of ``Resources`` that a baseline keeps: what decides occupancy, and what spills.
#: Sizes of code and of constants move with every edit and decide nothing.
KEPT_RESOURCES = (
    "registers",
    "shared_dynamic_bytes",
    "shared_static_bytes",
    "local_bytes",
    "stack_bytes",
    "vgprs",
    "agprs",
    "sgprs",
    "vgpr_spills",
    "sgpr_spills",
)


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to make a capture again.

    Attributes:
        kernel: KERNEL; a path is relative to the project's folder.
        target: The GPU; ``None`` for what is compiled already.
        settings: Constexprs and compile options, as written on the command line.
        args: Run-time arguments and sizes, as written.
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


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kernel, compiled for one target in one configuration.

    Attributes:
        kernel: The kernel function's name.
        target: What it was compiled for.
        triton_version: The compiler's version.
        recipe: How to make it again.
        resources: The fields ``KEPT_RESOURCES``, as far as they are known.
        occupancy: ``None`` where it is not known.
        pipelines: One for each loop and mechanism; ``None`` where they are not known.
        findings: Findings by code, notes excluded.
        config: Compile and launch parameters, the grid excepted: it follows from them.
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


class Baseline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file: its layout's version, and its entries, sorted."""

    schema: int
    entries: list[Entry]


class _Versioned(msgspec.Struct, frozen=True):
    schema: int


def entry(report: Report, recipe: Recipe) -> Entry:
    """Return what a baseline keeps of a report."""
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
    )


def finding_counts(report: Report) -> dict[str, int]:
    """Return how many findings of each code there are, notes excluded."""
    return dict(Counter(one.code for one in report.findings if one.severity != "note"))


def figures(kept: Entry) -> Report:
    """Return an entry as a report that holds its figures and nothing else, to compare it."""
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
        code={str(one.source): one.code for one in kept.pipelines or () if one.source and one.code},
        sources={},
        unknown={},
    )


def read(path: Path) -> Baseline | None:
    """Return the baseline in a file; ``None`` if there is no such file.

    Raises:
        ArtifactError: It cannot be read, is damaged, or has another schema.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror}") from error
    try:
        found = msgspec.json.decode(content, type=_Versioned).schema
        if found != BASELINE_SCHEMA:
            raise ArtifactError(
                f"{path} has schema {found}, this irlens reads schema {BASELINE_SCHEMA}",
                hint="use the irlens that wrote it, or remove it and make it anew with --update",
            )
        baseline = msgspec.json.decode(content, type=Baseline)
    except msgspec.ValidationError as error:
        raise ArtifactError(f"{path}: not a baseline: {error}", hint=_RESTORE) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise _malformed(path, content, str(error)) from error
    _check_names(path, baseline)
    return baseline


def written(baseline: Baseline) -> bytes:
    """Return the file's content."""
    # Fields in the order of the records: what an entry is comes first.
    encoded = msgspec.json.encode(baseline, order="deterministic")
    return msgspec.json.format(encoded, indent=2) + b"\n"


def sort(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries in the order of the file."""

    def key(one: Entry) -> tuple[object, ...]:
        asked = msgspec.json.encode((one.config, one.recipe), order="sorted")
        return one.kernel, one.target.arch if one.target else "", asked, repr(one.resources)

    return sorted(entries, key=key)


def _kept(pipeline: Pipeline, code: dict[str, str]) -> KeptPipeline:
    source = pipeline.source
    return KeptPipeline(
        source=msgspec.structs.replace(source, column=0) if source else None,
        code=code.get(str(source)),
        kind=pipeline.kind,
        requested_stages=pipeline.requested_stages,
        achieved_stages=pipeline.achieved_stages,
        verdict=pipeline.verdict,
    )


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
    return Pipeline(
        stage="",
        loop="",
        line=0,
        source=kept.source,
        kind=kept.kind,
        requested_stages=kept.requested_stages,
        achieved_stages=kept.achieved_stages,
        prefetch_iterations=None,
        groups_before_loop=None,
        groups_per_iteration=None,
        outstanding_at_wait=None,
        outstanding_after_wait=None,
        groups_during_compute=None,
        copies_per_iteration=None,
        bytes_per_copy=None,
        bytes_per_iteration=None,
        bytes_in_flight=None,
        verdict=kept.verdict,
        reason="",
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
    """Say in which line a file stops being JSON."""
    place = re.search(r"\(byte (\d+)\)", message)
    line = content.count(b"\n", 0, int(place[1])) + 1 if place else None
    conflict = re.search(rb"^<{7} ", content, re.MULTILINE)
    if conflict:
        line = content.count(b"\n", 0, conflict.start()) + 1
        message = "a merge left both sides in it"
    return ArtifactError(
        f"{path}{f':{line}' if line else ''}: not JSON: {message.partition(' (byte')[0]}",
        hint="take either side of it, then `irlens check --update`" if conflict else _RESTORE,
    )
