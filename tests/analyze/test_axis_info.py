"""Claims about runs and divisors, held against tensors that are written out in full."""

from collections.abc import Callable
from itertools import product
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.analyze import axis_info
from irlens.analyze.axis_info import Axis, Value

ARGUMENT = "%n"
SHAPE = (4, 8)

#: A claim, and the tensor that it is about, element by element in the order of the shape.
Pair = tuple[Value, list[int]]


def leaf(kind: str, number: int, argument: int) -> Pair:
    """A scalar in every element, or indices along one of the axes."""
    if kind == "number":
        return axis_info.number(number, SHAPE), [number] * prod(SHAPE)
    if kind == "argument":
        scalar = Value((), (), axis_info.power(argument), None, (ARGUMENT, 1))
        axes = tuple(map(axis_info.still, SHAPE))
        return Value(SHAPE, axes, scalar.divisor, None, scalar.symbol), [argument] * prod(SHAPE)
    along = 0 if kind == "rows" else 1
    axes = tuple(
        Axis(extent, 1, None, 1) if n == along else axis_info.still(extent)
        for n, extent in enumerate(SHAPE)
    )
    start = number * 8
    values = [start + index[along] for index in product(*map(range, SHAPE))]
    return Value(SHAPE, axes, axis_info.power(start)), values


def check(claim: Value, values: list[int], argument: int) -> None:
    indices = list(product(*map(range, SHAPE)))
    at = dict(zip(indices, values, strict=True))
    for index in indices:
        if all(place % axis.run == 0 for place, axis in zip(index, claim.axes, strict=True)):
            assert at[index] % claim.divisor == 0
        for n, axis in enumerate(claim.axes):
            first = index[n] - index[n] % axis.run
            if index[n] in (first, first + axis.run - 1):
                continue
            place = (*index[:n], first, *index[n + 1 :])
            following = (*index[:n], first + 1, *index[n + 1 :])
            here = (*index[:n], index[n] + 1, *index[n + 1 :])
            step = at[following] - at[place]
            assert at[here] - at[index] == step
            assert step % axis.divisor == 0
            if axis.step is not None:
                assert step == axis.step * (argument if axis.symbol else 1)
    if claim.constant is not None:
        assert set(values) == {claim.constant}
    if claim.symbol is not None:
        assert set(values) == {argument * claim.symbol[1]}


OPERATIONS: dict[str, tuple[Callable[[Value, Value], Value], Callable[[int, int], int]]] = {
    "add": (axis_info.add, lambda a, b: a + b),
    "subtract": (lambda a, b: axis_info.add(a, b, -1), lambda a, b: a - b),
    "multiply": (axis_info.multiply, lambda a, b: a * b),
    "remainder": (axis_info.remainder, lambda a, b: a % b),
    "quotient": (axis_info.quotient, lambda a, b: a // b),
    "slt": (lambda a, b: axis_info.compare("slt", a, b), lambda a, b: int(a < b)),
    "sge": (lambda a, b: axis_info.compare("sge", a, b), lambda a, b: int(a >= b)),
    "sgt": (lambda a, b: axis_info.compare("sgt", a, b), lambda a, b: int(a > b)),
    "sle": (lambda a, b: axis_info.compare("sle", a, b), lambda a, b: int(a <= b)),
    "eq": (lambda a, b: axis_info.compare("eq", a, b), lambda a, b: int(a == b)),
    "xor": (axis_info.elementwise, lambda a, b: a ^ b),
}
LEAVES = st.tuples(st.sampled_from(["number", "argument", "rows", "columns"]), st.integers(-3, 40))


@settings(max_examples=400)
@given(
    st.integers(-4, 64),
    LEAVES,
    st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), LEAVES, st.booleans()), max_size=5),
)
def test_every_claim_holds(
    argument: int,
    first: tuple[str, int],
    steps: list[tuple[str, tuple[str, int], bool]],
) -> None:
    claim, values = leaf(*first, argument)
    for name, other, swapped in steps:
        claims, numbers = OPERATIONS[name]
        pairs = [(claim, values), leaf(*other, argument)]
        (a, left), (b, right) = reversed(pairs) if swapped else pairs
        if name in ("remainder", "quotient") and (min(left) < 0 or min(right) <= 0):
            continue
        claim = claims(a, b)
        values = [numbers(x, y) for x, y in zip(left, right, strict=True)]
        check(claim, values, argument)


@given(st.integers(1, 64), LEAVES, LEAVES)
def test_a_join_holds_of_both(argument: int, one: tuple[str, int], other: tuple[str, int]) -> None:
    (a, left), (b, right) = leaf(*one, argument), leaf(*other, argument)
    check(axis_info.join(a, b), left, argument)
    check(axis_info.join(a, b), right, argument)


def test_a_bound_at_a_multiple_does_not_cut_runs() -> None:
    (columns, _), (bound, _) = leaf("columns", 0, 0), leaf("number", 4, 0)
    assert axis_info.compare("slt", columns, bound).axes[1].constant == 4
    assert axis_info.remainder(columns, bound).axes[1] == Axis(4, 1, None, 1)
    assert axis_info.quotient(columns, bound).axes[1].constant == 4


def test_numbers_do_not_grow_without_bound() -> None:
    value, _ = leaf("number", 40, 0)
    for _ in range(100):
        value = axis_info.multiply(value, value)
    assert value.constant is None
