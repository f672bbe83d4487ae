"""Tiles that cover a size, as that of a kernel which computes a row in one piece, and stay.

The program derives such a tile from the size (``BLOCK = next_power_of_2(n_cols)``). Where the tile
stays as the size grows, the kernel computes what the tile covers, and leaves the rest out.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.compiler import Request, find_kernel
from irlens.compiler.calls.examples import find_uses
from irlens.compiler.calls.expressions import evaluate
from irlens.compiler.calls.extents import Extents
from irlens.compiler.sources.description import KernelSource
from irlens.compiler.sources.index_names import function_of
from irlens.model.limits import TileCover

#: Constexprs that follow a size: the size, and the expression over it.
Derived: TypeAlias = Mapping[str, tuple[str, str]]


def launch_at(request: Request, name: str, size: int, derived: Derived) -> Request:
    """Return a launch at another size, with the constexprs that follow it."""
    followed = {
        constexpr: evaluate(text, {name: size}, constexpr)
        for constexpr, (of, text) in derived.items()
        if of == name
    }
    args, settings = request.args | {name: str(size)}, request.settings | followed
    return msgspec.structs.replace(request, args=args, settings=settings)


def tiles_of(source: KernelSource) -> set[str]:
    """Return the names in the extents of a kernel's tiles."""
    function = function_of(source)
    return find_uses(function).ranges if function is not None else set()


def cover_of(
    kernel: str, name: str, planned: Sequence[Mapping[str, object]], last: int
) -> TileCover | None:
    """Return the tile that covers the fewest elements of a size, and stays as it grows."""
    function = function_of(find_kernel(kernel))
    if function is None or not planned:
        return None
    numbers = {n: value for n, value in planned[0].items() if type(value) is int}
    tiles = find_uses(function).ranges.intersection(numbers)
    same = [n for n in numbers if all(each.get(n) == each.get(name) for each in planned)]
    found = []
    for tile in sorted(tiles):
        if len({str(each.get(tile)) for each in planned}) > 1:
            continue
        names = {n: value for n, value in numbers.items() if n not in tiles}

        def is_beyond(size: int, tile: str = tile, names: dict[str, int] = names) -> bool:
            reached = Extents(
                function, names | dict.fromkeys(same, size), tiles, lambda _: None
            ).tile(tile)
            return reached is not None and reached[1] and reached[0] > numbers[tile]

        if is_beyond(last) and not is_beyond(1):
            covered = bisect_left(range(1, last), True, key=is_beyond)  # as many sizes
            found.append(TileCover(name=tile, elements=numbers[tile], last=covered))
    return min(found, key=lambda each: each.last, default=None)
