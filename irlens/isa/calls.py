"""Functions that a kernel calls, expanded where it calls them: one function for every engine.

A called function is code of the kernel. A kernel with calls is therefore read as the function that
it would be with all of them inlined: after each call stand the instructions of the function that
it runs, whose returns lead on after the call, and whose source lines are followed by those of the
call, as those of inlined code are. A function that is called twice stands there twice. What is
counted once for each instruction of the text goes by the instructions' lines.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Generic, Protocol, TypeVar

import msgspec

from irlens.isa.dialect import BlockLabel, ControlFlow, I_co, Instruction, Terminator
from irlens.model.source import SourceLocation

#: More than any compiler writes; copies of functions that call each other multiply.
_MOST_INSTRUCTIONS = 1 << 20
_MOST_COPIES = 1 << 14
MOST_LEVELS = 64


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call.

    Attributes:
        callee: Name of the function that it runs; ``None`` where that is unknown.
        unknown: Why it is; empty for code of the driver that does nothing of interest.
        leaves: Whether control does not come back, but leaves the caller with the callee's return.
    """

    callee: str | None
    unknown: str = ""
    leaves: bool = False


class CallingFunction(Protocol[I_co]):
    """A function as it is written, with what the expansion of its calls needs to know."""

    @property
    def name(self) -> str:
        """The function's name."""

    @property
    def instructions(self) -> tuple[I_co, ...]:
        """The instructions in the order of the text."""

    def written_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin, as if calls came back and returns ended."""

    def calls(self) -> Mapping[int, Call]:
        """Return the calls by the index of their instruction."""

    def returns(self) -> Set[int]:
        """Return the indices of the instructions that return to the caller."""


F = TypeVar("F", bound=CallingFunction[Instruction])
F_co = TypeVar("F_co", bound=CallingFunction[Instruction], covariant=True)


class Copy(msgspec.Struct, Generic[F_co], frozen=True):
    """A function at one place where it is called; the first copy is the kernel.

    Attributes:
        function: As it is written.
        at: The index in the expansion of each instruction, and of what follows the last.
        chain: The source lines of the call, and of those around it, innermost first.
        caller: Index of the copy that calls it; -1 for the kernel.
        leaves: Whether its return is its caller's.
    """

    function: F_co
    at: tuple[int, ...]
    chain: tuple[SourceLocation, ...]
    caller: int
    leaves: bool


class Expansion(msgspec.Struct, Generic[F_co], frozen=True):
    """A kernel with the functions that it calls.

    Attributes:
        origins: For each instruction the copy that it belongs to, and its index there.
        unfollowed: The calls that could not be followed, by the index of their instruction: what
            is not known of each, and why.
    """

    copies: tuple[Copy[F_co], ...]
    origins: tuple[tuple[int, int], ...]
    unfollowed: Mapping[int, str]

    @property
    def functions(self) -> tuple[F_co, ...]:
        """The kernel, and each function that it calls, once."""
        return tuple({copy.function.name: copy.function for copy in self.copies}.values())

    def written(self) -> Iterator[tuple[int, Instruction]]:
        """Yield for each instruction of the text the index of its first copy, and itself."""
        seen: set[tuple[str, int]] = set()
        for index, (copy, own) in enumerate(self.origins):
            function = self.copies[copy].function
            if (function.name, own) not in seen:
                seen.add((function.name, own))
                yield index, function.instructions[own]

    @property
    def unknown(self) -> str:
        """What is not known of the first call that could not be followed; empty without any."""
        return next(iter(self.unfollowed.values()), "")

    def chain(self, index: int) -> tuple[SourceLocation, ...]:
        """Return the source lines of an instruction, then those of the calls that lead to it."""
        copy, own = self.origins[index]
        written = self.copies[copy].function.instructions[own]
        return (*written.locations, *self.copies[copy].chain)

    def control_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin; returns of functions lead after the call."""
        terminators: dict[int, Terminator] = {}
        labels: dict[int, BlockLabel] = {}
        starts: set[int] = set()
        unknown = self.unknown
        for number, copy in enumerate(self.copies):
            written, at = copy.function.written_flow(), copy.at
            unknown = unknown or written.unknown
            labels |= {at[index]: label for index, label in written.labels.items()}
            returns = copy.function.returns() if number else frozenset[int]()
            entered = {index for index, call in copy.function.calls().items() if call.leaves}
            for index, terminator in written.terminators.items():
                if index in entered and at[index + 1] > at[index] + 1:
                    continue  # the callee's instructions follow
                targets = tuple(at[target] for target in terminator.targets)
                if index in returns:
                    targets = (self._after(copy),)
                    starts.update(targets)
                terminators[at[index]] = Terminator(targets, terminator.falls_through)
        return ControlFlow(terminators, labels, unknown, frozenset(starts))

    def _after(self, copy: Copy[F_co]) -> int:
        """Return the index at which control goes on where a copy returns."""
        while copy.leaves and copy.caller >= 0:
            copy = self.copies[copy.caller]
        return copy.at[-1]


def expand(kernel: F, functions: Mapping[str, F]) -> Expansion[F] | None:
    """Expand the calls of a kernel; ``None`` if it has none."""
    if not kernel.calls():
        return None
    expander = _Expander(functions)
    expander.place(kernel, (), -1, leaves=False)
    return Expansion(tuple(expander.copies), tuple(expander.origins), expander.unfollowed)


class _Expander(Generic[F]):
    """Places functions, caller by caller."""

    def __init__(self, functions: Mapping[str, F]) -> None:
        self.functions = functions
        self.copies: list[Copy[F]] = []
        self.origins: list[tuple[int, int]] = []
        self.unfollowed: dict[int, str] = {}
        self._active: list[str] = []

    def place(
        self, function: F, chain: tuple[SourceLocation, ...], caller: int, *, leaves: bool
    ) -> None:
        """Place a function after what has been placed, and what it calls inside of it."""
        number, at = len(self.copies), list[int]()
        self.copies.append(Copy(function, (), chain, caller, leaves))
        self._active.append(function.name)
        calls = function.calls()
        for index, instruction in enumerate(function.instructions):
            at.append(len(self.origins))
            self.origins.append((number, index))
            call = calls.get(index)
            callee = self._callee(call, instruction) if call is not None else None
            if call is not None and callee is not None:
                around = (*instruction.locations, *chain)
                self.place(callee, around, number, leaves=call.leaves)
        at.append(len(self.origins))
        self._active.pop()
        self.copies[number] = Copy(function, tuple(at), chain, caller, leaves)

    def _callee(self, call: Call, instruction: Instruction) -> F | None:
        """Return the function to place after a call, or note why there is none."""
        callee = self.functions.get(call.callee) if call.callee is not None else None
        reason = call.unknown
        if callee is None and call.callee is not None:
            reason = f"{call.callee} is not in this text"
        elif callee is not None and callee.name in self._active:
            reason = f"{callee.name} calls itself"
        elif callee is not None and (
            len(self._active) >= MOST_LEVELS
            or len(self.copies) >= _MOST_COPIES
            or len(self.origins) + len(callee.instructions) > _MOST_INSTRUCTIONS
        ):
            reason = "there are too many calls to follow"
        if reason:
            unknown = f"what the call on line {instruction.line} runs ({reason})"
            self.unfollowed[len(self.origins) - 1] = unknown
        return None if reason else callee
