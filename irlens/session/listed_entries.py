"""Entries of the TUI's list: their keys, their content and how they are read in the background."""

import threading
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace

from irlens.artifacts import processes, store
from irlens.artifacts.entries import Broken
from irlens.figures import COLUMNS
from irlens.model import ranking
from irlens.model.capture import Capture, ReportExtent
from irlens.model.config import identity_of
from irlens.model.errors import ArtifactError, IrlensError
from irlens.model.inspected import Inspected
from irlens.model.report import Report, Severity
from irlens.session.entry_index import Indexed, key_of_capture
from irlens.session.exchange import Entry, is_early
from irlens.session.reports import codes_of, complete_report, read_brief, recall_complete

# The first screen appears before any entry is read, and sooner without these.
if TYPE_CHECKING:
    from concurrent.futures import Executor

#: The key of an entry, its capture and the path to display.
Unread: TypeAlias = tuple[str, Capture, str]

#: Up to this many captures are read in this process: starting a worker takes as long.
_FEW = 12
_MAX_WORKERS = 4
#: Captures in a row without a remembered report, after which none is looked for.
_MOST_MISSES = 16
#: Captures per task of a worker: few at first, for early results, and more later, since one run of
#: nvdisasm lists the machine code of all of them, and starts longer than it works.
_BATCH, _MOST = 4, 32


class Uncompiled(msgspec.Struct, frozen=True):
    """A kernel that can be compiled by its name."""

    name: str


#: What an entry stands for.
Item: TypeAlias = Capture | Indexed | Broken | Report | Uncompiled


def key_of(item: Item, index: int) -> str:
    """Return the key of an entry.

    Args:
        index: Index in the listing, for items without a name of their own.
    """
    if isinstance(item, Broken):
        return str(item.path)
    if isinstance(item, Uncompiled):
        return item.name
    if isinstance(item, Report):
        return f"report {index}"
    return item.entry.key if isinstance(item, Indexed) else key_of_capture(item, index)


def display_path(path: Path | None, root: Path | None) -> str:
    """Return a path to display: relative to a root if it lies below."""
    if path is None:
        return ""
    if root is not None and path != root and path.is_relative_to(root):
        return str(path.relative_to(root))
    return str(path)


def entry_of_name(item: Uncompiled) -> Entry:
    """Return the entry of a kernel that is not compiled yet; the name may say its file."""
    path, _, function = item.name.rpartition(":")
    if path.endswith(".py"):
        return Entry(key=item.name, kernel=function, place=path)
    return Entry(key=item.name, kernel=item.name)


def entry_of_metadata(key: str, capture: Capture, place: str) -> Entry:
    """Return an entry with the content of Triton's metadata, which is already read."""
    return Entry(
        key=key,
        kernel=capture.kernel,
        target=capture.target,
        triton_version=capture.triton_version,
        config=capture.config,
        place=place,
        modified=_modified(capture),
    )


def _modified(capture: Capture) -> float | None:
    """When the first artifact was written; a capture's directory changes with its summaries."""
    path = capture.first_path
    try:
        return path.stat().st_mtime if path is not None else None
    except OSError:  # deleted meanwhile
        return None


def entry_of_binary(key: str, capture: Capture, place: str) -> Entry:
    """Return an entry with what the binary alone says, which takes a millisecond or two to read."""
    from irlens.analyze.capture_code import CaptureCode
    from irlens.analyze.facts import Provenance
    from irlens.analyze.resources import find_gpu, find_occupancy, read_demand

    provenance = Provenance()
    try:
        gpu = find_gpu(capture.target, capture.metadata, provenance)
        demand = read_demand(CaptureCode(capture), gpu, provenance)
        occupancy = find_occupancy(capture, gpu, demand, provenance)
    except ArtifactError as error:
        return Entry(key=key, kernel=capture.kernel, problem=error.message, place=place)
    entry = entry_of_metadata(key, capture, place)
    return replace(entry, resources=demand.resources, occupancy=occupancy)


def entry_of_report(key: str, report: Inspected, place: str) -> Entry:
    """Return a complete entry."""
    occupancy = report.occupancy
    if occupancy is not None:  # no list shows these, and an index would be a third larger
        occupancy = replace(occupancy, next_step=[], curves=[])
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
        occupancy=occupancy,
        figures={row.path: row.read_each(report) for row in COLUMNS if not is_early(row)},
        stages=tuple(
            (pipeline.achieved_stages, pipeline.requested_stages)
            for pipeline in report.pipelines
            if pipeline.achieved_stages is not None
        ),
        findings=findings,
        time=msgspec.convert(
            ranking.of_report(report), ranking.EstimatedTime, from_attributes=True
        ),
        place=place,
    )


