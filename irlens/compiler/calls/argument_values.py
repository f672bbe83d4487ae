"""Argument values and their text form.

Kernel descriptions, ``--arg`` and ``--set`` share one syntax: ``781``, ``0.5``, ``true``, ``none``,
``fp16`` (a dtype), ``fp16[1024, 1024]`` (a tensor), ``@FILE.npy`` (a tensor with its contents, of
which ``int32[2]:values[512, 1024]`` names few, and ``int32[64]:values[1024]`` one for all) and
``fp16[1024, 1024]:block[128, 64]`` (a tensor descriptor made on the host; for Gluon the layout of
the block may follow, ``...:block[128, 64]:NVMMASharedLayout(128, 16, 2)``). A Gluon layout is
written in Python syntax: ``BlockedLayout([1], [32], [4], [0])``. Recorded launches name the strides
of a view with gaps, ``fp16[1024, 64]:strides[192, 1]``; a tensor that is made from it has none. A
tensor that begins inside its storage says where, in elements: ``fp16[1023]:offset[1]``, ``x[1:]``.
"""

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, TypeGuard

import msgspec

from irlens.artifacts import npy
from irlens.compiler.calls.dtypes import (
    DTYPE_PREFIX,
    DTYPES,
    Dtype,
    dtype_of,
    find_dtype,
    require_dtype,
)
from irlens.compiler.calls.expressions import (
    LAYOUT_PATTERN,
    Names,
    UnknownSizeError,
    evaluate,
    evaluate_extent,
)
from irlens.model.capture import Stage
from irlens.model.config import ConstexprValue, finite_or_text
from irlens.model.errors import CaptureError
from irlens.model.text import count, plural, split_list


class Tensor(msgspec.Struct, frozen=True):
    """A contiguous tensor argument.

    Attributes:
        offset: Elements of its storage before it.
    """

    dtype: Dtype
    shape: tuple[int, ...]
    offset: int = 0

    def __str__(self) -> str:
        offset = f":offset[{self.offset}]" if self.offset else ""
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]{offset}"

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.dtype.size


class Descriptor(msgspec.Struct, frozen=True):
    """A tensor passed as a ``TensorDescriptor`` made on the host.

    Attributes:
        block: Extents of one load or store: numbers, or expressions that may depend on an
            autotuner's configuration.
        layout: Layout of the block in shared memory, in Gluon's syntax; ``None`` leaves the
            choice to Triton, or to Gluon's default for such a block.
    """

    tensor: Tensor
    block: tuple[int | str, ...]
    layout: str | None = None

    def __str__(self) -> str:
        layout = "" if self.layout is None else f":{self.layout}"
        return f"{self.tensor}:block[{', '.join(map(str, self.block))}]{layout}"

    def evaluated(self, names: Names, where: str) -> "Descriptor":
        """Return the descriptor with a block of numbers.

        Raises:
            CaptureError: An extent is invalid or not a whole number.
        """
        block = tuple(evaluate_extent(extent, names, where) for extent in self.block)
        return Descriptor(self.tensor, block, self.layout)


Argument: TypeAlias = Tensor | Descriptor | bool | int | float | None

_TENSOR = re.compile(
    r"\s*(?P<dtype>[A-Za-z_][\w.]*)\s*\[(?P<shape>[^\[\]]*)\]\s*"
    r"(?::\s*strides\s*\[[^\[\]]*\]\s*)?(?::\s*offset\s*\[(?P<offset>[^\[\]]*)\]\s*)?"
    rf"(?::\s*block\s*\[(?P<block>[^\[\]]*)\]\s*(?::\s*(?P<layout>{LAYOUT_PATTERN})\s*)?)?"
)
_VALUES = re.compile(
    r"\s*(?P<dtype>[A-Za-z_][\w.]*)\s*\[(?P<shape>[^\[\]]*)\]\s*"
    r":\s*values\s*\[(?P<values>[^\[\]]*)\]\s*"
)
#: Elements of a tensor whose values are written, one for all.
_MOST_ELEMENTS = 1 << 24
_KEYWORDS: dict[str, ConstexprValue] = {"none": None, "true": True, "false": False}


def parse_value(text: str) -> ConstexprValue:
    """Return the value of ``--set NAME=text``.

    A dtype becomes the string "tl.float16". Quotes force a string (``"'none'"`` is the word);
    text that is nothing else is a string without them.
    """
    text = text.strip()
    if text.lower() in _KEYWORDS:
        return _KEYWORDS[text.lower()]
    # Alone, "half" and "float" are words.
    dtype = find_dtype(text) if "." in text else DTYPES.get(text)
    if dtype:
        return DTYPE_PREFIX + dtype.language
    for parse_number in (lambda: int(text, 0), lambda: float(text)):
        try:
            return parse_number()
        except ValueError:
            continue
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def format_value(value: ConstexprValue) -> str:
    """Return the text that ``parse_value`` parses to this value."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if parse_value(text) == value else f"'{text}'"


def manifest_value(value: Argument) -> int | float | str:
    """Return an argument as manifests store it: a number, "fp32[4096, 1024]", "True" or "None"."""
    if value is None or isinstance(value, bool | Tensor | Descriptor):
        return str(value)
    return finite_or_text(value)


def tensor_of(value: Argument) -> Tensor | None:
    """Return the tensor of a tensor or descriptor argument, otherwise ``None``."""
    if isinstance(value, Descriptor):
        return value.tensor
    return value if isinstance(value, Tensor) else None


def has_contents(value: ConstexprValue) -> TypeGuard[str]:
    """Whether an argument's text says what a tensor holds: "@FILE.npy", "int32[2]:values[7]"."""
    if not isinstance(value, str):
        return False
    return value.lstrip().startswith("@") or _VALUES.fullmatch(value) is not None


