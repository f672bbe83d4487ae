"""Scans: a row of figures for each capture in directories, read, selected, sorted, summed up."""

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from irlens.artifacts import processes, report_cache
from irlens.artifacts.entries import Broken, Listing
from irlens.artifacts.load import find_entries, load
from irlens.artifacts.scan_index import Row, ScanIndex, has_changed, signature
from irlens.figures.conditions import Condition
from irlens.model.capture import Capture, Disassembly
from irlens.model.errors import ArtifactError
from irlens.model.recording import ProgramRun
from irlens.model.report import Report
from irlens.model.scan import SCAN_SCHEMA, Scan, ScanRow, ScanValue
from irlens.session.programs import is_recording, program_runs
from irlens.session.reports import report_of
from irlens.session.scan import columns as known
from irlens.session.scan.columns import Column, is_cheap
from irlens.session.scan.entry_rows import REPORT, EntryRows, Wanted, read_rows
from irlens.session.scan.reader_pool import Reader
from irlens.session.scan.selection import keys_of, matches, parse_where, sort_rows
from irlens.session.scan.standings import KEYS as STANDING
from irlens.session.scan.standings import ranked_rows
from irlens.session.scan.summary import Summary

if TYPE_CHECKING:
    from irlens.sweeps.worker_pool import WorkerPool

#: Drawing progress takes longer than reading an entry from the index.
_SECONDS_BETWEEN = 0.1


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to scan.

    Attributes:
        sort: Columns to sort by, each descending or not; where empty, by rank where the rows are
            ranked, otherwise by path.
        sums_up: Whether a summary is wanted, which needs every capture's digest.
        jobs: Worker processes; ``None``: as many as there are cores, where there is work for them.
        cluster: The workers of a cluster, which read the entries instead.
    """

    roots: tuple[Path, ...]
    columns: tuple[Column, ...]
    where: tuple[Condition, ...] = ()
    sort: tuple[tuple[Column, bool], ...] = ()
    reports: bool = False
    sums_up: bool = False
    jobs: int | None = None
    cluster: "WorkerPool | None" = None

    @classmethod
    def parse(
        cls,
        directories: Iterable[Path],
        columns: Iterable[str],
        where: Sequence[str],
        sort: Sequence[str],
        **others: Any,
    ) -> "Request":
        """Return what is asked for by names and conditions as they are written.

        Args:
            sort: Names of columns; a minus sorts the largest first.
            **others: The other attributes.

        Raises:
            IrlensError: A name is unknown, or a condition says nothing of a capture.
        """
        return cls(
            roots=tuple(dict.fromkeys(directories)),
            columns=tuple(map(known.find_column, dict.fromkeys(columns))),
            where=tuple(parse_where(where)),
            sort=known.sort_keys(sort),
            **others,
        )

    @property
    def ranks(self) -> bool:
        """Whether the rows are ranked: where a summary shows their times."""
        return self.sums_up and any(column.name == known.TIME for column in self.columns)

    @property
    def workers(self) -> int:
        """The number of processes to read entries in."""
        return processes.processors() if self.jobs is None else self.jobs

    @property
    def parses(self) -> bool:
        """Whether text has to be parsed, and machine code perhaps to be disassembled."""
        return not all(map(is_cheap, self.keys))

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of all values that the scan needs, in a stable order."""
        keys = [known.KERNEL, *(column.key for column in self.columns)]
        keys += [column.key for column, _ in self.sort]
        keys += [key for condition in self.where for key in keys_of(condition)]
        if self.sums_up:
            keys += ["target", known.OCCUPANCY, known.LAUNCHABLE, known.DIGEST]
        keys += STANDING if self.ranks else ()
        keys += [known.SEVERITIES] if known.FINDINGS in keys else []
        keys += [REPORT] if self.reports else []
        return tuple(key for key in dict.fromkeys(keys) if key != known.PATH)


class _Found(msgspec.Struct, frozen=True):
    """An entry that is being read.

    Attributes:
        name: Its name in the index.
        signature: Its signature there; ``None`` if it must not be indexed.
        known: What the index has of its captures, if something is missing.
    """

    directory: Path
    name: str = ""
    signature: bytes | None = None
    known: list[dict[str, ScanValue]] = []
    is_read: bool = False


class _Progress:
    """Counts the directories directly below the roots: entries come by path."""

    def __init__(self, roots: Sequence[Path], show: Callable[[int, int], None]) -> None:
        self._show = show
        self._total = sum(map(_count_directories, roots))
        self._reached: Path | None = None
        self._done = 0
        self._shown = 0.0

    def reach(self, root: Path, directory: Path) -> None:
        """Note that an entry below a root is read."""
        top = root.joinpath(*directory.relative_to(root).parts[:1])
        if top in (self._reached, root):
            return
        self._reached = top
        self._done = min(self._done + 1, self._total)
        if self._done == self._total or time.monotonic() - self._shown > _SECONDS_BETWEEN:
            self._shown = time.monotonic()
            self._show(self._done, self._total)


def _count_directories(root: Path) -> int:
    if root.is_file():  # a trace
        return 0
    with os.scandir(root) as children:
        return sum(child.is_dir(follow_symlinks=False) for child in children)


