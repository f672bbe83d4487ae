"""Names of a kernel's arguments in stages that only number them, as Triton does up to 3.4."""

import re
from collections.abc import Mapping

from irlens.isa.mlir.tree import Argument, Module
from irlens.isa.mlir.types import Pointer

_NUMBERED = re.compile(r"%arg\d{1,4}")
_USE = re.compile(r"(?<![\w$.%-])%arg(\d{1,4})(?![\w$.-])")


def named_text(module: Module, given: Mapping[str, object]) -> str | None:
    """Return the text of a module whose kernel's arguments have the names of its parameters.

    Args:
        module: A ttir or a ttgir.
        given: The arguments of the kernel that are no constexprs, in the order of its parameters:
            numbers, and tensors as "fp32[4096, 1024]".

    Returns:
        ``None`` where they have names already, or it is not certain which is which.
    """
    kernel = module.kernel
    arguments = kernel.regions[0].blocks[0].arguments if kernel is not None else ()
    if kernel is None or not arguments:
        return None
    if any(not _NUMBERED.fullmatch(each.name) for each in arguments):
        return None
    names = _names(arguments, given)
    if names is None:
        return None
    text = module.text
    # Arguments of inner blocks are numbered on from the kernel's own.
    body = _USE.sub(
        lambda use: f"%{names[int(use[1])]}" if int(use[1]) < len(names) else use[0],
        text[kernel.start : kernel.stop],
    )
    return text[: kernel.start] + body + text[kernel.stop :]


def _names(arguments: tuple[Argument, ...], given: Mapping[str, object]) -> list[str] | None:
    """Return the name of each argument: Triton compiles a number that is 1 into the code."""
    passed = {name: value for name, value in given.items() if value is not None}
    without_ones = {
        name: value for name, value in passed.items() if type(value) is not int or value != 1
    }
    for candidates in (passed, without_ones):
        fits = len(candidates) == len(arguments) and all(
            _is_tensor(value) == isinstance(argument.type, Pointer)
            for argument, value in zip(arguments, candidates.values(), strict=True)
        )
        if fits:
            return list(candidates)
    return None


def _is_tensor(value: object) -> bool:
    return isinstance(value, str) and "[" in value
