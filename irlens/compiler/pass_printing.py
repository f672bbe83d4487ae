"""Let Triton print the IR before each of its passes, and their times."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from irlens.artifacts import pass_dumps
from irlens.compiler.compiler_output import divert_output

#: Read by the pass manager, and the last by Triton's NVIDIA backend for what ptxas says.
_SETTINGS = {
    "MLIR_ENABLE_DUMP": "1",
    "MLIR_ENABLE_TIMING": "1",
    "MLIR_ENABLE_DIAGNOSTICS": "warnings,remarks",
    "TRITON_DUMP_PTXAS_LOG": "1",
}
#: These would print elsewhere.
_ELSEWHERE = ("MLIR_DUMP_PATH",)
#: Lines that only a reader of the passes asks for.
_OF_PASSES = re.compile(r"ptxas|\s|.*\b(?:remark|note): ")


@contextmanager
def printed_passes(log: Path) -> Iterator[Callable[[], bytes]]:
    """Make Triton print its passes into a file.

    What else it prints goes where it would have gone.

    Args:
        log: The file, which must not exist yet.

    Yields:
        A function that returns the file for a capture, see ``pass_dumps``; to be called once the
        block has ended.
    """
    with _environment():
        try:
            with divert_output(log) as printed:
                yield lambda: pass_dumps.compressed(printed())
        except BaseException:
            _say(pass_dumps.read(printed()).remarks)
            raise
    remarks = pass_dumps.read(printed()).remarks
    _say([line for line in remarks if not _OF_PASSES.match(line)])


def _say(lines: list[str]) -> None:
    if lines:
        print(*lines, sep="\n", file=sys.stderr)


@contextmanager
def _environment() -> Iterator[None]:
    names = (*_SETTINGS, *_ELSEWHERE)
    before = {name: os.environ.pop(name, None) for name in names}
    os.environ.update(_SETTINGS)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
