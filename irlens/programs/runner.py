"""The process that runs the recorded program, with Triton instrumented.

It is started as ``python -P -m irlens.programs.runner JOB``.
"""

import os
import re
import runpy
import sys
import traceback
import warnings
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import msgspec

from irlens.compiler.fake_cuda import Deviations, NoValueError
from irlens.compiler.fake_cuda.unknown_numbers import UnknownNumber
from irlens.compiler.tally import Tally
from irlens.model.errors import CaptureError
from irlens.programs.child_processes import follow_child_processes
from irlens.programs.instrument import instrument, write_operations
from irlens.programs.job import (
    COUNTS,
    REPORT,
    Job,
    ProcessReport,
    Program,
    ReportAtExit,
    full_disk,
    write_counts,
)

_RUNPY = (runpy.__file__, "<frozen runpy>")
#: Files that are not the user's: installed packages, and irlens.
_INSTALLED = re.compile(
    rf"/(site|dist)-packages/|^<frozen |^{re.escape(str(Path(__file__).parents[1]))}/"
)

#: PyTorch's error about a placeholder where it takes only a whole number.
_REFUSED = re.compile(rf"(?P<function>\w+\(\))(?=.*\b{UnknownNumber.__name__}\b)")


def main() -> None:
    """Run the job's program as if Python had been started with it."""
    message = sys.argv[1]
    job = msgspec.json.decode(message, type=Job)
    folder = Path(job.folder)
    _restore_environment(job)
    follow_child_processes(message, folder)
    deviations, tally = Deviations(), Tally()
    try:
        instrument(job, deviations, tally)
    except OSError:
        if full_disk(folder) is None:  # otherwise the recorder says so
            raise
        sys.exit(1)
    # Each program would announce another default of Triton 3.10.
    warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION is unset")
    ReportAtExit(deviations, tally, folder)  # for forks; this process's own report is written below
    stopped = None
    try:
        _run(job.program)
    except Exception as error:  # whatever a program may raise
        missing = _missing_value(error)
        if missing is None:
            if full_disk(folder) is None:  # otherwise the recorder says so
                _print_traceback(error)
            sys.exit(1)
        stopped = f"{_user_line(error, folder)}: {missing}"
    finally:
        helion = "helion" in sys.modules
        report = ProcessReport(deviations=deviations, stopped=stopped, helion=helion)
        with suppress(OSError):  # a full disk, which the recorder reports
            (folder / REPORT).write_bytes(msgspec.json.encode(report))
            write_counts(tally, folder / COUNTS)
            if job.options.operations:
                write_operations(folder)
    sys.exit(1 if stopped else 0)


def _restore_environment(job: Job) -> None:
    """Restore the arguments, the environment and the path that the program would have had."""
    sys.argv[:] = [job.program.name, *job.program.arguments]
    if job.pythonpath is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = job.pythonpath
    name = job.program.name
    if not job.program.is_module:
        sys.path.insert(0, str(Path(name).resolve().parent))
    elif not name.startswith("irlens."):  # its own modules need no folder of the user's
        sys.path.insert(0, str(Path.cwd()))


def _run(program: Program) -> None:
    if program.is_module:
        runpy.run_module(program.name, run_name="__main__", alter_sys=True)
    else:
        _run_script(Path(program.name))


def _run_script(path: Path) -> None:
    """Run a file as ``__main__``; unlike runpy, keep the module for code that runs at exit."""
    file = str(path.absolute())
    module = ModuleType("__main__")
    module.__file__ = file
    module.__loader__ = SourceFileLoader("__main__", file)
    module.__dict__["__cached__"] = None
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    exec(compile(path.read_bytes(), file, "exec"), vars(module))


def _print_traceback(error: Exception) -> None:
    """Print an exception as Python does, without the frames of this module and runpy."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, *_RUNPY):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)


def _missing_value(error: BaseException | None) -> BaseException | None:
    """Return the error for a value that was never computed, if that ended the program.

    TorchDynamo and TorchInductor wrap exceptions.
    """
    while error is not None and not isinstance(error, NoValueError | CaptureError):
        is_wrapper = type(error).__module__.startswith(("torch._dynamo.", "torch._inductor."))
        refused = _REFUSED.search(str(error)) if isinstance(error, TypeError) else None
        if refused is not None:
            return NoValueError(refused["function"], "which only a kernel computes")
        error = getattr(error, "inner_exception", error.__context__) if is_wrapper else None
    return error


def _user_line(error: Exception, folder: Path) -> str:
    """Return the line of the user's own code that raised an exception.

    Code that TorchInductor wrote to its cache is not the user's.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame
        for frame in frames
        if not _INSTALLED.search(frame.filename) and not frame.filename.startswith(str(folder))
    ]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else "its start"


if __name__ == "__main__":
    main()
