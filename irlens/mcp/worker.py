"""The process of one call: it reads the call on stdin, and answers with a line on stdout.

A process can be stopped whatever it does, keeps what a kernel's file prints out of the protocol,
and does not slow down the calls beside it.
"""

import sys
from pathlib import Path
from typing import Any

import msgspec

from irlens.artifacts.processes import answering
from irlens.mcp import answers
from irlens.mcp.answers import Cursor
from irlens.mcp.roots import Roots
from irlens.mcp.tools import Tools
from irlens.model.errors import IrlensError
from irlens.session.wording import reworded


class Call(msgspec.Struct, frozen=True):
    """A call of a tool.

    Attributes:
        tool: The method of ``Tools``.
        arguments: Its arguments, and ``cursor``.
    """

    tool: str
    arguments: dict[str, Any]
    roots: list[str]
    compiles: bool


class Answered(msgspec.Struct, frozen=True):
    """The answer of a call: JSON, or that of an error."""

    text: str
    is_error: bool = False


def answer(call: Call) -> Answered:
    """Return the answer of a call."""
    arguments = dict(call.arguments)
    try:
        cursor = Cursor.parse(arguments.pop("cursor", None))
        roots = Roots([Path(root) for root in call.roots])
        tools = Tools(compiles=call.compiles, roots=roots, skip=cursor.skip)
        return Answered(answers.page(getattr(tools, call.tool)(**arguments), cursor))
    except IrlensError as error:
        reworded(error, "agent")
        return Answered(answers.error(error.message, error.hint), is_error=True)


def main() -> None:
    """Answer the call on stdin."""
    with answering() as stream:
        call = msgspec.json.decode(sys.stdin.buffer.read(), type=Call)
        stream.write(msgspec.json.encode(answer(call)))


if __name__ == "__main__":
    main()
