"""Suggestions: the neighbours of a configuration are compiled, here or in a child process.

The child reads a request as JSON on stdin, and writes its progress and its answer as lines of JSON
to stdout; see ``irlens.session.child``.
"""

import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from irlens.artifacts import processes, store
from irlens.artifacts.processes import Refused, answering
from irlens.model import files
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.suggestion import Suggestion
from irlens.session.child import Child
from irlens.session.reports import report_of
from irlens.session.session import Session

# They load the compiler layer.
if TYPE_CHECKING:
    from irlens.compiler import Request
    from irlens.model.estimate import TimeEstimate
    from irlens.sweeps.suggesting import Reached

#: Neighbours to compile at most, unless asked otherwise.
MOST = 40


class Progress(msgspec.Struct, frozen=True, tag="reached"):
    """How far the child is: the numbers of configurations that are compiled and that are chosen."""

    done: int
    total: int


class Suggested(msgspec.Struct, frozen=True, tag="done"):
    """The child's answer."""

    suggestion: Suggestion


Line: TypeAlias = Progress | Suggested | Refused


def suggest_near(
    requests: "Sequence[Request]",
    session: Session,
    *,
    most: int = MOST,
    jobs: int | None = None,
    seconds: float = math.inf,
    progress: "Callable[[Reached], None]" = lambda _: None,
) -> Suggestion:
    """Compile the neighbours of a configuration, and return the fastest.

    Args:
        requests: A single one, see ``irlens.sweeps.suggesting.suggest``.
        session: Prepares the compiler and the store.
        most: Neighbours to compile at most.
        jobs: Worker processes; as many as there are processors if not given.
        seconds: Budget, see ``irlens.sweeps.suggesting.Limits``.
        progress: See ``irlens.sweeps.suggesting.suggest``.

    Raises:
        IrlensError: See ``irlens.sweeps.suggesting.suggest``.
    """
    from irlens.sweeps.suggesting import Limits, suggest
    from irlens.sweeps.worker_pool import LocalPool

    for triton in dict.fromkeys(request.triton for request in requests):
        session.require_triton(triton)
    session.ensure_store()
    pool = LocalPool(jobs or processes.processors())
    try:
        limits = Limits(most=most, seconds=seconds)
        return suggest(requests, pool, _estimate, limits, progress)
    finally:
        pool.stop()


def _estimate(request: "Request") -> "TimeEstimate | None":
    """Return the estimated time in the report of a compiled configuration."""
    from irlens.compiler import capture

    (compiled,) = capture(request)
    return report_of(compiled).time


class Suggester(Child):
    """Compiles neighbours in a child process; ``cancel`` may be called from any thread."""

    def suggest(
        self, request: "Request", cancels: int, progress: Callable[[int, int], None]
    ) -> Suggestion:
        """Return the fastest neighbours of a request.

        Args:
            cancels: ``self.cancels`` at the time of the user's request.
            progress: Receives the number of compiled configurations, and of those chosen so far.

        Raises:
            IrlensError: See ``suggest_near``, or it was cancelled.
        """
        store.ensure_writable()
        store.hold()

        def on_line(line: bytes) -> None:
            reached = _decode(line)
            if isinstance(reached, Progress):
                progress(reached.done, reached.total)

        ended = self.run(__name__, msgspec.json.encode(request), cancels, on_line)
        if self.cancels != cancels:
            raise CaptureError(f"compiling the neighbours of {request.kernel} was cancelled")
        match _decode(ended.last_line):
            case Suggested(suggestion):
                return suggestion
            case Refused(message, hint):
                raise IrlensError(message, hint=hint)
            case _:
                raise ended.died(request.kernel)


def _decode(line: bytes) -> Line | None:
    try:
        decoded: Line = msgspec.json.decode(line, type=Line)
    except files.DECODE_ERRORS:
        return None
    return decoded


def main() -> None:
    """Run the child process: suggest a configuration near the request on stdin."""
    from irlens.compiler import Request

    with answering() as stream:
        request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)

        def write(line: Line) -> None:
            stream.write(msgspec.json.encode(line) + b"\n")
            stream.flush()  # fails once the parent is gone: the workers are then stopped

        try:
            write(
                Suggested(
                    suggest_near(
                        [request],
                        Session(),
                        progress=lambda each: write(Progress(each.done, each.total)),
                    )
                )
            )
        except IrlensError as error:
            write(Refused(error.message, error.hint))


if __name__ == "__main__":
    main()
