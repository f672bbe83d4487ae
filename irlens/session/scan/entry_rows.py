"""Reads the entries of a scan: the values of each capture in a directory, or why it has none."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts import report_cache
from irlens.artifacts.entries import Broken, Listing, list_files
from irlens.artifacts.load import load_entry
from irlens.artifacts.tools import UnansweredError
from irlens.model.capture import Capture, Disassembly
from irlens.model.errors import ArtifactError
from irlens.model.scan import ScanValue
from irlens.session.reports import complete_report, needs_machine_code, report_of
from irlens.session.scan.columns import FINDINGS, read_values

if TYPE_CHECKING:
    from irlens.artifacts.code_listings import CodeListings

#: The key of a full report in the cache of reports.
REPORT = "report"


class EntryRows(msgspec.Struct, frozen=True):
    """The values of each capture in a directory, and what cannot be read there.

    Attributes:
        is_lasting: Whether another time the values are the same: all tools answered.
    """

    rows: list[dict[str, ScanValue]]
    broken: list[Broken]
    is_lasting: bool = True


class Wanted(msgspec.Struct, frozen=True):
    """An entry to read, and the values of its captures that are needed.

    Attributes:
        keys: The keys of the values; with ``REPORT`` among them, full reports are made and cached.
        listing: Its files, if they are already listed.
    """

    directory: Path
    keys: tuple[str, ...]
    listing: Listing | None = None


def read_rows(entries: Sequence[Wanted]) -> list[EntryRows]:
    """Return the values of the captures of each entry; nothing else is read or computed.

    The machine code of all of them is disassembled together where the values need any.
    """
    from irlens.artifacts.code_listings import CodeListings

    captures = [_captures(each) for each in entries]
    listings = CodeListings(c for some in captures for c in some if isinstance(c, Capture))
    return [_read(each, some, listings) for each, some in zip(entries, captures, strict=True)]


def _captures(entry: Wanted) -> list[Capture | Broken]:
    try:
        files = list_files(entry.directory) if entry.listing is None else entry.listing
    except OSError as error:  # deleted meanwhile
        return [Broken(entry.directory, f"cannot be read: {error.strerror}")]
    if not files.holds_entry:  # the directory is still there
        return [Broken(entry.directory, "its files were deleted during the scan")]
    return list(load_entry(entry.directory, files))


def _read(
    entry: Wanted, captures: Sequence[Capture | Broken], listings: "CodeListings"
) -> EntryRows:
    rows: list[dict[str, ScanValue]] = []
    broken: list[Broken] = []
    before = UnansweredError.count
    for capture in captures:
        if isinstance(capture, Broken):
            broken.append(capture)
            continue
        try:
            row = _row(capture, entry.keys, listings)
            capture.check_unchanged()
            rows.append(row)
        except ArtifactError as error:
            broken.append(Broken(entry.directory, error.message))
    return EntryRows(rows, broken, is_lasting=UnansweredError.count == before)


def _row(capture: Capture, keys: Sequence[str], listings: "CodeListings") -> dict[str, ScanValue]:
    if REPORT in keys:
        report = complete_report(CaptureCode(capture, listings))
        is_complete = report.pressure.sass is not None
        disassembly = Disassembly(is_complete)
        row: dict[str, ScanValue] = {REPORT: report_cache.key_of(capture.digest, disassembly)}
        others = [key for key in keys if key != REPORT]
        return row | dict(read_values(capture, report, others))
    from irlens.report.inspection import Brief

    code = CaptureCode(capture, listings)
    inspection = Brief(code)
    if FINDINGS in keys and needs_machine_code(inspection):
        return dict(read_values(capture, report_of(code, Disassembly.TRY), keys))
    return dict(read_values(capture, inspection, keys))