def read_entries(unread: Sequence[Unread], extent: ReportExtent = "whole") -> Iterator[Entry]:
    """Yield the complete entry of each capture, or one that says why it cannot be read.

    Args:
        extent: Brief computes what entries show alone: no report is then remembered.
    """
    codes = codes_of([capture for _, capture, _ in unread])
    for (key, capture, place), code in zip(unread, codes, strict=True):
        try:
            report = read_brief(code) if extent == "brief" else complete_report(code)
            entry = _complete(key, capture, report, place)
            capture.check_unchanged()
        except IrlensError as error:
            entry = Entry(key=key, kernel=capture.kernel, problem=error.message, place=place)
        yield entry


def _complete(key: str, capture: Capture, report: Inspected, place: str) -> Entry:
    return replace(entry_of_report(key, report, place), modified=_modified(capture))


def recall_entries(unread: Sequence[Unread]) -> Iterator[tuple[Unread, Entry | None]]:
    """Yield each capture with its complete entry if its report is remembered.

    A directory that was listed before is remembered as a whole: after a few captures in a row
    whose reports are not, the rest is not looked up, which takes as long as reading a binary.
    """
    misses = 0
    for key, capture, place in unread:
        report = recall_complete(capture, "brief") if misses < _MOST_MISSES else None
        misses = misses + 1 if report is None else 0
        entry = None if report is None else _complete(key, capture, report, place)
        yield (key, capture, place), entry


class EntryReader:
    """Reads complete entries; many of them in a pool of processes, which is kept for the next.

    The pool leaves one core to the interface.

    Args:
        extent: See ``read_entries``.
    """

    def __init__(self, extent: ReportExtent = "whole") -> None:
        self._extent: ReportExtent = extent
        self._pool: Executor | None = None
        self._size = _BATCH
        self._starting = threading.Lock()

    def read(self, unread: Sequence[Unread], *, many: bool) -> Generator[Entry, None, None]:
        """Yield the complete entry of each capture as soon as it is read, in any order.

        Closing the iterator drops the tasks that have not begun.

        Args:
            many: Whether more may follow, so that starting the pool pays.
        """
        if len(unread) <= _FEW and not many:
            yield from read_entries(unread, self._extent)
            return
        from concurrent.futures import as_completed
        from concurrent.futures.process import BrokenProcessPool

        from irlens.artifacts import pools

        with self._starting:
            workers = max(1, min(processes.processors() - 1, _MAX_WORKERS))
            pool = self._pool = self._pool or pools.start_pool(workers)
            batches = list(self._batches(unread, workers))
        tasks = []
        try:
            tasks = [pool.submit(_read_batch, batch, self._extent) for batch in batches]
            for future in as_completed(tasks):
                yield from future.result()
        except BrokenProcessPool:
            # A worker was killed, perhaps for its memory. The entries so far stay on the screen.
            self._pool = None
        finally:
            for task in tasks:
                task.cancel()

    def _batches(self, unread: Sequence[Unread], workers: int) -> Iterator[Sequence[Unread]]:
        """Yield the captures of each task, no more than leave as many to every worker."""
        share = -(-len(unread) // workers)
        while unread:
            size = min(self._size, share)
            yield unread[:size]
            unread, self._size = unread[size:], min(2 * self._size, _MOST)


def _read_batch(batch: Sequence[Unread], extent: ReportExtent) -> list[Entry]:
    return list(read_entries(batch, extent))


class Deduplication:
    """Finds captures that irlens's store holds twice because they were requested in two ways."""

    def __init__(self) -> None:
        self._seen: defaultdict[bytes, dict[str, Capture]] = defaultdict(dict)

    def canonical_key(self, key: str, capture: Capture) -> str:
        """Return the key under which an equal capture was seen first; its own if there is none.

        Args:
            capture: Any capture. One from outside irlens's store never counts as a duplicate.
        """
        if capture.directory is None or not _is_stored(capture.directory):
            return key
        seen = self._seen[_identity(capture)]
        for other, duplicate in list(seen.items()):
            if other == key:
                return key
            try:
                if _is_equal(capture, duplicate):
                    return other
            except ArtifactError:  # deleted meanwhile
                del seen[other]
        seen[key] = capture
        return key


def _is_stored(directory: Path) -> bool:
    if directory.is_symlink():
        directory = directory.resolve()
    parent = _resolved(directory.parent.absolute())
    return (parent / directory.name).is_relative_to(_resolved(store.captures().absolute()))


@lru_cache(maxsize=256)
def _resolved(path: Path) -> Path:
    """Return a path without links, resolved once: listings have thousands of siblings."""
    return path.resolve()


def _identity(capture: Capture) -> bytes:
    """Return the facts of a capture that are known without reading its stages."""
    version = capture.manifest.triton_version if capture.manifest is not None else None
    facts = (capture.kernel, capture.target, version, capture.config, list(capture.stages))
    return identity_of(facts)


def _is_equal(one: Capture, other: Capture) -> bool:
    """Whether two captures of the same identity have the same stages and Python files."""
    return all(
        stage.read() == one.stages[name].read() for name, stage in other.stages.items()
    ) and list(one.python_texts().items()) == list(other.python_texts().items())
