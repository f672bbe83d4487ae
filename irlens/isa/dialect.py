"""What every dialect of machine-level code says about a function, so that each engine exists once.

A dialect package (``ptx``, ``amdgcn``, ``sass``, ``llir``) parses its text into functions that
implement these protocols. The engines in ``irlens.analyze`` know nothing else about instructions.
"""

from collections.abc import Mapping
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
