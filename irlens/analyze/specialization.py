"""What a capture was compiled for, parameter by parameter, as its code and its manifest say."""

import msgspec

from irlens.analyze.capture_code import CaptureCode
from irlens.isa import mlir
from irlens.isa.mlir.operations import DIVISIBILITY, POINTER_RANGE
from irlens.isa.mlir.types import Pointer, Type
from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue
from irlens.model.source import SourceLocation
from irlens.model.variants import Property, Specialized

_ATTRIBUTES: dict[tuple[str, str], Property] = {
    (DIVISIBILITY, "16"): "divisible by 16", (POINTER_RANGE, "32"): "within 2 GB",
}  # fmt: skip


class Compiled(msgspec.Struct, frozen=True):
    """What a capture was compiled for.

    Attributes:
        parameters: What is known of each, in the kernel's order as far as that is known.
        place: The line that defines the kernel; ``None`` if unknown.
        is_whole: Whether values that are compiled in are known, too.
    """

    parameters: list[Specialized]
    place: SourceLocation | None
    is_whole: bool


def specialization_of(capture: Capture) -> Compiled | None:
    """Return what a capture was compiled for; ``None`` where it has no code that says so.

    Raises:
        ArtifactError: The stage is broken.
    """
    source = CaptureCode(capture).source
    kernel = source.named.kernel if source is not None else None
    if kernel is None:
        return None
    arguments = {each.name.removeprefix("%"): each for each in kernel.parameters}
    config = capture.config
    recorded: dict[str, ConstexprValue] = {**config.args, **config.constexprs}
    found = [
        _argument(name, arguments[name])
        if name in arguments
        else Specialized(name=name, constexpr=name in config.constexprs, value=_value(value))
        for name, value in {**dict.fromkeys(arguments), **recorded}.items()
    ]
    order = {name: number for number, name in enumerate([*config.args, *config.constexprs])}
    place = kernel.location[0] if kernel.location else None
    is_whole = capture.manifest is not None
    if is_whole:
        found.sort(key=lambda each: order.get(each.name, -1))
    return Compiled(found, place, is_whole)


def _argument(name: str, argument: mlir.Argument) -> Specialized:
    properties = tuple(
        _ATTRIBUTES.get((attribute, number), f"{attribute} {number}")
        for attribute, written in argument.attributes.items()
        if attribute.startswith("tt.") and (number := written.split(":")[0].strip())
    )
    return Specialized(
        name=name, type="" if argument.type is None else _type(argument.type), properties=properties
    )


def _type(kind: Type) -> str:
    """Return Triton's name of a type: "*fp16" of "!tt.ptr<f16>"."""
    if isinstance(kind, Pointer):
        return f"*{_type(kind.pointee)}"
    return f"fp{kind.bits}" if str(kind) == f"f{kind.bits}" else str(kind)


def _value(value: ConstexprValue) -> ConstexprValue:
    """Return a value that manifests store as text: ``None``, ``True``."""
    words = {"None": None, "True": True, "False": False}
    return words.get(value, value) if isinstance(value, str) else value
