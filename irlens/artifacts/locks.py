"""Locks between the irlens processes that use the store and one that cleans it.

They are ``flock`` locks: the kernel releases them when the last process with the file open ends,
however it ends.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Descriptors of the files that are locked until the process ends.
_held: dict[Path, int] = {}


def share(file: int) -> None:
    """Lock an open file against ``irlens cache clean``, until it is closed.

    Raises:
        OSError: The file system has no locks.
    """
    import fcntl  # missing on Windows, where captures can still be read

    fcntl.flock(file, fcntl.LOCK_SH)


def hold(lock: Path) -> int | None:
    """Take a shared lock on a file until this process ends.

    Returns:
        Its descriptor, ``None`` if it cannot be locked.
    """
    try:
        while not _is_held(lock):
            _held[lock] = os.open(lock, os.O_RDONLY)
            share(_held[lock])
    except OSError:
        return None  # a file that this process cannot open or lock, others will hardly clean
    return _held[lock]


def _is_held(lock: Path) -> bool:
    """Whether the locked file is still the one at that path: it may have been replaced."""
    held = _held.get(lock)
    return held is not None and os.path.samestat(os.fstat(held), lock.stat())


@contextmanager
def alone(lock: Path) -> Iterator[bool]:
    """Try to take an exclusive lock on a file, and yield whether that succeeded.

    Args:
        lock: The file. If it does not exist, nobody shares it.
    """
    import fcntl

    try:
        file = os.open(lock, os.O_RDONLY)
    except FileNotFoundError:
        yield True
        return
    except PermissionError:
        yield False
        return
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(file)
