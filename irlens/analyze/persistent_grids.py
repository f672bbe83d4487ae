"""Grids of persistent kernels, whose programs loop over tiles: a number that no tile decides."""

from math import prod

import msgspec

from irlens.analyze.mlir_loops import number_of
from irlens.isa.mlir import Module
from irlens.isa.mlir.types import Tensor
from irlens.model.config import Config

_AXES = ("x", "y", "z")


class PersistentGrid(msgspec.Struct, frozen=True):
    """Grid of a persistent kernel, whose size is a parameter.

    Attributes:
        names: The constexprs that are its number of programs.
        tiles: How many tiles the programs loop over; ``None`` if unknown.
    """

    names: tuple[str, ...]
    tiles: int | None = None


def persistent_grid(module: Module, config: Config) -> PersistentGrid | None:
    """Return the grid of a kernel whose programs take several tiles; ``None`` for another one."""
    grid = config.grid or ()
    kinds = (kind for each in module.operations for kind in each.types)
    extents = {extent for kind in kinds if isinstance(kind, Tensor) for extent in kind.shape}
    names = tuple(
        name
        for name, value in config.constexprs.items()
        if prod(grid) > 1 and value == prod(grid) == max(grid) and value not in extents
    )
    arguments = {name: each for name, each in config.args.items() if isinstance(each, int)}
    for loop in module.doing("for"):
        first, end, step = module.values.operands[loop.index][:3]
        start = module.operations[first.operation] if first and first.region is None else None
        if start is None or step is None or start.does != "program":
            continue
        extent = dict(zip(_AXES, grid, strict=False)).get(start.words[0])
        stepped = module.operations[step.operation]
        is_told = stepped.does == "programs" and stepped.words[0] == start.words[0]
        if extent == prod(grid) and (is_told or number_of(module, step, arguments) == extent):
            tiles = number_of(module, end, arguments)
            return PersistentGrid(names, tiles) if tiles is None or tiles > extent else None
    return PersistentGrid(names) if names and _computes_with(module, prod(grid)) else None


def _computes_with(module: Module, number: int) -> bool:
    """Whether scalars are computed from a number, as the share of each program is.

    A constexpr that merely equals the grid, or is unused, decides no number of programs.
    """
    return any(
        number_of(module, operand, {}) == number
        for each in module.operations
        if each.types and not any(isinstance(kind, Tensor) for kind in each.types)
        for operand in module.values.operands[each.index]
    )
