"""Questions about a kernel that take long: a child process answers them, and can be killed.

The child reads a question as JSON on stdin, and writes how far it is and its answer as lines of
JSON to stdout; see ``irlens.session.child``.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec

from irlens.artifacts import store
from irlens.artifacts.processes import Refused, answering
from irlens.model import files
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.report import Finding
from irlens.session.child import Child
from irlens.session.session import Session
from irlens.session.workbench import Inquiry

if TYPE_CHECKING:  # it loads the compiler layer
    from irlens.compiler import Request

T = TypeVar("T")

#: What is asked for. "passes" is a compilation that keeps the IR between the passes; the answer is
#: the directory of its capture.
Kind: TypeAlias = Literal["suggest", "why", "variants", "limits", "passes"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the child reads.

    Attributes:
        kind: What is asked for.
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

        Args:
            inquiry: Learns how far the child is, and cancels it.

        Raises:
            IrlensError: There is no answer, or the question was cancelled.
        """
        store.ensure_writable()
        store.hold()
        encoded = msgspec.Raw(msgspec.json.encode(request))
        question = Question(kind=kind, request=encoded, finding=finding, ranges=tuple(ranges))
        child = Child()

        def on_line(line: bytes) -> None:
            if isinstance(reached := _decode(line), Reached):
                inquiry.reached = reached.words

        self._running.add(inquiry)
        inquiry.begin(child.cancel)
        try:
            ended = child.run(__name__, msgspec.json.encode(question), 0, on_line)
        finally:
            self._running.discard(inquiry)
        if inquiry.is_cancelled:
            raise CaptureError(f"{request.kernel}: cancelled")
        match _decode(ended.last_line):
            case Answered(content):
                return msgspec.json.decode(content, type=answer)
            case Refused(message, hint):
                raise IrlensError(message, hint=hint)
            case _:
                raise ended.died(request.kernel)

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
        question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
        request = msgspec.json.decode(question.request, type=Request)

        def write(line: Line) -> None:
            stream.write(msgspec.json.encode(line) + b"\n")
            stream.flush()  # fails once the parent is gone: the workers are then stopped

        try:
            answer = _answer(question, request, Session(), lambda words: write(Reached(words)))
            write(Answered(msgspec.Raw(msgspec.json.encode(answer))))
        except IrlensError as error:
            write(Refused(error.message, error.hint))


def _answer(
    question: Question, request: "Request", session: Session, progress: Callable[[str], None]
) -> object:
    match question.kind:
        case "suggest":
            from irlens.session.suggest import suggest_near

            return suggest_near(
                [request], session, progress=lambda each: progress(f"{each.done} of {each.total}")
            )
        case "why":
            from irlens.session.why import why_finding

            assert question.finding is not None
            return why_finding(request, session, question.finding, progress)
        case "variants":
            from irlens.session.values import read_ranges
            from irlens.session.variants import variants_of_requests

            return variants_of_requests(
                session, [request], read_ranges(question.ranges),
                progress=lambda done, total: progress(f"{done} of {total}"),
            )  # fmt: skip
        case "limits":
            from irlens.session.limits import limits_of_request, read_along

            return limits_of_request(
                session, request, read_along(question.ranges),
                progress=lambda name, size: progress(f"{name} = {size:,}"),
            )  # fmt: skip
        case "passes":
            captures = session.compile(msgspec.structs.replace(request, passes=True))
            return [str(each.directory) for each in captures]


if __name__ == "__main__":
    main()