class Scanner:
    """One pass over the entries of a request.

    Args:
        progress: Receives how many of the directories directly below the roots are done, and their
            number.

    Attributes:
        excluded: Captures that the conditions excluded so far.
        skipped: Entries that could not be read so far.
    """

    def __init__(
        self,
        request: Request,
        report_broken: Callable[[Broken], None],
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._request = request
        self._progress = None if progress is None else _Progress(request.roots, progress)
        self._report_broken = report_broken
        self.captures = 0
        self.excluded = 0
        self.skipped = 0

    def rows(self) -> Generator[dict[str, ScanValue], None, None]:
        """Yield the values of each matching capture, by key; as they are read unless sorted.

        Raises:
            ArtifactError: While iterating: a directory cannot be listed, or holds no entry.
        """
        rows: Iterator[dict[str, ScanValue]] = self._matching()
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

        Raises:
            ArtifactError: As ``rows``.
        """
        summary = Summary()
        rows = []
        ranked = self._request.ranks
        values: list[dict[str, ScanValue]] = []
        for row in self.rows():
            summary.add(row)
            rows.append(self._row(row))
            values += [row] if ranked else []
        programs = {root: program_runs(root) for root in filter(is_recording, self._request.roots)}
        if ranked:
            rows = self._ranked(rows, values, programs)
        return Scan(
            schema=SCAN_SCHEMA,
            columns=[column.name for column in self._request.columns],
            where=list(where),
            rows=rows,
            programs=[run for runs in programs.values() for run in runs],
            sorted_by=[f"{'-' * down}{column.name}" for column, down in self._request.sort],
            summary=summary.finish(excluded=self.excluded, skipped=self.skipped),
        )

    def _row(self, values: dict[str, ScanValue]) -> ScanRow:
        return ScanRow(
            path=str(values[known.PATH]),
            kernel=str(values[known.KERNEL]),
            figures={each.name: values[each.key] for each in self._request.columns},
        )

    def _ranked(
        self,
        rows: list[ScanRow],
        values: list[dict[str, ScanValue]],
        programs: dict[Path, list[ProgramRun]],
    ) -> list[ScanRow]:
        """Return the rows with their ranks, in the order of these unless another is requested."""
        recorded: dict[str, int | None] = {}
        for root, runs in programs.items():
            recorded |= {str(root / name): n for run in runs for name, n in run.launched.items()}
        launches = [recorded.get(row.path) for row in rows]
        found = ranked_rows(rows, values, launches)
        if self._request.sort:
            found.sort(key=lambda each: each[0])
        return [row for _, row in found]

    def _matching(self) -> Iterator[dict[str, ScanValue]]:
        for root in self._request.roots:
            with closing(self._entries(root)) as entries:
                for directory, entry in entries:
                    if self._progress is not None:
                        self._progress.reach(root, directory)
                    for broken in entry.broken:
                        self._skip(broken)
                    for values in entry.rows:
                        row = {known.PATH: str(directory), **values}
                        if all(matches(condition, row) for condition in self._request.where):
                            yield row
                        else:
                            self.excluded += 1

    def _entries(self, root: Path) -> Generator[tuple[Path, EntryRows], None, None]:
        """Yield the rows of each entry, by path; the index is saved, however it ends."""
        index, complete = ScanIndex(root, Row), False
        request = self._request
        entries = find_entries(root, links=True)
        parsed = list(entries) if request.parses else []
        with Reader[_Found](request.workers, request.cluster, len(parsed)) as reader:
            try:
                for found, read in self._read(parsed or entries, index, reader):
                    entry = self._merged(found, read)
                    lasts = entry.is_lasting and not entry.broken
                    if found.signature is not None and found.is_read and lasts:
                        index.add(found.name, found.signature, entry.rows)
                    yield found.directory, entry
                complete = True
            finally:
                index.save(complete=complete)

    def _read(
        self,
        entries: Iterable[tuple[Path, Listing] | Broken],
        index: ScanIndex[Row],
        reader: "Reader[_Found]",
    ) -> Iterator[tuple["_Found", EntryRows]]:
        keys = self._request.keys
        for found in entries:
            if isinstance(found, Broken):
                yield from reader.pass_on(_Found(found.path), EntryRows([], [found]))
                continue
            directory, listing = found
            digest, name = signature(directory, listing), index.name_of(directory)
            rows = index.rows(name, digest) if digest is not None else []
            missing = [key for key in keys if not rows or any(key not in row for row in rows)]
            if missing:
                tag = _Found(directory, name, digest, rows, is_read=True)
                yield from reader.read(tag, directory, listing, missing)
            else:
                tag = _Found(directory, name, digest)
                yield from reader.pass_on(tag, EntryRows(rows, []))
        yield from reader.finish()

    def _merged(self, found: _Found, read: EntryRows) -> EntryRows:
        """Return what was read with what was known before, unless the entry changed meanwhile."""
        if not found.known:
            return read
        directory = found.directory
        if len(read.rows) == len(found.known) and not has_changed(directory, found.signature):
            rows = [old | new for old, new in zip(found.known, read.rows, strict=True)]
            return EntryRows(rows, read.broken, is_lasting=read.is_lasting)
        return read_rows([Wanted(directory, self._request.keys)])[0]

    def _skip(self, broken: Broken) -> None:
        self.skipped += 1
        self._report_broken(broken)

    def _report_again(self, row: dict[str, ScanValue]) -> Report | None:
        """Return a report that the cache does not keep, such as one that cannot be written."""
        directory = Path(str(row[known.PATH]))
        try:
            captures = [each for each in load(directory) if isinstance(each, Capture)]
            for capture in captures:
                for disassembly in (Disassembly.SKIP, Disassembly.REQUIRE):
                    if report_cache.key_of(capture.digest, disassembly) == row[REPORT]:
                        return report_of(capture, disassembly)
        except ArtifactError as error:
            self._skip(Broken(directory, error.message))
            return None
        self._skip(Broken(directory, "changed during the scan"))
        return None
