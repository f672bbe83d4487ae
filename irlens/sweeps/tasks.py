"""The tasks of a worker: plan, compile, time or count a configuration. Tasks and answers are bytes.

Handlers return every error as an answer: an exception that cannot be unpickled on the other side
would break the whole pool.
"""

import gc
import hashlib
import socket
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import msgspec

from irlens.artifacts.processes import Refused
from irlens.compiler import KernelSource, Request, capture, find_kernel
from irlens.compiler.compile_request import is_stored, measure
from irlens.compiler.planning import Plan, plan
from irlens.compiler.sources.lookup import samples_folder
from irlens.compiler.toolchains.interpreters import CompilerDiedError
from irlens.model.capture import Capture
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.sweep import Measurement, ProviderName, Result, from_error
from irlens.version import VERSION

if TYPE_CHECKING:  # the analyses, which planning and compiling do not need
    from irlens.sweeps import inspecting

#: Runs a task: encoded task in, encoded answer out.
Handler: TypeAlias = Callable[[bytes], bytes]
T = TypeVar("T")

_TOO_LONG = "an argument, a constexpr or an option is an integer of more than 64 bits"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is to do.

    Attributes:
        requests: One request, or all of them for planning, or several to inspect.
        content: sha256 of the kernel's file on the machine that runs the sweep.
        instructions: What ``run_list`` answered of requests to inspect; empty where none did.
    """

    requests: list[Request]
    content: str
    version: str = VERSION
    against: list[ProviderName] = []
    instructions: bytes = b""


class Answered(msgspec.Struct, Generic[T], frozen=True, tag="answer"):
    """What a task asked for."""

    content: T


class Compiled(msgspec.Struct, frozen=True):
    """The answer of ``run_compile``.

    Attributes:
        failed: The result of a configuration that does not compile.
        seconds: How long compiling took; ``None`` where the store had it.
    """

    failed: Result | None
    seconds: float | None = None


def encode_task(
    source: KernelSource,
    requests: Sequence[Request],
    against: Sequence[ProviderName] = (),
    instructions: bytes = b"",
) -> bytes:
    """Return a task with requests of one kernel.

    The kernel's name is one that other processes and machines resolve: a sample, which every
    installation has, goes by its name, another kernel by its path.
    """
    place = str(source.path)
    if source.path.parent == samples_folder().resolve():
        place = source.path.stem
    kernel = f"{place}:{source.function}"
    task = Task(
        requests=[msgspec.structs.replace(each, kernel=kernel) for each in requests],
        content=hashlib.sha256(source.content).hexdigest(),
        against=list(against),
        instructions=instructions,
    )
    try:
        return msgspec.msgpack.encode(task)
    except OverflowError as error:
        raise CaptureError(f"{source.function}: {_TOO_LONG}") from error


def run_prepare(task: bytes) -> bytes:
    """Import the compiler and the analyses ahead of the first request."""
    return _run(task, _prepare)


def run_plan(task: bytes) -> bytes:
    """Return every variant that the task's requests ask for, as a ``Plan``."""
    return _run(task, _plan)


def run_compile(task: bytes) -> bytes:
    """Compile the task's single request; return ``Compiled``."""
    return _run(task, _compiled)


def run_list(task: bytes) -> bytes:
    """Disassemble what the task's requests compiled to; return ``inspecting.instructions``."""
    return _run(task, _listed)


def run_inspect(task: bytes) -> bytes:
    """Inspect the task's requests together, compiled if they have not been: ``list[Result]``."""
    return _run(task, _inspected)


def run_timing(task: bytes) -> bytes:
    """Launch the task's single request repeatedly; return its ``Measurement``."""
    return _run(task, _measured)


def run_count(task: bytes) -> bytes:
    """Count what the task's single request asks of each unit, as ``Counted``."""
    return _run(task, _counted)


