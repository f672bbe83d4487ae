"""What a worker does: orders in, answers out, both as bytes.

No exception leaves these functions but one of the machinery's own: an exception that cannot be
rebuilt on the other side would take the whole pool down.
"""

import hashlib
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec

from irlens.artifacts import memo
from irlens.compiler import KernelSource, Request, capture, find_kernel
from irlens.compiler.compilation import measure
from irlens.compiler.planning import Plan, plan
from irlens.compiler.sources.lookup import samples_folder
from irlens.compiler.toolchains.interpreters import CompilerDiedError
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.sweep import Timing
from irlens.report import inspect
from irlens.sweep.found import Found, from_error, from_report
from irlens.version import VERSION

Work: TypeAlias = Callable[[bytes], bytes]
T = TypeVar("T")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done.

    Attributes:
        requests: One, or all for planning.
        content: sha256 of the kernel's file where the sweep was asked for.
        version: irlens's version there.
    """

    requests: list[Request]
    content: str
    version: str = VERSION


class Trouble(msgspec.Struct, frozen=True, tag="trouble"):
    """Why an order could not be carried out at all; see ``IrlensError``."""

    message: str
    hint: str | None


class Planned(msgspec.Struct, frozen=True, tag="planned"):
    """The answer to an order to plan."""

    plan: Plan


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The answer to an order to compile."""

    found: Found


class Timed(msgspec.Struct, frozen=True, tag="timed"):
    """The answer to an order to measure."""

    timing: Timing


Answer: TypeAlias = Planned | Done | Timed


def order(source: KernelSource, requests: Sequence[Request]) -> bytes:
    """Return the order to do something with requests that are all of this kernel.

    The kernel is named in a way that other processes and machines understand: a sample, which
    every installation has, by its name, anything else by its path.
    """
    place = str(source.path)
    if source.path.parent == samples_folder().resolve():
        place = source.path.stem
    kernel = f"{place}:{source.function}"
    return msgspec.msgpack.encode(
        Order(
            requests=[msgspec.structs.replace(each, kernel=kernel) for each in requests],
            content=hashlib.sha256(source.content).hexdigest(),
        )
    )


def make_plan(order: bytes) -> bytes:
    """Return every variant that the order's requests ask for: ``Planned`` or ``Trouble``."""
    return _answer(order, lambda requests: Planned(plan(requests)))


def try_out(order: bytes) -> bytes:
    """Compile the order's one request and look at it: ``Done`` or ``Trouble``."""
    return _answer(order, lambda requests: Done(_try_out(requests[0])))


def take_time(order: bytes) -> bytes:
    """Launch the order's one request over and over: ``Timed`` or ``Trouble``."""
    return _answer(order, lambda requests: Timed(measure(requests[0])))


def read(answer: bytes, kind: type[T]) -> T:
    """Return an answer.

    Raises:
        IrlensError: It is ``Trouble``.
    """
    found = msgspec.msgpack.decode(answer, type=Answer | Trouble)
    if isinstance(found, Trouble):
        raise IrlensError(found.message, hint=found.hint)
    if not isinstance(found, kind):
        raise TypeError(f"{type(found).__name__} is no {kind.__name__}")
    return found


def _answer(order: bytes, work: Callable[[list[Request]], Answer]) -> bytes:
    try:
        received = msgspec.msgpack.decode(order, type=Order)
        _check(received)
        answer: Answer | Trouble = work(received.requests)
    except IrlensError as error:
        answer = Trouble(error.message, error.hint)
    except Exception as error:  # a mistake of irlens's own, in one configuration of many
        answer = Trouble(f"irlens failed: {type(error).__name__}: {error}", "please report it")
    return msgspec.msgpack.encode(answer)


def _check(order: Order) -> None:
    """Raise ``IrlensError`` where this worker cannot do what the order means."""
    here = socket.gethostname()
    if order.version != VERSION:
        raise IrlensError(
            f"the worker on {here} has irlens {VERSION}, and the sweep is of {order.version}",
            hint="install the same version on every worker",
        )
    kernel = order.requests[0].kernel
    path, _, _ = kernel.rpartition(":")
    if "/" in path and not Path(path).is_file():
        raise IrlensError(
            f"the worker on {here} has no file {path}",
            hint="put the kernel where every worker finds it under the same path",
        )
    if hashlib.sha256(find_kernel(kernel).content).hexdigest() != order.content:
        raise IrlensError(
            f"the worker on {here} has another {path}",
            hint="bring its file up to date, or wait until it is no longer being edited",
        )


def _try_out(request: Request) -> Found:
    try:
        made = capture(request)
    except CompilerDiedError as error:
        return Found(outcome="died", reason=error.message, hint=error.hint or "")
    except CaptureError as error:
        return from_error(error)
    if len(made) != 1:
        return from_error(CaptureError(f"it comes to {len(made)} configurations, not to one"))
    return from_report(memo.report_of(made[0], lambda: inspect(made[0])))
