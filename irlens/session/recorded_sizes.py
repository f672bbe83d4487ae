"""Sizes of a recorded launch: which of its values follow each other, as far as they tell.

A recording holds numbers: a tensor of ``fp32[512, 1000]``, ``n_cols`` of 1000 and a grid of 512. As
a size varies, what had its value varies with it; an extent that the grid has, and no argument, is a
size, too. Values that several sizes share, and small ones, tell nothing and stay.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from irlens.compiler import Request, find_kernel
from irlens.compiler.calls.binding import evaluate_formula
from irlens.compiler.calls.examples import find_uses
from irlens.compiler.calls.expressions import evaluate
from irlens.compiler.sources.index_names import function_of
from irlens.model.config import ConstexprValue, GridFormula
from irlens.model.errors import CaptureError
from irlens.model.several import grouped
from irlens.model.text import split_list
from irlens.session.recompile import evident_extents

_TENSOR = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[0-9, ]+)\](?P<block>@?\[[^:]*\])?")
_STRIDE = re.compile(r"stride", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])[0-9]+(?![\w.])")
#: Smaller numbers in a grid's formula are those of other things, too.
_EVIDENT = 16


class RecordedSizes(msgspec.Struct, frozen=True):
    """A recorded launch as a function of its sizes.

    Attributes:
        request: The launch: arguments and the grid are expressions over the sizes.
        names: The sizes, each an argument of the kernel or an extent, as ``x_shape_0``.
        follows: What follows from them: "x=fp32[n]", the grid last.
        derived: Constexprs that follow a size, as several launches tell.
    """

    request: Request
    names: list[str]
    follows: list[str]
    derived: dict[str, tuple[str, str]] = {}


def recorded_sizes(request: Request, others: Sequence[Request] = ()) -> RecordedSizes:
    """Return a recorded launch as a function of its sizes.

    Args:
        request: The launch in numbers, of a kernel without a description.
    """
    shapes = {n: shape for n, v in request.args.items() if (shape := _shape(v)) is not None}
    numbers = {
        name: value
        for name, value in request.args.items()
        if type(value) is int and value > 1 and name not in request.settings
    }
    symbols = _symbols(shapes, numbers, request.grid)
    args = dict(request.args)
    for name, shape in shapes.items():
        written = ", ".join(symbols.get(extent, str(extent)) for extent in shape)
        args[name] = re.sub(r"\[[0-9, ]+\]", f"[{written}]", str(args[name]), count=1)
    for name, value in numbers.items():
        products = _products(value, shapes, symbols)
        told = symbols.get(value, products.pop() if len(products) == 1 else "")
        if told != name and not set(told.split(" * ")).isdisjoint(symbols.values()):
            args[name] = told
    grid = _grid(request, symbols)
    moved = {name for name in request.args if args[name] != request.args[name]}
    own = {symbol: value for value, symbol in symbols.items() if symbol not in request.args}
    follows = [f"{name}={args[name]}" for name in request.args if name in moved]
    if grid != request.grid:
        follows.append(f"grid {', '.join(map(str, grid))}")
    known = [name for name in numbers if name not in moved and not _STRIDE.search(name)]
    derived = _derived(request, others, [*own, *known])
    follows += [f"{name}={text}" for name, (_, text) in derived.items()]
    return RecordedSizes(
        request=msgspec.structs.replace(
            request,
            args={**own, **args},
            grid=grid,
            contents={n: each for n, each in request.contents.items() if n not in moved},
        ),
        names=[*own, *known],
        follows=follows,
        derived=derived,
    )


def _derived(
    request: Request, others: Sequence[Request], names: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Return constexprs that follow one size in all launches, of which two have other values."""
    function = function_of(find_kernel(request.kernel))
    if function is None or not others:
        return {}
    parameters, tiles = {each.arg for each in function.args.args}, find_uses(function).ranges
    launches, found = [request, *others], {}
    for constexpr in parameters.intersection(request.settings):
        values = [each.settings.get(constexpr) for each in launches]
        if any(type(each) is not int for each in values) or len({*values}) < 2:
            continue
        told = [
            (name, text)
            for name in names
            for sizes in [[_size_of(name, each) for each in launches]]
            if None not in sizes
            and (text := _expression(name, sizes, values, is_tile=constexpr in tiles))
        ]
        if len(told) == 1:
            found[constexpr] = told[0]
    return found


