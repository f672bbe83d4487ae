"""What an interrupted sweep had found out, so that the same command goes on from there.

A sweep's answers and times are appended to a file as they come. A line that a kill cut short is
passed over, and the answers behind the others are not asked for again, failures and those of
another machine's workers included, which the store of captures does not have. A sweep that ends
takes its journal away: asked again, what failed is tried again.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self, TypeAlias

import msgspec

from irlens.artifacts import kept, locks, memo, store
from irlens.compiler.planning import Plan, PlannedVariant
from irlens.compiler.request import compiler_environment
from irlens.model.sweep import Timing
from irlens.sweep.found import Found

#: Journals that nobody has gone on with for so long, in seconds, are thrown away: 30 days.
_ABANDONED = 30 * 24 * 3600.0


class _Answer(msgspec.Struct, frozen=True, tag="answer"):
    number: int
    found: Found


class _Time(msgspec.Struct, frozen=True, tag="time"):
    number: int
    timing: Timing
    bench: str


_Line: TypeAlias = _Answer | _Time


class Journal:
    """The file of one sweep.

    Args:
        plan: What the sweep comes to, the state of its source files included.
        variants: Those of the plan that are tried out. The journal knows them by their numbers in
            this order.
    """

    def __init__(self, plan: Plan, variants: Sequence[PlannedVariant]) -> None:
        key = store.digest(
            [
                memo.program().hex(),
                plan.dependencies,
                compiler_environment(),
                [(each.request, each.triton) for each in variants],
            ]
        )
        self._path = store.root() / SWEEPS.folder / f"{key}.jsonl"
        self._file: int | None = None

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            _clean(self._path.parent)
            self._file = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o666)
            with suppress(OSError):  # a file system that has no locks
                locks.share(self._file)
            os.write(self._file, b"\n")  # the line before it may have been cut short
        except OSError:
            self._close()  # then an interrupted sweep starts over
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def found(self) -> dict[int, Found]:
        """Return the answers that are known already, by the number of the variant."""
        return {each.number: each.found for each in self._lines() if isinstance(each, _Answer)}

    def times(self) -> dict[str, dict[int, Timing]]:
        """Return the times that were taken already, by bench and number of the variant.

        A bench is what ``device.bench`` tells: times of different ones cannot be compared.
        """
        found: dict[str, dict[int, Timing]] = {}
        for each in self._lines():
            if isinstance(each, _Time):
                found.setdefault(each.bench, {})[each.number] = each.timing
        return found

    def note(self, number: int, found: Found) -> None:
        """Remember an answer."""
        self._write(_Answer(number, found))

    def note_time(self, number: int, timing: Timing, bench: str) -> None:
        """Remember a time."""
        self._write(_Time(number, timing, bench))

    def forget(self) -> None:
        """Take the journal away: the sweep is complete."""
        self._path.unlink(missing_ok=True)

    def _lines(self) -> list[_Line]:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return []
        known: list[_Line] = []
        for line in lines:
            try:
                known.append(msgspec.json.decode(line, type=_Line))
            except msgspec.DecodeError:
                continue
        return known

    def _write(self, line: _Line) -> None:
        if self._file is None:
            return
        try:
            os.write(self._file, msgspec.json.encode(line) + b"\n")
        except OSError:  # a full disk
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


SWEEPS = kept.Kind(
    "sweeps",
    folder="sweeps",
    name=lambda path: kept.keyed(path, ".jsonl"),
    guard=locks.alone,
)


def _clean(folder: Path) -> None:
    for path in folder.glob("*.jsonl"):
        if store.is_old(path, min_age=_ABANDONED):
            path.unlink(missing_ok=True)