def decode_answer(answer: bytes, kind: type[T]) -> T:
    """Decode the answer of a worker.

    Args:
        kind: The type of its content.

    Raises:
        IrlensError: The worker refused the task.
    """
    decoded = msgspec.msgpack.decode(answer, type=Answered[kind] | Refused)  # type: ignore[valid-type]
    if isinstance(decoded, Refused):
        raise IrlensError(decoded.message, hint=decoded.hint)
    content: T = decoded.content
    return content


def _run(encoded: bytes, work: Callable[[Task], object]) -> bytes:
    try:
        task = msgspec.msgpack.decode(encoded, type=Task)
        _check(task)
        answer: Answered[object] | Refused = Answered(work(task))
    except IrlensError as error:
        answer = Refused(error.message, error.hint)
    except Exception as error:  # a bug of irlens in one configuration must not end the sweep
        answer = Refused(f"irlens failed: {type(error).__name__}: {error}", "please report it")
    _freeze_imports(work)
    try:
        return msgspec.msgpack.encode(answer)
    except OverflowError:
        return msgspec.msgpack.encode(Refused(_TOO_LONG, ""))


@cache
def _freeze_imports(_work: Callable[[Task], object]) -> None:
    """Exempt what the first task of a kind has imported from garbage collection.

    Triton's and irlens's modules stay anyway, and traversing them takes 5 % of every task.
    """
    gc.collect()
    gc.freeze()


def _check(task: Task) -> None:
    """Raise ``IrlensError`` where this worker has another irlens or another kernel."""
    here = socket.gethostname()
    if task.version != VERSION:
        raise IrlensError(
            f"the worker on {here} has irlens {VERSION}, the sweep {task.version}",
            hint="install the same version on every worker",
        )
    kernel = task.requests[0].kernel
    path, _, _ = kernel.rpartition(":")
    if "/" in path and not Path(path).is_file():
        raise IrlensError(
            f"the worker on {here} has no file {path}",
            hint="put the kernel under the same path on every worker",
        )
    if hashlib.sha256(find_kernel(kernel).content).hexdigest() != task.content:
        raise IrlensError(
            f"the worker on {here} has a different {path}",
            hint="update its file, and do not edit it during the sweep",
        )


def _prepare(task: Task) -> None:
    from irlens.sweeps import inspecting

    _import_compiler(task.requests[0])
    inspecting.prepare()


def _plan(task: Task) -> Plan:
    return plan(task.requests)


def _compiled(task: Task) -> Compiled:
    (request,) = task.requests
    if is_stored(request):
        return Compiled(None)
    _import_compiler(request)  # which is not part of a variant's time
    started = time.monotonic()
    captured = _captured(request)
    failed = captured if isinstance(captured, Result) else None
    return Compiled(failed, time.monotonic() - started)


def _listed(task: Task) -> bytes:
    from irlens.sweeps import inspecting

    return inspecting.instructions([_captured(request) for request in task.requests])


def _inspected(task: Task) -> list[Result]:
    from irlens.sweeps import inspecting

    captured = [_captured(request) for request in task.requests]
    return inspecting.results(captured, task.instructions)


def _measured(task: Task) -> Measurement:
    (request,) = task.requests
    return measure(request, task.against)


def _counted(task: Task) -> "inspecting.Counted":
    from irlens.sweeps import inspecting

    (request,) = task.requests
    (compiled,) = capture(request)
    return inspecting.count(compiled)


def _import_compiler(request: Request) -> None:
    """Import this process's Triton, if a request is for it."""
    from irlens.compiler.kernel_session import import_compiler

    if request.triton is None:
        import_compiler()


def _captured(request: Request) -> Capture | Result:
    """Return a request's single capture, or the result of one that does not compile."""
    try:
        captures = capture(request)
    except CompilerDiedError as error:
        return Result(outcome="died", reason=error.message, hint=error.hint or "")
    except CaptureError as error:
        return from_error(error)
    if len(captures) != 1:
        return from_error(CaptureError(f"{len(captures)} configurations instead of one"))
    return captures[0]
