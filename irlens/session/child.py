"""Child processes that can be killed, with everything that they start.

Triton writes to the process's standard error and redirects it while it compiles, and the TUI draws
there. A child reads its task on stdin and answers in lines on stdout.
"""

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, suppress
from tempfile import TemporaryFile

import msgspec

from irlens.artifacts import processes
from irlens.compiler import crashes
from irlens.model.errors import CaptureError


class Ended(msgspec.Struct, frozen=True):
    """A child that has ended.

    Attributes:
        last_line: The last line on its stdout, which is its answer; empty if there is none.
        code: Its exit code; negative is a signal.
        errors: What it and its own children wrote to stderr.
    """

    last_line: bytes
    code: int
    errors: bytes

    def died(self, kernel: str) -> CaptureError:
        """Return the error of a child that gave no answer: LLVM may exit by itself."""
        return crashes.died(kernel, self.code, self.errors.decode("utf-8", "replace"))


class Child:
    """Runs a module in a process of its own, one at a time.

    Attributes:
        cancels: Number of calls of ``cancel`` so far.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.cancels = 0

    def run(
        self,
        module: str,
        task: bytes,
        cancels: int,
        on_line: Callable[[bytes], None] = lambda _: None,
    ) -> Ended:
        """Run a module to its end, or until it is cancelled.

        Args:
            module: The module, whose ``main`` answers.
            cancels: ``self.cancels`` at the time of the user's request: a later cancellation
                counts even if it came before the child was started.
        """
        last_line = b""
        with (
            TemporaryFile() as errors,
            subprocess.Popen(
                processes.command(module),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=processes.environment(),
                start_new_session=True,
            ) as process,
            ExitStack() as guard,
        ):
            self._process = process
            guard.enter_context(processes.guarded(process.pid))
            if self.cancels != cancels:  # cancelled before there was a process to kill
                _kill(process)
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError), process.stdin:  # it was killed
                process.stdin.write(task)
            for last_line in process.stdout:
                on_line(last_line)
            code = process.wait()
            self._process = None
            errors.seek(0)
            return Ended(last_line, code, errors.read())

    def cancel(self) -> None:
        """Kill the running child and everything that it started, if there is one."""
        self.cancels += 1
        process = self._process
        if process is not None:
            _kill(process)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and its group: ptxas, another Python."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
