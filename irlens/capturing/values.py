"""Argument values: how they are written, and the arithmetic that relates them.

A value is written the same way in a kernel's description and after ``--arg`` or ``--set``:
``781``, ``0.5``, ``true``, ``none``, ``fp16`` (a dtype), ``fp16[1024, 1024]`` (a tensor) and
``fp16[1024, 1024]:block[128, 64]`` (a descriptor of one, made on the host; for Gluon the layout of
the block may follow, ``...:block[128, 64]:NVMMASharedLayout(128, 16, 2)``). A layout of Gluon's is
written as Python writes it, ``BlockedLayout([1], [32], [4], [0])``.
"""

import ast
import math
import re
from collections.abc import Mapping
from typing import TypeAlias, TypeGuard

import msgspec
import simpleeval

from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError
from irlens.model.lists import split_list
from irlens.model.text import plural


class Dtype(msgspec.Struct, frozen=True):
    """An element type.

    Attributes:
        name: Triton's short name ("fp16").
        language: Its name in ``triton.language`` ("float16").
        torch: Its name in ``torch``, or ``None`` where PyTorch has no such type.
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

#: Every accepted spelling: Triton's, PyTorch's, LLVM's.
DTYPES: dict[str, Dtype] = {
    **{dtype.name: dtype for dtype in _DTYPES},
    **{dtype.language: dtype for dtype in _DTYPES},
    **{dtype.torch: dtype for dtype in _DTYPES if dtype.torch},
    **{d.name.replace("int", "i"): d for d in _DTYPES if re.fullmatch(r"u?int\d+", d.name)},
}

#: How a dtype given to a constexpr is kept in a record: a string that Triton users know.
_LANGUAGE = "tl."


class Tensor(msgspec.Struct, frozen=True):
    """A contiguous tensor argument."""

    dtype: Dtype
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.dtype.size


class Descriptor(msgspec.Struct, frozen=True):
    """A tensor that is passed by a ``TensorDescriptor``, made on the host.

    Attributes:
        tensor: The tensor, whole.
        block: What one load or store moves: extents, or expressions over what may depend on an
            autotuner's configuration.
        layout: Of the block in shared memory, as Gluon writes it; ``None`` leaves it to Triton, or
            in Gluon to the default for such a block.
    """

    tensor: Tensor
    block: tuple[int | str, ...]
    layout: str | None = None

    def __str__(self) -> str:
        layout = "" if self.layout is None else f":{self.layout}"
        return f"{self.tensor}:block[{', '.join(map(str, self.block))}]{layout}"

    def bound(self, names: "Names", where: str) -> "Descriptor":
        """Evaluate the block.

        Raises:
            CaptureError: An extent cannot be evaluated or is not a whole number.
        """
        block = tuple(_extent(each, names, where) for each in self.block)
        return Descriptor(self.tensor, block, self.layout)


Argument: TypeAlias = Tensor | Descriptor | bool | int | float | None
Names: TypeAlias = Mapping[str, ConstexprValue]

_TENSOR = re.compile(
    r"\s*(?:(?:tl|torch)\.)?(?P<dtype>\w+)\s*\[(?P<shape>[^\[\]]*)\]\s*"
    r"(?::\s*block\s*\[(?P<block>[^\[\]]*)\]\s*(?::\s*(?P<layout>[\w.]*Layout(?:\.\w+)?\(.*\))\s*)?)?"
)
#: A layout of Gluon's, as Python writes it.
_LAYOUT = re.compile(r"[\w.]*Layout(?:\.\w+)?\(.*\)", re.DOTALL)
_WORDS: dict[str, ConstexprValue] = {"none": None, "true": True, "false": False}
_LONGEST_EXPRESSION = 400  # characters; Python's parser recurses on nested brackets


def parse_value(text: str) -> ConstexprValue:
    """Return the value that ``--set NAME=text`` means.

    A dtype becomes the string "tl.float16"; quotes make a string of anything
    (``"'none'"`` is the word), and what is nothing else is a string without them.
    """
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    dtype = DTYPES.get(text.removeprefix("tl.").removeprefix("torch."))
    if dtype:
        return _LANGUAGE + dtype.language
    for number in (lambda: int(text, 0), lambda: float(text)):
        try:
            return number()
        except ValueError:
            continue
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def written(value: ConstexprValue) -> str:
    """Return the text that ``parse_value`` reads as a value."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if parse_value(text) == value else f"'{text}'"


def recorded(value: Argument) -> int | float | str:
    """Return an argument as a manifest has it: a number, or "fp32[4096, 1024]", "True", "None"."""
    if value is None or isinstance(value, bool | Tensor | Descriptor):
        return str(value)
    return value


def tensor_of(value: Argument) -> Tensor | None:
    """Return the tensor that an argument is or describes; ``None`` if it has none."""
    if isinstance(value, Descriptor):
        return value.tensor
    return value if isinstance(value, Tensor) else None


def dtype_of(value: ConstexprValue) -> Dtype | None:
    """Return the dtype that a constexpr value stands for, or ``None`` if it is not one."""
    if isinstance(value, str) and value.startswith(_LANGUAGE):
        return DTYPES.get(value.removeprefix(_LANGUAGE))
    return None


def is_layout(value: ConstexprValue) -> TypeGuard[str]:
    """Whether a constexpr value is the text of one of Gluon's layouts."""
    return isinstance(value, str) and _LAYOUT.fullmatch(value.strip()) is not None


