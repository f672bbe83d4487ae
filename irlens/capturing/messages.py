"""Keeping what the compiler prints until it is known whether anybody needs it."""

import ctypes
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
    lines, and raises an exception that says only that something failed; and what a kernel prints
    while it runs comes out of file descriptor 1, where irlens's own data belongs.

    Args:
        log: The file, which must not exist yet.

    Yields:
        A function that returns what has been printed so far. When the block ends well all of it
        goes to stderr; when it raises, nothing does.
    """
    libc = ctypes.CDLL(None)
    stdout, stderr = os.dup(1), os.dup(2)
    watcher = subprocess.Popen(["/bin/sh", "-c", _LAST_WORDS, str(log)], stdin=subprocess.PIPE)
    kept = os.open(log, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
    stream = open(kept, "w", closefd=False, errors="replace")  # noqa: SIM115  # closed below

    def flush() -> None:
        stream.flush()
        sys.stderr.flush()
        libc.fflush(None)

    def printed() -> str:
        flush()
        return log.read_text("utf-8", "replace")

    flush()
    os.dup2(kept, 1)
    os.dup2(kept, 2)
    try:
        with redirect_stdout(stream):
            yield printed
        with open(stderr, "w", closefd=False) as real:
            real.write(printed())
    finally:
        flush()
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        stream.close()
        for descriptor in (kept, stdout, stderr):
            os.close(descriptor)
        watcher.communicate(b"\n")
