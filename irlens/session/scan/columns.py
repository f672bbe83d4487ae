"""Columns of a scan: figures of the registry, and what names a capture."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from irlens import figures
from irlens.model.capture import Capture
from irlens.model.errors import UnknownNameError
from irlens.model.scan import ScanValue
from irlens.session.scan.standings import IDENTITY, PLACE, identity_of, place_of

if TYPE_CHECKING:  # a scan that only repeats another loads no analysis
    from irlens.model.report import Report
    from irlens.report.inspection import Inspection

PATH, KERNEL, FINDINGS, SEVERITIES, DIGEST = "path", "kernel", "findings", "severities", "sha256"
TIME = "time"
OCCUPANCY, LAUNCHABLE = "occupancy.theoretical", "occupancy.launchable"
#: Columns that are no figures.
NAMING = (PATH, KERNEL, "target", "triton", FINDINGS, DIGEST)
#: Columns of formats that write rows alone, unless the user names others.
DEFAULT = (
    PATH, KERNEL, "target", "num_warps", "num_stages", TIME, "occupancy", "registers",
    "local_bytes", "shared_bytes", "stages_achieved", FINDINGS,
)  # fmt: skip
#: Those of formats with a summary: the paths of a cache, which are hashes, would leave no room.
SUMMED_UP = (
    KERNEL, "target", TIME, "occupancy", "registers", "local_bytes", "shared_bytes", FINDINGS,
)  # fmt: skip


class Column(msgspec.Struct, frozen=True):
    """A column: the name that selects it, and the key of its value."""

    name: str
    key: str


def find_column(name: str) -> Column:
    """Return the column that a name selects.

    Raises:
        UnknownNameError: There is none.
    """
    if name in NAMING:
        return Column(name, name)
    figure = figures.find(name)
    if figure is None:
        sweep = (each.sweep for each in figures.FIGURES if each.sweep)
        raise UnknownNameError("column", name, [*NAMING, *sweep, *figures.budget_names()])
    return Column(name, figure.path)


def sort_keys(names: Sequence[str]) -> tuple[tuple[Column, bool], ...]:
    """Return the columns to sort by, each descending or not: a minus sorts the largest first."""
    return tuple((find_column(name.removeprefix("-")), name.startswith("-")) for name in names)


def is_cheap(key: str) -> bool:
    """Whether a value needs the metadata and the binary alone, or the bytes of the stages."""
    if key in (KERNEL, "target", "triton", DIGEST, IDENTITY):
        return True
    figure = figures.get(key)
    return figure is not None and (figure.of_binary or figure.path.startswith("config."))


def read_values(
    capture: Capture, inspected: "Inspection | Report", keys: Sequence[str]
) -> Iterator[tuple[str, ScanValue]]:
    """Yield the value of each key; of an inspection, nothing else is computed.

    Raises:
        ArtifactError: An artifact that a value needs is broken or gone.
    """
    for key in keys:
        yield key, _value(capture, inspected, key)


def _value(capture: Capture, inspected: "Inspection | Report", key: str) -> ScanValue:
    if key == DIGEST:
        return digest(capture)
    if (read := _READ.get(key)) is not None:
        return read(inspected)
    figure = figures.get(key)
    if figure is None:
        raise UnknownNameError("column", key, NAMING)
    values = getattr(inspected, "values", lambda each: each.read_each(inspected))(figure)
    return list(values) if figure.scope != "report" else values[0]


#: Readers of the columns that show no figure, by key.
_READ: "Mapping[str, Callable[[Inspection | Report], ScanValue]]" = {
    KERNEL: lambda of: of.kernel,
    "target": lambda of: of.target.name if of.target is not None else None,
    "triton": lambda of: of.triton_version,
    FINDINGS: lambda of: [finding.code for finding in of.findings],
    SEVERITIES: lambda of: [finding.severity for finding in of.findings],
    IDENTITY: identity_of,
    PLACE: place_of,
}


def digest(capture: Capture) -> str:
    """Return the SHA-256, in hex, of a capture's artifacts and their names.

    Raises:
        ArtifactError: An artifact is gone or unreadable.
    """
    whole = hashlib.sha256(capture.kernel.encode())
    for name, stage in sorted(capture.stages.items()):
        content = stage.read()
        whole.update(f"{name} {len(content)} ".encode())
        whole.update(content)
    return whole.hexdigest()
