"""Processes: children that end with this one, modules that run in their own, how many at once.

A killed process cannot clean up, and what it started runs on, holding its output. So a shell waits
for the end of a pipe whose other end only this process holds, and then kills a process group.
Linux's parent-death signal would do as much, but needs code between fork and exec, which is not
safe where there are threads, and follows the thread that forked.
"""

import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import BinaryIO

import msgspec

_SHELL = "/bin/sh"
#: Kills the group "$0" (0: the shell's own) at the end of stdin; a line means that it has ended.
_GUARD = 'read -r ended || kill -s KILL -- "$0"'
#: What interrupts a command.
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


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


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Defer SIGINT and SIGTERM until the block ends, here and in the processes started in it.

    One that arrives during a fork would be raised in a callback of ``os.register_at_fork``, such as
    that of ``logging``, where Python prints a traceback, ignores it, and runs on. A new process
    would end with a traceback while it imports.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def accept_interrupts() -> None:
    """Accept Ctrl-C and SIGTERM in a process that was started while they were held back."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)


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
