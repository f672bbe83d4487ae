"""What a list tells of a capture: at once what its binary says, a little later everything."""

from pathlib import Path

from msgspec.structs import replace

from irlens.artifacts import memo
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError, IrlensError
from irlens.model.report import Report, Severity
from irlens.session.workbench import Entry


def report_of(capture: Capture, *, sass: bool = False) -> Report:
    """Return a capture's report, from memory if it was made before.

    Args:
        capture: Any capture.
        sass: Whether to disassemble machine code too.

    Raises:
        ArtifactError: An artifact is broken or gone.
        ToolError: The disassembler is missing or failed.
    """

    def make() -> Report:
        from irlens.report import inspect

        return inspect(capture, sass=sass)

    return memo.report_of(capture, make, sass=sass)


def place_of(path: Path | None, root: Path | None) -> str:
    """Return where something lies, as a person would say it: below a root without that."""
    if path is None:
        return ""
    if root is not None and path != root and path.is_relative_to(root):
        return str(path.relative_to(root))
    return str(path)


def name_entry(key: str, capture: Capture, place: str) -> Entry:
    """Return an entry with what Triton's metadata says, which is read already."""
    return Entry(
        key=key,
        kernel=capture.kernel,
        target=capture.target,
        triton_version=_triton_version(capture),
        config=capture.config,
        place=place,
    )


def glance(key: str, capture: Capture, place: str) -> Entry:
    """Return an entry with what takes a millisecond or two to read: what its binary says.

    Args:
        key: The entry's.
        capture: Any capture; where its binary is broken the entry says so.
        place: Where it lies, for a person.
    """
    from irlens.analyze.ledger import Ledger
    from irlens.analyze.residency import find_gpu, find_occupancy
    from irlens.analyze.resources import read_demand

    ledger = Ledger()
    try:
        gpu = find_gpu(capture, ledger)
        demand = read_demand(capture, gpu, ledger)
        occupancy = find_occupancy(capture, gpu, demand, ledger, changes=False)
    except ArtifactError as error:
        return Entry(key=key, kernel=capture.kernel, problem=error.message, place=place)
    named = name_entry(key, capture, place)
    return replace(named, resources=demand.resources, occupancy=occupancy)


def entry_of(key: str, report: Report, place: str) -> Entry:
    """Return an entry with everything that a list shows."""
    findings: dict[Severity, int] = {}
    for finding in report.findings:
        findings[finding.severity] = findings.get(finding.severity, 0) + 1
    return Entry(
        key=key,
        kernel=report.kernel,
        target=report.target,
        triton_version=report.triton_version,
        config=report.config,
        resources=report.resources,
        occupancy=report.occupancy,
        stages=tuple(
            (pipeline.achieved_stages, pipeline.requested_stages)
            for pipeline in report.pipelines
            if pipeline.achieved_stages is not None
        ),
        findings=findings,
        place=place,
    )


def read_entry(key: str, capture: Capture, place: str) -> Entry:
    """Return an entry with everything that a list shows, or what is wrong with the capture."""
    try:
        return entry_of(key, report_of(capture), place)
    except IrlensError as error:
        return Entry(key=key, kernel=capture.kernel, problem=error.message, place=place)


def _triton_version(capture: Capture) -> str | None:
    if capture.manifest is not None:
        return capture.manifest.triton_version
    return capture.metadata.triton_version if capture.metadata is not None else None
