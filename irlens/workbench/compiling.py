"""Compiling while the interface runs: in a process of its own, which can be killed.

Triton writes to the process's own standard error and takes it away while it compiles, and the
interface draws there.
"""

import subprocess
import sys
import threading

from irlens.model.errors import CaptureError

#: What the command line puts before an error.
_LABEL = "irlens: error: "


class Compiler:
    """One compilation at a time; ``cancel`` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._cancelled = False

    def compile(self, kernel: str, options: list[str]) -> None:
        """Compile a kernel, so that the store has it afterwards.

        Args:
            kernel: As on the command line.
            options: The same.

        Raises:
            CaptureError: It cannot be compiled, another compilation is running, or this one was
                cancelled.
        """
        command = [sys.executable, "-m", "irlens", "inspect", kernel, *options]
        if not self._lock.acquire(blocking=False):
            raise CaptureError("another kernel is being compiled", hint="wait, or cancel it")
        try:
            self._cancelled = False
            self._process = subprocess.Popen(
                [*command, "--no-run", "--format", "json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
            _, said = self._process.communicate()
            if self._cancelled:
                raise CaptureError(f"compiling {kernel} was cancelled")
            if self._process.returncode:
                raise _error(kernel, said)
        finally:
            self._process = None
            self._lock.release()

    def cancel(self) -> None:
        """Abandon the compilation that is running, if there is one."""
        process = self._process
        if process is not None:
            self._cancelled = True
            process.kill()


def _error(kernel: str, said: str) -> CaptureError:
    """Return what the command line said, as the error that it was."""
    lines = [line for line in said.splitlines() if line.strip()]
    starts = [at for at, line in enumerate(lines) if line.startswith(_LABEL)]
    if not starts:
        last = lines[-1] if lines else "it said nothing"
        return CaptureError(f"{kernel} was not compiled: {last}")
    message, *hint = lines[starts[-1] :]
    told = "\n".join(line.strip() for line in hint)
    return CaptureError(message.removeprefix(_LABEL), hint=told or None)
