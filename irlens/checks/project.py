"""The requirements of a check, and how ``pyproject.toml`` states them.

::

    [tool.irlens.check]
    kernels = ["softmax", "kernels/mine.py:attention"]
    targets = ["a100", "h100"]

    [tool.irlens.budgets]
    "*" = ["launchable", "local_bytes == 0"]
    softmax = "pipeline.achieved >= requested"
    "matmul*".h100 = ["occupancy >= 0.125", "registers <= 168"]

    [tool.irlens.launches]
    attention = {tokens = "1..131072"}

    [tool.irlens.limits]
    attention = {tokens = 1_000_000}

A budget's key is a pattern for kernels, then one for targets. All budgets whose patterns match a
kernel apply to it; none overrides another. "variants <= 3" counts those of the kernel's launches.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from irlens.checks.baseline import NAME, Baseline
from irlens.checks.launch_budgets import (
    LaunchBudget,
    Launches,
    as_variants,
    read_launches,
    read_limits,
)
from irlens.compiler.sources.lookup import find_project
from irlens.figures.conditions import Condition, ConditionError, parse_all
from irlens.model import files
from irlens.model.errors import ArtifactError, IrlensError, ParseError, UnknownNameError

T = TypeVar("T", bound=msgspec.Struct)

_IRLENS = "tool.irlens"
_BUDGETS = f"{_IRLENS}.budgets"
_CHECK = f"{_IRLENS}.check"
_EXAMPLE = 'write "kernel*" = ["occupancy >= 0.5"], or "kernel*".sm_90 = [...] for one target'


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """A condition on the figures of some kernels.

    Attributes:
        kernel: Pattern for the kernel function's name, or for KERNEL as requested.
        target: Pattern for the target's architecture or product.
        place: Its key in ``pyproject.toml``, dotted.
        line: 1-based line there; ``None`` where it was not found.
    """

    kernel: str
    target: str
    condition: Condition
    place: str
    line: int | None

    @property
    def text(self) -> str:
        """The condition as written."""
        return self.condition.text


class Requirements(msgspec.Struct, frozen=True, kw_only=True):
    """What reports are checked against, and how strictly.

    Attributes:
        baseline: The checked-in figures; ``None`` without a baseline.
        baseline_file: The baseline's file, relative to the project.
        project_file: The file with the budgets, relative to the project.
        whole_project: Whether everything that the project names is checked, so that an entry or
            a budget without a kernel is out of date.
        update: Whether the baseline is about to be rewritten, so that no movement fails.
    """

    baseline: Baseline | None
    baseline_file: str
    project_file: str = "pyproject.toml"
    budgets: Sequence[Budget] = ()
    launch_budgets: Sequence[LaunchBudget] = ()
    whole_project: bool = True
    strict: bool = False
    update: bool = False


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """What a project's ``pyproject.toml`` says about checks.

    Attributes:
        root: The folder of ``pyproject.toml``, or the current one without it.
        kernels: KERNELs to check in addition to the entries of the baseline.
        targets: GPUs to compile them for; empty: the default.
        budgets: On figures, in the order of the file.
    """

    root: Path
    baseline: Path
    kernels: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    strict: bool = False
    budgets: tuple[Budget, ...] = ()
    launch_budgets: tuple[LaunchBudget, ...] = ()
    launches: tuple[Launches, ...] = ()


class _Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[tool.irlens.check]``."""

    baseline: str = NAME
    kernels: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    strict: bool = False


class _Irlens(msgspec.Struct, frozen=True):
    """``[tool.irlens]``; ``kernels`` is read by ``compiler.describe``, which finds kernels."""

    kernels: object = None
    check: dict[str, object] = {}
    budgets: dict[str, object] = {}
    launches: dict[str, object] = {}
    limits: dict[str, object] = {}


class _Tool(msgspec.Struct, frozen=True):
    irlens: dict[str, object] = {}


class _File(msgspec.Struct, frozen=True):
    tool: _Tool = _Tool()


def find(start: Path) -> Project:
    """Read the nearest ``pyproject.toml`` in or above a folder.

    Raises:
        IrlensError: It cannot be read, or a table in it is invalid.
    """
    path = find_project(start)
    if path is None:
        return Project(root=start, baseline=start / NAME)
    try:
        content = path.read_bytes()
        table = msgspec.toml.decode(content, type=_File).tool.irlens
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror}") from error
    except files.DECODE_ERRORS as error:
        raise ArtifactError(f"{path}: {error}") from error
    settings = _read(path, _IRLENS, table, _Irlens)
    check = _read(path, _CHECK, settings.check, _Check)
    lines = content.decode("utf-8", "replace").splitlines()
    budgets = list(_budgets(path, settings.budgets, lines))
    limits = read_limits(path, settings.limits, lines)
    return Project(
        root=path.parent,
        baseline=path.parent / check.baseline,
        kernels=check.kernels,
        targets=check.targets,
        strict=check.strict,
        budgets=tuple(each for each in budgets if isinstance(each, Budget)),
        launch_budgets=(*(each for each in budgets if isinstance(each, LaunchBudget)), *limits),
        launches=tuple(read_launches(path, settings.launches)),
    )


def _read(path: Path, place: str, table: dict[str, object], kind: type[T]) -> T:
    """Return a table as a record. An unknown key is an error: a budget must not be ignored."""
    known = kind.__struct_fields__
    for name in table:
        if name not in known:
            error = UnknownNameError("key", name, known)
            raise IrlensError(f"{path}: {place}: {error.message}", hint=error.hint)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise IrlensError(f"{path}: {place}: {error}") from error


def _budgets(
    path: Path, table: dict[str, object], lines: list[str]
) -> Iterator[Budget | LaunchBudget]:
    for kernel, value in table.items():
        by_target = value if isinstance(value, dict) else {"*": value}
        for target, conditions in by_target.items():
            place = ".".join([_BUDGETS, _key(kernel)])
            if isinstance(value, dict):
                place = f"{place}.{_key(target)}"
            for text in _texts(path, place, conditions):
                number, column = _position(lines, kernel, text)
                if (most := as_variants(f"{path}: {place}", text)) is not None:
                    yield LaunchBudget(
                        kernel=kernel, target=target, number=most, place=place, line=number or None
                    )
                    continue
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
    """Return line and column of a condition's text: the TOML parser reports no positions.

    The key may be on a line above. 0 where it is not found: TOML can spell a text in many ways.
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
    """Return a key in TOML's spelling."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'
