"""Redirect the output of the process while the compiler runs, and what it prints of its passes."""

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import cache
from pathlib import Path

from irlens.artifacts.processes import with_variables
from irlens.model.errors import TROUBLE

#: Waits for a line on stdin. If the process dies instead, it prints the end of the log: LLVM ends
#: the process on some errors, and its last message would be lost. The process's parent says why.
_WATCHDOG = 'read -r finished || exec tail -n 60 "$0" >&2'

_crash_descriptor: int | None = None


def report_crashes_to(descriptor: int) -> None:
    """Set where the end of the compiler's output goes if that ends this process.

    Args:
        descriptor: An open file descriptor. The default is stderr.
    """
    global _crash_descriptor  # there is one process
    _crash_descriptor = descriptor


@contextmanager
def redirect_output(log: Path) -> Iterator[Callable[[], str]]:
    """Redirect stdout and stderr to a file while the compiler runs or a kernel prints.

    MLIR writes its diagnostics to file descriptor 2, with a reproducer of hundreds of lines, while
    its exception only says that a pass failed. A running kernel prints to file descriptor 1, which
    belongs to irlens's own data.

    Args:
        log: The file, which must not exist yet.

    Yields:
        A function that returns the output so far. All of it goes to stderr when the block ends,
        and nothing if the block raises.
    """

    def text() -> str:
        return printed().decode("utf-8", "replace")

    with divert_output(log) as printed, _exit_code_on_exit(ctypes.CDLL(None)):
        yield text
    with open(2, "w", closefd=False) as stderr:
        stderr.write(text())


@contextmanager
def divert_output(log: Path) -> Iterator[Callable[[], bytes]]:
    """Redirect stdout and stderr to a file, including those of C++ code; contexts may nest.

    Args:
        log: The file, which must not exist yet.

    Yields:
        A function that returns the output so far, also after the block.
    """
    libc = ctypes.CDLL(None)
    before = os.dup(1), os.dup(2)
    watchdog = _watchdog(log)
    target = os.open(log, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)

    def flush() -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        libc.fflush(None)

    def printed() -> bytes:
        flush()
        return log.read_bytes()

    flush()
    with os.fdopen(target, "w", errors="replace") as stream:
        for number in (1, 2):
            os.dup2(target, number)
        try:
            with redirect_stdout(stream):
                yield printed
        finally:
            flush()
            for number, original in zip((1, 2), before, strict=True):
                os.dup2(original, number)
                os.close(original)
            watchdog.communicate(b"\n")


def _watchdog(log: Path) -> subprocess.Popen[bytes]:
    """Return the process that prints the end of a log if this process dies."""
    command = ["/bin/sh", "-c", _WATCHDOG, str(log)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=_crash_descriptor)


@contextmanager
def _exit_code_on_exit(libc: ctypes.CDLL) -> Iterator[None]:
    """Exit with code 2 if C code ends the process.

    The LLVM of Triton 3.6 calls ``exit(1)`` on an error in inline assembly, and irlens's exit code
    1 means that it found a difference.
    """
    if not hasattr(libc, "gnu_get_libc_version"):  # others cannot unregister a handler
        yield
        return
    running = True

    def at_exit(_: int | None) -> None:
        if running:
            os._exit(TROUBLE)

    handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(at_exit)
    owner = ctypes.create_string_buffer(1)  # its address identifies this handler
    libc.__cxa_atexit(handler, None, owner)  # Itanium C++ ABI, 3.3.6
    try:
        yield
    finally:
        running = False
        libc.__cxa_finalize(owner)  # calls the handler once more, then unregisters it


#: Read by the pass manager, and the last by Triton's NVIDIA backend for what ptxas says.
_SETTINGS = {
    "MLIR_ENABLE_DIAGNOSTICS": "warnings,remarks",
    "TRITON_DUMP_PTXAS_LOG": "1",
}
#: LLVM's is read before LLVM's optimizer and before its code generator. LLVM's own option,
#: which Triton sets then, stays set up to 3.6 at least: ``forked`` ends such a process.
_OF = {
    "mlir": {"MLIR_ENABLE_DUMP": "1", "MLIR_ENABLE_TIMING": "1"},
    "llvm": {"LLVM_IR_ENABLE_DUMP": "1"},
}
#: Lines that only a reader of the passes asks for.
_OF_PASSES = re.compile(r"ptxas|\s|.*\b(?:remark|note): ")


@contextmanager
def printed_passes(log: Path, of: Collection[str]) -> Iterator[Callable[[], bytes]]:
    """Make Triton print its passes and remarks into a file.

    What else it prints goes where it would have gone.

    Args:
        of: Whose passes to print, "mlir" and "llvm"; remarks alone if it is empty.

    Yields:
        A function that returns the file for a capture, see ``pass_dumps``; to be called once the
        block has ended.
    """
    from irlens.artifacts import pass_dumps  # its patterns take milliseconds
    from irlens.compiler.triton_compat.pass_dumps import PATH, buffered_dumps

    @cache
    def text() -> str:
        return merged(printed()).decode("utf-8", "replace")

    buffered = buffered_dumps(log.with_suffix(".ir")) if "mlir" in of else nullcontext(bytes)
    settings = dict(_SETTINGS)
    for each in of:
        settings |= _OF[each]
    with with_variables(settings, without=[PATH]):
        try:
            with divert_output(log) as printed, buffered as merged:
                yield lambda: pass_dumps.compressed(text())
        except BaseException:
            _say(pass_dumps.read(text()).remarks)
            raise
    remarks = pass_dumps.read(text()).remarks
    _say([line for line in remarks if not _OF_PASSES.match(line)])


def _say(lines: list[str]) -> None:
    if lines:
        print(*lines, sep="\n", file=sys.stderr)


@contextmanager
def restored_environment() -> Iterator[None]:
    """Undo what a context, such as a user's file, does to this process's environment."""
    before = dict(os.environ)
    try:
        yield
    finally:
        # Not clear() and update(): other threads read it meanwhile.
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update({n: v for n, v in before.items() if os.environ.get(n) != v})
