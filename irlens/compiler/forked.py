"""Compile in a forked child, so that a crash of the compiler ends nothing else.

LLVM and MLIR end their process on an assertion, and a deep recursion or too little memory ends it
with a signal. The child is forked once, before Triton is loaded, which takes a millisecond, and
answers one request after the other: it loads Triton once. What it compiled lies in the store.
"""

import atexit
import ctypes
import gc
import io
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeAlias

import msgspec

from irlens.artifacts import processes
from irlens.artifacts.temporary_folders import TemporaryFolder
from irlens.compiler import compile_request
from irlens.compiler.compile_request import Progress, ignore
from irlens.compiler.compiler_output import report_crashes_to
from irlens.compiler.request import Request
from irlens.model.capture import Capture
from irlens.model.errors import CaptureError

#: A warning of the child: its text, file and line.
_Warning: TypeAlias = tuple[str, str, int]
_PR_SET_PDEATHSIG = 1
#: Seconds for an interrupted child to remove its workspace.
_GRACE = 1.0


class _Answer(msgspec.Struct, frozen=True):
    entries: list[Path]
    warned: list[_Warning]
    error: BaseException | None = None


class _Reached(msgspec.Struct, frozen=True):
    """What a child has compiled of a request: see ``compile_request.Progress``."""

    done: int
    total: int


def capture(
    request: Request,
    meanwhile: Callable[[], object] | None = None,
    progress: Progress = ignore,
) -> Sequence[Capture]:
    """Return the captures of a request like ``compiler.capture``, and survive the compiler.

    A launch is made in this process, which may hold the GPU already; so is a compilation where
    other threads run, whose locks a fork would copy.

    Args:
        meanwhile: Called while the child compiles.
        progress: Receives how many configurations of several the child has compiled.

    Raises:
        IrlensError: The kernel does not compile, or the compiler crashed.
    """
    if request.run or not hasattr(os, "fork") or threading.active_count() > 1:
        return compile_request.capture(request)
    entries = partial(_entries, meanwhile=meanwhile, progress=progress)
    return compile_request.capture(request, entries)


def end() -> None:
    """End the child of this process, if there is one."""
    child = _children.pop(os.getpid(), None)
    if child is not None:
        child.end()


def _entries(
    request: Request, meanwhile: Callable[[], object] | None, progress: Progress
) -> list[Path]:
    child = _children.get(os.getpid()) or _start()
    try:
        answer = child.ask(request, meanwhile, progress)
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        raise child.died(request.kernel) from None
    except BaseException:
        end()
        raise
    for text, file, line in answer.warned:
        warnings.warn_explicit(text, UserWarning, file, line)
    if answer.error is not None:
        raise answer.error
    return answer.entries


class _Child:
    """A process that answers requests.

    Args:
        crash: Receives the end of the compiler's output if that ends the process.
        temporary: Where Triton's temporary files are, which a child that is killed leaves.
    """

    def __init__(
        self,
        pid: int,
        requests: BinaryIO,
        answers: BinaryIO,
        crash: BinaryIO,
        temporary: TemporaryFolder,
    ) -> None:
        self._pid, self._requests, self._answers, self._crash = pid, requests, answers, crash
        self._temporary = temporary

    def ask(
        self, request: Request, meanwhile: Callable[[], object] | None, progress: Progress
    ) -> _Answer:
        """Return the answer to a request, and do something else until it comes."""
        pickle.dump(request, self._requests)
        self._requests.flush()
        if meanwhile is not None:
            meanwhile()
        while True:
            answer: _Answer | _Reached = pickle.load(self._answers)  # of this program's own fork
            if isinstance(answer, _Answer):
                return answer
            progress(answer.done, answer.total)

    def died(self, kernel: str) -> CaptureError:
        """Return the error of a child that ended without an answer."""
        from irlens.compiler import crashes  # what compiles needs none of its patterns

        del _children[os.getpid()]
        code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        printed = self._crash.read().decode("utf-8", "replace")
        self._close()
        self._temporary.cleanup()
        return crashes.died(kernel, code, printed)

    def end(self) -> None:
        """End the child: it is idle, or was interrupted too, if a terminal was."""
        self._close()
        until = time.monotonic() + _GRACE
        with suppress(ChildProcessError):
            while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                if time.monotonic() > until:
                    os.kill(self._pid, signal.SIGKILL)
                time.sleep(0.001)
        self._temporary.cleanup()

    def _close(self) -> None:
        for stream in (self._requests, self._answers, self._crash):
            with suppress(BrokenPipeError):
                stream.close()


