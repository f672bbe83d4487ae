"""Interpreters that ``multiprocessing`` starts, which import nothing from the working directory.

It starts them with ``-c``, for which Python puts the working directory in front of its own modules:
a ``subprocess.py`` or ``torch.py`` there would be executed in each worker.
"""

from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess

from irlens.artifacts.processes import with_variables

#: As the option ``-P``, for interpreters whose command is not irlens's: they leave out the working
#: directory.
_SAFE_PATH = {"PYTHONSAFEPATH": "1"}


def start_tracker() -> None:
    """Start the process that watches what spawned processes share; it is one for all of them."""
    with with_variables(_SAFE_PATH):
        resource_tracker.ensure_running()


class SafeProcess(SpawnProcess):
    """A process that imports nothing from the working directory as it starts."""

    def start(self) -> None:
        """Start it."""
        with with_variables(_SAFE_PATH):
            super().start()


class SafeContext(SpawnContext):
    """Starts such processes."""

    Process = SafeProcess