def evaluate(expression: ConstexprValue, names: Names, where: str) -> ConstexprValue:
    """Return the value of an expression of a kernel's description.

    Args:
        expression: A number, or Python arithmetic over ``names``, the dtypes, ``cdiv``,
            ``next_power_of_2``, ``min`` and ``max``. Nothing else can be reached from it. The text
            of a layout is itself.
        names: Sizes, constexprs and the like.
        where: What the expression is for, to be named in an error.

    Raises:
        CaptureError: It cannot be evaluated.
        UnknownSizeError: It uses a name that has no value.
    """
    if not isinstance(expression, str) or is_layout(expression):
        return expression
    dtypes = {name: _LANGUAGE + dtype.language for name, dtype in DTYPES.items()}
    if len(expression) > _LONGEST_EXPRESSION:
        raise CaptureError(f"{where}: an expression longer than {_LONGEST_EXPRESSION} characters")
    names_and_dtypes = {**dtypes, **names}
    # With its compound types, so that `num_warps in (4, 8)` can be asked.
    evaluator = simpleeval.EvalWithCompoundTypes(names=names_and_dtypes, functions={**_FUNCTIONS})
    try:
        # Left to parse by itself, it only warns of `a = 1` and `a; b` and takes a part of them.
        tree = ast.parse(expression.strip(), mode="eval").body
        value: object = evaluator.eval(expression, previously_parsed=tree)
    except simpleeval.NameNotDefined as error:
        raise UnknownSizeError(str(error.name), expression, where, names) from error
    except (
        simpleeval.InvalidExpression,
        SyntaxError,
        ArithmeticError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
        MemoryError,
    ) as error:
        # Python's own complaint would name a file, "<unknown>", and a line.
        told = error.msg if isinstance(error, SyntaxError) else error
        raise CaptureError(f"{where}: cannot evaluate '{expression}': {told}") from error
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise CaptureError(f"{where}: '{expression}' is a {type(value).__name__}, not a number")


class UnknownSizeError(CaptureError):
    """An expression that uses a name without a value."""

    def __init__(self, name: str, expression: str, where: str, names: Names) -> None:
        super().__init__(
            f"{where}: '{expression}' needs a value of '{name}'",
            hint=f"known here: {', '.join(sorted(names))}" if names else None,
        )
        self.name = name


def parse_argument(
    value: ConstexprValue, names: Names, where: str, *, shape_of: Argument = None
) -> Argument:
    """Return the argument that a description or ``--arg NAME=value`` means.

    Args:
        value: A number, or its text: a number, an expression, a dtype with a shape, and with a
            block if it is a descriptor, or a dtype alone where ``shape_of`` is a tensor.
        names: What expressions may use.
        where: What to call it in an error.
        shape_of: The argument that is being replaced.

    Raises:
        CaptureError: The text is none of these.
    """
    if not isinstance(value, str):
        return value
    match = _TENSOR.fullmatch(value)
    if match:
        return _tensor(match, names, where, shape_of)
    parsed = parse_value(value)
    dtype = dtype_of(parsed)
    replaced = tensor_of(shape_of)
    if dtype and replaced is not None:
        return _like(Tensor(dtype, replaced.shape), shape_of)
    if dtype:
        raise CaptureError(f"{where}: '{value}' has no shape", hint=f"write {value}[1024, 1024]")
    if isinstance(parsed, str):
        parsed = evaluate(value, names, where)
    if isinstance(parsed, str):
        raise CaptureError(
            f"{where}: '{value}' is neither a number nor a tensor",
            hint="write a number, or a tensor as fp16[1024, 1024]",
        )
    return parsed


def _tensor(
    match: re.Match[str], names: Names, where: str, shape_of: Argument
) -> Tensor | Descriptor:
    """Build the tensor, or its descriptor, that ``match`` of ``_TENSOR`` describes."""
    dtype = DTYPES.get(match["dtype"])
    if dtype is None:
        raise CaptureError(
            f"{where}: unknown dtype '{match['dtype']}'",
            hint=f"known: {', '.join(dtype.name for dtype in _DTYPES)}",
        )
    extents = filter(None, split_list(match["shape"]))
    tensor = Tensor(dtype, tuple(_extent(text, names, where) for text in extents))
    if match["block"] is None:
        return _like(tensor, shape_of)
    block = tuple(filter(None, split_list(match["block"])))
    if len(block) != len(tensor.shape):
        raise CaptureError(
            f"{where}: the block [{', '.join(block)}] has {plural(len(block), 'dimension')} and the"
            f" tensor {len(tensor.shape)}"
        )
    return Descriptor(tensor, block, match["layout"])


def _like(tensor: Tensor, replaced: Argument) -> Tensor | Descriptor:
    """Return a tensor, by a descriptor with the same block if that is what it replaces."""
    if isinstance(replaced, Descriptor) and len(replaced.block) == len(tensor.shape):
        return Descriptor(tensor, replaced.block, replaced.layout)
    return tensor


def _extent(written: int | str, names: Names, where: str) -> int:
    """Return the extent of a dimension."""
    extent = evaluate(written, names, where)
    if not isinstance(extent, int) or isinstance(extent, bool) or extent < 0:
        raise CaptureError(f"{where}: the extent '{written}' is not a whole number")
    return extent


def _cdiv(a: int, b: int) -> int:
    """Divide and round up."""
    return -(-a // b)


def _next_power_of_2(n: int) -> int:
    """Return the smallest power of two that is not below ``n``."""
    return 1 << max(n - 1, 0).bit_length()


_FUNCTIONS = {"cdiv": _cdiv, "next_power_of_2": _next_power_of_2, "min": min, "max": max}

#: What every expression may use beside the names it is given.
BUILT_IN = frozenset({*DTYPES, *_FUNCTIONS})