#: The child of a process, by the process's id: a fork has none.
_children: dict[int, _Child] = {}


def _start() -> _Child:
    """Fork the child of this process, which ends with it."""
    pipes = [os.pipe() for _ in range(3)]
    (request_end, requests), (answers, answer_end), (crash, crash_end) = pipes
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # or the child may write it again
    parent, temporary = os.getpid(), TemporaryFolder()
    gc.freeze()  # what was imported stays, and collections would copy what they visit
    with processes.deferred_interrupts():
        pid = os.fork()
        if pid == 0:
            for ours in (requests, answers, crash):
                os.close(ours)
            report_crashes_to(crash_end)
            with suppress(OSError):  # stderr is closed
                os.dup2(2, 1)  # stdout is for reports: what a file's processes print is not
            os.environ["TMPDIR"] = tempfile.tempdir = temporary.name
            # Triton asks all installed packages for others, for no GPU that irlens knows.
            os.environ["TRITON_BACKENDS_IN_TREE"] = "1"
            _serve(parent, os.fdopen(request_end, "rb"), os.fdopen(answer_end, "wb"))
    for theirs in (request_end, answer_end, crash_end):
        os.close(theirs)
    atexit.register(end)  # so that nothing is left, and the system's accounts have its time
    ends = (os.fdopen(requests, "wb"), os.fdopen(answers, "rb"), os.fdopen(crash, "rb"))
    child = _children[parent] = _Child(pid, *ends, temporary)
    return child


def _serve(parent: int, requests: BinaryIO, answers: BinaryIO) -> NoReturn:
    """Answer requests until the parent closes the pipe."""
    code = 0
    try:
        processes.accept_interrupts()
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        while os.getppid() == parent:
            request = pickle.load(requests)  # of this program's own fork
            answers.write(_pickled(_answer(request, answers)))
            answers.flush()
    except EOFError:
        pass
    except BaseException:  # an interruption, which the parent reports
        code = 1
    finally:
        os._exit(code)  # no clean-up of the parent's, and none of LLVM's, which takes a while


def _answer(request: Request, answers: BinaryIO) -> _Answer:
    entries, error = [], None

    def report(done: int, total: int) -> None:
        pickle.dump(_Reached(done, total), answers)
        answers.flush()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            entries = compile_request.capture_entries(request, report)
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # as it would end the parent
            raised.add_note(traceback.format_exc())
            error = raised
    warned = [(str(each.message), each.filename, each.lineno) for each in caught]
    return _Answer(entries, warned, error)


def _pickled(answer: _Answer) -> bytes:
    try:
        stream = io.BytesIO()
        pickler = pickle.Pickler(stream)
        # Importing Dask registers another way to pickle every exception, with the frames of its
        # traceback, on which the pickler may recurse too deeply.
        pickler.dispatch_table = {}
        pickler.dump(answer)
        data = stream.getvalue()
        pickle.loads(data)  # some exceptions cannot be restored
    except Exception as failed:  # an exception that cannot be pickled may raise any other
        text = "".join(traceback.format_exception(answer.error))
        text += f"which cannot be pickled: {failed!r}"
        return pickle.dumps(msgspec.structs.replace(answer, error=RuntimeError(text)))
    return data
