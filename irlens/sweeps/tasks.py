"""The tasks of a worker: plan, compile, time or count a configuration. Tasks and answers are bytes.

Handlers return every error as an answer: an exception that cannot be unpickled on the other side
would break the whole pool.
"""

import gc
import hashlib
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

import msgspec

from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.time.counts import CountedLaunch
from irlens.artifacts import report_cache
from irlens.artifacts.code_listings import CodeListings
from irlens.artifacts.processes import Refused
from irlens.compiler import KernelSource, Request, capture, find_kernel
from irlens.compiler.compile_request import is_stored, measure
from irlens.compiler.kernel_session import import_compiler
from irlens.compiler.planning import plan
from irlens.compiler.sources.lookup import samples_folder
from irlens.compiler.toolchains.interpreters import CompilerDiedError
from irlens.figures import SWEEP_FIGURES
from irlens.model.capture import Capture, Disassembly
from irlens.model.errors import ArtifactError, CaptureError, IrlensError
from irlens.model.estimate import TimeEstimate
from irlens.model.ranking import of_report
from irlens.model.report import Pipeline, Report
from irlens.model.sweep import Depth, FigureValue, Outcome, ProviderName, Result
from irlens.model.traffic import flops_of_floor
from irlens.report.inspection import Brief, Inspection
from irlens.rules import all_rules, cannot_launch
from irlens.version import VERSION

#: Runs a task: encoded task in, encoded answer out.
Handler: TypeAlias = Callable[[bytes], bytes]
T = TypeVar("T")

_TOO_LONG = "an argument, a constexpr or an option is an integer of more than 64 bits"


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is to do.

    Attributes:
        requests: One request, or all of them for planning, or several to inspect.
        content: sha256 of the kernel's file on the machine that runs the sweep.
    """

    requests: list[Request]
    content: str
    version: str = VERSION
    against: list[ProviderName] = []


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


class Counted(msgspec.Struct, frozen=True):
    """The answer of ``run_count``: a launch, or why what it asks for is unknown."""

    launch: CountedLaunch | None
    reason: str = ""


def encode_task(
    source: KernelSource, requests: Sequence[Request], against: Sequence[ProviderName] = ()
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
    )
    try:
        return msgspec.msgpack.encode(task)
    except OverflowError as error:
        raise CaptureError(f"{source.function}: {_TOO_LONG}") from error


def run_prepare(task: bytes) -> bytes:
    """Import the compiler and the analyses ahead of the first request."""
    return _run(task, lambda task: _prepare(task.requests[0]))


def run_plan(task: bytes) -> bytes:
    """Return every variant that the task's requests ask for, as a ``Plan``."""
    return _run(task, lambda task: plan(task.requests))


def run_compile(task: bytes) -> bytes:
    """Compile the task's single request; return ``Compiled``."""
    return _run(task, lambda task: _compiled(task.requests[0]))


def run_inspect(task: bytes) -> bytes:
    """Inspect the task's requests together, compiled if they have not been: ``list[Result]``."""
    return _run(task, lambda task: _inspect(task.requests))


def run_timing(task: bytes) -> bytes:
    """Launch the task's single request repeatedly; return its ``Measurement``."""
    return _run(task, lambda task: measure(task.requests[0], task.against))


def run_count(task: bytes) -> bytes:
    """Count what the task's single request asks of each unit, as ``Counted``."""
    return _run(task, lambda task: _count(task.requests[0]))


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
    _freeze_imports()
    try:
        return msgspec.msgpack.encode(answer)
    except OverflowError:
        return msgspec.msgpack.encode(Refused(_TOO_LONG, ""))


