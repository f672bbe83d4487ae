"""Reads the arguments of a launch as the values that a kernel starts with."""

import re
from collections.abc import Mapping

from irlens.analyze.traffic.values import Pointer, Unknown, Value, constant
from irlens.isa.mlir import Argument

_WIDE = re.compile(r"i(\d+)")


def first_values(
    arguments: tuple[Argument, ...], given: Mapping[str, int | float | str]
) -> dict[str, Value]:
    """Return the value of each argument of a kernel's function by its name in the ttir."""
    return {each.name: _first_value(each, given) for each in arguments}


def _first_value(argument: Argument, given: Mapping[str, int | float | str]) -> Value:
    name, kind = argument.name.removeprefix("%"), argument.type or ""
    if kind.startswith("!tt.ptr<"):
        return Pointer(name, constant(0))
    number = given.get(name)
    if _WIDE.fullmatch(kind) and isinstance(number, int):
        return constant(int(number))
    return Unknown(f"the launch does not give {name} as a number")
