"""Runs a scan: finds entries, reads their rows, selects, sorts and sums up."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from irlens.artifacts import report_cache
from irlens.artifacts.entries import Broken
from irlens.artifacts.load import load
from irlens.check.conditions import Condition
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError
from irlens.model.report import Report
from irlens.model.scan import SCAN_SCHEMA, Scan, ScanRow, ScanValue
from irlens.session.reports import report_of
from irlens.session.scan import columns as known
from irlens.session.scan.columns import Column
from irlens.session.scan.entries import REPORT, EntryRows, find_entries, read_rows
from irlens.session.scan.selection import keys_of, matches, sort_rows
from irlens.session.scan.summary import Summary


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to scan.

    Attributes:
        roots: Directories.
        columns: The columns to show.
        where: Conditions that a row has to meet.
        sort: Columns to sort by, each descending or not; by path where empty.
        reports: Whether to make full reports.
        sums_up: Whether a summary is wanted, which needs every capture's digest.
    """

    roots: tuple[Path, ...]
    columns: tuple[Column, ...]
    where: tuple[Condition, ...] = ()
    sort: tuple[tuple[Column, bool], ...] = ()
    reports: bool = False
    sums_up: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all values that the scan needs, in a stable order."""
        keys = [known.KERNEL, *(column.key for column in self.columns)]
        keys += [column.key for column, _ in self.sort]
        keys += [key for condition in self.where for key in keys_of(condition)]
        if self.sums_up:
            keys += ["target", known.OCCUPANCY, known.LAUNCHABLE, known.DIGEST]
            keys += [known.SEVERITIES] if known.FINDINGS in keys else []
        keys += [REPORT] if self.reports else []
        return tuple(key for key in dict.fromkeys(keys) if key != known.PATH)


class Scanner:
    """One pass over the entries of a request.

    Args:
        request: What to scan.
        report_broken: Receives each entry that is skipped.

    Attributes:
        captures: Rows that were shown so far.
        excluded: Captures that the conditions excluded so far.
        skipped: Entries that could not be read so far.
    """

    def __init__(self, request: Request, report_broken: Callable[[Broken], None]) -> None:
        self._request = request
        self._report_broken = report_broken
        self.captures = 0
        self.excluded = 0
        self.skipped = 0

    def rows(self) -> Iterator[dict[str, ScanValue]]:
        """Yield the values of each matching capture, by key; as they are read unless sorted.

        Raises:
            ArtifactError: While iterating: a directory cannot be listed, or holds no entry.
        """
        rows = self._matching()
        if self._request.sort:
            by = [(column.key, descending) for column, descending in self._request.sort]
            rows = iter(sort_rows(list(rows), by))
        for row in rows:
            self.captures += 1
            yield row

    def reports(self) -> Iterator[tuple[str, Report]]:
        """Yield the path and the full report of each matching capture, one at a time.

        Raises:
            ArtifactError: As ``rows``.
        """
        for row in self.rows():
            report = report_cache.recall(str(row[REPORT])) or self._report_again(row)
            if report is not None:
                yield str(row[known.PATH]), report

    def document(self, where: Sequence[str]) -> Scan:
        """Return all rows and their summary.

        Args:
            where: The conditions as the user wrote them.

        Raises:
            ArtifactError: As ``rows``.
        """
        summary = Summary()
        rows = []
        for values in self.rows():
            summary.add(values)
            rows.append(
                ScanRow(
                    path=str(values[known.PATH]),
                    kernel=str(values[known.KERNEL]),
                    figures={each.name: values[each.key] for each in self._request.columns},
                )
            )
        return Scan(
            schema=SCAN_SCHEMA,
            columns=[column.name for column in self._request.columns],
            where=list(where),
            rows=rows,
            summary=summary.finish(excluded=self.excluded, skipped=self.skipped),
        )

    def _matching(self) -> Iterator[dict[str, ScanValue]]:
        for directory, entry in self._entries():
            for broken in entry.broken:
                self._skip(broken)
            for values in entry.rows:
                row = {known.PATH: str(directory), **values}
                if all(matches(condition, row) for condition in self._request.where):
                    yield row
                else:
                    self.excluded += 1

    def _entries(self) -> Iterator[tuple[Path, EntryRows]]:
        keys = self._request.keys
        for root in self._request.roots:
            for found in find_entries(root):
                if isinstance(found, Broken):
                    self._skip(found)
                else:
                    directory, listing = found
                    yield directory, read_rows(directory, keys, listing)

    def _skip(self, broken: Broken) -> None:
        self.skipped += 1
        self._report_broken(broken)

    def _report_again(self, row: dict[str, ScanValue]) -> Report | None:
        """Return a report that the cache does not keep, such as one that cannot be written."""
        directory = Path(str(row[known.PATH]))
        try:
            captures = [each for each in load(directory) if isinstance(each, Capture)]
            for capture in captures:
                if report_cache.key(capture, sass=False) == row[REPORT]:
                    return report_of(capture)
        except ArtifactError as error:
            self._skip(Broken(directory, error.message))
            return None
        self._skip(Broken(directory, "changed during the scan"))
        return None
