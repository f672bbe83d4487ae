"""Element types, under every name that Triton, PyTorch, NumPy and MLIR use for them."""

import re

import msgspec

from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError, UnknownNameError


class Dtype(msgspec.Struct, frozen=True):
    """An element type.

    Attributes:
        name: Triton's short name ("fp16").
        language: Name in ``triton.language`` ("float16").
        torch: Name in ``torch``, or ``None`` if PyTorch has no such type.
        size: Bytes per element.
        signature: Triton's name in a kernel's signature ("i32", "u8", "fp16").
        others: Further names, of MLIR, NumPy, ONNX and ml_dtypes, in lower case without "_".
    """

    name: str
    language: str
    torch: str | None
    size: int
    signature: str
    others: tuple[str, ...] = ()


_DTYPES = (
    Dtype("fp64", "float64", "float64", 8, "fp64", ("f64",)),
    Dtype("fp32", "float32", "float32", 4, "fp32", ("f32",)),
    Dtype("fp16", "float16", "float16", 2, "fp16", ("f16",)),
    Dtype("bf16", "bfloat16", "bfloat16", 2, "bf16"),
    Dtype("fp8e4nv", "float8e4nv", "float8_e4m3fn", 1, "fp8e4nv", ("fp8e4m3fn", "f8e4m3fn")),
    Dtype("fp8e4b8", "float8e4b8", "float8_e4m3fnuz", 1, "fp8e4b8", ("fp8e4m3fnuz", "f8e4m3fnuz")),
    Dtype("fp8e5", "float8e5", "float8_e5m2", 1, "fp8e5", ("fp8e5m2", "f8e5m2")),
    Dtype(
        "fp8e5b16", "float8e5b16", "float8_e5m2fnuz", 1, "fp8e5b16", ("fp8e5m2fnuz", "f8e5m2fnuz")
    ),
    Dtype("fp8e4b15", "float8e4b15", None, 1, "fp8e4b15"),
    Dtype("int64", "int64", "int64", 8, "i64", ("si64",)),
    Dtype("int32", "int32", "int32", 4, "i32", ("si32",)),
    Dtype("int16", "int16", "int16", 2, "i16", ("si16",)),
    Dtype("int8", "int8", "int8", 1, "i8", ("si8",)),
    Dtype("uint64", "uint64", "uint64", 8, "u64", ("ui64",)),
    Dtype("uint32", "uint32", "uint32", 4, "u32", ("ui32",)),
    Dtype("uint16", "uint16", "uint16", 2, "u16", ("ui16",)),
    Dtype("uint8", "uint8", "uint8", 1, "u8", ("ui8",)),
    Dtype("bool", "int1", "bool", 1, "i1", ("u1", "uint1")),
)

#: Every spelling that is a dtype wherever it stands: Triton's, PyTorch's and MLIR's.
DTYPES: dict[str, Dtype] = {
    **{dtype.name: dtype for dtype in _DTYPES},
    **{dtype.language: dtype for dtype in _DTYPES},
    **{dtype.torch: dtype for dtype in _DTYPES if dtype.torch},
    **{dtype.signature: dtype for dtype in _DTYPES},
    **{d.name.replace("int", "i"): d for d in _DTYPES if re.fullmatch(r"u?int\d+", d.name)},
    **{name: dtype for dtype in _DTYPES for name in dtype.others},
}

_C_NAMES = {"half": "fp16", "double": "fp64", "short": "int16"}
#: Names that only say a type with the module before them, or where nothing else can stand. NumPy's
#: are those of a 64-bit Linux.
_IN_MODULE: dict[str, dict[str, str]] = {
    "torch": {**_C_NAMES, "float": "fp32", "int": "int32", "long": "int64"},
    "np": {
        **_C_NAMES, "single": "fp32", "intc": "int32", "int_": "int64", "long": "int64",
        "longlong": "int64", "byte": "int8", "ubyte": "uint8", "ushort": "uint16",
        "uintc": "uint32", "uint": "uint64", "ulong": "uint64", "ulonglong": "uint64",
        "bool_": "bool",
    },
    "tl": {},
}  # fmt: skip
_MODULES = {
    "tl": "tl", "gl": "tl", "triton.language": "tl", "torch": "torch", "np": "np", "numpy": "np",
    "jnp": "np", "ml_dtypes": "np",
}  # fmt: skip
#: Without a module: what PyTorch and NumPy agree on, and C's names of what a tensor may hold.
_ALONE = {**_C_NAMES, "single": "fp32", "float": "fp32", "bool_": "bool", "long": "int64"}
_NORMALIZED = {re.sub("_", "", name.lower()): dtype for name, dtype in DTYPES.items()}

#: Prefix of a dtype passed as a constexpr: records hold it as the string "tl.float16".
DTYPE_PREFIX = "tl."


def find_dtype(text: str) -> Dtype | None:
    """Return the dtype of a name, ``None`` if it is none: "u8", "torch.half", "Float8_E4M3FN".

    Args:
        text: The name, with or without its module. Case and "_" do not matter.
    """
    module, dot, name = text.strip().rpartition(".")
    if dot and module not in _MODULES:
        return None
    key = re.sub("_", "", name.lower())
    names = _IN_MODULE[_MODULES[module]] if dot else _ALONE
    known = {re.sub("_", "", each): dtype for each, dtype in names.items()}
    if name.lower() in names or key in known:
        return DTYPES[names.get(name.lower()) or known[key]]
    return _NORMALIZED.get(key)


def require_dtype(text: str, where: str) -> Dtype:
    """Return the dtype of a name that must be one.

    Raises:
        CaptureError: There is none of this name; the hint offers similar ones.
    """
    dtype = find_dtype(text)
    if dtype is None:
        similar = UnknownNameError("dtype", text.rpartition(".")[2], [*DTYPES, *_ALONE])
        raise CaptureError(f"{where}: {similar.message}", hint=similar.hint)
    return dtype


def name_of_torch(dtype: object) -> str:
    """Return Triton's short name of a dtype of PyTorch; PyTorch's own where Triton has none."""
    name = str(dtype).removeprefix("torch.")
    known = DTYPES.get(name)
    return known.name if known is not None else name


def dtype_of(value: ConstexprValue) -> Dtype | None:
    """Return the dtype that a constexpr value denotes, or ``None`` if it is not a dtype."""
    if isinstance(value, str) and value.startswith(DTYPE_PREFIX):
        return DTYPES.get(value.removeprefix(DTYPE_PREFIX))
    return None
