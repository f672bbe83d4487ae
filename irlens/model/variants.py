"""The records of variants: what a kernel is compiled for, and what tells its compilations apart.

``None`` is always "unknown" or "does not apply".
"""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from irlens.model.config import ConstexprValue, Target
from irlens.model.sweep import Outcome

VARIANTS_SCHEMA = 1

#: What Triton notes of an integer or a pointer: "divisible by 16", "within 2 GB" (AMD).
Property: TypeAlias = str


#: How a parameter may be declared so that fewer variants are needed: with either option of
#: ``@triton.jit``, or without ``tl.constexpr``.
Relaxation: TypeAlias = Literal["do_not_specialize", "do_not_specialize_on_alignment", "argument"]
SplitKind: TypeAlias = Literal["argument", "constexpr", "option"]


class Specialized(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a variant is compiled for, of one parameter.

    Attributes:
        name: The parameter.
        constexpr: Whether it is declared as ``tl.constexpr``.
        type: Triton's type of an argument: "i32", "*fp16"; ``None`` where the value is compiled in.
        properties: What the compiler may assume of the argument.
        value: The value that is compiled in: a constexpr's, 1, or ``None``.
        unknown: Whether the value that is compiled in is not recorded.
    """

    name: str
    constexpr: bool = False
    type: str | None = None
    properties: tuple[Property, ...] = ()
    value: ConstexprValue = None
    unknown: bool = False

    def __str__(self) -> str:
        if self.unknown:
            return "compiled in"
        if self.type is None:
            return str(self.value)
        return ", ".join((self.type, *self.properties))

    def unspecialized(self) -> "Specialized":
        """Return what ``do_not_specialize`` would leave; a constexpr loses its value."""
        if self.constexpr:
            return Specialized(name=self.name, constexpr=True)
        if self.type is None and self.value == 1 and type(self.value) is int:
            return Specialized(name=self.name, type="i32")
        return msgspec.structs.replace(self, properties=())


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """A compilation of a kernel.

    Attributes:
        specialization: What it is compiled for, by parameter.
        options: Compile options: num_warps, num_stages, ...
        launch: Arguments and sizes of a launch that needs it, as far as they vary.
        launches: Number of launches that need it.
        entry: The directory of its capture, of those that were given.
        outcome: What becomes of it; ``None`` where it was not compiled.
        reason: Why it does not fit, how it failed, or why it was not compiled.
        registers: Registers per thread.
        time_us: Estimated time of that launch, in microseconds.
        compile_seconds: How long compiling took, on this machine; ``None`` for what the store had.
        code: The first variant, by number, that has the same machine code.
        as_fast_as: The first variant, by number, from which it differs only in what does not matter
            to the time of their launches; its own number if there is none that is known.
        time_ratio: Time of its launch over its own where another variant serves it: one that is
            left for both if their parameters are declared otherwise, or one for the same problem;
            the least of these. Above 1 its code saves time, below 1 it costs time.
    """

    specialization: list[Specialized]
    options: dict[str, ConstexprValue]
    launch: dict[str, ConstexprValue] = {}
    launches: int | None = None
    entry: str = ""
    outcome: Outcome | None = None
    reason: str = ""
    registers: int | None = None
    time_us: float | None = None
    compile_seconds: float | None = None
    code: int | None = None
    as_fast_as: int | None = None
    time_ratio: float | None = None

    def parameter(self, name: str) -> Specialized | None:
        """Return what it is compiled for, of one parameter."""
        return next((each for each in self.specialization if each.name == name), None)

    def described(self, split: "Split") -> str:
        """Return what it is compiled for, of what tells variants apart."""
        name = split.names[0]
        return (
            str(self.options.get(name)) if split.kind == "option" else _text(self.parameter(name))
        )


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters or an option that tell variants apart.

    Attributes:
        names: Their names: several that differ in the same variants, and are equal in each.
        kind: What they are.
        values: What variants are compiled for.
        without: Number of variants if they were not specialized; of constexprs, if they were
            arguments; of an option, if it had one value.
    """

    names: list[str]
    kind: SplitKind
    values: list[str]
    without: int


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """A change that leaves fewer variants, which were compiled.

    Attributes:
        change: How the parameters are declared; "pad" where their values are padded to multiples
            of 16 instead, "fix" where only constexprs are set.
        names: The parameters.
        fixed: Constexprs that have the same value in every launch, too.
        variants: Number of variants that are left.
        time_ratio: Estimated time after over before, of the launch that loses most; ``None`` if
            unknown.
        launch: What tells that launch from the others.
        reason: Why it cannot be done, or why the time is unknown.
    """

    change: Relaxation | Literal["pad", "fix"]
    names: list[str]
    fixed: dict[str, ConstexprValue] = {}
    variants: int
    time_ratio: float | None = None
    launch: dict[str, ConstexprValue] = {}
    reason: str = ""


class KernelVariants(msgspec.Struct, frozen=True, kw_only=True):
    """The variants of a kernel for one GPU, by one Triton.

    Attributes:
        kernel: The kernel's name.
        target: The GPU; ``None`` if unknown.
        triton_version: The compiler's version.
        variants: The variants; the table numbers them from 1.
        splits: What tells them apart, the most variants first.
        number: Number of variants, those that are not listed included.
        launches: Number of launches that were considered.
        candidates: Number of configurations of a recording that an autotuner only tried; they are
            listed as variants only if none was launched.
        advice: Changes that leave fewer, the fewest first.
        bounded: Why there may be more variants; empty if these are all.
        cut_short: Whether the time to compile ended before all that is listed, and the changes,
            were compiled.
        unrecorded: Whether the captures do not say which values are compiled in, as Triton's own
            cache entries do not.
    """

    kernel: str
    target: Target | None
    triton_version: str | None
    variants: list[Variant]
    splits: list[Split]
    number: int
    launches: int | None = None
    candidates: int = 0
    advice: list[Advice] = []
    bounded: str = ""
    cut_short: bool = False
    unrecorded: bool = False

    @property
    def codes(self) -> int | None:
        """Number of distinct machine codes; ``None`` where one is unknown."""
        codes = {each.code for each in self.variants}
        return None if None in codes or self.number > len(self.variants) else len(codes)


class Variants(msgspec.Struct, frozen=True, kw_only=True):
    """The variants of kernels.

    Attributes:
        schema: Version of this interface.
        kernels: At least one.
    """

    schema: int
    kernels: list[KernelVariants]


def splits_of(variants: Sequence[Variant]) -> list[Split]:
    """Return what tells variants apart; first what the fewest variants would be left without."""
    found: dict[tuple[SplitKind, tuple[str, ...]], list[str]] = {}
    for name in dict.fromkeys(s.name for variant in variants for s in variant.specialization):
        own = [each.parameter(name) for each in variants]
        kind: SplitKind = (
            "constexpr" if any(each and each.constexpr for each in own) else "argument"
        )
        found.setdefault((kind, tuple(map(_text, own))), []).append(name)
    for name in dict.fromkeys(name for variant in variants for name in variant.options):
        texts = tuple(str(variant.options.get(name)) for variant in variants)
        found.setdefault(("option", texts), []).append(name)
    splits = [
        Split(
            names=names,
            kind=kind,
            values=list(dict.fromkeys(texts)),
            without=len({_key(variant, {*names}) for variant in variants}),
        )
        for (kind, texts), names in found.items()
        if len({*texts}) > 1
    ]
    return sorted(splits, key=lambda each: each.without)


def same_code(digests: Sequence[str | None]) -> Iterator[int | None]:
    """Yield the number, from 1, of the first digest that equals each; ``None`` where unknown."""
    first: dict[str, int] = {}
    for number, digest in enumerate(digests, 1):
        yield None if digest is None else first.setdefault(digest, number)


def _text(specialized: Specialized | None) -> str:
    return "absent" if specialized is None else str(specialized)


def _key(variant: Variant, without: set[str]) -> tuple[object, ...]:
    """Return what tells a variant from others, but for some names."""
    kept = (
        each.unspecialized() if each.name in without else each for each in variant.specialization
    )
    # As text, since 1 equals True.
    options = sorted((n, str(v)) for n, v in variant.options.items() if n not in without)
    return (*(repr(each) for each in kept), *options)
