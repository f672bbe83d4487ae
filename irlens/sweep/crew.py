"""Who does the work: worker processes of this machine, whatever becomes of each."""

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
from irlens.sweep.work import Work

_LONGEST = 300  # characters of a worker's last words
#: Who writes down what a worker that has died said at last is waited for, if not for ever: the
#: user's own code may have started what goes on.
_PATIENCE = 60.0
_SECONDS_BETWEEN_LOOKS = 0.02


class Death(msgspec.Struct, frozen=True):
    """A worker process that ended over an order.

    Attributes:
        reason: "worker died (signal 9, SIGKILL)".
        last_words: The last line it printed.
    """

    reason: str
    last_words: str = ""


class Crew(Protocol):
    """Workers that take orders.

    Attributes:
        width: Orders that are handed out at a time.
        one_fate: Whether the death of one worker takes all orders along that are handed out.
    """

    width: int
    one_fate: bool

    def submit(self, work: Work, order: bytes) -> Future[bytes]:
        """Hand out an order."""

    def died(self, error: BaseException) -> bool:
        """Whether this is how the death of a worker looks to those who wait for its answer."""

    def retry(self, work: Work, order: bytes, error: BaseException) -> bytes | Death:
        """Carry out an order whose worker may have died of it, with nothing else under way."""

    def stop(self) -> None:
        """Let all workers go at once, whatever they are doing."""


def answers(crew: Crew, work: Work, orders: Sequence[bytes]) -> Iterator[tuple[int, bytes | Death]]:
    """Yield each order's number and answer as they come.

    No more orders than the crew is wide are handed out at a time, so that little is lost with a
    worker that dies and little is waited for when the sweep is interrupted.

    Raises:
        IrlensError: The workers cannot take orders at all.
    """
    waiting = deque(range(len(orders)))
    flying: dict[Future[bytes], int] = {}
    lost: list[tuple[int, BaseException]] = []
    while waiting or flying:
        while waiting and len(flying) < crew.width:
            number = waiting.popleft()
            flying[crew.submit(work, orders[number])] = number
        done, _ = wait(flying, return_when=FIRST_COMPLETED)
        if crew.one_fate and any(_died(crew, future) for future in done):
            done, _ = wait(flying)
        for future in sorted(done, key=lambda future: flying[future]):
            number, error = flying.pop(future), _error(future)
            if error is None:
                yield number, future.result()
            elif crew.died(error):
                lost.append((number, error))
            else:
                raise IrlensError(
                    f"the workers cannot do it: {type(error).__name__}: {error}",
                    hint="each needs the same irlens and Python, and has to stay reachable",
                ) from error
        if crew.one_fate or not (waiting or flying):  # else others may take workers along still
            for number, error in lost:
                yield number, crew.retry(work, orders[number], error)
            lost = []


def _died(crew: Crew, future: Future[bytes]) -> bool:
    error = _error(future)
    return error is not None and crew.died(error)


def _error(future: Future[bytes]) -> BaseException | None:
    """Return why a future has no result; a cluster that is lost cancels it."""
    return CancelledError("it was given up") if future.cancelled() else future.exception()


class LocalCrew:
    """Worker processes of this machine, which import Triton once each.

    A process that dies breaks the pool: a new one is started, and the orders that were handed out
    are tried one by one in a process of their own each, which tells whose fault it was.

    Args:
        jobs: Worker processes.
    """

    one_fate = True

    def __init__(self, jobs: int) -> None:
        self.width = jobs
        self._context = _Context()
        self._logs = TemporaryDirectory(prefix="irlens-")
        self._pool = self._start(jobs)

    def submit(self, work: Work, order: bytes) -> Future[bytes]:
        """Hand out an order, to a new pool if the old one has broken."""
        try:
            return self._pool.submit(work, order)
        except BrokenExecutor:
            self._pool.shutdown(wait=False)
            self._pool = self._start(self.width)
            return self._pool.submit(work, order)

    def died(self, error: BaseException) -> bool:
        """Whether the pool broke."""
        return isinstance(error, BrokenExecutor)

    def retry(self, work: Work, order: bytes, error: BaseException) -> bytes | Death:
        """Carry out an order in a process of its own."""
        before = len(self._context.processes)
        alone = self._start(1)
        try:
            return alone.submit(work, order).result()
        except BrokenExecutor:
            # How it ended is known when the pool's own thread has waited for it, as it does.
            alone.shutdown(wait=True)
            return self._death(self._context.processes[before])
        finally:
            alone.shutdown(wait=False)

    def stop(self) -> None:
        """Kill every worker."""
        for process in self._context.processes:
            if process.pid is not None:  # ctrl+c may have come before it was started
                process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._logs.cleanup()

    def _start(self, jobs: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            jobs, mp_context=self._context, initializer=_begin, initargs=(self._logs.name,)
        )

    def _death(self, process: SpawnProcess) -> Death:
        log = Path(self._logs.name, str(process.pid))
        return Death(f"worker died ({_ending(process)})", _last_words(log)[:_LONGEST])


class _Context(SpawnContext):
    """Starts fresh interpreters and remembers them: a pool tells nobody how its workers ended."""

    def __init__(self) -> None:
        self.processes: list[SpawnProcess] = []

    def Process(  # type: ignore[override]  # noqa: N802  # there it is the class itself
        self, *args: Any, **kwargs: Any
    ) -> SpawnProcess:
        process = SpawnProcess(*args, **kwargs)
        self.processes.append(process)
        return process


def _ending(process: SpawnProcess) -> str:
    """Return how a process ended: "signal 9, SIGKILL"."""
    code = process.exitcode
    if code is None or code >= 0:
        return "exit code unknown" if code is None else f"exit code {code}"
    return f"signal {-code}, {signal.Signals(-code).name}"


def _last_words(log: Path) -> str:
    """Return the last line of a log, once nobody writes there any more.

    A compiler's last words come from a process of their own, see ``messages.held_back``.
    """
    until = time.monotonic() + _PATIENCE
    while not _is_finished(log) and time.monotonic() < until:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
    spoken = [line.strip() for line in lines if line.strip()]
    return spoken[-1] if spoken else ""


def _is_finished(log: Path) -> bool:
    """Whether all have ended that share a log."""
    with locks.alone(log) as alone:
        return alone


def _begin(logs: str) -> None:
    """Prepare a worker process.

    What it prints goes to a file, to be looked at if it dies. Ctrl-C, which a terminal sends to
    all processes, is its parent's to handle; and it does not outlive its parent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = os.open(Path(logs, str(os.getpid())), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    with suppress(OSError):  # a file system that has no locks
        locks.share(log)  # with all that it starts
    sys.stderr.flush()
    os.dup2(log, sys.stderr.fileno())
    os.close(log)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
