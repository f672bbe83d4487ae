"""Crash-tolerant worker pools: tasks in, answers out, whatever happens to a worker."""

import gc
import math
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
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
from types import ModuleType
from typing import Any, Protocol, TypeAlias

import msgspec

from irlens.artifacts import locks, pools, processes, store
from irlens.artifacts.pools import SafeProcess, start_tracker
from irlens.artifacts.temporary_folders import TemporaryFolder
from irlens.compiler import crashes
from irlens.model.errors import IrlensError
from irlens.sweeps.tasks import Handler

_LONGEST = 300  # characters of a worker's last line
#: Seconds to wait for processes that still write a dead worker's log. They may never end: the
#: user's own code can have started them.
_PATIENCE = 60.0
_POLL_SECONDS = 0.02
_TICK_SECONDS = 0.25


class Crash(msgspec.Struct, frozen=True):
    """The end of a worker process during a task.

    Attributes:
        reason: "worker died (signal 9, SIGKILL)".
        last_line: The last line it printed.
        timed_out: Whether it was killed because the task exceeded its time.
    """

    reason: str
    last_line: str = ""
    timed_out: bool = False


class Job(msgspec.Struct, frozen=True):
    """What a worker is to do.

    Attributes:
        numbers: What the task is about, for who submits it.
    """

    handler: Handler
    task: bytes
    numbers: tuple[int, ...]
    timeout: float = math.inf


class Running(msgspec.Struct, frozen=True):
    """A job that a worker is running.

    Attributes:
        since: When it was submitted, on the monotonic clock.
    """

    job: Job
    since: float
    again: bool


#: Receives the running jobs before each wait.
Watch: TypeAlias = Callable[[Sequence[Running]], None]


class WorkerPool(Protocol):
    """Workers that run tasks.

    Attributes:
        width: Tasks that are submitted at a time.
        shares_store: Whether a worker finds in its store what another one compiled.
    """

    width: int
    shares_store: bool

    def prepare(self, handler: Handler, task: bytes, workers: int) -> None:
        """Warm up idle workers with a task; its answer is dropped."""

    def submit(self, handler: Handler, task: bytes) -> Future[bytes]:
        """Submit a task."""

    def is_crash(self, error: BaseException) -> bool:
        """Return whether a future's error means that its worker crashed."""

    def crash(self, future: Future[bytes]) -> Crash:
        """Return how the worker of a task crashed."""

    def abandon(self, future: Future[bytes]) -> None:
        """Stop working on a task."""

    def stop(self) -> None:
        """Stop all workers at once, whatever they are doing."""


def run_tasks(
    pool: WorkerPool,
    handler: Handler,
    tasks: Sequence[bytes],
    *,
    watch: Watch = lambda _: None,
) -> Iterator[tuple[int, bytes | Crash]]:
    """Yield the index and answer of each task as they complete, see ``run_jobs``."""
    jobs = deque(Job(handler, task, (index,)) for index, task in enumerate(tasks))
    for job, answer in run_jobs(pool, jobs, watch=watch):
        yield job.numbers[0], answer


def run_jobs(
    pool: WorkerPool,
    waiting: deque[Job],
    *,
    watch: Watch = lambda _: None,
) -> Iterator[tuple[Job, bytes | Crash]]:
    """Yield each job and its answer as they complete.

    At most ``pool.width`` jobs are submitted at a time, so that a crash loses little and an
    interrupted sweep has little to wait for. A job whose worker crashed is retried alone at the
    end: jobs beside it may have taken all memory.

    Args:
        waiting: The jobs. The caller may add more as answers arrive.

    Raises:
        IrlensError: The workers cannot run tasks at all.
    """
    lost = deque[Job]()
    running: dict[Future[bytes], Running] = {}

    def submit(job: Job, *, again: bool = False) -> None:
        running[pool.submit(job.handler, job.task)] = Running(job, time.monotonic(), again)

    while waiting or running or lost:
        while waiting and len(running) < pool.width:
            submit(waiting.popleft())
        if not running:
            submit(lost.popleft(), again=True)
        watch(list(running.values()))
        done, _ = wait(running, timeout=_TICK_SECONDS, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=lambda future: running[future].since):
            ended, error = running.pop(future), _error(future)
            if error is None:
                yield ended.job, future.result()
            elif not pool.is_crash(error):
                raise IrlensError(
                    f"the workers cannot run the task: {type(error).__name__}: {error}",
                    hint="each needs the same irlens and Python, and has to stay reachable",
                ) from error
            elif ended.again:
                yield ended.job, pool.crash(future)
            else:
                lost.append(ended.job)
        now = time.monotonic()
        late = [each for each, one in running.items() if now - one.since > one.job.timeout]
        for future in late:
            pool.abandon(future)
            job = running.pop(future).job
            yield job, Crash(f"not finished after {job.timeout:g} s", timed_out=True)


def _error(future: Future[bytes]) -> BaseException | None:
    """Return why a future has no result; a lost cluster cancels it."""
    return CancelledError("cancelled") if future.cancelled() else future.exception()


