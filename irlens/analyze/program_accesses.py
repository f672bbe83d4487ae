"""What one program of a launch accesses, as tutorials draw it: offsets, strides, masks, tiles."""

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from irlens.analyze.traffic.accesses import Reference
from irlens.analyze.traffic.evaluation import run
from irlens.analyze.traffic.launch import Launch
from irlens.analyze.traffic.values import Array, Integer, TooLargeError, UnknownTrafficError, truth
from irlens.isa.mlir import Module, Operation
from irlens.model.program import ProgramAccess

if TYPE_CHECKING:
    from numpy.typing import NDArray

Chunks = list[tuple[Reference, int]]


def program_accesses(
    module: Module,
    arguments: Mapping[str, Any],
    grid: tuple[int, int, int],
    program: tuple[int, int, int],
    contents: "Mapping[str, NDArray[Any]] | None" = None,
) -> tuple[list[ProgramAccess], str]:
    """Return what one program accesses, and why that is unknown, if it is.

    Args:
        arguments: The launch's arguments by name, as of ``traffic.survey``.
        contents: What tensors of integers hold, by argument.
    """
    number = program[0] + grid[0] * (program[1] + grid[1] * program[2])
    launch = Launch(arguments, grid, contents or {})
    try:
        ((visitor, evaluation),) = run(module, launch, range(number, number + 1), Executions)
        accesses = [
            _access(module.operations[index], argument, chunks, launch.shape(argument))
            for (index, argument), chunks in sorted(visitor.chunks.items())
        ]
    except (UnknownTrafficError, TooLargeError) as error:
        return [], str(error) or "a tensor of addresses is too large"
    return accesses, evaluation.reason


class Executions:
    """Collects the executions of each access, by operation and argument.

    Attributes:
        chunks: Accesses, each with how many follow one another.
    """

    def __init__(self) -> None:
        self.chunks: dict[tuple[int, str], Chunks] = {}

    def __call__(self, operation: Operation, access: Reference, programs: Array) -> None:
        """Take some executions of an access."""
        key = operation.index, access.pointer.argument
        self.chunks.setdefault(key, []).append((access, programs.size))


def corners_of(chunks: Chunks) -> Array:
    """Return the address of the first element of each execution, bytes."""
    return np.concatenate([each.corners(count) for each, count in chunks])


def _access(
    operation: Operation, argument: str, chunks: Chunks, tensor: tuple[int, ...] | None
) -> ProgramAccess:
    access = chunks[0][0]
    if tensor is not None and prod(tensor) >= 1 << 63:
        tensor = None
    places = _first_row(access.pointer.offset, access.shape) // access.element_bytes
    mask = truth(access.mask)
    mask = mask.reshape(mask.shape + (1,) * (len(access.shape) + 1 - mask.ndim))
    active = places[_broadcast(mask[0], access.shape)]
    corners = corners_of(chunks) // access.element_bytes
    return ProgramAccess(
        line=operation.span.line,
        source=operation.location[0] if operation.location else None,
        operation=operation.name,
        argument=argument,
        shape=access.shape,
        executions=sum(count for _, count in chunks),
        first=int(active.min()) if active.size else None,
        last=int(active.max()) if active.size else None,
        strides=tuple(_single(np.diff(places, axis=axis)) for axis in range(places.ndim)),
        active=active.size,
        step=_single(np.diff(corners)),
        tile=tile_of(active, tensor),
        tile_step=step_of(corners, tensor),
    )


def _first_row(value: Integer, shape: tuple[int, ...]) -> Array:
    """Return an integer's elements in the first instance."""
    if prod(shape) > 1 << 22:
        raise TooLargeError
    total = np.zeros((1,) * len(shape), np.int64)
    for term in value.terms.values():
        total = total + term[0]
    return _broadcast(total, shape)


def _broadcast(values: Array, shape: tuple[int, ...]) -> Array:
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise UnknownTrafficError("an access and its addresses differ in shape") from None


def _single(numbers: Array) -> int | None:
    """Return the one value that all numbers have; ``None`` if there are several, or no numbers."""
    flat = numbers.reshape(-1)
    return int(flat[0]) if flat.size and (flat == flat[0]).all() else None


def tile_of(places: Array, shape: tuple[int, ...] | None) -> tuple[tuple[int, int], ...] | None:
    """Return the range of indices along each dimension of a tensor that elements cover.

    Args:
        places: Offsets of the elements that are accessed, in elements.
        shape: The shape of the tensor, which is contiguous; ``None`` if it is unknown.

    Returns:
        The first index and the one past the last of each; ``None`` where the elements do not fill
        these ranges, or some are outside of the tensor.
    """
    if not shape or not places.size or places.min() < 0 or places.max() >= prod(shape):
        return None
    indices = np.unravel_index(places, shape)
    tile = tuple((int(each.min()), int(each.max()) + 1) for each in indices)
    held = np.unique(places).size
    return tile if held == prod(stop - start for start, stop in tile) else None


def step_of(corners: Array, shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return how far a tile moves along each dimension from one execution to the next.

    Args:
        corners: Offset of the first element in each execution, in elements.
        shape: The shape of the tensor, which is contiguous; ``None`` if it is unknown.

    Returns:
        Indices; ``None`` where they vary, with a single execution, or where a tile starts outside.
    """
    if not shape or corners.size < 2 or corners.min() < 0 or corners.max() >= prod(shape):
        return None
    steps = [np.diff(each) for each in np.unravel_index(corners, shape)]
    if any((each != each[0]).any() for each in steps):
        return None
    return tuple(int(each[0]) for each in steps)
