"""Locks between irlens processes: those that use something of the store, and one that cleans it.

They are ``flock``'s: the kernel lets go of them when the last process that has the file open ends,
however it ends.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: What is shared until the process ends: descriptors by file.
_held: dict[Path, int] = {}


def share(file: int) -> None:
    """Keep ``irlens cache clean`` from what an open file stands for, until it is closed.

    Raises:
        OSError: The file system has no locks.
    """
    import fcntl  # not on Windows, where captures can be read all the same

    fcntl.flock(file, fcntl.LOCK_SH)


def hold(lock: Path) -> int | None:
    """Share a file until this process ends.

    Returns:
        Its descriptor, ``None`` where it cannot be shared.
    """
    try:
        while not _is_held(lock):
            _held[lock] = os.open(lock, os.O_RDONLY)
            share(_held[lock])
    except OSError:
        return None  # what this process may not open, or lock, others will hardly clean
    return _held[lock]


def _is_held(lock: Path) -> bool:
    """Whether what is held is what is there: it may have been removed and made anew."""
    held = _held.get(lock)
    return held is not None and os.path.samestat(os.fstat(held), lock.stat())


@contextmanager
def alone(lock: Path) -> Iterator[bool]:
    """Hold a file against those who ``share`` it, and yield whether that was possible at once.

    Args:
        lock: The file. Where there is none, nobody shares it.
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
