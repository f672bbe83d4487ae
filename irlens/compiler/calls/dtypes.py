"""Element types, under every name that Triton, PyTorch and LLVM use for them."""

import re

import msgspec

from irlens.model.config import ConstexprValue


class Dtype(msgspec.Struct, frozen=True):
    """An element type.

    Attributes:
        name: Triton's short name ("fp16").
        language: Name in ``triton.language`` ("float16").
        torch: Name in ``torch``, or ``None`` if PyTorch has no such type.
        size: Bytes per element.
    """

    name: str
    language: str
    torch: str | None
    size: int


_DTYPES = (
    Dtype("fp64", "float64", "float64", 8),
    Dtype("fp32", "float32", "float32", 4),
    Dtype("fp16", "float16", "float16", 2),
    Dtype("bf16", "bfloat16", "bfloat16", 2),
    Dtype("fp8e4nv", "float8e4nv", "float8_e4m3fn", 1),
    Dtype("fp8e4b8", "float8e4b8", "float8_e4m3fnuz", 1),
    Dtype("fp8e5", "float8e5", "float8_e5m2", 1),
    Dtype("fp8e5b16", "float8e5b16", "float8_e5m2fnuz", 1),
    Dtype("fp8e4b15", "float8e4b15", None, 1),
    Dtype("int64", "int64", "int64", 8),
    Dtype("int32", "int32", "int32", 4),
    Dtype("int16", "int16", "int16", 2),
    Dtype("int8", "int8", "int8", 1),
    Dtype("uint64", "uint64", "uint64", 8),
    Dtype("uint32", "uint32", "uint32", 4),
    Dtype("uint16", "uint16", "uint16", 2),
    Dtype("uint8", "uint8", "uint8", 1),
    Dtype("bool", "int1", "bool", 1),
)

#: Every accepted spelling: Triton's, PyTorch's and LLVM's.
DTYPES: dict[str, Dtype] = {
    **{dtype.name: dtype for dtype in _DTYPES},
    **{dtype.language: dtype for dtype in _DTYPES},
    **{dtype.torch: dtype for dtype in _DTYPES if dtype.torch},
    **{d.name.replace("int", "i"): d for d in _DTYPES if re.fullmatch(r"u?int\d+", d.name)},
}

#: Prefix of a dtype passed as a constexpr: records hold it as the string "tl.float16".
DTYPE_PREFIX = "tl."


def dtype_of(value: ConstexprValue) -> Dtype | None:
    """Return the dtype that a constexpr value denotes, or ``None`` if it is not a dtype."""
    if isinstance(value, str) and value.startswith(DTYPE_PREFIX):
        return DTYPES.get(value.removeprefix(DTYPE_PREFIX))
    return None
