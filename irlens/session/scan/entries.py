"""Reads the entries of a scan: the values of each capture in a directory, or why it has none."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from irlens.artifacts import report_cache
from irlens.artifacts.entries import Broken, Listing, list_files, read_entry
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError
from irlens.model.scan import ScanValue
from irlens.session.reports import complete_report, needs_machine_code, report_of
from irlens.session.scan.columns import FINDINGS, read_values

#: The key of a full report in the cache of reports.
REPORT = "report"


class EntryRows(msgspec.Struct, frozen=True):
    """The values of each capture in a directory, and what cannot be read there."""

    rows: list[dict[str, ScanValue]]
    broken: list[Broken]


def read_rows(directory: Path, keys: Sequence[str], listing: Listing | None = None) -> EntryRows:
    """Return the values of the captures in one directory; nothing else is read or computed.

    Args:
        directory: An entry.
        keys: The keys of the values; with ``REPORT`` among them, full reports are made and cached.
        listing: The directory's files, if they are already listed.
    """
    rows: list[dict[str, ScanValue]] = []
    broken: list[Broken] = []
    try:
        listing = list_files(directory) if listing is None else listing
    except OSError as error:  # deleted meanwhile
        return EntryRows([], [Broken(directory, f"cannot be read: {error.strerror}")])
    for capture in read_entry(directory, listing):
        if isinstance(capture, Broken):
            broken.append(capture)
            continue
        try:
            rows.append(_row(capture, keys))
        except ArtifactError as error:
            broken.append(Broken(directory, error.message))
    return EntryRows(rows, broken)


def _row(capture: Capture, keys: Sequence[str]) -> dict[str, ScanValue]:
    if REPORT in keys:
        report = complete_report(capture)
        sass = report.pressure.sass is not None
        row: dict[str, ScanValue] = {REPORT: report_cache.key(capture, sass=sass)}
        others = [key for key in keys if key != REPORT]
        return row | dict(read_values(capture, report, others))
    from irlens.report.inspection import Inspection

    inspection = Inspection(capture)
    if FINDINGS in keys and needs_machine_code(inspection):
        return dict(read_values(capture, report_of(capture, sass=None), keys))
    return dict(read_values(capture, inspection, keys))
