"""The part of a tensor that a program's access covers: ranges of its rows, columns, ..."""

from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from irlens.analyze.traffic.values import Array

Tile = tuple[tuple[int, int], ...]


def tile_of(places: "Array", shape: tuple[int, ...] | None) -> Tile | None:
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


def step_of(corners: "Array", shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
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