def _expression(
    name: str, sizes: Sequence[int | None], values: Sequence[ConstexprValue], *, is_tile: bool
) -> str:
    """Return the expression over a size that gives a constexpr's values; empty without one."""
    texts = [name]
    if is_tile:  # its extents are powers of two
        follows = f"next_power_of_2({name})"
        numbers = sorted({each for each in values if isinstance(each, int)})
        texts = [follows]
        if len(numbers) > 2:  # two values that follow, and the one that ends it
            texts += [f"min({follows}, {numbers[-1]})", f"max({follows}, {numbers[0]})"]
    for text in texts:
        if all(evaluate(text, {name: s}, name) == v for s, v in zip(sizes, values, strict=True)):
            return text
    return ""


def _size_of(name: str, request: Request) -> int | None:
    """Return an argument, or the extent that a size as ``x_shape_0`` names."""
    value = request.args.get(name)
    tensor, _, dimension = name.rpartition("_shape_")
    shape = _shape(request.args.get(tensor)) if dimension.isdecimal() else None
    if shape is not None and int(dimension) < len(shape):
        return shape[int(dimension)]
    return value if type(value) is int else None


def _shape(value: ConstexprValue) -> tuple[int, ...] | None:
    """Return the extents of a contiguous tensor."""
    match = _TENSOR.fullmatch(value) if isinstance(value, str) else None
    return tuple(map(int, split_list(match["shape"]))) if match is not None else None


def _symbols(
    shapes: Mapping[str, Sequence[int]], numbers: Mapping[str, int], grid: Sequence[int | str]
) -> dict[int, str]:
    """Return the sizes by value: arguments, and extents that the grid has and no argument.

    A value that two sizes have, or two extents of one tensor, is none of them.
    """
    twice = {
        extent for shape in shapes.values() for extent, times in Counter(shape).items() if times > 1
    }
    named = grouped((value, n) for n, value in numbers.items() if not _STRIDE.search(n))
    symbols = {value: names[0] for value, names in named.items() if len(names) == 1}
    of_grid = {int(each) for extent in grid for each in _NUMBER.findall(str(extent))}
    for name, shape in shapes.items():
        for dimension, extent in enumerate(shape):
            if extent in of_grid and extent >= _EVIDENT and extent not in named:
                symbols.setdefault(extent, f"{name}_shape_{dimension}")
    symbols = {value: name for value, name in symbols.items() if value not in twice}
    for value in numbers.values():
        products = _products(value, shapes, symbols)
        if len(products) > 1:  # a stride of either tensor
            sizes = {size for each in products for size in each.split(" * ")}
            symbols = {value: name for value, name in symbols.items() if name not in sizes}
    return symbols


def _products(
    value: int, shapes: Mapping[str, Sequence[int]], symbols: Mapping[int, str]
) -> set[str]:
    """Return how the strides of contiguous tensors that have a value follow from sizes."""
    told = (
        [symbols.get(extent, str(extent)) for extent in shape[dimension:]]
        for shape in shapes.values()
        for dimension in range(1, len(shape))
        if math.prod(shape[dimension:]) == value
    )
    return {" * ".join(each) for each in told}


def _grid(request: Request, symbols: Mapping[int, str]) -> tuple[int | str, ...]:
    """Return the grid over sizes: as the program computes it, else as the source tells."""

    def named(number: re.Match[str]) -> str:
        value = int(number[0])
        return symbols.get(value, number[0]) if value >= _EVIDENT else number[0]

    def followed(extent: int | str) -> int | str:
        if isinstance(extent, int):
            return symbols.get(extent, extent)
        return _NUMBER.sub(named, extent)

    grid = tuple(map(followed, request.grid))
    if grid != request.grid:
        return grid
    try:
        recorded = evaluate_formula(GridFormula(grid, {**request.settings, **request.args}))
    except CaptureError:
        return grid
    told = evident_extents(request.kernel, request.settings, request.args, recorded or ())
    return tuple(told) or grid
