"""What a project's ``pyproject.toml`` asks of a check.

::

    [tool.irlens.check]
    kernels = ["softmax", "kernels/mine.py:attention"]
    targets = ["a100", "h100"]

    [tool.irlens.budgets]
    "*" = ["launchable", "local_bytes == 0"]
    softmax = "pipeline.achieved >= requested"
    "matmul*".h100 = ["occupancy >= 0.125", "registers <= 168"]

A budget's key is a pattern for kernels, then one for targets. All budgets whose patterns match a
kernel are held against it; none takes another back.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from irlens.check.baseline import NAME
from irlens.check.expressions import Condition, ConditionError, parse_all
from irlens.compiler.finding import find_project
from irlens.model.errors import ArtifactError, IrlensError, ParseError, UnknownNameError

T = TypeVar("T", bound=msgspec.Struct)

_IRLENS = "tool.irlens"
_BUDGETS = f"{_IRLENS}.budgets"
_CHECK = f"{_IRLENS}.check"
_EXAMPLE = 'write "kernel*" = ["occupancy >= 0.5"], or "kernel*".sm_90 = [...] for one target'


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """A condition, and what it is for.

    Attributes:
        kernel: Pattern for the kernel function's name, or for KERNEL as it was asked for.
        target: Pattern for the target's architecture or product.
        condition: What has to be true.
        place: Its key in ``pyproject.toml``, dotted.
        line: 1-based line there, where it could be found.
    """

    kernel: str
    target: str
    condition: Condition
    place: str
    line: int | None


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project's wishes.

    Attributes:
        root: Its folder: that of ``pyproject.toml``, or the current one.
        baseline: The baseline's file.
        kernels: What to check beside the entries of the baseline, each a KERNEL.
        targets: For which GPUs; empty for the default.
        strict: Whether every movement fails.
        budgets: In the order of the file.
    """

    root: Path
    baseline: Path
    kernels: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    strict: bool = False
    budgets: tuple[Budget, ...] = ()


class _Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[tool.irlens.check]``."""

    baseline: str = NAME
    kernels: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    strict: bool = False


class _Irlens(msgspec.Struct, frozen=True):
    """``[tool.irlens]``; ``kernels`` is for ``describe``, which finds kernels by name."""

    kernels: object = None
    check: dict[str, object] = {}
    budgets: dict[str, object] = {}


class _Tool(msgspec.Struct, frozen=True):
    irlens: dict[str, object] = {}


class _File(msgspec.Struct, frozen=True):
    tool: _Tool = _Tool()


def find(start: Path) -> Project:
    """Return what the nearest ``pyproject.toml`` in or above a folder asks for.

    Raises:
        IrlensError: It cannot be read, or something in it is not understood.
    """
    path = find_project(start)
    if path is None:
        return Project(root=start, baseline=start / NAME)
    try:
        content = path.read_bytes()
        table = msgspec.toml.decode(content, type=_File).tool.irlens
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArtifactError(f"{path}: {error}") from error
    asked = _read(path, _IRLENS, table, _Irlens)
    check = _read(path, _CHECK, asked.check, _Check)
    lines = content.decode("utf-8", "replace").splitlines()
    return Project(
        root=path.parent,
        baseline=path.parent / check.baseline,
        kernels=check.kernels,
        targets=check.targets,
        strict=check.strict,
        budgets=tuple(_budgets(path, asked.budgets, lines)),
    )


def _read(path: Path, place: str, table: dict[str, object], kind: type[T]) -> T:
    """Return a table as a record. A name that nobody reads would be a budget that nobody holds."""
    known = kind.__struct_fields__
    for name in table:
        if name not in known:
            error = UnknownNameError("key", name, known)
            raise IrlensError(f"{path}: {place}: {error.message}", hint=error.hint)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise IrlensError(f"{path}: {place}: {error}") from error


def _budgets(path: Path, table: dict[str, object], lines: list[str]) -> Iterator[Budget]:
    for kernel, wished in table.items():
        by_target = wished if isinstance(wished, dict) else {"*": wished}
        for target, conditions in by_target.items():
            place = ".".join([_BUDGETS, _key(kernel)])
            if isinstance(wished, dict):
                place = f"{place}.{_key(target)}"
            for text in _texts(path, place, conditions):
                number, column = _position(lines, kernel, text)
                for condition in _conditions(path, place, text, lines, (number, column)):
                    yield Budget(
                        kernel=kernel,
                        target=target,
                        condition=condition,
                        place=place,
                        line=number or None,
                    )


def _texts(path: Path, place: str, conditions: object) -> list[str]:
    texts = [conditions] if isinstance(conditions, str) else conditions
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return texts
    raise IrlensError(f"{path}: {place} is not a condition or a list of them", hint=_EXAMPLE)


def _conditions(
    path: Path, place: str, text: str, lines: list[str], position: tuple[int, int]
) -> list[Condition]:
    try:
        return parse_all(text)
    except ConditionError as error:
        line, column = position
        if line:
            raise ParseError(
                error.message,
                stage=str(path),
                line=line,
                column=column + error.column,
                text=lines[line - 1],
            ) from error
        caret = " " * (error.column - 1) + "^"
        raise IrlensError(f"{path}: {place}: {error.message}", hint=f"{text}\n{caret}") from error


def _position(lines: list[str], kernel: str, text: str) -> tuple[int, int]:
    """Find a condition in the file, whose parser tells no positions: line and column of its text.

    The key may stand above it. 0 where it is not found: TOML can write a text in several ways.
    """
    start = 0
    for index, line in enumerate(lines):
        if re.match(r"\s*\[+\s*tool\s*\.\s*irlens\s*\.\s*budgets\b", line):
            start = index
            break
    below = [
        index for index in range(start, len(lines)) if re.search(re.escape(kernel), lines[index])
    ]
    for index in range(below[0] if below else start, len(lines)):
        for quote in "\"'":
            column = lines[index].find(f"{quote}{text}{quote}")
            if column >= 0:
                return index + 1, column + 1
    return 0, 0


def _key(name: str) -> str:
    """Return a key as TOML writes it."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'
