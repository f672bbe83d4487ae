"""The errors that irlens raises on purpose.

Library code raises them; only ``irlens.cli`` turns them into text on stderr and an exit code.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from irlens.model.text import clipped, first_of

#: Characters of untrusted text in an error: in one line of a message, and of a source line.
_MAX_QUOTED = 500
#: Characters of a line of a hint: it may be a command with every argument of a kernel.
_MAX_HINT = 3000
_MAX_SHOWN = 160
#: Names that a hint lists.
_MAX_KNOWN = 20
_MAX_NEAR = 3
#: Characters of a name that is looked for inside of others.
_MIN_PART = 4
#: Letters at the start of a name that have to match for another name to be suggested.
_SAME = 2
#: Exit code of the process where it cannot answer the request.
TROUBLE = 2


class IrlensError(Exception):
    """An error that the user can act on: what is wrong, where, and what to do.

    Args:
        message: One line: what is wrong, and where.
        hint: One line: what to do about it, if that is known.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = clipped(message, _MAX_QUOTED)
        lines = None if hint is None else [clipped(each, _MAX_HINT) for each in hint.split("\n")]
        self.hint = None if lines is None else "\n".join(lines)
        super().__init__(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Restore the attributes from a pickle, whatever the arguments of a subclass are."""
        return _restored, (type(self), self.args, self.__dict__)

    def joined(self, separator: str) -> str:
        """Return the message and the hint, if any, joined by a separator."""
        return separator.join(filter(None, (self.message, self.hint)))


def _restored(
    kind: type[IrlensError], args: tuple[object, ...], attributes: dict[str, object]
) -> IrlensError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


def _around(line: str, at: int) -> tuple[str, int]:
    """Return the part of a line around an index, and the index in that part."""
    start = max(0, at - _MAX_SHOWN // 2) if len(line) > _MAX_SHOWN else 0
    head = "…" if start else ""
    tail = "…" if start + _MAX_SHOWN < len(line) else ""
    return f"{head}{line[start : start + _MAX_SHOWN]}{tail}", at - start + len(head)


class UnknownNameError(IrlensError):
    """A name outside a known set; the hint offers the nearest names.

    Args:
        what: Kind of name ("target", "constexpr", ...).
        hint: A better hint, where the caller knows more about the name.

    Attributes:
        nearest: Valid names that may be meant.
    """

    def __init__(
        self, what: str, name: str, known: Iterable[str], *, hint: str | None = None
    ) -> None:
        choices = sorted(set(known))
        self.nearest = near = _nearest(name, choices)
        if hint is None and near:
            hint = "did you mean " + " or ".join(near) + "?"
        elif hint is None and choices:
            hint = f"known: {first_of(choices, _MAX_KNOWN)}"
        super().__init__(f"unknown {what} '{name}'", hint=hint)


class UnknownKeywordError(UnknownNameError, TypeError):
    """A keyword that neither a function of the library nor the kernel has."""


def _nearest(name: str, choices: Sequence[str]) -> list[str]:
    """Return up to three names that may be meant: cut short, in part, or misspelt."""
    from difflib import get_close_matches  # help is faster without it

    written = name.lower()
    longer = [choice for choice in choices if written and choice.lower().startswith(written)]
    if longer:
        return sorted(longer, key=len)[:_MAX_NEAR]
    holding = [choice for choice in choices if written in choice.lower()]
    if holding and len(written) >= _MIN_PART:
        return sorted(holding, key=len)[:_MAX_NEAR]
    if len(written) < _MIN_PART:  # BX for BM: a letter is too much of the name for what follows
        near = [c for c in choices if c[:1].lower() == written[:1] and _is_one_off(c, written)]
        if near:
            return near[:_MAX_NEAR]
    alike = [choice for choice in choices if choice.lower()[:_SAME] == written[:_SAME]]
    by_form = {choice.lower()[: len(name)]: choice for choice in alike}
    by_form |= {choice.lower(): choice for choice in choices}
    near = get_close_matches(written, by_form, n=_MAX_NEAR, cutoff=0.6)
    return list(dict.fromkeys(by_form[form] for form in near))


def _is_one_off(name: str, written: str) -> bool:
    """Whether a name of the same length differs from a written one in one letter."""
    letters = zip(name.lower(), written, strict=False)
    return len(name) == len(written) and sum(a != b for a, b in letters) == 1


class ArtifactError(IrlensError):
    """A file or directory that cannot be read as the artifact it should be."""


class OutOfWorkError(ArtifactError):
    """An analysis would take more steps than it may, or than its budget has left."""


class ParseError(ArtifactError):
    """Text that cannot be parsed, with the location.

    Args:
        stage: The IR stage ("ptx", "ttgir", ...) or file name.
        line: 1-based line.
        column: 1-based column.
        text: The offending line, shown under the message with a caret.
    """

    def __init__(self, message: str, *, stage: str, line: int, column: int, text: str) -> None:
        shown, before = _around(text, column - 1)
        caret = " " * before + "^"
        super().__init__(f"{stage}:{line}:{column}: {message}", hint=f"{shown}\n{caret}")
        self.stage = stage
        self.line = line
        self.column = column
        self.text = text


class CaptureError(IrlensError):
    """A kernel cannot be loaded, compiled or launched."""


class NotInstalledError(CaptureError):
    """Something, such as "--run", needs a package that ``irlens[run]`` installs."""

    def __init__(self, user: str, package: str = "PyTorch") -> None:
        super().__init__(
            f"{user} needs {package}, which is not installed", hint='pip install "irlens[run]"'
        )


class ToolError(IrlensError):
    """A vendor's tool (ptxas, nvdisasm, ...) is missing or failed."""
