"""The records of a compilation: its target, its configuration, and what its arguments take."""

from collections.abc import Iterator, Sequence
from math import inf, isfinite, nan
from typing import Literal, TypeAlias, TypeVar

import msgspec

Vendor: TypeAlias = Literal["nvidia", "amd"]
ConstexprValue: TypeAlias = bool | int | float | str | None
T = TypeVar("T")

#: Values that JSON cannot hold as numbers, by the text that stands for them.
_NOT_FINITE = {"inf": inf, "-inf": -inf, "nan": nan}
#: Arguments that are numbers, by the text that configurations have for them.
_NUMBERS = {"True": True, "False": False, **_NOT_FINITE}

#: The compile options that ``triton.Config`` takes by name, and ``Config`` has fields for.
LAUNCH_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


class Target(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The GPU a kernel was compiled for.

    Attributes:
        vendor: "nvidia" or "amd".
        arch: The compiler's name: "sm_90", "gfx942".
        warp_size: Threads in a warp (NVIDIA), lanes in a wave (AMD).
        product: The product's name ("h100") where it is requested or known.
    """

    vendor: Vendor
    arch: str
    warp_size: int
    product: str | None = None

    @property
    def name(self) -> str:
        """The name to request it by: the product, or else the architecture."""
        return self.product or self.arch

    @property
    def full_name(self) -> str:
        """The architecture with the product where it is known: "sm_90 (h100)"."""
        return f"{self.arch} ({self.product})" if self.product else self.arch


class GridFormula(msgspec.Struct, frozen=True):
    """A grid that depends on how many CTAs fit an SM, which the compiled kernel decides.

    Attributes:
        extents: CTAs in x, y and z, numbers or expressions.
        names: Values of the names in them, but for ``blocks_per_sm``.
    """

    extents: tuple[int | str, ...]
    names: dict[str, ConstexprValue]


class Config(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the kernel was compiled and would be launched. ``None`` is "unknown".

    Attributes:
        num_warps: Requested warps per CTA, without the additional warps that run partitions of a
            warp-specialized kernel.
        num_stages: Requested pipeline stages of the whole kernel; ``None`` in Gluon, which has no
            such option.
        num_ctas: CTAs per cluster.
        maxnreg: Register cap given to the compiler, per thread.
        constexprs: Values of the kernel's ``tl.constexpr`` parameters.
        args: Run-time arguments: an integer or float, or a tensor as "fp32[4096, 1024]".
        grid: CTAs in x, y, z.
        options: The other compile options that differ from the compiler's defaults, and the
            environment variables that change its output, by name. A file is named with the
            beginning of its SHA-256: "b.ptx@3fdba35f".
        fixed: Constexprs that say what is computed and not how: those that a program calls an
            autotuned kernel with. Times compare where they are equal.
        contents: What tensors hold, where whoever asks has said it: "int32[2]:values[512]",
            "@lengths.npy".
    """

    num_warps: int | None
    num_stages: int | None
    num_ctas: int | None
    maxnreg: int | None
    constexprs: dict[str, ConstexprValue]
    args: dict[str, int | float | str]
    grid: tuple[int, int, int] | None = None
    options: dict[str, ConstexprValue] | None = {}
    fixed: tuple[str, ...] = ()
    contents: dict[str, str] = {}

    def arguments(self) -> dict[str, int | float | str]:
        """Return the run-time arguments, tensors with what is said of their contents."""
        return self.args | {n: each for n, each in self.contents.items() if n in self.args}

    def numbers(self) -> dict[str, int | float]:
        """Return the run-time arguments that are numbers or booleans."""
        read = {name: number_in(value) for name, value in self.args.items()}
        return {name: value for name, value in read.items() if value is not None}

    def element_types(self) -> dict[str, str]:
        """Return the element types of the run-time arguments that are tensors: "fp16"."""
        texts = {name: value for name, value in self.args.items() if isinstance(value, str)}
        return {name: value.partition("[")[0] for name, value in texts.items() if "[" in value}

    def own_constexprs(self) -> dict[str, ConstexprValue]:
        """Return the constexprs that are not compile options, too, as ``num_warps`` may be."""
        options = {*LAUNCH_OPTIONS, *(self.options or {})}
        return {name: value for name, value in self.constexprs.items() if name not in options}

    def fixed_values(self) -> dict[str, ConstexprValue]:
        """Return the values of the constexprs that say what is computed."""
        return {n: self.constexprs[n] for n in self.fixed if n in self.constexprs}


def identity_of(values: object) -> bytes:
    """Return what equals for equal records, settings and arguments, in any order of their names."""
    try:
        return msgspec.msgpack.encode(values, order="sorted")
    except OverflowError:  # an integer of more than 64 bits
        return msgspec.json.encode(values, order="sorted")


def number_in(value: ConstexprValue) -> int | float | None:
    """Return the number or boolean that an argument's value stands for, if it does."""
    return _NUMBERS.get(value) if isinstance(value, str) else value


def finite_or_text(value: T) -> T | str:
    """Return a value as JSON can hold it: infinities and NaN as "inf", "-inf" and "nan"."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def from_finite_or_text(value: ConstexprValue) -> ConstexprValue:
    """Return the value that ``finite_or_text`` has written."""
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


#: What one argument takes, in the order in which it was written.
Values: TypeAlias = Sequence[range | str]


def number_of(values: Values) -> int:
    """Return how many values there are."""
    return sum(_length(each) if isinstance(each, range) else 1 for each in values)


def each_value(values: Values) -> Iterator[str]:
    """Yield every value as text."""
    for each in values:
        if isinstance(each, range):
            yield from map(str, each)
        else:
            yield each


def _length(numbers: range) -> int:
    """Return the length of a range, which may be longer than ``len`` can say."""
    return max(0, (numbers.stop - numbers.start + numbers.step - 1) // numbers.step)
