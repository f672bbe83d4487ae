"""What runs the program: a process of its own, in which Triton is watched.

Started as ``python -P -m irlens.recording.runner ORDER``.
"""

import os
import re
import runpy
import sys
import traceback
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import msgspec

from irlens import arch
from irlens.analyze.kernels import by_name
from irlens.capturing.absent import Liberties, NoValueError
from irlens.model.config import Target
from irlens.model.errors import CaptureError
from irlens.parse import cubin, hsaco
from irlens.recording.order import ENDING, LAUNCHES, Ending, Order
from irlens.recording.processes import watch_processes

if TYPE_CHECKING:
    from irlens.capturing.triton_door import LoadedFacts

_RUNPY = (runpy.__file__, "<frozen runpy>")
#: Files that are not the user's: installed ones, and this program's.
_INSTALLED = re.compile(
    rf"/(site|dist)-packages/|^<frozen |^{re.escape(str(Path(__file__).parents[1]))}/"
)


def main() -> None:
    """Run the program of the order as if Python had been started with it."""
    order = msgspec.json.decode(sys.argv[1], type=Order)
    notes = Path(order.notes)
    _restore_environment(order)
    liberties = Liberties() if order.target is None else _pretend(order, order.target)
    _watch(notes / LAUNCHES)
    watch_processes(liberties.tell_of_process)
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


def _watch(notes: Path) -> None:
    """Write down launches as they come: a program may end by a signal."""
    from irlens.capturing.launch import Launch
    from irlens.capturing.triton_door import watch_launches

    encoder = msgspec.json.Encoder()

    def tell(launch: Launch) -> None:
        with notes.open("ab") as stream:  # opened anew, since a program may fork
            stream.write(encoder.encode(launch) + b"\n")

    watch_launches(tell)


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


def _pretend(order: Order, target: Target) -> Liberties:
    """Put a GPU and its driver in place that are not there; return what counts liberties."""
    from irlens.capturing.triton_door import launch_nowhere

    row = arch.by_arch(target.arch).arch
    known = {
        "max_shared_mem": row.shared_per_block_optin,
        "max_num_regs": row.registers_per_block,
        "warpSize": row.warp_size,
    }
    if order.sm_count is not None:
        known["multiprocessor_count"] = order.sm_count
    read = _cubin_facts if target.vendor == "nvidia" else _hsaco_facts
    launch_nowhere(target, known, row.threads_per_block, read)
    if find_spec("torch") is None:
        return Liberties()
    from irlens.capturing.absent_runtime import GpuFacts
    from irlens.capturing.absent_torch import pretend_gpu

    properties = {
        "shared_memory_per_block": row.shared_per_block,
        "shared_memory_per_block_optin": row.shared_per_block_optin,
        "shared_memory_per_multiprocessor": row.shared_per_sm,
        "regs_per_multiprocessor": row.registers_per_sm,
        "max_threads_per_multi_processor": row.warps_per_sm * row.warp_size,
    }
    if order.sm_count is not None:
        properties["multi_processor_count"] = order.sm_count
    return pretend_gpu(GpuFacts(target=target, name=order.name, properties=properties))


def _cubin_facts(binary: bytes, kernel: str) -> "LoadedFacts":
    """Return what a driver says of a kernel that it has loaded.

    Raises:
        CaptureError: The cubin does not say.
    """
    from irlens.capturing.triton_door import LoadedFacts

    found = by_name(cubin.read(binary).kernels, kernel)
    if found is None or found.registers is None or found.local_bytes is None:
        raise CaptureError(f"the cubin of {kernel} does not say how many registers it takes")
    return LoadedFacts(found.registers, found.local_bytes)


def _hsaco_facts(binary: bytes, kernel: str) -> "LoadedFacts":
    """Return what a driver says of a kernel that it has loaded.

    Raises:
        CaptureError: The code object holds no such kernel.
    """
    from irlens.capturing.triton_door import LoadedFacts

    found = by_name(hsaco.read(binary).kernels, kernel)
    if found is None:
        raise CaptureError(f"the hsaco holds no kernel named {kernel}")
    return LoadedFacts(found.registers, found.scratch_bytes)


if __name__ == "__main__":
    main()
