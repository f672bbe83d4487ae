"""Locks between irlens processes: those that use something of the store, and one that cleans it.

They are ``flock``'s: the kernel lets go of them when the last process that has the file open ends,
however it ends.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def share(file: int) -> None:
    """Keep ``irlens cache clean`` from what an open file stands for, until it is closed.

    Raises:
        OSError: The file system has no locks.
    """
    import fcntl  # not on Windows, where captures can be read all the same

    fcntl.flock(file, fcntl.LOCK_SH)


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
