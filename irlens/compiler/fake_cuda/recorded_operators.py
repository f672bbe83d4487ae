"""Operators that ran on fake tensors, recorded so that the CPU can run them later."""

from collections.abc import Iterator
from typing import Any

import msgspec
import torch
from torch.utils._pytree import tree_leaves

from irlens.compiler.operations.kinds import short_name


class Layout(msgspec.Struct, frozen=True):
    """Where a tensor lies in its memory."""

    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    memory_bytes: int

    @classmethod
    def of(cls, tensor: torch.Tensor) -> "Layout":
        """Return the layout of a tensor."""
        return cls(
            tensor.dtype,
            tuple(tensor.size()),
            tuple(tensor.stride()),
            tensor.storage_offset(),
            tensor.untyped_storage().nbytes(),
        )

    def view(self, memory: torch.UntypedStorage) -> torch.Tensor:
        """Return the tensor over its memory on the CPU."""
        empty = torch.empty(0, dtype=self.dtype, device="cpu")
        return empty.set_(memory, self.offset, self.size, self.stride)


class Version:
    """The content of a tensor's memory between two writes; known, computable or unknown.

    Attributes:
        maker: The operator that computes it, until then.
        reason: Why it can never be known, if so.
        assumed: Whether the content depends on the number of ``--assume``.
    """

    __slots__ = ("__weakref__", "assumed", "maker", "memory", "reason")

    def __init__(self, maker: "Operator | None" = None, reason: str = "") -> None:
        self.maker = maker
        self.reason = reason
        self.memory: torch.UntypedStorage | None = None
        self.assumed = False


class Input(msgspec.Struct, frozen=True):
    """An argument of a recorded operator: a version of a tensor's memory, and its layout."""

    version: Version
    layout: Layout


class OnCpu(msgspec.Struct, frozen=True, weakref=True):
    """An argument on the CPU: a copy, or the tensor and how often it had been written to."""

    tensor: torch.Tensor
    writes: int | None = None


class Operator(msgspec.Struct):
    """A recorded operator.

    Attributes:
        args: Its arguments, with an ``Input`` for each fake tensor.
        number: Its position among the recorded operators, and the seed of its random numbers.
        flops: Its floating-point operations, if PyTorch counts them.
        written: The inputs that it writes to, with the version of their memory afterwards.
        created: The position, layout and version of each new tensor among its results.
    """

    function: Any
    args: Any
    kwargs: Any
    number: int
    flops: float
    written: list[tuple[Input, Version]] = []
    created: list[tuple[int, Layout, Version]] = []

    def inputs(self) -> Iterator[Input]:
        """Yield the inputs on the GPU."""
        leaves = tree_leaves((self.args, self.kwargs), is_leaf=is_input)
        return (leaf for leaf in leaves if isinstance(leaf, Input))

    def cost(self) -> int:
        """Return the bytes that it writes."""
        layouts = [each[0].layout for each in self.written] + [each[1] for each in self.created]
        return sum(each.memory_bytes for each in layouts)


def is_input(value: object) -> bool:
    """Whether a value stands for a tensor in the arguments of a recorded operator."""
    return isinstance(value, Input | OnCpu)


def reads_no_values(function: Any) -> bool:
    """Whether an operator's tensors only lend their shape and dtype, as those of ``ones_like``."""
    name = short_name(function)
    return (name.endswith("_like") and name.removesuffix("_like") in _FILLS) or name in _NEW


_FILLS = frozenset({"empty", "full", "ones", "rand", "randint", "randn", "zeros"})
_NEW = frozenset({"new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros"})


def tensors_in(values: Any) -> list[torch.Tensor]:
    """Return the tensors among the arguments or the results of an operator."""
    return [each for each in tree_leaves(values) if isinstance(each, torch.Tensor)]


def written_by(function: Any, args: Any, kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors that an operator writes to, by its schema."""
    for index, argument in enumerate(function._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = args[index] if index < len(args) else kwargs.get(argument.name)
            yield from tensors_in(given)
