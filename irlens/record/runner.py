"""What runs the program: a process of its own, in which Triton is watched.

Started as ``python -P -m irlens.record.runner ORDER``.
"""

import os
import re
import runpy
import sys
import traceback
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import msgspec

from irlens.compiler.fake_cuda import Deviations, NoValueError
from irlens.model.errors import CaptureError
from irlens.record.carrying_out import carry_out
from irlens.record.endings import Telling
from irlens.record.order import ENDING, Ending, Order
from irlens.record.processes import follow_processes

_RUNPY = (runpy.__file__, "<frozen runpy>")
#: Files that are not the user's: installed ones, and this program's.
_INSTALLED = re.compile(
    rf"/(site|dist)-packages/|^<frozen |^{re.escape(str(Path(__file__).parents[1]))}/"
)


def main() -> None:
    """Run the program of the order as if Python had been started with it."""
    told = sys.argv[1]
    order = msgspec.json.decode(told, type=Order)
    notes = Path(order.notes)
    _restore_environment(order)
    follow_processes(told, notes)
    liberties = Deviations()
    carry_out(order, liberties)
    Telling(liberties, notes)  # of what is forked; of this process it is told below
    stopped = None
    try:
        _run(order)
    except Exception as error:  # whatever a program may raise
        wanting = _wanting(error)
        if wanting is None:
            _show(error)
            sys.exit(1)
        stopped = f"{_place(error, notes)}: {wanting}"
    finally:
        ending = Ending(liberties=liberties, stopped=stopped)
        (notes / ENDING).write_bytes(msgspec.json.encode(ending))
    sys.exit(1 if stopped else 0)


def _restore_environment(order: Order) -> None:
    """Give the program the arguments, the environment and the path that it would have had."""
    sys.argv[:] = [order.program, *order.arguments]
    if order.pythonpath is None:
        os.environ.pop("PYTHONPATH", None)
    else:
        os.environ["PYTHONPATH"] = order.pythonpath
    script = Path(order.program)
    sys.path.insert(0, str(Path.cwd() if order.is_module else script.resolve().parent))


def _run(order: Order) -> None:
    """Run the program."""
    if order.is_module:
        runpy.run_module(order.program, run_name="__main__", alter_sys=True)
    else:
        _run_script(Path(order.program))


def _run_script(path: Path) -> None:
    """Run a file as ``__main__``; unlike runpy, leave the module there for what runs at exit."""
    place = str(path.absolute())
    module = ModuleType("__main__")
    module.__file__ = place
    module.__loader__ = SourceFileLoader("__main__", place)
    module.__dict__["__cached__"] = None
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    exec(compile(path.read_bytes(), place, "exec"), vars(module))


def _show(error: Exception) -> None:
    """Print an exception as Python does, without the frames of who runs the program."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, *_RUNPY):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)


def _wanting(error: BaseException | None) -> BaseException | None:
    """Return what a program could not go on without, if that is why it has ended.

    TorchDynamo and TorchInductor wrap what ends them.
    """
    while error is not None and not isinstance(error, NoValueError | CaptureError):
        is_wrapper = type(error).__module__.startswith(("torch._dynamo.", "torch._inductor."))
        error = getattr(error, "inner_exception", error.__context__) if is_wrapper else None
    return error


def _place(error: Exception, notes: Path) -> str:
    """Return the line of the user's own code at which an exception was raised.

    What TorchInductor has written into its cache is not the user's.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame
        for frame in frames
        if not _INSTALLED.search(frame.filename) and not frame.filename.startswith(str(notes))
    ]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else "its start"


if __name__ == "__main__":
    main()
