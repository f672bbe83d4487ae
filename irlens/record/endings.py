"""Telling of liberties at the end of each process but the program's first."""

import os
from contextlib import suppress
from multiprocessing import util
from pathlib import Path
from uuid import uuid4

import msgspec

from irlens.compiler.fake_cuda import Deviations
from irlens.record.order import ENDING, Ending


class Telling:
    """Leaves an ``Ending`` in the notes for a process, and for each that is forked from it.

    Args:
        liberties: The process's.
        notes: The directory for notes.
    """

    def __init__(self, liberties: Deviations, notes: Path) -> None:
        self._liberties = liberties
        self._notes = notes
        os.register_at_fork(after_in_child=self._begin_anew)  # which keeps this
        # By then `multiprocessing` has forgotten what was to be called at the end.
        util.register_after_fork(self, Telling._begin_anew)

    def at_end(self) -> None:
        """Tell at the end of this process, however ``multiprocessing`` ends it."""
        util.Finalize(None, self._tell, args=(uuid4().hex,), exitpriority=0)

    def _begin_anew(self) -> None:
        self._liberties.clear()
        self.at_end()

    def _tell(self, name: str) -> None:
        ending = Ending(liberties=self._liberties)
        with suppress(FileNotFoundError):  # the recording did not wait for this process
            (self._notes / f"{name}-{ENDING}").write_bytes(msgspec.json.encode(ending))
