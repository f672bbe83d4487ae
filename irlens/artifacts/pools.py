"""Pools of worker processes, which end with the process that started them.

``multiprocessing`` starts an interpreter with ``-c``, for which Python puts the working directory
in front of its own modules: a ``subprocess.py`` or ``torch.py`` there would be executed in each
worker. Those that are started here import nothing from it.
"""

import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr
from multiprocessing import get_context, resource_tracker
from multiprocessing.context import BaseContext, SpawnContext, SpawnProcess

from irlens.artifacts import processes

#: As the option ``-P``, for interpreters whose command is not irlens's: they leave out the working
#: directory.
_SAFE_PATH = {"PYTHONSAFEPATH": "1"}


def start_tracker() -> None:
    """Start the process that watches what spawned processes share; it is one for all of them."""
    with processes.with_variables(_SAFE_PATH):
        resource_tracker.ensure_running()


class SafeProcess(SpawnProcess):
    """A process that imports nothing from the working directory as it starts.

    It starts with Ctrl-C and SIGTERM held back, until its initializer accepts them.
    """

    def start(self) -> None:
        """Start it."""
        start_tracker()  # its own start would end the block
        with processes.deferred_interrupts(), processes.with_variables(_SAFE_PATH):
            super().start()


class SafeContext(SpawnContext):
    """Starts such processes."""

    Process = SafeProcess


def start_pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool of workers that end with this process and ignore Ctrl-C.

    Where a fork is safe they start with the modules that this process has loaded.
    """
    forks = processes.can_fork()
    context: BaseContext = get_context("fork") if forks else _safe_context()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
    if forks:
        try:
            with processes.deferred_interrupts():
                pool.submit(int)  # forks all workers
        except BaseException:
            kill(pool)
            raise
    return pool


def _safe_context() -> BaseContext:
    # The tracker inherits stderr, and that of a running Textual app is not a file.
    with redirect_stderr(sys.__stderr__):
        start_tracker()
    return SafeContext()


def kill(pool: ProcessPoolExecutor) -> None:
    """Kill the workers of a pool, whose tasks the interpreter would wait for at exit."""
    for each in list((pool._processes or {}).values()):  # `kill_workers` comes with Python 3.14
        each.kill()
    end(pool)


def end(pool: ProcessPoolExecutor) -> None:
    """End a pool and wait until its workers have ended.

    The interpreter waits for them at exit all the same, and then wakes the pool's own thread, which
    fails with a traceback if that thread ends in this moment.
    """
    pool.shutdown(wait=True, cancel_futures=True)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to all processes
    processes.accept_interrupts()
    end_with_parent()


def end_with_parent() -> None:
    """End this worker process of ``multiprocessing`` as soon as the process that started it ends.

    Its parent may be killed while the workers wait for tasks, or compute.
    """
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
