"""Launches to plan in the place of all that ranges of arguments have.

Triton compiles an integer for one of few classes: 1, a multiple of 16 or another, in 32 or 64 bits.
So a range needs one value of each class, and as many as the constexprs that follow from it take.
"""

import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from irlens.compiler.calls.dtypes import require_dtype
from irlens.compiler.calls.expressions import evaluate_each
from irlens.compiler.sources.description import Description
from irlens.model.config import ConstexprValue, Values, Vendor, each_value, number_of
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.text import count, split_list

if TYPE_CHECKING:  # many kernels need no formula
    import numpy as np

Combination: TypeAlias = dict[str, ConstexprValue]

#: Values at which the type of an integer changes: i32, i64, u64.
_BOUNDS = (-(1 << 63), -(1 << 31), 0, 1 << 31, 1 << 63, 1 << 64)
#: One more than the values after which residues modulo 16 repeat, for 1, which is none of them.
_PERIOD = 18
#: Values, or combinations of several arguments' values, at which formulas are evaluated.
_MOST_EVALUATED = 1 << 22
#: Launches that are planned in full.
_MOST_LAUNCHES = 20_000
#: Launches that need no thought.
_FEW = 64
#: Launches of a kernel whose tuning functions decide that are all planned.
_MOST_ENUMERATED = 2_000
#: Elements of the storage before a tensor: whether its address is a multiple of 16 follows.
_OFFSET = re.compile(r":\s*offset\s*\[(.*?)\]")
_NAME = re.compile(r"[^\W\d]\w*")


class Launches(msgspec.Struct, frozen=True):
    """Launches that need every variant.

    Attributes:
        chosen: Values of the arguments that vary, for each.
        bounded: Why others may need further variants; empty if none does.
    """

    chosen: list[Combination]
    number: int
    bounded: str = ""


def launches_of(
    axes: Mapping[str, Values],
    description: Description | None,
    settings: Mapping[str, ConstexprValue],
    parameters: Collection[str],
    *,
    decided: Sequence[str] = (),
    vendors: Collection[Vendor] = (),
) -> Launches:
    """Return launches that need every variant that the arguments' values can need.

    Of the launches that need one variant it is the last, as a rule the largest.

    Args:
        settings: Constexprs that are set, so that no formula gives them.
        decided: Settings that functions of the kernel's file choose, which may look at arguments.
        vendors: Of the GPUs: AMD's compiler looks at the sizes of tensors.

    Raises:
        IrlensError: There are too many.
    """
    number = math.prod(map(number_of, axes.values()))
    described = description or Description(args={})
    derived = [name for name in parameters if name not in described.args and name not in axes]
    follow = decided or (description is not None and derived)
    if number <= (_MOST_ENUMERATED if follow else _FEW):
        return Launches(_product({n: list(each_value(v)) for n, v in axes.items()}), number)
    formulas = _formulas(described, axes, settings, vendors)
    parts, bounded = [], ""
    if follow:
        parts = [_product({name: samples(values)}) for name, values in axes.items()]
        what = (
            f"functions choose {', '.join(decided)}" if decided else f"{', '.join(derived)} follow"
        )
        bounded = f"{what} from the arguments, of which samples were tried"
    for names in [] if follow else _connected(axes, formulas):
        own = {name: axes[name] for name in names}
        used = [text for text in formulas if _names(text) & own.keys()]
        if not used and len(names) == 1:
            parts.append(_product({names[0]: representatives(axes[names[0]])}))
            continue
        try:
            passed = [name for name in names if name in parameters]
            parts.append(_distinct(own, used, passed, described, settings))
        except CaptureError as error:
            bounded = error.message
            parts.append(_product({name: samples(values) for name, values in own.items()}))
    if math.prod(map(len, parts)) > _MOST_LAUNCHES:
        raise IrlensError(
            f"the ranges of {', '.join(axes)} need more than {count(_MOST_LAUNCHES)} launches",
            hint="give smaller ranges, or those of fewer arguments",
        )
    chosen = [
        {name: value for part in combination for name, value in part.items()}
        for combination in itertools.product(*parts)
    ]
    return Launches(chosen, number, bounded)


def representatives(values: Values) -> list[str]:
    """Return values of every class that Triton's specialization tells apart, the largest of each.

    Text that is no number is a class of its own.
    """
    found: dict[object, str] = {}
    for each in values:
        if isinstance(each, range):
            for number in _candidates(each):
                found.setdefault(class_of(number), str(number))
        else:
            found.setdefault(class_of(int(each)) if _is_number(each) else each, each)
    return sorted(found.values(), key=lambda each: int(each) if _is_number(each) else 0)


def class_of(number: int) -> tuple[int, bool, bool]:
    """Return the class of an integer: its type's range, whether it is 1, and a multiple of 16."""
    part = sum(number >= bound for bound in _BOUNDS)
    return part, number == 1, number % 16 == 0


def samples(values: Values) -> list[str]:
    """Return representatives, and multiples of each power of two, around each power of two."""
    found = dict.fromkeys(representatives(values))
    for each in values:
        if not isinstance(each, range):
            found[each] = None
            continue
        last = each.stop - 1
        for power in range(last.bit_length() + 1):
            multiple = last - last % (1 << power)
            near = (multiple, (1 << power) - 1, 1 << power, (1 << power) + 1)
            found |= dict.fromkeys(str(number) for number in near if number in each)
    return list(found)


