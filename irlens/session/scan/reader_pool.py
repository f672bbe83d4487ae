"""Reads the entries of a scan, many of them in worker processes, and returns them in order."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from irlens.artifacts import pools
from irlens.artifacts.entries import Listing
from irlens.model.errors import IrlensError
from irlens.session.scan.entry_rows import EntryRows, Wanted, read_rows

if TYPE_CHECKING:
    from irlens.sweeps.worker_pool import WorkerPool

T = TypeVar("T")

#: As many entries are read in this process first, if they are parsed and if they are not: starting
#: workers takes as long.
_FEW, _FEW_UNPARSED = 24, 500
#: The fewest and the most entries that are read together. One run of nvdisasm lists the machine
#: code of all of them, and starts longer than it works.
_BATCH, _MOST = 8, 64
#: Tasks per worker that wait or are done.
_AHEAD = 4


class _Batch:
    """Entries that one task reads."""

    def __init__(self) -> None:
        self.entries: list[Wanted] = []
        #: Waits for the rows; ``None`` until a worker has the task.
        self.wait: Callable[[], list[EntryRows]] | None = None


class _Waiting(msgspec.Struct, Generic[T]):
    """What the caller knows of an entry, and its rows or the batch whose ``index`` has them."""

    tag: T
    rows: EntryRows | _Batch
    index: int = 0


class Reader(Generic[T]):
    """Reads entries; use it as a context manager, which ends the workers.

    Args:
        jobs: Worker processes; with 1, entries are read in this process.
        cluster: Workers elsewhere, which read all entries instead.
        parsed: How many entries come if they are parsed; 0 where reading each alone is as fast.
    """

    def __init__(self, jobs: int, cluster: "WorkerPool | None" = None, parsed: int = 0) -> None:
        self._jobs = jobs if cluster is None else cluster.width
        self._parsed = parsed
        self._size = max(_BATCH, min(_MOST, parsed // self._jobs)) if parsed else _MOST
        self._cluster = cluster
        self._pool: ProcessPoolExecutor | None = None
        self._number = 0
        self._queue: deque[_Waiting[T]] = deque()
        self._batch: _Batch | None = None

    def __enter__(self) -> "Reader[T]":
        return self

    def __exit__(self, interrupted: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None and interrupted is not None:
            pools.kill(self._pool)
        elif self._pool is not None:
            pools.end(self._pool)

    def pass_on(self, tag: T, rows: EntryRows) -> Iterator[tuple[T, EntryRows]]:
        """Put known rows in line; yield what is ready and first in line."""
        self._queue.append(_Waiting(tag, rows))
        yield from self._ready()

    def read(
        self, tag: T, directory: Path, listing: Listing, keys: Sequence[str]
    ) -> Iterator[tuple[T, EntryRows]]:
        """Put an entry in line to be read; yield what is ready and first in line."""
        self._number += 1
        here = self._cluster is None and (self._jobs == 1 or self._number <= _FEW_UNPARSED)
        if here and not self._parsed:
            (rows,) = read_rows([Wanted(directory, tuple(keys), listing)])
            self._queue.append(_Waiting(tag, rows))
        else:
            batch = self._batch = self._batch or _Batch()
            self._queue.append(_Waiting(tag, batch, len(batch.entries)))
            batch.entries.append(Wanted(directory, tuple(keys)))
            if len(batch.entries) == self._size:
                self._submit()
        yield from self._ready()

    def finish(self) -> Iterator[tuple[T, EntryRows]]:
        """Yield all the rest, in order."""
        while self._queue:
            yield self._first()

    def _ready(self) -> Iterator[tuple[T, EntryRows]]:
        """Yield what is known, or waits for more than the workers need to be busy."""
        most = self._jobs * _AHEAD * self._size
        while self._queue and (
            isinstance(self._queue[0].rows, EntryRows) or len(self._queue) > most
        ):
            yield self._first()

    def _first(self) -> tuple[T, EntryRows]:
        waiting = self._queue.popleft()
        if isinstance(waiting.rows, EntryRows):
            return waiting.tag, waiting.rows
        wait = waiting.rows.wait or self._submit()  # only the last batch is not submitted yet
        try:
            return waiting.tag, wait()[waiting.index]
        except BrokenProcessPool as error:
            raise IrlensError(
                "a worker process ended unexpectedly", hint="try again with --jobs 1"
            ) from error

    def _submit(self) -> Callable[[], list[EntryRows]]:
        """Have the last batch read, and return the function that waits for its rows."""
        batch, self._batch = self._batch, None
        assert batch is not None
        if self._cluster is not None:
            from irlens.session.scan.cluster import submit

            batch.wait = submit(self._cluster, batch.entries)
            return batch.wait
        few = 0 < self._parsed <= _FEW or len(batch.entries) < self._size
        if self._jobs == 1 or (self._pool is None and few):
            rows = read_rows(batch.entries)
            batch.wait = lambda: rows
            return batch.wait
        if self._pool is None:
            self._pool = pools.start_pool(self._jobs)
        batch.wait = self._pool.submit(read_rows, batch.entries).result
        return batch.wait
