"""Lists that are written as text or as JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import click

from irlens.cli import output

F = TypeVar("F", bound=Callable[..., object])
#: What ``format_option`` gives.
Form: TypeAlias = Literal["text", "json"]


def format_option(told: str) -> Callable[[F], F]:
    """Return what gives a command the option ``--format``, as ``form``; ``told`` is its help."""
    return click.option(
        "-f",
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help=told,
    )


def write_json(
    value: object, destination: Path | None = None, *, order: Literal["sorted"] | None = None
) -> None:
    """Write records as JSON, see ``output.write``; with ``order`` their fields are sorted."""
    import msgspec

    encoded = msgspec.json.encode(value, order=order)
    output.write(msgspec.json.format(encoded, indent=2) + b"\n", destination)
