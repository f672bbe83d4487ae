"""Argument values, and how they are written.

A value is written the same way in a kernel's description and after ``--arg`` or ``--set``:
``781``, ``0.5``, ``true``, ``none``, ``fp16`` (a dtype), ``fp16[1024, 1024]`` (a tensor) and
``fp16[1024, 1024]:block[128, 64]`` (a descriptor of one, made on the host; for Gluon the layout of
the block may follow, ``...:block[128, 64]:NVMMASharedLayout(128, 16, 2)``). A layout of Gluon's is
written as Python writes it, ``BlockedLayout([1], [32], [4], [0])``.
"""

import math
import re
from typing import TypeAlias

import msgspec

from irlens.compiler.dtypes import DTYPES, LANGUAGE, Dtype, dtype_of
from irlens.compiler.expressions import Names, evaluate, extent_of
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError
from irlens.model.lists import split_list
from irlens.model.text import plural


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

    def bound(self, names: Names, where: str) -> "Descriptor":
        """Evaluate the block.

        Raises:
            CaptureError: An extent cannot be evaluated or is not a whole number.
        """
        block = tuple(extent_of(each, names, where) for each in self.block)
        return Descriptor(self.tensor, block, self.layout)


Argument: TypeAlias = Tensor | Descriptor | bool | int | float | None

_TENSOR = re.compile(
    r"\s*(?:(?:tl|torch)\.)?(?P<dtype>\w+)\s*\[(?P<shape>[^\[\]]*)\]\s*"
    r"(?::\s*block\s*\[(?P<block>[^\[\]]*)\]\s*(?::\s*(?P<layout>[\w.]*Layout(?:\.\w+)?\(.*\))\s*)?)?"
)
_WORDS: dict[str, ConstexprValue] = {"none": None, "true": True, "false": False}


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
        return LANGUAGE + dtype.language
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
        hint = f"write {value}[1024, 1024]; of a scalar a value, such as 1"
        raise CaptureError(f"{where}: '{value}' has no shape", hint=hint)
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
            hint=f"known: {', '.join(dtype.name for dtype in dict.fromkeys(DTYPES.values()))}",
        )
    extents = filter(None, split_list(match["shape"]))
    tensor = Tensor(dtype, tuple(extent_of(text, names, where) for text in extents))
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
