"""Strides that follow from the shapes of a kernel's tensor arguments.

Attention takes sixteen of them, and a contiguous tensor determines its own. Which one a parameter
is follows from its name and place: ``stride_qb, stride_qh, stride_qm, stride_qk`` are those of
``q_ptr``, in the order of its dimensions.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from irlens.compiler.calls.argument_values import Argument, Descriptor, Tensor

_STRIDE = re.compile(r"_?strides?_?", re.IGNORECASE)
#: What only says that a parameter is a tensor.
_TENSOR_AFFIX = re.compile(r"^(ptr|p)_|_(ptr|pointer|desc|tensor)s?$", re.IGNORECASE)
#: Letters of a tensor's initial with a dimension: "om", "qbs".
_MOST_OF_INITIAL = 3


class Stride(msgspec.Struct, frozen=True):
    """A stride of a contiguous tensor argument: in elements, between neighbours of a dimension."""

    tensor: str
    dimension: int
    value: int

    def __str__(self) -> str:
        return f"{self.tensor}.stride({self.dimension})"


def strides_of(names: Sequence[str], args: Mapping[str, Argument]) -> dict[str, Stride]:
    """Return the parameters that are strides of tensors, where names and shapes leave no doubt.

    A stride of a tensor that is ``None`` is 0, as programs pass it: nothing uses it.

    Args:
        names: The run-time parameters in order.
    """
    tensors = {name: value for name, value in args.items() if isinstance(value, Tensor)}
    tensors |= {n: value.tensor for n, value in args.items() if isinstance(value, Descriptor)}
    all_tensors = [*tensors, *(name for name, value in args.items() if value is None)]
    groups: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        if name not in all_tensors and (
            told := tensor_of_stride(name, all_tensors) or tensor_of_stride(name, tensors)
        ):
            groups.setdefault(told[0], []).append((name, told[1]))
    found: dict[str, Stride] = {}
    for tensor, members in groups.items():
        if tensor in tensors:
            found |= _assign(tensor, tensors[tensor].shape, members)
        else:
            found |= {name: Stride(tensor, at, 0) for at, (name, _) in enumerate(members)}
    return found


def is_stride(name: str) -> bool:
    """Whether a parameter's name says that it is a stride."""
    return _STRIDE.search(name) is not None


def tensor_of_stride(name: str, tensors: Iterable[str]) -> tuple[str, str] | None:
    """Return the tensor that a stride's name means, and the rest of the name: ("q_ptr", "m")."""
    if not is_stride(name):
        return None
    # "row" of ``input_row_stride`` and "m" of ``stride_am`` name a dimension.
    rest = _STRIDE.sub("_", name).strip("_").lower()
    stems = {tensor: _TENSOR_AFFIX.sub("", tensor).lower() for tensor in tensors}
    # ``stride_ascale_m`` is one of ``a_scale_ptr``, not of ``a_ptr``.
    whole = {t: len(begun[0]) for t, stem in stems.items() if (begun := _spelled(stem, rest))}
    if whole:
        longest = max(whole.values())
        found = [tensor for tensor, length in whole.items() if length == longest]
    else:  # ``stride_om`` of ``Out``, while ``stride_states_m`` names something else
        is_initial = len(rest.partition("_")[0]) <= _MOST_OF_INITIAL
        found = [t for t, stem in stems.items() if is_initial and stem[:1] == rest[:1]]
        longest = 1
    return (found[0], rest[longest:].strip("_")) if len(found) == 1 else None


def _spelled(stem: str, rest: str) -> re.Match[str] | None:
    """Return what of the rest of a stride's name is a tensor's, with underscores or without."""
    letters = map(re.escape, stem.replace("_", ""))
    return re.match("_?".join(letters), rest) if stem.strip("_") else None


def _assign(
    tensor: str, shape: tuple[int, ...], members: Sequence[tuple[str, str]]
) -> Iterable[tuple[str, Stride]]:
    """Yield the strides of one tensor by parameter; nothing where the order is in doubt."""
    rank, number = len(shape), len(members)
    dimensions: list[int]
    if all(rest.isdecimal() for _, rest in members):
        dimensions = [int(rest) for _, rest in members]
    elif number == rank or number == rank - 1:  # the last one is often left out, being 1
        dimensions = list(range(number))
    else:
        return
    for (name, _), dimension in zip(members, dimensions, strict=True):
        if dimension < rank:
            yield name, Stride(tensor, dimension, math.prod(shape[dimension + 1 :]))
