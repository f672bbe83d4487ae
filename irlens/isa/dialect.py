"""What every dialect of machine-level code says about a function, so that each engine exists once.

A dialect package (``ptx``, ``amdgcn``, ``sass``, ``llir``) parses its text into functions that
implement these protocols. The engines in ``irlens.analyze`` know nothing else about instructions.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from irlens.model.source import SourceLocation


class Instruction(Protocol):
    """An instruction, as far as the engines look into it."""

    @property
    def line(self) -> int:
        """1-based line in the stage's text."""

    @property
    def end_line(self) -> int:
        """1-based number of its last line."""

    @property
    def locations(self) -> tuple[SourceLocation, ...]:
        """Source location, innermost frame first, then the calls it was inlined through."""


class Terminator(msgspec.Struct, frozen=True, gc=False):
    """How control leaves an instruction that ends a basic block.

    Attributes:
        targets: Indices of the instructions it can branch to, in the order it names them.
        falls_through: Whether control can also continue at the next instruction.
    """

    targets: tuple[int, ...] = ()
    falls_through: bool = False


class BlockLabel(msgspec.Struct, frozen=True, gc=False):
    """A label that begins a basic block: its name and its 1-based line."""

    name: str
    line: int


class ControlFlow(msgspec.Struct, frozen=True):
    """Where the basic blocks of a function end and begin.

    Attributes:
        terminators: The instructions that end a block, by their index.
        labels: The labels that begin a block, by the index of the instruction behind them. A
            label behind the last instruction begins an empty block.
        unknown: What is not known about the control flow; empty if all of it is.
    """

    terminators: Mapping[int, Terminator]
    labels: Mapping[int, BlockLabel]
    unknown: str = ""


I_co = TypeVar("I_co", bound=Instruction, covariant=True)


class Function(Protocol[I_co]):
    """A function of any dialect."""

    @property
    def line(self) -> int:
        """1-based line on which the function starts."""

    @property
    def instructions(self) -> tuple[I_co, ...]:
        """The instructions in the order of the text."""

    def control_flow(self) -> ControlFlow:
        """Return where basic blocks end and begin.

        Raises:
            ArtifactError: A branch to a label that does not exist.
        """


class Access(msgspec.Struct, frozen=True, gc=False):
    """The registers of one instruction, as sets: bits of an integer.

    Attributes:
        reads: Those it reads, its predicate included.
        writes: Those it writes, or may write if it is predicated or not all lanes are active.
        kills: Those of them of whose old value certainly nothing remains.
    """

    reads: int
    writes: int
    kills: int


class RegisterUse(msgspec.Struct, frozen=True, kw_only=True):
    """What the instructions of a function do with registers, as sets: bits of an integer.

    Attributes:
        reads: The registers that each instruction reads, before it writes.
        writes: Those it writes, or may write.
        kills: Those it overwrites whenever it is reached.
        weights: Registers that count toward the pressure, by the number of 32-bit registers
            that each takes.
        predicates: Registers that are counted apart; ``None`` where the dialect has none.
        at_entry: Registers that hold something when the function starts.
        unknown: What is not known about the registers, so that nothing is; else empty.
    """

    reads: Sequence[int] = ()
    writes: Sequence[int] = ()
    kills: Sequence[int] = ()
    weights: Mapping[int, int] = {}
    predicates: int | None = None
    at_entry: int = 0
    unknown: str = ""

    def weigh(self, live: int) -> int:
        """Return how many 32-bit registers a set of registers takes."""
        return sum(weight * (live & mask).bit_count() for weight, mask in self.weights.items())


class RegisterFunction(Function[I_co], Protocol[I_co]):
    """A function that says what its instructions do with registers."""

    def register_use(self) -> RegisterUse:
        """Return what each instruction reads, writes and certainly overwrites."""
