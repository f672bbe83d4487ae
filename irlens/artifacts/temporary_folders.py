"""Temporary folders, which go with their process: those of killed processes with the next one.

A folder is locked while its process runs, which is true of processes in other containers too.
"""

import os
import stat
import time
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, gettempdir

from irlens.artifacts import locks

#: No recording has such a name, whatever its program is called: those begin with "irlens-".
_PREFIX = "tmp-irlens-"
#: Seconds from the last change of a folder until its lock is certain to be held.
_SETTLED = 1


class TemporaryFolder(TemporaryDirectory[str]):
    """A temporary directory; the first one of a process removes those of killed processes."""

    def __init__(self) -> None:
        _remove_abandoned(gettempdir())
        super().__init__(prefix=_PREFIX)
        self._lock = ExitStack()
        lock = os.open(self.name, os.O_RDONLY)
        self._lock.callback(os.close, lock)
        with suppress(OSError):  # a file system that has no locks
            locks.share(lock)

    def cleanup(self) -> None:
        """Remove the folder, if it is there."""
        super().cleanup()
        self._lock.close()


@lru_cache
def _remove_abandoned(parent: str) -> None:
    """Remove the folders of this user that no process has locked."""
    for folder in Path(parent).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                continue
            with locks.alone(folder) as is_abandoned:
                if is_abandoned and found.st_mtime < time.time() - _SETTLED:
                    rmtree(folder, ignore_errors=True)
