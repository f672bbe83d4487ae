"""Crash-tolerant worker pools: tasks in, answers out, whatever happens to a worker."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import suppress
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import msgspec

from irlens.artifacts import locks
from irlens.model.errors import IrlensError
from irlens.sweep.tasks import Handler

_LONGEST = 300  # characters of a worker's last line
#: Seconds to wait for processes that still write a dead worker's log. They may never end: the
#: user's own code can have started them.
_PATIENCE = 60.0
_POLL_SECONDS = 0.02


class Crash(msgspec.Struct, frozen=True):
    """A worker process that died during a task.

    Attributes:
        reason: "worker died (signal 9, SIGKILL)".
        last_line: The last line it printed.
    """

    reason: str
    last_line: str = ""


class WorkerPool(Protocol):
    """Workers that run tasks.

    Attributes:
        width: Tasks that are submitted at a time.
        breaks_together: Whether the crash of one worker loses all submitted tasks.
    """

    width: int
    breaks_together: bool

    def submit(self, handler: Handler, task: bytes) -> Future[bytes]:
        """Submit a task."""

    def is_crash(self, error: BaseException) -> bool:
        """Return whether a future's error means that its worker crashed."""

    def retry(self, handler: Handler, task: bytes, error: BaseException) -> bytes | Crash:
        """Run a task that may have crashed its worker, while nothing else runs."""

    def stop(self) -> None:
        """Stop all workers at once, whatever they are doing."""


def run_tasks(
    pool: WorkerPool, handler: Handler, tasks: Sequence[bytes]
) -> Iterator[tuple[int, bytes | Crash]]:
    """Yield the index and answer of each task as they complete.

    At most ``pool.width`` tasks are submitted at a time, so that a crash loses little and an
    interrupted sweep has little to wait for.

    Raises:
        IrlensError: The workers cannot run tasks at all.
    """
    waiting = deque(range(len(tasks)))
    submitted: dict[Future[bytes], int] = {}
    lost: list[tuple[int, BaseException]] = []
    while waiting or submitted:
        while waiting and len(submitted) < pool.width:
            index = waiting.popleft()
            submitted[pool.submit(handler, tasks[index])] = index
        done, _ = wait(submitted, return_when=FIRST_COMPLETED)
        if pool.breaks_together and any(_crashed(pool, future) for future in done):
            done, _ = wait(submitted)
        for future in sorted(done, key=lambda future: submitted[future]):
            index, error = submitted.pop(future), _error(future)
            if error is None:
                yield index, future.result()
            elif pool.is_crash(error):
                lost.append((index, error))
            else:
                raise IrlensError(
                    f"the workers cannot run the task: {type(error).__name__}: {error}",
                    hint="each needs the same irlens and Python, and has to stay reachable",
                ) from error
        # While other tasks run, they may still crash the worker of a retried one.
        if pool.breaks_together or not (waiting or submitted):
            for index, error in lost:
                yield index, pool.retry(handler, tasks[index], error)
            lost = []


def _crashed(pool: WorkerPool, future: Future[bytes]) -> bool:
    error = _error(future)
    return error is not None and pool.is_crash(error)


def _error(future: Future[bytes]) -> BaseException | None:
    """Return why a future has no result; a lost cluster cancels it."""
    return CancelledError("cancelled") if future.cancelled() else future.exception()


class LocalPool:
    """Worker processes of this machine; each imports Triton once.

    A crash breaks the whole executor. The pool starts another one, and retries each task that was
    submitted in a process of its own, which shows the task that crashes.

    Args:
        jobs: Number of worker processes.
    """

    breaks_together = True

    def __init__(self, jobs: int) -> None:
        self.width = jobs
        self._context = _Context()
        self._logs = TemporaryDirectory(prefix="irlens-")
        self._executor = self._start(jobs)

    def submit(self, handler: Handler, task: bytes) -> Future[bytes]:
        """Submit a task, to a new executor if the old one is broken."""
        try:
            return self._executor.submit(handler, task)
        except BrokenExecutor:
            self._executor.shutdown(wait=False)
            self._executor = self._start(self.width)
            return self._executor.submit(handler, task)

    def is_crash(self, error: BaseException) -> bool:
        """Return whether the executor broke."""
        return isinstance(error, BrokenExecutor)

    def retry(self, handler: Handler, task: bytes, error: BaseException) -> bytes | Crash:
        """Run a task in a process of its own."""
        before = len(self._context.processes)
        alone = self._start(1)
        try:
            return alone.submit(handler, task).result()
        except BrokenExecutor:
            # The exit code is known once the executor's own thread has joined the process.
            alone.shutdown(wait=True)
            return self._crash(self._context.processes[before])
        finally:
            alone.shutdown(wait=False)

    def stop(self) -> None:
        """Kill every worker."""
        for process in self._context.processes:
            if process.pid is not None:  # ctrl+c may come before it is started
                process.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._logs.cleanup()

    def _start(self, jobs: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            jobs, mp_context=self._context, initializer=_start_worker, initargs=(self._logs.name,)
        )

    def _crash(self, process: SpawnProcess) -> Crash:
        log = Path(self._logs.name, str(process.pid))
        return Crash(f"worker died ({_exit_status(process)})", _last_line(log)[:_LONGEST])


class _Context(SpawnContext):
    """Spawns interpreters and remembers them: an executor hides the exit codes of its workers."""

    def __init__(self) -> None:
        self.processes: list[SpawnProcess] = []

    def Process(  # type: ignore[override]  # noqa: N802  # the base has the class itself
        self, *args: Any, **kwargs: Any
    ) -> SpawnProcess:
        process = SpawnProcess(*args, **kwargs)
        self.processes.append(process)
        return process


def _exit_status(process: SpawnProcess) -> str:
    """Return how a process ended: "signal 9, SIGKILL"."""
    code = process.exitcode
    if code is None or code >= 0:
        return "exit code unknown" if code is None else f"exit code {code}"
    return f"signal {-code}, {signal.Signals(-code).name}"


def _last_line(log: Path) -> str:
    """Return the last line of a log, once no process writes to it any more.

    A compiler's messages come from a process of their own, see ``messages.held_back``.
    """
    until = time.monotonic() + _PATIENCE
    while not _is_finished(log) and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
    lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    printed = [line.strip() for line in lines if line.strip()]
    return printed[-1] if printed else ""


def _is_finished(log: Path) -> bool:
    """Return whether all processes that share a log have ended."""
    with locks.alone(log) as alone:
        return alone


def _start_worker(logs: str) -> None:
    """Prepare a worker process.

    Its output goes to a log, which is read if it dies. Ctrl-C, which a terminal sends to all
    processes, is left to its parent. It does not outlive its parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = os.open(Path(logs, str(os.getpid())), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    with suppress(OSError):  # a file system that has no locks
        locks.share(log)  # with all processes that it starts
    sys.stderr.flush()
    os.dup2(log, sys.stderr.fileno())
    os.close(log)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