class LocalPool:
    """Worker processes of this machine; each imports Triton once.

    Each worker is an executor of its own, so that one that crashes or is killed loses its own
    task alone.

    Args:
        jobs: Their number; as many as there are processors if not given.
    """

    shares_store = True

    def __init__(self, jobs: int | None = None) -> None:
        self.width = jobs or processes.processors()
        self._logs = TemporaryFolder()
        self._workers: list[_Worker] = []

    def prepare(self, handler: Handler, task: bytes, workers: int) -> None:
        """Start up to ``workers`` workers and run a task in each new one; drop its answer."""
        for _ in range(len(self._workers), min(workers, self.width)):
            self._started().submit(handler, task)

    def submit(self, handler: Handler, task: bytes) -> Future[bytes]:
        """Submit a task to an idle worker; at most ``width`` at a time."""
        worker = next((each for each in self._workers if each.is_idle()), None) or self._started()
        worker.future = worker.submit(handler, task)
        return worker.future

    def _started(self) -> "_Worker":
        worker = _Worker(self._logs.name)
        self._workers.append(worker)
        return worker

    def is_crash(self, error: BaseException) -> bool:
        """Return whether the worker's executor broke."""
        return isinstance(error, BrokenExecutor)

    def crash(self, future: Future[bytes]) -> Crash:
        """Return the worker's exit status and why it crashed, as far as it said."""
        process = self._worker_of(future).ended()
        log = Path(self._logs.name, str(process.pid))
        return Crash(f"worker died ({_exit_status(process)})", _reason(log)[:_LONGEST])

    def abandon(self, future: Future[bytes]) -> None:
        """Kill the worker of a task; a new one takes its place."""
        self._worker_of(future).restart()

    def stop(self) -> None:
        """Kill every worker."""
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.join()
        store.remove_workspaces({pid for worker in self._workers for pid in worker.pids()})
        self._logs.cleanup()

    def _worker_of(self, future: Future[bytes]) -> "_Worker":
        return next(each for each in self._workers if each.future is future)


class _Worker:
    """One worker process, and its successor after a crash."""

    def __init__(self, logs: str) -> None:
        self._logs = logs
        self.future: Future[bytes] | None = None
        self._context = _Context()
        self._executor = self._start()

    def is_idle(self) -> bool:
        return self.future is None or self.future.done()

    def submit(self, handler: Handler, task: bytes) -> Future[bytes]:
        try:
            return self._executor.submit(handler, task)
        except BrokenExecutor:
            self.join()
            self._executor = self._start()
            return self._executor.submit(handler, task)

    def ended(self) -> SpawnProcess:
        """Return the crashed process, once its exit code is known."""
        self._executor.shutdown(wait=True)  # the executor's own thread joins the process
        return self._context.processes[-1]

    def restart(self) -> None:
        self.kill()
        self.join()
        self.future = None
        self._executor = self._start()

    def kill(self) -> None:
        for process in self._context.processes:
            if process.pid is not None:  # ctrl+c may come before it is started
                process.kill()

    def pids(self) -> list[int]:
        return [each.pid for each in self._context.processes if each.pid is not None]

    def join(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _start(self) -> ProcessPoolExecutor:
        start_tracker()  # or the executor's queues do
        return ProcessPoolExecutor(
            1,
            mp_context=self._context,
            initializer=_start_worker,
            initargs=(self._logs, gc.get_threshold()),
        )


class _Context(SpawnContext):
    """Spawns interpreters and remembers them: an executor hides its workers' exit codes."""

    def __init__(self) -> None:
        self.processes: list[SpawnProcess] = []

    def Process(  # type: ignore[override]  # noqa: N802  # the base has the class itself
        self, *args: Any, **kwargs: Any
    ) -> SpawnProcess:
        process = _Process(*args, **kwargs)
        self.processes.append(process)
        return process


class _Process(SafeProcess):
    """A process that does not run the program's main module again.

    ``multiprocessing`` would: a script that calls the library at its top level called it again in
    each worker. Workers need nothing of it, tasks are irlens's own functions and bytes.
    """

    def start(self) -> None:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


def _exit_status(process: SpawnProcess) -> str:
    """Return how a process ended: "signal 9, SIGKILL"."""
    code = process.exitcode
    if code is None or code >= 0:
        return "exit code unknown" if code is None else f"exit code {code}"
    return f"signal {-code}, {signal.Signals(-code).name}"


def _reason(log: Path) -> str:
    """Return what a log says of a crash in one line, once no process writes to it any more.

    A compiler's messages come from a process of their own, see ``messages.held_back``.
    """
    until = time.monotonic() + _PATIENCE
    while not _is_finished(log) and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
    printed = log.read_text("utf-8", "replace") if log.exists() else ""
    text, hint = crashes.crash(printed) if printed.strip() else ("", "")
    # Of a process that the system killed, the last line says nothing of the compiler.
    return f"{text}; {hint}" if crashes.is_of_compiler(printed) else text


def _is_finished(log: Path) -> bool:
    """Return whether all processes that share a log have ended."""
    with locks.alone(log) as alone:
        return alone


def _start_worker(logs: str, collections: tuple[int, int, int]) -> None:
    """Prepare a worker process, which collects garbage as often as its parent.

    Its output goes to a log, which is read if it dies. Ctrl-C, which a terminal sends to all
    processes, is left to its parent. It does not outlive its parent. Its temporary files go with
    the folder of the logs, since it is killed in the middle of a compilation.
    """
    gc.set_threshold(*collections)
    os.environ["TMPDIR"] = logs
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    processes.accept_interrupts()
    log = os.open(Path(logs, str(os.getpid())), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    with suppress(OSError):  # a file system that has no locks
        locks.share(log)  # with all processes that it starts
    sys.stderr.flush()
    os.dup2(log, sys.stderr.fileno())
    os.dup2(log, 1)  # what a file's processes print, too
    os.close(log)
    pools.end_with_parent()
