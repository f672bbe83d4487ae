"""Keeping what the compiler prints until it is known whether anybody needs it."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from irlens.model.errors import TROUBLE

#: Waits for a line; if it gets none because the process has died, it prints the log's end. LLVM
#: ends the process on some errors, and its last words would be lost in the log.
_LAST_WORDS = 'read -r finished || { printf %s "$1"; tail -n 5 "$0"; } >&2'

_heading = ""


def head_last_words(heading: str) -> None:
    """Set what is said before the last words of a compiler that ends this process.

    Args:
        heading: Whole lines. Without it there is nothing, for a process that another one asks
            what became of it.
    """
    global _heading  # as the process is: there is one
    _heading = heading


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
    command = ["/bin/sh", "-c", _LAST_WORDS, str(log), _heading]
    watcher = subprocess.Popen(command, stdin=subprocess.PIPE)
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
        with redirect_stdout(stream), _trouble_if_it_exits(libc):
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


@contextmanager
def _trouble_if_it_exits(libc: ctypes.CDLL) -> Iterator[None]:
    """See to the exit code where C code ends the process.

    The LLVM of Triton 3.6 calls ``exit(1)`` on an error in inline assembly, and 1 would mean that
    a difference was found.
    """
    if not hasattr(libc, "gnu_get_libc_version"):  # others cannot unregister a handler
        yield
        return
    running = True

    def at_exit(_: int | None) -> None:
        if running:
            os._exit(TROUBLE)

    handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(at_exit)
    owner = ctypes.create_string_buffer(1)  # its address tells this handler from all others
    libc.__cxa_atexit(handler, None, owner)  # Itanium C++ ABI, 3.3.6
    try:
        yield
    finally:
        running = False
        libc.__cxa_finalize(owner)  # calls it once more, and forgets it
