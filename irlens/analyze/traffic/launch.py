"""A launch as the evaluation needs it: the values that a kernel starts with, its tensors' sizes."""

import re
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from irlens.analyze.traffic import reals
from irlens.analyze.traffic.values import (
    Descriptor,
    Pointer,
    Unknown,
    UnknownTrafficError,
    Value,
    constant,
    truth_of,
)
from irlens.isa.mlir import Argument, Operation
from irlens.isa.mlir.types import Pointer as PointerType
from irlens.isa.mlir.types import Scalar, TensorDesc
from irlens.model.config import number_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A contiguous tensor; views with gaps say which strides they have.
_TENSOR = re.compile(r"\w+\s*\[([\d,\s]*)\](?!\s*:\s*strides).*", re.DOTALL)
#: Elements of the storage before a tensor.
_OFFSET = re.compile(r":\s*offset\s*\[(\d{1,18})\]")


#: Programs of a grid: no GPU takes more than 2^31 in x, and 2^16 in y and z.
_MOST_PROGRAMS = (1 << 63) - 1

#: Integers that stand for those of data.
Numbers: TypeAlias = Literal["random", "ascending", "equal"]


class Launch(msgspec.Struct, frozen=True):
    """A launch.

    Attributes:
        arguments: Arguments by name: a number, or a tensor as "fp32[4096, 1024]".
        contents: What tensors of integers hold, by argument.
        numbers: Set where what depends on other data is assumed, as an estimate may: masks let all
            elements pass, the longer side of a branch runs, a single element whose address is data
            is not worth counting, and integers that addresses depend on are random, "ascending"
            (their own places, so that those of neighbours are neighbours), or "equal".
    """

    arguments: Mapping[str, Any]
    grid: tuple[int, int, int]
    contents: "Mapping[str, NDArray[Any]]" = {}
    numbers: Numbers | None = None

    def check_grid(self) -> None:
        """Raise ``UnknownTrafficError`` for a grid whose programs 64 bits cannot number."""
        if prod(self.grid) > _MOST_PROGRAMS:
            raise UnknownTrafficError("the grid has more programs than any GPU launches")

    def value(self, argument: Argument) -> Value:
        """Return the value of an argument of the kernel's function."""
        name, kind = argument.name.removeprefix("%"), argument.type
        if isinstance(kind, PointerType):
            return Pointer(name, constant(self._offset(argument)))
        base, _, field = name.partition(".")
        if field:
            return self._descriptor_field(base, field)
        given = self.arguments.get(name)
        if isinstance(kind, TensorDesc):
            return self._descriptor(name)
        number = number_in(given)
        if isinstance(kind, Scalar) and kind.is_integer and isinstance(number, int):
            return truth_of(bool(number)) if kind.bits == 1 else constant(int(number))
        if isinstance(kind, Scalar) and not kind.is_integer:
            reason = f"{name} is a floating-point number"
            return (
                Unknown(reason) if number is None else reals.Literal(reason, number=float(number))
            )
        return Unknown(f"the launch does not give {name} as a number")

    def program(self, number: int) -> tuple[int, int, int]:
        """Return the place of a program in the grid, by its number, x fastest."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    def sizes(self, function: Operation) -> dict[str, int | None]:
        """Return the bytes of the tensor that each argument points into, as below, by name."""
        arguments = function.parameters
        return {each.name.removeprefix("%"): self.tensor_bytes(each) for each in arguments}

    def tensor_bytes(self, argument: Argument) -> int | None:
        """Return the bytes of the tensor that an argument points to; ``None`` if unknown."""
        shape = self.shape(argument.name.removeprefix("%"))
        size = _element_bytes(argument)
        if shape is None or size is None:
            return None
        return prod(shape) * size + self._offset(argument)

    def _offset(self, argument: Argument) -> int:
        """Return the bytes of the storage before the tensor that an argument points to."""
        given = str(self.arguments.get(argument.name.removeprefix("%"), ""))
        match, size = _OFFSET.search(given), _element_bytes(argument)
        return int(match[1]) * size if match is not None and size is not None else 0

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of a contiguous tensor argument; ``None`` if it is unknown."""
        match = _TENSOR.fullmatch(str(self.arguments.get(name, "")))
        if match is None:
            return None
        extents = [each.strip() for each in match[1].split(",") if each.strip()]
        are_numbers = all(each.isdecimal() and len(each) < 19 for each in extents)
        return tuple(map(int, extents)) if are_numbers else None

    def _descriptor_field(self, name: str, field: str) -> Value:
        """Return an argument that Triton passes for a descriptor where the GPU has no TMA."""
        kind, _, axis = field.partition(".")
        shape = self.shape(name)
        if not shape or axis not in map(str, range(len(shape))):
            return Unknown(f"the value of {name}.{field} is not known")
        strides = [prod(shape[number + 1 :]) for number in range(len(shape))]
        values = {"shape": shape, "stride": strides}
        return constant(values[kind][int(axis)]) if kind in values else Unknown(f"it is {field}")

    def _descriptor(self, name: str) -> Value:
        """Return a descriptor made on the host, of a contiguous tensor."""
        shape = self.shape(name)
        if not shape:
            return Unknown(f"the launch does not give the shape of {name}")
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        return Descriptor(
            Pointer(name, constant(0)), tuple(map(constant, shape)), tuple(map(constant, strides))
        )


def _element_bytes(argument: Argument) -> int | None:
    """Return the bytes of what an argument points to."""
    element = argument.type.pointee if argument.type is not None else None
    return element.bytes if element is not None else None
