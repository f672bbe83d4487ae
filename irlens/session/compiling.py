"""Compiling while the interface runs: in a process of its own, which can be killed.

Triton writes to the process's own standard error and takes it away while it compiles, and the
interface draws there.
"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.artifacts import store
from irlens.artifacts.entries import Broken
from irlens.artifacts.load import load
from irlens.model.capture import Capture
from irlens.model.errors import CaptureError

if TYPE_CHECKING:
    from irlens.compiler import Request

#: Lines of what a process said before it died that are told: the compiler's last words.
_LAST_WORDS = 40


class Compiler:
    """One compilation at a time; ``cancel`` may be called from any thread.

    Attributes:
        cancels: How often it was cancelled, for ``compile``.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.cancels = 0

    def compile(self, request: "Request", cancels: int | None = None) -> list[Capture]:
        """Compile a kernel into the store.

        Args:
            request: What is asked for.
            cancels: How often it was cancelled when that was decided: all that came since counts,
                if it came before there was anything to abandon. Now, if not given.

        Returns:
            One capture for each variant, never an empty list.

        Raises:
            CaptureError: It cannot be compiled, another compilation is running, or this one was
                cancelled.
        """
        known = self.cancels if cancels is None else cancels
        if not self._lock.acquire(blocking=False):
            raise CaptureError("another kernel is being compiled", hint="wait, or cancel it")
        store.hold()
        try:
            entries = self._ask(request, known)
        finally:
            self._lock.release()
        found = [each for entry in entries for each in load(Path(entry))]
        captures = [each for each in found if not isinstance(each, Broken)]
        if not captures:
            raise CaptureError(f"compiling {request.kernel} left nothing that can be read")
        return captures

    def cancel(self) -> None:
        """Abandon the compilation that is running, if there is one."""
        self.cancels += 1
        process = self._process
        if process is not None:
            _kill(process)

    def _ask(self, request: "Request", cancels: int) -> list[str]:
        """Return the directories of what was compiled."""
        from irlens.session import worker  # what compiles takes long to import

        with subprocess.Popen(
            # -P, because the working directory need not be trusted with modules.
            [sys.executable, "-P", "-m", worker.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        ) as process:
            self._process = process
            if self.cancels != cancels:  # before there was anything to kill
                _kill(process)
            answer, said = process.communicate(msgspec.json.encode(request))
            self._process = None
        if self.cancels != cancels:
            raise CaptureError(f"compiling {request.kernel} was cancelled")
        try:
            told = worker.read_answer(answer)
        except msgspec.DecodeError:
            raise _died(request.kernel, process.returncode, said) from None
        if isinstance(told, worker.Refused):
            raise CaptureError(told.message, hint=told.hint)
        return told.entries


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process with the compiler's own ones (ptxas, another Python), which are its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _died(kernel: str, code: int, said: bytes) -> CaptureError:
    """Return what a process that gave no answer said at last: LLVM may exit by itself."""
    lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    ending = f"was stopped by {signal.Signals(-code).name}" if code < 0 else f"stopped with {code}"
    hint = "\n".join(lines[-_LAST_WORDS:])
    return CaptureError(f"the compiler of {kernel} {ending}", hint=hint or None)
