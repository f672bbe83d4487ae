"""The records of a scan: many captures, a row of figures each.

``None`` is always "unknown" or "does not apply".
"""

from typing import Annotated, TypeAlias

import msgspec

from irlens.model.comparison import Value
from irlens.model.config import Target
from irlens.model.estimate import Bound, Standing
from irlens.model.recording import ProgramRun
from irlens.model.report import Severity
from irlens.model.traffic import Roofline

SCAN_SCHEMA = 1

#: A column's value; of a figure that each loop has, the values of all loops.
ScanValue: TypeAlias = Value | list[Value]


class RooflinePlace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the launch of a capture is on a roofline.

    Attributes:
        target: Its GPU.
        flops: Its floating-point operations.
        roofline: The lower bounds of its time.
        compute_flops: The operations that make the compute floor; ``None`` if unknown.
        low_us: Where the range of its estimated time begins.
        high_us: Where it ends.
    """

    target: Target
    flops: int
    roofline: Roofline
    compute_flops: int | None = None
    low_us: float | None = None
    high_us: float | None = None


class ScanRow(msgspec.Struct, frozen=True, kw_only=True):
    """One capture.

    Attributes:
        path: Its directory, as `irlens inspect` takes it.
        kernel: The kernel's name.
        figures: The selected columns, by the names that select them.
        label: What sets it apart from the other rows of its kernel and GPU: "num_warps=4 BLOCK=64";
            empty if nothing does, or if times are not among the columns, which all that follows
            needs.
        problem: Equal for rows whose times compare: the same kernel, GPU and scalar arguments.
        standing: Its place among the rows of its problem.
        bound: What bounds its time.
        untimed: Why its time is unknown; empty if it is known.
        launches: How often the recorded program launches it: never, if an autotuner only tried it.
        place: Where its launch is on a roofline; ``None`` if that is unknown.
    """

    path: str
    kernel: str
    figures: dict[str, ScanValue]
    label: str = ""
    problem: int | None = None
    standing: Standing | None = None
    bound: Bound | None = None
    untimed: str = ""
    launches: int | None = None
    place: RooflinePlace | None = None


class OccupancyBin(msgspec.Struct, frozen=True, kw_only=True):
    """Captures whose occupancy is above ``above`` and at most ``up_to``, both 0..1."""

    above: float
    up_to: float
    captures: int


class FindingCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often a finding occurs.

    Attributes:
        code: "IRL201".
        severity: Its severity.
        findings: Findings of this code.
        captures: Captures that have it.
    """

    code: str
    severity: Severity
    findings: int
    captures: int


class RankedCapture(msgspec.Struct, frozen=True, kw_only=True):
    """A capture with findings: how many of each severity."""

    path: str
    kernel: str
    findings: dict[Severity, int]


class Duplicates(msgspec.Struct, frozen=True, kw_only=True):
    """Captures of one kernel whose artifacts are equal, byte by byte.

    Attributes:
        kernel: The kernel's name.
        sha256: SHA-256 of the artifacts, in hex.
        paths: Their directories.
    """

    kernel: str
    sha256: str
    paths: Annotated[list[str], msgspec.Meta(min_length=2)]


class ScanSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What the captures of a scan have in common and where to look first.

    Attributes:
        captures: Captures that match; one row each.
        kernels: Different names of kernels among them.
        targets: Captures by target, the most frequent first.
        excluded: Captures that ``--where`` excludes.
        skipped: Entries that cannot be read.
        occupancy: Distribution of the occupancy, in tenths; empty bins are left out.
        cannot_launch: Captures that do not fit on their GPU.
        occupancy_unknown: Captures of unknown occupancy.
        findings: By code, the most severe first; ``None`` where the scan did not ask for findings.
        worst: Captures with the most severe and the most findings, at most ten.
        duplicates: Groups of captures with equal artifacts, the largest first.
    """

    captures: int
    kernels: int
    targets: dict[str, int]
    excluded: int
    skipped: int
    occupancy: list[OccupancyBin]
    cannot_launch: int
    occupancy_unknown: int
    findings: list[FindingCount] | None
    worst: list[RankedCapture]
    duplicates: list[Duplicates]


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """All captures in one or several directories.

    Attributes:
        schema: Version of this interface.
        columns: Names of the selected columns, in order.
        where: Conditions that every row meets.
        rows: In the requested order; otherwise the fastest row of each problem first, and the
            problem that takes longest before all others; by path where times are not among the
            columns.
        summary: Of the rows.
        programs: What recorded programs launched, where a directory is a recording.
        sorted_by: Columns that the rows are sorted by, a minus where the largest comes first, if
            an order was requested.
    """

    schema: int
    columns: list[str]
    where: list[str]
    rows: list[ScanRow]
    summary: ScanSummary
    programs: list[ProgramRun] = []
    sorted_by: list[str] = []
