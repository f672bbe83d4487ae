"""Processes: children that end with this one, modules that run in their own, how many at once.

A killed process cannot clean up, and what it started runs on, holding its output. So a shell waits
for the end of a pipe whose other end only this process holds, and then kills a process group.
Linux's parent-death signal would do as much, but needs code between fork and exec, which is not
safe where there are threads, and follows the thread that forked.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO

import msgspec

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing.context import BaseContext

_SHELL = "/bin/sh"
#: Kills the group "$0" (0: the shell's own) at the end of stdin; a line means that it has ended.
_GUARD = 'read -r ended || kill -s KILL -- "$0"'


def group() -> int:
    """Return a group for children (``process_group`` of ``Popen``) that ends as this process."""
    return _group_of(os.getpid())  # a forked process has children of its own


@contextmanager
def guarded(group: int) -> Iterator[None]:
    """Kill a process group if this process ends before the block does, or an exception ends it.

    Raises:
        OSError: The shell that guards the group cannot be started.
    """
    shell, pipe = _start_guard(f"-{group}")
    try:
        yield
        os.write(pipe, b"\n")
    finally:
        os.close(pipe)
        os.waitpid(shell, 0)


def can_fork() -> bool:
    """Whether a fork is safe: it would copy the threads of a server in an arbitrary state."""
    import threading

    return sys.platform == "linux" and threading.active_count() == 1


def start_pool(workers: int) -> "ProcessPoolExecutor":
    """Return worker processes, which end with this one and leave Ctrl-C to it.

    Where a fork is safe they start with the modules that this process has loaded.
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    context: BaseContext = get_context("fork") if can_fork() else _safe_context()
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)


def _safe_context() -> "BaseContext":
    from irlens.artifacts.spawning import SafeContext, start_tracker

    # The tracker inherits stderr, and that of a running Textual app is not a file.
    with redirect_stderr(sys.__stderr__):
        start_tracker()
    return SafeContext()


def kill(pool: "ProcessPoolExecutor") -> None:
    """Kill the workers of a pool, whose tasks the interpreter would wait for at exit."""
    for each in list((pool._processes or {}).values()):  # `kill_workers` comes with Python 3.14
        each.kill()
    end(pool)


def end(pool: "ProcessPoolExecutor") -> None:
    """End a pool and wait until its workers have ended.

    The interpreter waits for them at exit all the same, and then wakes the pool's own thread, which
    fails with a traceback if that thread ends in this moment.
    """
    pool.shutdown(wait=True, cancel_futures=True)


def _start_worker() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to all processes
    end_with_parent()


def end_with_parent() -> None:
    """End this worker process of ``multiprocessing`` as soon as the process that started it ends.

    Its parent may be killed while the workers wait for tasks, or compute.
    """
    import threading

    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@lru_cache(maxsize=1)
def _group_of(_process: int) -> int:
    """Start the guard of a process's own group, which it leads; the pipe stays open to the end."""
    shell, _ = _start_guard("0")
    return shell


def _start_guard(target: str) -> tuple[int, int]:
    """Return the guard of a group, and the pipe it reads from, which no child inherits.

    The guard leads a group of its own.
    """
    reading, writing = os.pipe()
    try:
        shell = os.posix_spawn(
            _SHELL,
            [_SHELL, "-c", _GUARD, target],
            {},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reading, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setpgroup=0,  # ctrl+c at the terminal is not for it
        )
    except OSError:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    return shell, writing


def processors() -> int:
    """Return the number of processors that this process may use, 1 where that is unknown."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The answer of a process that cannot do what it is asked for; see ``IrlensError``."""

    message: str
    hint: str | None = None


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this interpreter."""
    # -P: the working directory is not trusted with modules.
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a child that imports from the same directories.

    Args:
        **variables: What the child has besides, or in place of this process's.
    """
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | variables


@contextmanager
def with_variables(settings: Mapping[str, str], without: Iterable[str] = ()) -> Iterator[None]:
    """Set variables of this process, and so of its children, in a context; leave out others."""
    before = {name: os.environ.get(name) for name in (*settings, *without)}
    for name in without:
        os.environ.pop(name, None)
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def answering() -> Iterator[BinaryIO]:
    """Yield the stream of a child's answer; whatever else is printed goes to stderr."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(stdout, "wb") as stream:
        yield stream