@lru_cache(maxsize=1)
def _freeze_imports() -> None:
    """Exempt what the first task has imported from garbage collection.

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


def _prepare(request: Request) -> None:
    if request.triton is None:
        import_compiler()
    from irlens.analyze.time import changes, launched  # noqa: F401  # with NumPy, see _count

    all_rules()


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


def _compiled(request: Request) -> Compiled:
    if is_stored(request):
        return Compiled(_failure(_captured(request)))
    if request.triton is None:
        import_compiler()  # which is not part of a variant's time
    started = time.monotonic()
    failed = _failure(_captured(request))
    return Compiled(failed, time.monotonic() - started)


def _failure(captured: Capture | Result) -> Result | None:
    return captured if isinstance(captured, Result) else None


def _inspect(requests: Sequence[Request]) -> list[Result]:
    """Return the result of each request. Their machine code is disassembled together."""
    captured = [_captured(request) for request in requests]
    listings = CodeListings(each for each in captured if isinstance(each, Capture))
    return [each if isinstance(each, Result) else _result(each, listings) for each in captured]


def _result(capture: Capture, listings: CodeListings) -> Result:
    try:
        brief = Brief(CaptureCode(capture, listings))
        report = report_cache.report_of(capture, brief.report, Disassembly.SKIP, extent="brief")
    except ArtifactError as error:
        return from_error(error)
    return from_report(report)


def _count(request: Request) -> Counted:
    from irlens.analyze.time.fitting import counted  # with NumPy, which compiling does not need

    (compiled,) = capture(request)
    launch = Inspection(compiled).launch
    if isinstance(launch, str):
        return Counted(launch=None, reason=launch)
    return Counted(launch=counted(launch))


def from_error(error: IrlensError) -> Result:
    """Return the result of a configuration that cannot be compiled or read."""
    return Result(outcome="failed", reason=error.message, hint=error.hint or "")


def from_report(report: Report) -> Result:
    """Return the result of a configuration that compiles."""
    refused = [each for each in report.findings if each.code == cannot_launch.CODE]
    reason = "; ".join(finding.message for finding in refused)
    values = {name: figure.read(report) for name, figure in SWEEP_FIGURES.items()}
    return msgspec.structs.replace(
        _from_inspected(report, report.time, values),
        reason=report.unknown.get("occupancy", "") if report.occupancy is None else reason,
        hint=refused[0].hint if refused else "",
        pipelines=[_depth(pipeline) for pipeline in report.pipelines],
        findings=report.findings,
        untimed=of_report(report).missing,
    )


def from_launch(launch: Inspection) -> Result:
    """Return the result of a launch of what compiles, with the figures of launches alone."""
    occupancy, time = launch.occupancy, launch.time_alone
    values = {
        name: figure.read(launch)
        for name, figure in SWEEP_FIGURES.items()
        if (figure.of_launch or figure.of_binary) and figure.needs != "time"
    }
    times = (time.estimate_us, time.low_us, time.high_us) if time is not None else (None,) * 3
    values |= dict(zip(("time", "time_low", "time_high"), times, strict=True))
    return msgspec.structs.replace(
        _from_inspected(launch, time, values),
        reason=occupancy.why_refused if occupancy is not None else "",
        findings=launch.accesses_outside,
        untimed="" if time is not None and time.estimate_us is not None else launch.why_untimed,
    )


def _from_inspected(
    inspected: Report | Inspection, time: TimeEstimate | None, values: Mapping[str, object]
) -> Result:
    occupancy = inspected.occupancy
    outcome: Outcome = "unknown"
    if occupancy is not None:
        outcome = "fits" if occupancy.launchable else "does not fit"
    return Result(
        outcome=outcome,
        figures=msgspec.convert(values, dict[str, FigureValue]),
        limited_by=occupancy.limited_by if occupancy is not None and occupancy.launchable else [],
        bound=time.bound if time is not None else None,
        compute_type=inspected.roofline.compute_type if inspected.roofline is not None else "",
        compute_flops=flops_of_floor(inspected.traffic, inspected.roofline),
    )


def _depth(pipeline: Pipeline) -> Depth:
    return Depth(
        place=str(pipeline.source or pipeline.loop),
        kind=pipeline.kind,
        requested=pipeline.requested_stages,
        achieved=pipeline.achieved_stages,
        verdict=pipeline.verdict,
    )
