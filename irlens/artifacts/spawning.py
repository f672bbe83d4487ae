"""Interpreters that ``multiprocessing`` starts, which import nothing from the working directory.

It starts them with ``-c``, for which Python puts the working directory in front of its own modules:
a ``subprocess.py`` or ``torch.py`` there would be executed in each worker.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess

#: As the option ``-P``, for interpreters whose command is not irlens's.
_VARIABLE = "PYTHONSAFEPATH"


@contextmanager
def safe_path() -> Iterator[None]:
    """Let interpreters that start within the block leave out the working directory."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = "1"
    try:
        yield
    finally:
        del os.environ[_VARIABLE]
        if before is not None:
            os.environ[_VARIABLE] = before


def start_tracker() -> None:
    """Start the process that watches what spawned processes share; it is one for all of them."""
    with safe_path():
        resource_tracker.ensure_running()


class SafeProcess(SpawnProcess):
    """A process that imports nothing from the working directory as it starts."""

    def start(self) -> None:
        """Start it."""
        with safe_path():
            super().start()


class SafeContext(SpawnContext):
    """Starts such processes."""

    Process = SafeProcess
