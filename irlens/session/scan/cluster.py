"""Reads the entries of a scan on a Dask cluster, whose workers see the same directories."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import cache
from pathlib import Path

import msgspec

from irlens.artifacts import report_cache
from irlens.artifacts.entries import Broken
from irlens.model.errors import IrlensError
from irlens.model.report import Report
from irlens.model.scan import ScanValue
from irlens.session.scan.entry_rows import REPORT, EntryRows, Wanted, read_rows
from irlens.sweeps.worker_pool import WorkerPool
from irlens.version import VERSION


class _Task(msgspec.Struct, frozen=True):
    """Entries to read, by their absolute paths, each with the keys of its values."""

    version: str
    entries: list[tuple[str, tuple[str, ...]]]


class _Entry(msgspec.Struct, frozen=True):
    """What an entry holds, with the full reports that its rows name by key."""

    rows: list[dict[str, ScanValue]]
    broken: list[tuple[str, str]]
    reports: dict[str, Report]
    is_lasting: bool


class _Answer(msgspec.Struct, frozen=True):
    """The entries of a task, or why they cannot be read there."""

    entries: list[_Entry] = []
    error: str = ""


def submit(pool: WorkerPool, entries: Sequence[Wanted]) -> Callable[[], list[EntryRows]]:
    """Have entries read; return the function that waits for their rows.

    That function raises ``IrlensError`` if the cluster is lost, has another irlens or does not see
    the directories.
    """
    named = [(str(each.directory.absolute()), each.keys) for each in entries]
    future = pool.submit(_read, msgspec.msgpack.encode(_Task(VERSION, named)))

    @cache
    def wait() -> list[EntryRows]:
        try:
            failure = future.exception()
        except CancelledError as error:
            raise IrlensError(
                "the cluster was lost during the scan", hint="is its scheduler still running?"
            ) from error
        if failure is not None:
            what = pool.crash(future).reason if pool.is_crash(failure) else failure
            raise IrlensError(f"the cluster could not read entries: {what}") from failure
        answer = msgspec.msgpack.decode(future.result(), type=_Answer)
        if answer.error:
            raise IrlensError(answer.error)
        return [_received(entry) for entry in answer.entries]

    return wait


def _received(entry: _Entry) -> EntryRows:
    """Return an entry's rows; its reports go to this machine's cache, where the scan looks."""
    for key, report in entry.reports.items():
        report_cache.remember(key, report)
    broken = [Broken(Path(path), reason) for path, reason in entry.broken]
    return EntryRows(entry.rows, broken, is_lasting=entry.is_lasting)


def _read(task: bytes) -> bytes:
    """Read entries, in a worker of the cluster."""
    wanted = msgspec.msgpack.decode(task, type=_Task)
    if wanted.version != VERSION:
        error = f"the cluster has irlens {VERSION}, and this machine {wanted.version}"
        return msgspec.msgpack.encode(_Answer(error=error))
    missing = next((path for path, _ in wanted.entries if not Path(path).is_dir()), None)
    if missing is not None:
        return msgspec.msgpack.encode(_Answer(error=f"the cluster does not see {missing}"))
    read = read_rows([Wanted(Path(path), keys) for path, keys in wanted.entries])
    return msgspec.msgpack.encode(_Answer([_entry(each) for each in read]))


def _entry(read: EntryRows) -> _Entry:
    named = [str(row[REPORT]) for row in read.rows if REPORT in row]
    reports = {key: report_cache.recall(key) for key in named}
    return _Entry(
        rows=read.rows,
        broken=[(str(each.path), each.reason) for each in read.broken],
        reports={key: report for key, report in reports.items() if report is not None},
        is_lasting=read.is_lasting,
    )
