"""Axis information of integer tensors: what a compiler can know about addresses and masks.

Along each axis a tensor is cut into aligned runs in which neighbours differ by one step, and at the
start of every run its value is divisible by some power of two. That is Triton's contiguity,
constancy and divisibility (``lib/Analysis/AxisInfo.cpp``) in one, with the step kept: contiguous is
a step of 1, constant one of 0.
"""

from collections.abc import Sequence

import msgspec

#: The divisor of 0: larger than any alignment that matters.
ANY = 1 << 40
#: No address or index is larger; larger numbers would only slow hostile input down.
_LARGEST = 1 << 63


class Axis(msgspec.Struct, frozen=True):
    """Steps along one axis.

    Attributes:
        run: Elements of a run, a power of two; runs begin at its multiples.
        step: From one element of a run to the next; times ``symbol``, if there is one. ``None``
            where it is unknown (but the same all along).
        divisor: A power of two that divides the step, the symbol's value included.
    """

    run: int
    step: int | None
    symbol: str | None
    divisor: int

    @property
    def constant(self) -> int:
        """Consecutive elements that are certainly equal."""
        return self.run if self.step == 0 else 1

    def within(self, run: int) -> "Axis":
        """Return the same steps for smaller runs."""
        return Axis(min(run, self.run), self.step, self.symbol, self.divisor)


def still(run: int) -> Axis:
    """Return an axis along which runs are constant."""
    return Axis(run, 0, None, ANY)


class Value(msgspec.Struct, frozen=True):
    """An integer, a pointer (in bytes), or a tensor of them; a truth value counts as an integer.

    Attributes:
        shape: Elements along each axis; empty for a scalar.
        divisor: A power of two that divides the value wherever runs of all axes begin.
        constant: The value, where it is one known number.
        symbol: Argument and factor, where it is a multiple of an argument.
    """

    shape: tuple[int, ...]
    axes: tuple[Axis, ...]
    divisor: int = 1
    constant: int | None = None
    symbol: tuple[str, int] | None = None

    @property
    def uniform(self) -> bool:
        """Whether all elements are equal."""
        pairs = zip(self.axes, self.shape, strict=True)
        return all(axis.constant >= extent for axis, extent in pairs)

    def divisor_for(self, runs: Sequence[int]) -> int:
        """Return the divisor of the value wherever smaller runs begin."""
        divisor = self.divisor
        for axis, run in zip(self.axes, runs, strict=True):
            if run < axis.run:
                divisor = min(divisor, axis.divisor * run)
        return divisor

    def divisor_along(self, axis: int) -> int:
        """Return the divisor of the value wherever a run of one axis begins."""
        runs = [self.axes[n].run if n == axis else 1 for n in range(len(self.axes))]
        return self.divisor_for(runs)


def power(number: int) -> int:
    """Return the largest power of two that divides a number."""
    return min(number & -number, ANY) if number else ANY


def number(value: int, shape: tuple[int, ...] = ()) -> Value:
    """Return a known number in every element."""
    return Value(shape, tuple(map(still, shape)), power(value), value)


def unknown(shape: tuple[int, ...] = (), divisor: int = 1) -> Value:
    """Return a value about which nothing else is known."""
    return Value(shape, tuple(Axis(1, None, None, 1) for _ in shape), divisor)


def add(a: Value, b: Value, sign: int = 1) -> Value:
    """Return ``a + b``, or with a sign of -1 their difference."""
    axes = tuple(_sum(x, y, sign) for x, y in zip(a.axes, b.axes, strict=True))
    runs = [axis.run for axis in axes]
    constant = None
    if a.constant is not None and b.constant is not None:
        constant = _bounded(a.constant + sign * b.constant)
    return Value(a.shape, axes, min(a.divisor_for(runs), b.divisor_for(runs)), constant)


def _bounded(number: int) -> int | None:
    return number if -_LARGEST <= number < _LARGEST else None


def _sum(a: Axis, b: Axis, sign: int) -> Axis:
    run, divisor = min(a.run, b.run), min(a.divisor, b.divisor)
    if a.step is None or b.step is None:
        return Axis(run, None, None, divisor)
    if b.step == 0 or a.step == 0:
        step, symbol = (a.step, a.symbol) if b.step == 0 else (sign * b.step, b.symbol)
        return Axis(run, step, symbol, divisor)
    if a.symbol != b.symbol:
        return Axis(run, None, None, divisor)
    step = a.step + sign * b.step
    return _axis(run, step, a.symbol, divisor) if step else still(run)


