"""What the process does that ``compiling.Compiler`` starts: one request in, one answer out.

The request comes as JSON on stdin, the answer goes as JSON to stdout.
"""

import os
import sys
from contextlib import suppress
from typing import TypeAlias

import msgspec

from irlens.artifacts.load import load
from irlens.compiler import Request, capture_entries
from irlens.model.capture import Capture
from irlens.model.errors import IrlensError
from irlens.session.reading import report_of


class Done(msgspec.Struct, frozen=True, tag="done"):
    """It is compiled.

    Attributes:
        entries: Directories of the captures, one for each variant.
    """

    entries: list[str]


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """Why it cannot be compiled; see ``IrlensError``."""

    message: str
    hint: str | None


Answer: TypeAlias = Done | Refused


def read_answer(content: bytes) -> Answer:
    """Return the answer that a process wrote.

    Raises:
        msgspec.DecodeError: It is not whole.
    """
    answer: Answer = msgspec.json.decode(content, type=Answer)
    return answer


def main() -> None:
    """Compile what stdin asks for."""
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever is printed on the way must not mix with the answer
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    with os.fdopen(answers, "wb") as stream:
        stream.write(msgspec.json.encode(_compile(request)))


def _compile(request: Request) -> Answer:
    try:
        entries = capture_entries(request)
    except IrlensError as error:
        return Refused(error.message, error.hint)
    for entry in entries:
        # Reports are made here, too, so that the interface finds them in memory. What is wrong
        # with one is told when it is asked for.
        with suppress(IrlensError):
            for found in load(entry):
                if isinstance(found, Capture):
                    report_of(found)
    return Done([str(entry) for entry in entries])


if __name__ == "__main__":
    main()