def with_numbers(text: str, names: Names, where: str) -> str:
    """Return a description of contents in which numbers replace the names of sizes.

    Raises:
        CaptureError: A size has no value, or is none of a dimension.
    """
    match = _VALUES.fullmatch(text)
    if match is None:
        return text
    shape = [evaluate_extent(each, names, where) for each in split_list(match["shape"]) if each]
    values = [parse_value(each) for each in split_list(match["values"]) if each]
    numbers = [names.get(each, each) if isinstance(each, str) else each for each in values]
    shown = (", ".join(map(str, each)) for each in (shape, numbers))
    return "{}[{}]:values[{}]".format(match["dtype"], *shown)


def contents_of(text: str) -> Stage:
    """Return the file that "@FILE.npy" names, or one that holds the values in the text.

    Raises:
        CaptureError: The values are none of the tensor.
    """
    if match := _VALUES.fullmatch(text):
        return Stage(text, content=_written(match, text))
    # Unlike pathlib, it leaves the name of a user who does not exist.
    path = Path(os.path.expanduser(text.strip().removeprefix("@")))  # noqa: PTH111
    return Stage(path.name, path=path)


def describe_contents(args: Mapping[str, ConstexprValue]) -> dict[str, str]:
    """Return what arguments say of contents, with no more than the name of a file."""
    given = {name: value.strip() for name, value in args.items() if has_contents(value)}
    return {n: f"@{contents_of(v).name}" if v[0] == "@" else v for n, v in given.items()}


def _written(match: re.Match[str], text: str) -> bytes:
    """Return the ``.npy`` file of the tensor that a match of ``_VALUES`` describes."""
    dtype = require_dtype(match["dtype"], text)
    shape = tuple(evaluate_extent(each, {}, text) for each in split_list(match["shape"]) if each)
    values = [parse_value(each) for each in split_list(match["values"]) if each]
    elements = math.prod(shape)
    if len(values) not in (1, elements):
        raise CaptureError(
            f"{text}: {plural(len(values), 'value')} for {plural(elements, 'element')}",
            hint="write a value for each element, or one for all",
        )
    if elements > _MOST_ELEMENTS:
        raise CaptureError(
            f"{text}: more than {count(_MOST_ELEMENTS)} elements", hint="write them to a .npy file"
        )
    numbers = [each for each in values if isinstance(each, int | float)]
    content = None
    if len(numbers) == len(values):
        content = npy.write(numbers, shape, dtype.torch or dtype.language)
    if content is None:
        raise CaptureError(f"{text}: [{match['values']}] are no values of {dtype.name}")
    return content


def tensor_in_file(contents: Stage) -> Tensor:
    """Return the tensor that a file holds.

    Raises:
        ArtifactError: It cannot be read, or holds no array of numbers.
        CaptureError: No kernel takes a tensor of its type.
    """
    array = npy.read(contents)
    dtype = DTYPES.get(array.dtype.name)
    if dtype is None:
        raise CaptureError(f"{contents.path}: no kernel takes a tensor of {array.dtype.name}")
    return Tensor(dtype, array.shape)


def parse_argument(
    value: ConstexprValue, names: Names, where: str, *, shape_of: Argument = None
) -> Argument:
    """Return the argument that a description or ``--arg NAME=value`` specifies.

    Args:
        value: A number, or text: a number, an expression, a dtype with a shape and optionally a
            block, a file of contents, or a dtype alone if ``shape_of`` is a tensor.

    Raises:
        CaptureError: The text is none of these.
        ArtifactError: A file of contents cannot be read.
    """
    if not isinstance(value, str):
        return value
    if has_contents(value):
        return _like(tensor_in_file(contents_of(with_numbers(value, names, where))), shape_of)
    match = _TENSOR.fullmatch(value)
    if match:
        return _parse_tensor(match, names, where, shape_of)
    parsed = parse_value(value)
    replaced = tensor_of(shape_of)
    dtype = dtype_of(parsed) or (find_dtype(value) if replaced is not None else None)
    if dtype and replaced is not None:
        return _like(Tensor(dtype, replaced.shape), shape_of)
    if dtype:
        raise CaptureError(
            f"{where}: '{value}' has no shape",
            hint=f"write {value}[1024, 1024] for a tensor, or a number such as 1 for a scalar",
        )
    return evaluate_number(value, names, where) if isinstance(parsed, str) else parsed


def evaluate_number(text: str, names: Names, where: str) -> bool | int | float | None:
    """Return the value of an expression that is an argument or a size.

    Raises:
        CaptureError: It is no number; the hint says what an argument may be.
    """
    try:
        value = evaluate(text, names, where)
    except UnknownSizeError as error:
        if error.name != text.strip():
            raise
        value = text
    if not isinstance(value, str):
        return value
    known = f", or an expression of {', '.join(sorted(names))}" if names else ""
    raise CaptureError(
        f"{where}: '{text}' is neither a number nor a tensor",
        hint=f"write a number, a tensor such as fp16[1024, 1024]{known}",
    )


def _parse_tensor(
    match: re.Match[str], names: Names, where: str, shape_of: Argument
) -> Tensor | Descriptor:
    """Return the tensor or descriptor of a match of ``_TENSOR``."""
    dtype = require_dtype(match["dtype"], where)
    extents = filter(None, split_list(match["shape"]))
    offset = evaluate_extent(match["offset"], names, where) if match["offset"] else 0
    tensor = Tensor(dtype, tuple(evaluate_extent(text, names, where) for text in extents), offset)
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
    """Return the tensor, wrapped in a descriptor with the same block if it replaces one."""
    if isinstance(replaced, Descriptor) and len(replaced.block) == len(tensor.shape):
        return Descriptor(tensor, replaced.block, replaced.layout)
    return tensor
