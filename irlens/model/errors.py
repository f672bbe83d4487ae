"""The errors that irlens raises on purpose.

Library code raises them; only ``irlens.cli`` turns them into text on stderr and an exit code.
"""

from collections.abc import Iterable
from difflib import get_close_matches

#: Exit code of the process where it cannot answer the request.
TROUBLE = 2


class IrlensError(Exception):
    """An error that the user can act on: what is wrong, where, and what to do.

    Args:
        message: One line: what is wrong, and where.
        hint: One line: what to do about it, if that is known.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def joined(self, separator: str) -> str:
        """Return the message and the hint, if any, joined by a separator."""
        return separator.join(filter(None, (self.message, self.hint)))


class UnknownNameError(IrlensError):
    """A name outside a known set; the hint offers the nearest names.

    Args:
        what: Kind of name ("target", "constexpr", ...).
        name: The unknown name.
        known: Every valid name.
    """

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        choices = sorted(set(known))
        near = get_close_matches(name, choices, n=3, cutoff=0.6)
        if near:
            hint = "did you mean " + " or ".join(near) + "?"
        elif choices:
            hint = f"known: {', '.join(choices)}"
        else:
            hint = None
        super().__init__(f"unknown {what} '{name}'", hint=hint)


class ArtifactError(IrlensError):
    """A file or directory that cannot be read as the artifact it should be."""


class ParseError(ArtifactError):
    """Text that cannot be parsed, with the location.

    Args:
        message: What is wrong.
        stage: The IR stage ("ptx", "ttgir", ...) or file name.
        line: 1-based line.
        column: 1-based column.
        text: The offending line, shown under the message with a caret.
    """

    def __init__(self, message: str, *, stage: str, line: int, column: int, text: str) -> None:
        caret = " " * (column - 1) + "^"
        super().__init__(f"{stage}:{line}:{column}: {message}", hint=f"{text}\n{caret}")
        self.stage = stage
        self.line = line
        self.column = column
        self.text = text


class CaptureError(IrlensError):
    """A kernel cannot be loaded, compiled or launched."""


class ToolError(IrlensError):
    """A vendor's tool (ptxas, nvdisasm, ...) is missing or failed."""
