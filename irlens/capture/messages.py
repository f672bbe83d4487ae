"""Keeping what the compiler prints until it is known whether anybody needs it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

#: Waits for a line; if it gets none because the process has died, it prints the log's end. LLVM
#: aborts the process on some errors, and its last words would be lost in the log.
_LAST_WORDS = 'read -r finished || tail -n 5 "$0" >&2'


@contextmanager
def held_back(log: Path) -> Iterator[Callable[[], str]]:
    """Send stdout and stderr to a file, the ones of C++ code included.

    MLIR writes its diagnostics straight to file descriptor 2, with a reproducer of hundreds of
    lines, and raises an exception that says only that something failed.

    Args:
        log: The file, which must not exist yet.

    Yields:
        A function that returns what has been printed so far. When the block ends well all of it
        goes to stderr; when it raises, nothing does.
    """
    sys.stderr.flush()
    real = os.dup(2)
    watcher = subprocess.Popen(["/bin/sh", "-c", _LAST_WORDS, str(log)], stdin=subprocess.PIPE)
    kept = os.open(log, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(kept, 2)
    stream = open(2, "w", closefd=False, errors="replace")  # noqa: SIM115  # outlives this statement

    def printed() -> str:
        stream.flush()
        sys.stderr.flush()
        return log.read_text("utf-8", "replace")

    try:
        with redirect_stdout(stream):
            yield printed
        os.write(real, printed().encode())
    finally:
        stream.flush()
        sys.stderr.flush()
        os.dup2(real, 2)
        os.close(kept)
        os.close(real)
        watcher.communicate(b"\n")
