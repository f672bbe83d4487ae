"""The journal of an interrupted sweep, from which the same command resumes.

A sweep appends results and times to a file as they arrive. Resuming skips a line that a kill cut
short, and repeats no configuration of the other lines, including failures and results of another
machine's workers, which the store of captures lacks. A complete sweep removes its journal: the
next one tries failed configurations again.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self, TypeAlias

import msgspec

from irlens.artifacts import inventory, locks, report_cache, store
from irlens.compiler.planning import Plan, PlannedVariant
from irlens.compiler.request import compiler_environment
from irlens.model import calibration_files, files
from irlens.model.sweep import Measurement, Result

#: Age in seconds after which an unfinished journal is deleted: 30 days.
_ABANDONED = 30 * 24 * 3600.0


class _ResultLine(msgspec.Struct, frozen=True, tag="answer"):
    number: int
    result: Result


class _TimeLine(msgspec.Struct, frozen=True, tag="time"):
    number: int
    measurement: Measurement
    bench: str


_Line: TypeAlias = _ResultLine | _TimeLine


class Journal:
    """The file of one sweep.

    Args:
        variants: The variants of the plan that are compiled. Lines refer to them by index.
    """

    def __init__(self, plan: Plan, variants: Sequence[PlannedVariant]) -> None:
        key = store.digest(
            [
                report_cache.program_digest().hex(),
                calibration_files.digest().hex(),
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
            os.write(self._file, b"\n")  # the last line may have been cut short
        except OSError:
            self._close()  # without a journal, an interrupted sweep starts over
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def results(self) -> dict[int, Result]:
        """Return the known results by index of the variant."""
        lines = self._lines()
        return {each.number: each.result for each in lines if isinstance(each, _ResultLine)}

    def times(self) -> dict[str, dict[int, Measurement]]:
        """Return the known measurements by bench and index of the variant.

        A bench is the GPU and driver, as ``timing_identity`` returns them: times of different
        benches cannot be compared.
        """
        times: dict[str, dict[int, Measurement]] = {}
        for each in self._lines():
            if isinstance(each, _TimeLine):
                times.setdefault(each.bench, {})[each.number] = each.measurement
        return times

    def add_result(self, number: int, result: Result) -> None:
        """Append a result."""
        self._write(_ResultLine(number, result))

    def add_time(self, number: int, measurement: Measurement, bench: str) -> None:
        """Append a measurement."""
        self._write(_TimeLine(number, measurement, bench))

    def remove(self) -> None:
        """Delete the journal: the sweep is complete."""
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
            except files.DECODE_ERRORS:
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


SWEEPS = inventory.Kind(
    "sweeps",
    folder="sweeps",
    name=lambda path: inventory.name_of(path, ".jsonl"),
    guard=locks.alone,
)


def _clean(folder: Path) -> None:
    for path in folder.glob("*.jsonl"):
        if store.is_old(path, min_age=_ABANDONED):
            path.unlink(missing_ok=True)
