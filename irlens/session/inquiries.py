"""Questions about a kernel that take long: a child process answers them, and can be killed.

The child reads a question as JSON on stdin, and writes how far it is and its answer as lines of
JSON to stdout; see ``irlens.session.child``.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec

from irlens.artifacts import store
from irlens.artifacts.load import load
from irlens.artifacts.processes import Refused, answering
from irlens.model import files
from irlens.model.capture import Capture
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.report import Finding
from irlens.session.child import Child, Ended
from irlens.session.exchange import Inquiry
from irlens.session.reports import report_of
from irlens.session.session import Session

if TYPE_CHECKING:  # it loads the compiler layer
    from irlens.compiler import Request

T = TypeVar("T")

#: What is asked for. "passes" is a compilation that keeps the IR between the passes; the answer of
#: either compilation is the directories of its captures.
Kind: TypeAlias = Literal["compile", "suggest", "why", "variants", "limits", "passes"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the child reads.

    Attributes:
        request: The compilation that it is about, as JSON.
        finding: Of "why", the finding.
        ranges: Of "variants" and "limits", see ``Workbench``.
    """

    kind: Kind
    request: msgspec.Raw
    finding: Finding | None = None
    ranges: tuple[str, ...] = ()


class Reached(msgspec.Struct, frozen=True, tag="reached"):
    """How far the child is, in words."""

    words: str


class Answered(msgspec.Struct, frozen=True, tag="answer"):
    """The child's answer, as JSON."""

    content: msgspec.Raw


Line: TypeAlias = Reached | Answered | Refused


def question(
    kind: Kind, request: "Request", finding: Finding | None = None, ranges: Sequence[str] = ()
) -> bytes:
    """Return what a child reads; see ``Question``."""
    encoded = msgspec.Raw(msgspec.json.encode(request))
    asked = Question(kind=kind, request=encoded, finding=finding, ranges=tuple(ranges))
    return msgspec.json.encode(asked)


def answer_of(ended: Ended, kernel: str, answer: type[T]) -> T:
    """Return the answer of a child that has ended; raise ``CaptureError`` if it has none."""
    match _decode(ended.last_line):
        case Answered(content):
            return msgspec.json.decode(content, type=answer)
        case Refused(message, hint):
            raise CaptureError(message, hint=hint)
        case _:
            raise ended.died(kernel)


class Inquirer:
    """Asks child processes; every question has one of its own."""

    def __init__(self) -> None:
        self._running: set[Inquiry] = set()

    def ask(
        self,
        kind: Kind,
        request: "Request",
        answer: type[T],
        inquiry: Inquiry,
        *,
        finding: Finding | None = None,
        ranges: Sequence[str] = (),
    ) -> T:
        """Return the answer to a question; see ``Question``.

        Raises:
            IrlensError: There is no answer, or the question was cancelled.
        """
        store.ensure_writable()
        store.hold()
        child = Child()

        def on_line(line: bytes) -> None:
            if isinstance(reached := _decode(line), Reached):
                inquiry.reached = reached.words

        self._running.add(inquiry)
        inquiry.begin(child.cancel)
        try:
            task = question(kind, request, finding, ranges)
            ended = child.run(__name__, task, 0, on_line)
        finally:
            self._running.discard(inquiry)
        if inquiry.is_cancelled:
            raise CaptureError(f"{request.kernel}: cancelled")
        return answer_of(ended, request.kernel, answer)

    def close(self) -> None:
        """Cancel every question."""
        for inquiry in list(self._running):
            inquiry.cancel()


def _decode(line: bytes) -> Line | None:
    try:
        decoded: Line = msgspec.json.decode(line, type=Line)
    except files.DECODE_ERRORS:
        return None
    return decoded


def main() -> None:
    """Run the child process: answer the question on stdin."""
    from irlens.compiler import Request

    with answering() as stream:
        asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
        request = msgspec.json.decode(asked.request, type=Request)

        def write(line: Line) -> None:
            stream.write(msgspec.json.encode(line) + b"\n")
            stream.flush()  # fails once the parent is gone: the workers are then stopped

        try:
            answer = _answer(asked, request, Session(), lambda words: write(Reached(words)))
            write(Answered(msgspec.Raw(msgspec.json.encode(answer))))
        except IrlensError as error:
            write(Refused(error.message, error.hint))


def _answer(
    asked: Question, request: "Request", session: Session, progress: Callable[[str], None]
) -> object:
    match asked.kind:
        case "compile":
            return _compiled(request)
        case "suggest":
            from irlens.session.suggest import suggest_near

            return suggest_near(
                [request], session, progress=lambda each: progress(f"{each.done} of {each.total}")
            )
        case "why":
            from irlens.session.why import why_finding

            assert asked.finding is not None
            return why_finding(request, session, asked.finding, progress)
        case "variants":
            from irlens.session.values import read_ranges
            from irlens.session.variants import variants_of_requests

            return variants_of_requests(
                session, [request], read_ranges(asked.ranges),
                progress=lambda done, total: progress(f"{done} of {total}"),
            )  # fmt: skip
        case "limits":
            from irlens.model.limits import LimitSearch
            from irlens.session.limits import limits_of_launch, read_along

            return limits_of_launch(
                session, request, read_along(asked.ranges),
                LimitSearch(progress=lambda name, size: progress(f"{name} = {size:,}")),
            )  # fmt: skip
        case "passes":
            captures = session.compile(msgspec.structs.replace(request, passes=True))
            return [str(each.directory) for each in captures]


def _compiled(request: "Request") -> list[str]:
    """Compile a kernel, and remember its reports, for which the interface need not wait then."""
    from irlens.compiler import capture_entries

    entries = capture_entries(request)
    for entry in entries:
        with suppress(IrlensError):  # raised again when the report is requested
            for capture in load(entry):
                if isinstance(capture, Capture):
                    report_of(capture)
    return [str(entry) for entry in entries]


if __name__ == "__main__":
    main()
