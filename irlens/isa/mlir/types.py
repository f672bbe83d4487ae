"""Types of ttir and ttgir, read from their text; printing one gives the text that MLIR prints.

Sources: MLIR, Builtin dialect, "Types"; Triton, ``TritonTypes.td`` and ``TritonGPUTypes.td``.
"""

import re
from functools import lru_cache
from math import prod
from typing import ClassVar

import msgspec

from irlens.model.text import split_list

# Names of MLIR's builtin types; the width is in them. No type of Triton's has more than 128 bits.
_SCALAR = re.compile(r"(?:i|f|bf|tf)([0-9]{1,4})(?:E\w+)?|index")
_PARAMETRIC = re.compile(r"(!?[\w.]*)<((?:[0-9]{1,9}x)*)(.*)>", re.DOTALL)
_BRACKET = re.compile(r"[()\[\]{}<>]")
_EXTENTS = re.compile(r"[0-9]{1,6}(?:x[0-9]{1,6})*")
#: The most bits of all extents together: Triton makes no larger tensor, nor one of more dimensions.
_EXTENT_BITS = 256
#: Triton nests at most a tensor of pointers in a descriptor.
_DEEPEST = 8


class Type(msgspec.Struct, frozen=True, gc=False):
    """A type: what all have in common."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of a tensor or a buffer; empty for all other types."""
        return ()

    @property
    def element(self) -> "Type":
        """Type of the elements of a tensor or a buffer; any other type itself."""
        return self

    @property
    def layout(self) -> str:
        """The encoding of a tensor or a buffer as written, in full or by its alias; or ""."""
        return ""

    @property
    def pointee(self) -> "Type | None":
        """Type of the elements in global memory that a pointer or a descriptor refers to."""
        return None

    @property
    def bits(self) -> int | None:
        """Width of a number or an address; ``None`` for other types and for ``index``."""
        return None

    @property
    def bytes(self) -> int | None:
        """Bytes of a number or an address in memory; ``None`` where its width is not known."""
        return None if self.bits is None else max(1, self.bits // 8)


class Unknown(Type, frozen=True, gc=False):
    """A type that is none of the others."""

    text: str

    def __str__(self) -> str:
        """Return the type as written."""
        return self.text


class Scalar(Type, frozen=True, gc=False):
    """A number.

    Attributes:
        name: "f16", "i32", "f8E4M3FN", "index".
    """

    name: str

    def __str__(self) -> str:
        """Return the type as MLIR prints it."""
        return self.name

    @property
    def bits(self) -> int | None:
        """Width; ``None`` for an index."""
        match = _SCALAR.fullmatch(self.name)
        return int(match[1]) if match and match[1] else None

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer or an index."""
        return self.name.startswith("i")


class Pointer(Type, frozen=True, gc=False):
    """``!tt.ptr<f16>``.

    Attributes:
        space: The address space, where it is written.
    """

    pointee: Type
    space: str = ""

    bits = 64

    def __str__(self) -> str:
        """Return the type as MLIR prints it."""
        return f"!tt.ptr<{self.pointee}{self.space and f', {self.space}'}>"


class Shaped(Type, frozen=True, gc=False):
    """Elements in a shape; ``<128x64xf16, #shared>`` where an operation implies the rest.

    Attributes:
        shape: Empty for a single element.
        parameters: What follows it: memory space, "mutable", the shape of the whole buffer.
    """

    keyword: ClassVar[str] = ""

    shape: tuple[int, ...]
    element: Type
    layout: str = ""
    parameters: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the type as MLIR prints it."""
        extents = "".join(f"{extent}x" for extent in self.shape)
        rest = "".join(f", {each}" for each in (self.layout, *self.parameters) if each)
        return f"{self.keyword}<{extents}{self.element}{rest}>"

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


class Tensor(Shaped, frozen=True, gc=False):
    """``tensor<128x64xf16, #blocked>``."""

    keyword = "tensor"


class MemDesc(Shaped, frozen=True, gc=False):
    """``!ttg.memdesc<128x64xf16, #shared, #smem, mutable>``: a buffer, or a part of one."""

    keyword = "!ttg.memdesc"

    @property
    def whole(self) -> tuple[int, ...]:
        """The shape of the buffer that it is a part of; its own if it does not name one."""
        last = self.parameters[-1] if self.parameters else ""
        return tuple(map(int, last.split("x"))) if _EXTENTS.fullmatch(last) else self.shape


class TensorDesc(Type, frozen=True, gc=False):
    """``!tt.tensordesc<tensor<128x64xf16>>``, since Triton 3.7 ``!tt.tensordesc<128x64xf16>``.

    Attributes:
        block: The tile that it describes.
    """

    block: Shaped

    def __str__(self) -> str:
        """Return the type as MLIR prints it."""
        inner = f"<{self.block}>" if isinstance(self.block, Tensor) else str(self.block)
        return f"!tt.tensordesc{inner}"

    @property
    def pointee(self) -> Type:
        """Type of the tensor's elements."""
        return self.block.element


_SHAPED = {"": Shaped, "tensor": Tensor, "!ttg.memdesc": MemDesc}


@lru_cache(maxsize=1 << 12)
def read_type(text: str) -> Type:
    """Read a type, or what an operation prints of one."""
    return _read(text, _DEEPEST)


def _read(text: str, depth: int) -> Type:
    match = _PARAMETRIC.fullmatch(text)
    if match is None or depth == 0:
        return Scalar(text) if _SCALAR.fullmatch(text) else Unknown(text)
    keyword, extents, inner = match.groups()
    if _BRACKET.search(inner):
        element, *parameters = split_list(inner, "()[]{}<>")
    else:
        element, *parameters = map(str.strip, inner.split(","))
    shape = tuple(map(int, extents.split("x")[:-1]))
    # A digit takes less than four bits.
    if len(extents) * 4 > _EXTENT_BITS < sum(map(int.bit_length, shape)):
        return Unknown(text)
    if keyword == "!tt.ptr" and not shape and len(parameters) < 2:
        return Pointer(_read(element, depth - 1), *parameters)
    if keyword == "!tt.tensordesc":
        block = _read(inner if inner.startswith("tensor<") else f"<{extents}{inner}>", depth - 1)
        return TensorDesc(block) if isinstance(block, Shaped) else Unknown(text)
    kind = _SHAPED.get(keyword)
    if kind is None:
        return Unknown(text)
    layout = parameters.pop(0) if parameters else ""
    return kind(shape, _read(element, depth - 1), layout, tuple(parameters))
