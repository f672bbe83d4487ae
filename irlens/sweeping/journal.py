"""What an interrupted sweep had found out, so that the same command goes on from there.

A sweep's answers are appended to a file as they come. A line that a kill cut short is passed
over, and the answers behind the others are not asked for again, failures and those of another
machine's workers included, which the store of captures does not have. A sweep that ends takes its
journal away: asked again, what failed is tried again.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from irlens.artifacts import memo, store
from irlens.capturing.planning import Plan
from irlens.capturing.request import compiler_environment
from irlens.sweeping.found import Found

#: Journals that nobody has gone on with for so long, in seconds, are thrown away: 30 days.
_ABANDONED = 30 * 24 * 3600.0


class _Line(msgspec.Struct, frozen=True):
    number: int
    found: Found


class Journal:
    """The file of one sweep.

    Args:
        plan: What the sweep comes to, the state of its source files included.
        numbers: Of the plan's variants, those that are tried out.
    """

    def __init__(self, plan: Plan, numbers: Sequence[int]) -> None:
        key = store.digest(
            [
                memo.program().hex(),
                plan.triton_version,
                plan.dependencies,
                compiler_environment(),
                [plan.variants[number].request for number in numbers],
            ]
        )
        self._path = store.root() / "sweeps" / f"{key}.jsonl"
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _clean(self._path.parent)
            self._file = self._path.open("ab")
            self._file.write(b"\n")  # the line before it may have been cut short
        except OSError:
            self._file = None  # then an interrupted sweep starts over
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self) -> dict[int, Found]:
        """Return what is known already, by the number of the variant."""
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return {}
        known = {}
        for line in lines:
            try:
                entry = msgspec.json.decode(line, type=_Line)
            except msgspec.DecodeError:
                continue
            known[entry.number] = entry.found
        return known

    def note(self, number: int, found: Found) -> None:
        """Remember an answer."""
        if self._file is None:
            return
        try:
            self._file.write(msgspec.json.encode(_Line(number, found)) + b"\n")
            self._file.flush()
        except OSError:  # a full disk
            self._file = None

    def forget(self) -> None:
        """Take the journal away: the sweep is complete."""
        self._path.unlink(missing_ok=True)


def _clean(folder: Path) -> None:
    for path in folder.glob("*.jsonl"):
        if time.time() - path.stat().st_mtime > _ABANDONED:
            path.unlink(missing_ok=True)
