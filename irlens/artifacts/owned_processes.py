"""The process group of the children that end with this process, whatever ends it.

A killed process cannot clean up, and what it started runs on. The group's first member is a shell
that waits for the end of a pipe whose other end only this process holds, and then kills the group.
Linux's parent-death signal would do as much, but needs code between fork and exec, which is not
safe where there are threads, and follows the thread that forked.
"""

import os
from functools import lru_cache

#: Ends at the end of stdin: the process that holds the pipe's other end is gone.
_GUARD = "read -r line; kill -KILL 0"
_SHELL = "/bin/sh"


def group() -> int:
    """Return the process group to start children in (``process_group`` of ``Popen``).

    Raises:
        OSError: The shell that guards the group cannot be started.
    """
    return _group_of(os.getpid())  # a forked process has children of its own


@lru_cache(maxsize=1)
def _group_of(_process: int) -> int:
    """Start the guard of a process, and return its group."""
    reading, _ = os.pipe()  # neither end is inherited; the other stays open until the process ends
    try:
        return os.posix_spawn(
            _SHELL,
            [_SHELL, "-c", _GUARD],
            {},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reading, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setpgroup=0,
        )
    finally:
        os.close(reading)
