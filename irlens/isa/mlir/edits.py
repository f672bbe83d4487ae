"""Edits of a ttir's text: an attribute of an argument, a loop or an operation."""

import re
from collections.abc import Collection

from irlens.isa.mlir.tree import Module, Operation
from irlens.isa.mlir.types import Pointer, Scalar

_ARGUMENT = re.compile(
    r"(?P<head>%(?P<name>[\w$.-]+): (?:!?[\w.]+(?:<(?:[^<>]|<[^<>]*>)*>)?))"
    r"(?: \{(?P<attributes>[^{}]*)\})?(?=[ ,)])"
)
_CLOSING = re.compile(r"(?P<head> *\})(?: \{(?P<attributes>[^{}]*)\})?(?P<rest>(?: loc\(.*)?)")
_INTEGERS = frozenset(map(Scalar, ("i8", "i16", "i32", "i64")))
_DIVISIBLE_RESULT = "tt.divisibility = dense<16> : tensor<1xi32>"
_PRECISION = re.compile(r"(?<=inputPrecision = )\w+")


def with_divisible(module: Module, names: Collection[str]) -> str:
    """Return the text with arguments of the kernel that are known to be multiples of 16.

    Args:
        module: The ttir.
        names: The arguments, without "%".
    """
    kernel = module.kernel
    if kernel is None:
        return module.text
    lines = module.text.split("\n")
    at = kernel.span.line - 1

    def edited(match: re.Match[str]) -> str:
        if match["name"] not in names or "tt.divisibility" in (match["attributes"] or ""):
            return match.group()
        return f"{match['head']} {{{_joined(match['attributes'], 'tt.divisibility', '16 : i32')}}}"

    lines[at] = _ARGUMENT.sub(edited, lines[at])
    return "\n".join(lines)


def with_divisible_results(module: Module, operations: Collection[Operation]) -> str:
    """Return the text with scalar results known to be multiples of 16, as by ``tl.multiple_of``.

    Args:
        module: The ttir.
        operations: Operations of one line; those that have attributes stay as they are.
    """
    lines = module.text.split("\n")
    for each in operations:
        at = each.span.line - 1
        if "{" not in lines[at]:
            lines[at] = lines[at].replace(" : ", f" {{{_DIVISIBLE_RESULT}}} : ", 1)
    return "\n".join(lines)


def not_divisible(module: Module) -> list[str]:
    """Return the pointers and integers of the kernel not known to be multiples of 16."""
    kernel = module.kernel
    if kernel is None:
        return []
    return [
        each.name.removeprefix("%")
        for each in kernel.parameters
        if "tt.divisibility" not in each.attributes
        and (isinstance(each.type, Pointer) or each.type in _INTEGERS)
    ]


def with_attribute(module: Module, loop: Operation, name: str, value: str) -> str:
    """Return the text with an attribute of a loop, in place of one of the same name.

    Args:
        module: The ttir.
        loop: An operation whose region closes on a line of its own.
        name: "tt.num_stages".
        value: "3 : i32"; empty for a unit attribute.
    """
    lines = module.text.split("\n")
    at = loop.span.end_line - 1
    match = _CLOSING.fullmatch(lines[at])
    if match is not None:
        attributes = _joined(match["attributes"], name, value)
        lines[at] = f"{match['head']} {{{attributes}}}{match['rest']}"
    return "\n".join(lines)


def with_precision(module: Module, dot: Operation, precision: str) -> str:
    """Return the text with another precision of a dot's products, "tf32"."""
    lines = module.text.split("\n")
    at = dot.span.line - 1
    if _PRECISION.search(lines[at]):
        lines[at] = _PRECISION.sub(precision, lines[at], count=1)
    else:  # "ieee" is not printed
        lines[at] = lines[at].replace(" : ", f", inputPrecision = {precision} : ", 1)
    return "\n".join(lines)


def _joined(attributes: str | None, name: str, value: str) -> str:
    kept = [each.strip() for each in (attributes or "").split(",") if each.strip()]
    kept = [each for each in kept if each.split(" ")[0] != name]
    return ", ".join([*kept, f"{name} = {value}" if value else name])
