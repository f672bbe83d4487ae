"""The records of limits: the smallest sizes at which a kernel breaks.

``None`` is always "unknown" or "does not apply".
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from irlens.model.config import Target
from irlens.model.estimate import Bound
from irlens.model.source import SourceLocation
from irlens.model.text import count

LIMITS_SCHEMA = 1

#: What happens at a limit. "overflow": an address, a mask or a loop's bound differs from the one
#: without overflow. "outside": an access leaves its tensor without any overflow. "grid":
#: the launch has more CTAs in a dimension than the GPU takes. "fit": it exceeds shared memory or
#: registers. "compile": it does not compile.
LimitKind: TypeAlias = Literal["overflow", "outside", "grid", "fit", "compile"]

_WORDS: dict[LimitKind, str] = {
    "overflow": "an offset overflows", "outside": "an access leaves its tensor",
    "grid": "the grid is too large", "fit": "a CTA does not fit", "compile": "does not compile",
}  # fmt: skip


class LimitSearch(msgspec.Struct, frozen=True, kw_only=True):
    """How limits are searched.

    Attributes:
        jobs: Worker processes; as many as there are processors if ``None``.
        details: Whether to apply the fix of an overflow to a copy of the file, and to find what
            binds the time of sizes that hold.
        progress: Receives the size's name and the value that is tried.
    """

    jobs: int | None = None
    details: bool = True
    progress: Callable[[str, int], None] = lambda name, size: None


class Cause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a launch breaks.

    Attributes:
        program: The first program, of those that were evaluated, that breaks: x, y and z.
        line: The access's line in the ttir.
        source: Its line in the user's file.
        operation: "load", "store", ...
        only_mask: Whether each address that is accessed is right, and the mask or a loop is not.
        argument: The tensor that it accesses.
        word: The operation that first exceeds its type: "multiplication".
        at: The line of that operation in the user's file.
        value: What it should have computed; of an access outside its tensor, the byte; of a grid,
            the number of CTAs.
        bits: The width of its type.
        factors: Arguments of the kernel among its operands.
        most: What would be allowed: the tensor's bytes, the GPU's CTAs.
        fixed: Whether the tensor has these bytes whatever the size is.
        reason: Why it does not fit, or does not compile.
    """

    program: tuple[int, int, int] | None = None
    line: int | None = None
    source: SourceLocation | None = None
    operation: str = ""
    only_mask: bool = False
    argument: str = ""
    word: str = ""
    at: SourceLocation | None = None
    value: int | None = None
    bits: int | None = None
    factors: list[str] = []
    most: int | None = None
    fixed: bool = False
    reason: str = ""

    @property
    def where(self) -> str:
        """The access and the program: "load at mine.py:51, program (4,096, 0, 0)"; may be empty."""
        parts = []
        if self.source is not None:
            parts.append(f"{self.operation} at {self.source}")
        if self.program is not None:
            parts.append(f"program ({', '.join(map(count, self.program))})")
        return ", ".join(parts)


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the kernel's file: at a line an expression, before and after."""

    line: int
    before: str
    after: str


