"""Budgets on what launches of a kernel need: the number of variants, and sizes that must work."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from irlens.model.errors import IrlensError

_LAUNCHES, _LIMITS = "tool.irlens.launches", "tool.irlens.limits"
_VARIANTS = re.compile(r"variants\s*(?P<sign><=?)\s*(?P<number>\d{1,9})")


class LaunchBudget(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement on what launches of some kernels need, which no single capture says.

    Attributes:
        kernel: Pattern for the kernel function's name, or for KERNEL as requested.
        target: Pattern for the target's architecture or product.
        size: The size up to which nothing may break; empty for the number of variants.
        number: That size's value; the number of variants at most.
        place: Its key in ``pyproject.toml``, dotted.
        line: 1-based line there; ``None`` where it was not found.
    """

    kernel: str
    target: str = "*"
    size: str = ""
    number: int
    place: str
    line: int | None

    @property
    def text(self) -> str:
        """The requirement as a condition: "variants <= 3", "limits.tokens > 1000000"."""
        return f"limits.{self.size} > {self.number}" if self.size else f"variants <= {self.number}"


class Launches(msgspec.Struct, frozen=True):
    """The launches of some kernels: what each argument or size takes.

    Attributes:
        args: Values as written on the command line: "1..131072", "fp16[n],fp32[n]".
    """

    kernel: str
    args: dict[str, str]


def as_variants(place: str, text: str) -> int | None:
    """Return the most variants of "variants <= 3"; ``None`` for a condition on figures.

    Raises:
        IrlensError: It is another condition on the number of variants.
    """
    if not re.match(r"\s*variants\b", text):
        return None
    match = _VARIANTS.fullmatch(text.strip())
    if match is None:
        raise IrlensError(
            f"{place}: '{text}' limits no number of variants", hint="write variants <= 3"
        )
    return int(match["number"]) - (match["sign"] == "<")


def read_limits(path: Path, table: dict[str, object], lines: list[str]) -> Iterator[LaunchBudget]:
    """Yield the sizes of ``[tool.irlens.limits]``.

    Raises:
        IrlensError: A value is not a size.
    """
    for kernel, sizes in table.items():
        for size, number in _table(path, _LIMITS, kernel, sizes, "{tokens = 1_000_000}"):
            if type(number) is not int or number < 1:
                raise IrlensError(
                    f"{path}: {_LIMITS}.{kernel}: {size} is {number!r}, and not a size",
                    hint="write the largest that must work: tokens = 1_000_000",
                )
            yield LaunchBudget(
                kernel=kernel, size=size, number=number, place=f"{_LIMITS}.{kernel}",
                line=_line(lines, _LIMITS, kernel),
            )  # fmt: skip


def read_launches(path: Path, table: dict[str, object]) -> Iterator[Launches]:
    """Yield the launches of ``[tool.irlens.launches]``.

    Raises:
        IrlensError: A value is neither text nor a number.
    """
    for kernel, args in table.items():
        named = {}
        for name, value in _table(path, _LAUNCHES, kernel, args, '{n = "1..131072"}'):
            if not isinstance(value, str | int | float):
                raise IrlensError(
                    f"{path}: {_LAUNCHES}.{kernel}: {name} is {value!r}",
                    hint='write its values as text: n = "1,16,1000..2000"',
                )
            named[name] = str(value)
        yield Launches(kernel, named)


def _table(
    path: Path, place: str, kernel: str, value: object, example: str
) -> list[tuple[str, object]]:
    if isinstance(value, dict) and value:
        return list(value.items())
    raise IrlensError(f"{path}: {place}.{kernel} is not a table", hint=f"write {example}")


def _line(lines: list[str], table: str, kernel: str) -> int | None:
    """Return the line of a kernel's key: the TOML parser reports no positions."""
    header = re.compile(r"\s*\[+\s*" + r"\s*\.\s*".join(map(re.escape, table.split("."))) + r"\b")
    starts = (number for number, line in enumerate(lines) if header.match(line))
    start = next(starts, len(lines))
    return next((n + 1 for n in range(start, len(lines)) if kernel in lines[n]), None)
