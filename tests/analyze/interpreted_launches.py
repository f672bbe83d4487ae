"""Launch kernels under Triton's interpreter and record what they access.

Each line of standard input is a request, each line of standard output what was launched. Runs in
a process of its own with ``TRITON_INTERPRET=1``.
"""

import json
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from irlens.compiler.calls.argument_values import manifest_value
from irlens.compiler.interpreting import run_interpreter
from irlens.compiler.request import Request
from irlens.compiler.triton_compat.interpreter import Interpreted, observed_accesses

OPERATIONS = {"load": "load", "store": "store", "atomic_rmw": "atomic", "atomic_cas": "atomic"}


class Recorder:
    """What one line of a kernel accesses of one argument, by an operation."""

    def __init__(self, extent: int) -> None:
        self.bytes = 0
        self.masked = 0
        self.touched = np.zeros(extent, dtype=bool)

    def add(self, offsets: Any, masked: int, size: int) -> None:
        """Add the lanes of one execution."""
        self.bytes += offsets.size * size
        self.masked += masked
        for byte in range(size):
            self.touched[offsets + byte] = True


class Launch:
    """One launch of a kernel in a file."""

    def __init__(self, file: str, values: dict[str, Any]) -> None:
        self._file = file
        self._tensors = {
            name: (value.data_ptr(), value.numel() * value.element_size())
            for name, value in values.items()
            if torch.is_tensor(value)
        }
        self.recorders: dict[tuple[int, str, str], Recorder] = {}

    def observe(self, function: str, addresses: Any, mask: Any, size: int) -> None:
        """Record an access."""
        line = next(_lines(self._file))
        active = addresses[mask].astype(np.int64)
        masked = int(mask.size - mask.sum())
        owners = [
            (name, active - base, extent)
            for name, (base, extent) in self._tensors.items()
            if active.size and base <= active.min() and active.max() + size <= base + extent
        ]
        assert active.size == 0 or len(owners) == 1
        # Whose bytes a line does not access is of no account: it accesses one argument only.
        found = [key for key in self.recorders if key[:2] == (line, OPERATIONS[function])]
        if not owners:
            for key in found:
                self.recorders[key].masked += masked
            assert found, "the first program of a launch accesses memory"
            return
        ((name, offsets, extent),) = owners
        key = line, OPERATIONS[function], name
        self.recorders.setdefault(key, Recorder(extent)).add(offsets, masked, size)

    def totals(self) -> dict[str, int]:
        """Return the bytes, and those of them that are distinct, that are read and written."""
        return {
            "read_bytes": sum(each.bytes for each in self._of("load")),
            "written_bytes": sum(each.bytes for each in self._of("store")),
            "distinct_read_bytes": self._distinct("load"),
            "distinct_written_bytes": self._distinct("store"),
        }

    def _of(self, operation: str) -> list[Recorder]:
        return [each for key, each in self.recorders.items() if key[1] in (operation, "atomic")]

    def _distinct(self, operation: str) -> int:
        total = 0
        for name in self._tensors:
            touched = [
                each.touched
                for (_, kind, argument), each in self.recorders.items()
                if argument == name and kind in (operation, "atomic")
            ]
            total += int(np.logical_or.reduce(touched).sum()) if touched else 0
        return total


def _lines(file: str) -> Iterator[int]:
    frame = sys._getframe()
    while frame is not None:
        if Path(frame.f_code.co_filename).name == file:
            yield frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop


def launched(request: Request, file: str) -> dict[str, Any]:
    """Return what a kernel was launched with, and what it accessed."""
    told: dict[str, Any] = {}
    original = Interpreted.launch

    def launch(self: Any, grid: Any, args: Any, arguments: Any, settings: Any) -> Any:
        run = Launch(file, args)
        told["grid"] = grid
        told["arguments"] = {name: manifest_value(each) for name, each in arguments.items()}
        told["contents"] = {
            name: [str(value.numpy().dtype), value.flatten().tolist()]
            for name, value in args.items()
            if torch.is_tensor(value) and not value.is_floating_point()
        }
        with observed_accesses(run.observe):
            result = original(self, grid, args, arguments, settings)
        told["totals"] = run.totals()
        told["accesses"] = sorted(
            [*key, each.bytes, int(each.touched.sum()), each.masked]
            for key, each in run.recorders.items()
        )
        return result

    Interpreted.launch = launch  # type: ignore[method-assign]  # what it gets is of interest
    try:
        done = run_interpreter(request)
        told["interpretation"] = [done.read, done.written]
    finally:
        Interpreted.launch = original  # type: ignore[method-assign]  # see above
    return told


def main() -> None:
    """Answer every request of standard input."""
    for line in sys.stdin:
        request, file = json.loads(line)
        try:
            told: object = launched(msgspec.convert(request, Request), file)
        except Exception:
            told = traceback.format_exc()
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