def multiply(a: Value, b: Value) -> Value:
    """Return ``a * b``."""
    if a.uniform and not b.uniform:
        a, b = b, a
    axes = tuple(
        _scaled(x, b) if b.uniform else still(min(x.constant, y.constant))
        for x, y in zip(a.axes, b.axes, strict=True)
    )
    runs = [axis.run for axis in axes]
    divisor = min(a.divisor_for(runs) * b.divisor_for(runs), ANY)
    constant = symbol = None
    if a.constant is not None and b.constant is not None:
        constant = _bounded(a.constant * b.constant)
    elif a.symbol and b.constant:
        symbol = _multiple(a.symbol, b.constant)
    elif b.symbol and a.constant:
        symbol = _multiple(b.symbol, a.constant)
    return Value(a.shape, axes, divisor, constant, symbol)


def _multiple(symbol: tuple[str, int], times: int) -> tuple[str, int] | None:
    factor = _bounded(symbol[1] * times)
    return (symbol[0], factor) if factor is not None else None


def _scaled(axis: Axis, factor: Value) -> Axis:
    if axis.step == 0 or factor.constant == 0:
        return still(axis.run)
    divisor = min(axis.divisor * factor.divisor, ANY)
    if axis.step is not None and factor.constant is not None:
        return _axis(axis.run, axis.step * factor.constant, axis.symbol, divisor)
    if axis.step is not None and axis.symbol is None and factor.symbol:
        name, times = factor.symbol
        return _axis(axis.run, axis.step * times, name, divisor)
    return Axis(axis.run, None, None, divisor)


def _axis(run: int, step: int, symbol: str | None, divisor: int) -> Axis:
    bounded = _bounded(step)
    return Axis(run, bounded, symbol if bounded is not None else None, divisor)


def remainder(a: Value, b: Value) -> Value:
    """Return ``a % b``; runs that cannot cross a multiple of ``b`` keep their steps.

    Like the compiler's own rules, this assumes that neither number is negative.
    """
    if not b.uniform:
        return elementwise(a, b)
    axes = tuple(axis.within(_uncut(a, n, b)) for n, axis in enumerate(a.axes))
    return Value(a.shape, axes, min(a.divisor_for([axis.run for axis in axes]), b.divisor))


def quotient(a: Value, b: Value) -> Value:
    """Return ``a // b``; it is constant along runs that cannot cross a multiple of ``b``.

    Like the compiler's own rules, this assumes that neither number is negative.
    """
    if not b.uniform:
        return elementwise(a, b)
    axes = tuple(still(_uncut(a, n, b)) for n in range(len(a.axes)))
    divisor = a.divisor_for([axis.run for axis in axes])
    exact = b.constant is not None and b.constant == b.divisor <= divisor
    return Value(a.shape, axes, divisor // b.divisor if exact else 1)


def compare(predicate: str, a: Value, b: Value) -> Value:
    """Return a truth value, constant along runs on one side of the bound.

    Args:
        predicate: ``arith.cmpi``'s: "slt", "uge", "eq", ...
    """
    if predicate[1:] in ("gt", "le") and a.uniform:
        a, b, predicate = b, a, "slt"
    axes = []
    for n, (x, y) in enumerate(zip(a.axes, b.axes, strict=True)):
        run = min(x.constant, y.constant)
        if predicate[1:] in ("lt", "ge") and b.uniform:
            run = max(run, _uncut(a, n, b))
        axes.append(still(run))
    return Value(a.shape, tuple(axes))


def _uncut(a: Value, n: int, bound: Value) -> int:
    """Return a run of axis ``n`` of ``a`` inside which no multiple of a uniform bound lies.

    A run of r steps of s that begins at a multiple of r·s ends before the next, and every multiple
    of a bound that r·s divides is such a boundary.
    """
    axis = a.axes[n]
    if axis.step == 0:
        return axis.run
    if axis.step is None or axis.symbol or axis.step < 0 or power(axis.step) != axis.step:
        return 1
    runs = [other.run if m == n else 1 for m, other in enumerate(a.axes)]
    common = min(a.divisor_for(runs), bound.divisor)
    return max(min(axis.run, common // axis.step), 1)


def elementwise(*values: Value) -> Value:
    """Return the result of an element-wise function: constant where all values are."""
    shape = values[0].shape
    columns = zip(*(value.axes for value in values), strict=True)
    return Value(shape, tuple(still(min(axis.constant for axis in axes)) for axes in columns))


def join(a: Value, b: Value) -> Value:
    """Return what holds for both of two values."""
    if a == b:
        return a
    axes = []
    for x, y in zip(a.axes, b.axes, strict=True):
        same = (x.step, x.symbol) == (y.step, y.symbol)
        step, symbol = (x.step, x.symbol) if same else (None, None)
        axes.append(Axis(min(x.run, y.run), step, symbol, min(x.divisor, y.divisor)))
    runs = [axis.run for axis in axes]
    return Value(
        a.shape,
        tuple(axes),
        min(a.divisor_for(runs), b.divisor_for(runs)),
        a.constant if a.constant == b.constant else None,
        a.symbol if a.symbol == b.symbol else None,
    )