class Fix(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What becomes of an overflow where its operands have 64 bits; compiled and evaluated.

    Attributes:
        edits: The changes of the kernel's file, in the order in which each proved necessary.
        size: The smallest size at which something else breaks then; ``None`` if nothing does.
        kind: What breaks there.
        last: The largest size that was tried then.
        unknown: Why more is not known, or why there is no such change.
    """

    edits: list[Edit]
    size: int | None = None
    kind: LimitKind | None = None
    last: int | None = None
    unknown: str = ""

    def words(self, file: str) -> str:
        """Return the edits and what they lead to; empty without any."""
        edits = "; ".join(f"{file}:{each.line} {each.before} → {each.after}" for each in self.edits)
        return f"{edits}. Compiled with it: {self._result}." if edits else ""

    @property
    def _result(self) -> str:
        if self.kind is not None and self.size is not None:
            return f"{_WORDS[self.kind]} from {count(self.size)} on"
        if self.last is None:
            return f"not enough: {self.unknown}"
        above = f"; more is unknown: {self.unknown}" if self.unknown else ""
        return f"nothing breaks up to {count(self.last)}{above}"


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest size at which something breaks.

    Attributes:
        kind: What.
        size: The size.
        cause: Where, of the launch of that size.
        is_exact: Whether nothing smaller breaks; else smaller sizes may, in programs of which
            there are too many to evaluate.
        fix: What becomes of it with wider integers; ``None`` where that was not tried.
    """

    kind: LimitKind
    size: int
    cause: Cause
    is_exact: bool = True
    fix: Fix | None = None

    @property
    def breaks(self) -> str:
        """What happens, in a clause."""
        if self.is_of_fixed_tensor:
            return f"the fixed size of {self.cause.argument} is exceeded"
        return "a mask overflows" if self.cause.only_mask else _WORDS[self.kind]

    @property
    def is_of_fixed_tensor(self) -> bool:
        """Whether an access leaves a tensor that the size does not change, though it may."""
        return self.kind == "outside" and self.cause.fixed

    @property
    def why(self) -> str:
        """What exceeds what, and what to do."""
        cause = self.cause
        if self.kind in ("fit", "compile"):
            return cause.reason
        if self.kind == "grid" and cause.value is not None and cause.most is not None:
            return (
                f"{count(cause.value)} CTAs in {cause.word}, and the GPU takes {count(cause.most)}"
            )
        if self.kind == "outside" and cause.value is not None and cause.most is not None:
            at = f"byte {count(cause.value)} of {cause.argument}, which has {count(cause.most)} B"
            if self.cause.fixed:
                return f"{at} at every size: where it follows the size, write --arg with it"
            return f"{at}: mask the access in every dimension"
        if cause.value is None or cause.bits is None:
            return "an integer overflows before the access"
        place = f" at {cause.at}" if cause.at is not None else ""
        of = f" with {' and '.join(cause.factors)}" if cause.factors else ""
        exceeds = f"the {cause.word}{of}{place} is {count(cause.value)}, beyond int{cause.bits}"
        if cause.word == "conversion":
            return f"{exceeds}: remove the conversion"
        if self.fix is None or not self.fix.edits:
            return f"{exceeds}: .to(tl.int64) on an operand"
        return exceeds


class SizeBound(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes at which one thing binds the estimated time.

    Attributes:
        bound: What.
        first: The smallest.
        last: The largest that was evaluated.
        multiple_of: What divides the sizes that were evaluated: of these the next smaller one has
            another bound.
    """

    bound: Bound
    first: int
    last: int
    multiple_of: int


class TileCover(msgspec.Struct, frozen=True, kw_only=True):
    """A tile that covers a size in one piece, and stays as the size grows.

    Attributes:
        name: The constexpr that is its extent.
        elements: Its value.
        last: The largest size that it covers: of a larger one the kernel leaves the rest out.
    """

    name: str
    elements: int
    last: int


class SizeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one size, the others as they are.

    Attributes:
        name: The size or argument.
        first: The smallest that was tried.
        last: The largest: nothing else breaks up to there, if ``unknown`` is empty.
        limits: The limits, the smallest first.
        unknown: Why more is not known.
        sampled: Whether some sizes have programs that were not evaluated and may break.
        alone: Whether neither the grid nor another argument follows the size, so that more
            programs and larger tensors were not looked at.
        bounds: What binds the estimated time of sizes below the limits, ascending.
        untimed: Why more of that is not known.
        cover: The tile that stays though the size exceeds it, so that larger sizes are not what
            the program would launch; ``None`` if there is none.
    """

    name: str
    first: int
    last: int
    limits: list[Limit]
    unknown: str = ""
    sampled: bool = False
    alone: bool = False
    bounds: list[SizeBound] = []
    untimed: str = ""
    cover: TileCover | None = None

    @property
    def uncovered(self) -> str:
        """Why sizes from the first limit on, or the last size, are not computed; or empty."""
        least = min((each.size for each in self.limits), default=self.last)
        if self.cover is None or least <= self.cover.last:
            return ""
        stays = f"{self.cover.name} stays {count(self.cover.elements)}"
        return f"computed up to {count(self.cover.last)} only, as {stays}"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a kernel.

    Attributes:
        schema: Version of this interface.
        kernel: The kernel's name.
        target: The GPU.
        triton_version: The compiler's version.
        sizes: Each size that was varied.
        follows: What of a recorded launch is taken to follow its sizes, as values were equal:
            "x=fp32[n]", the grid last.
    """

    schema: int
    kernel: str
    target: Target
    triton_version: str
    sizes: list[SizeLimits]
    follows: list[str] = []