def _candidates(numbers: range) -> Iterator[int]:
    """Yield the largest numbers of a range below each bound."""
    for low, high in itertools.pairwise(_BOUNDS):
        first = numbers.start + max(0, -(-(low - numbers.start) // numbers.step)) * numbers.step
        last = min(high, numbers.stop) - 1
        last -= (last - numbers.start) % numbers.step
        least = max(first, last - _PERIOD * numbers.step)
        yield from range(last, least - 1, -numbers.step)
        if first <= 1 <= last and (1 - numbers.start) % numbers.step == 0:
            yield 1


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*-?\d{1,1000}\s*", text) is not None


def _names(text: str) -> set[str]:
    return set(_NAME.findall(text))


def _formulas(
    description: Description,
    axes: Mapping[str, Values],
    settings: Mapping[str, ConstexprValue],
    vendors: Collection[Vendor],
) -> list[str]:
    """Return the formulas that numbers and constexprs follow from the varying sizes by."""
    texts = {name: text for name, text in description.args.items() if isinstance(text, str)}
    numbers = [text for name, text in texts.items() if "[" not in text and name not in axes]
    for text in texts.values():
        match = _OFFSET.search(text)
        if match is not None:
            numbers.append(f"({match[1]}) * {require_dtype(text.partition('[')[0], text).size}")
    if "amd" in vendors:
        numbers += [_number_of_elements(text) for text in texts.values() if "[" in text]
    constexprs = [
        text for name, text in description.constexprs.items()
        if name not in settings and isinstance(text, str)
    ]  # fmt: skip
    return [text for text in (*numbers, *constexprs) if _names(text) & axes.keys()]


def _number_of_elements(tensor: str) -> str:
    """Return the formula of a tensor's number of elements."""
    extents = split_list(tensor[tensor.index("[") + 1 : tensor.index("]")])
    return " * ".join(f"({each})" for each in extents) or "1"


def _connected(axes: Mapping[str, Values], formulas: Sequence[str]) -> list[list[str]]:
    """Return the arguments in groups: those that a formula has in common are in one."""
    group = {name: {name} for name in axes}
    for text in formulas:
        joined = set().union(*(group[name] for name in _names(text) & axes.keys()))
        for name in joined:
            group[name] = joined
    return [list(names) for names in dict.fromkeys(tuple(sorted(each)) for each in group.values())]


def _distinct(
    axes: Mapping[str, Values],
    formulas: Sequence[str],
    arguments: Sequence[str],
    description: Description,
    settings: Mapping[str, ConstexprValue],
) -> list[Combination]:
    """Return one combination for each result of the formulas that Triton tells apart.

    Raises:
        CaptureError: A formula cannot be evaluated for many values, or there are too many.
    """
    import numpy as np

    number = math.prod(map(number_of, axes.values()))
    if number > _MOST_EVALUATED:
        raise CaptureError(
            f"{', '.join(axes)} have {count(number)} values, of which samples were tried"
        )
    columns = [_numbers(values) for values in axes.values()]
    grids = [each.ravel() for each in np.meshgrid(*columns, indexing="ij")]
    varying = dict(zip(axes, grids, strict=True))
    names = {**description.options, **description.sizes, **settings, **varying}
    keys: list[np.ndarray] = [column for name in arguments for column in _classes(varying[name])]
    for text in formulas:
        result = evaluate_each(text, names, text)
        is_constexpr = text in description.constexprs.values()
        keys += [result] if is_constexpr else _classes(result)
    if not keys:
        keys = [np.zeros(number, np.int64)]
    # From the last on, so that it stands for the others.
    rows = np.stack([np.broadcast_to(key, (number,))[::-1] for key in keys], axis=1)
    _, first = np.unique(rows, axis=0, return_index=True)
    if len(first) > _MOST_LAUNCHES:
        raise CaptureError(f"{', '.join(axes)} give {count(len(first))} kinds of launches")
    return [
        {name: str(grid[number - 1 - index]) for name, grid in varying.items()}
        for index in sorted(first, reverse=True)
    ]


def _numbers(values: Values) -> "np.ndarray":
    import numpy as np

    pieces: list[range | list[int]] = []
    for each in values:
        if not isinstance(each, range) and not _is_number(each):
            raise CaptureError(f"'{each}' is not a whole number")
        pieces.append(each if isinstance(each, range) else [int(each)])
    if any(each and max(each[0], each[-1]) >= _BOUNDS[-2] for each in pieces):
        raise CaptureError("numbers of more than 63 bits, of which samples were tried")
    return np.concatenate([np.asarray(each, dtype=np.int64) for each in pieces])


def _classes(numbers: "np.ndarray") -> "list[np.ndarray]":
    """Return the classes of numbers, as ``class_of`` has them, in columns."""
    import numpy as np

    part = sum((numbers >= bound).astype(np.int64) for bound in (-(1 << 31), 0, 1 << 31))
    return [np.asarray(part), (numbers == 1).astype(np.int64), (numbers % 16 == 0).astype(np.int64)]


def _product(axes: Mapping[str, Sequence[str]]) -> list[Combination]:
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
