"""The interface of a dialect: what each says about a function, so that each engine exists once.

A dialect package (``ptx``, ``amdgcn``, ``sass``, ``llir``) parses its text into functions that
implement these protocols. The engines in ``irlens.analyze`` know nothing else about instructions.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, NamedTuple, Protocol, TypeVar

import msgspec

from irlens.model.report import InstructionMix
from irlens.model.resources import SpillPlace
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
        labels: The labels that begin a block, by the index of the instruction after them. A
            label after the last instruction begins an empty block.
        unknown: What is not known about the control flow; empty if all of it is.
        starts: Further instructions that begin a block: control goes on there after a call.
    """

    terminators: Mapping[int, Terminator]
    labels: Mapping[int, BlockLabel]
    unknown: str = ""
    starts: frozenset[int] = frozenset()


I_co = TypeVar("I_co", bound=Instruction, covariant=True)


class Function(Protocol[I_co]):
    """A function of any dialect: its instructions and its control flow."""

    stage: ClassVar[str]

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
        kills: Those of them whose old value is certainly gone.
    """

    reads: int
    writes: int
    kills: int


class OperandUse(NamedTuple):
    """The registers that one operand of a machine instruction names.

    Attributes:
        registers: In order, by file and number.
        writes: Whether they are written, after all operands are read.
    """

    registers: tuple[tuple[str, int], ...]
    reads: bool = True
    writes: bool = False
    kills: bool = False


@lru_cache(maxsize=1 << 12)
def consecutive(file: str, first: int, count: int) -> tuple[tuple[str, int], ...]:
    """Return ``count`` registers of a file from ``first`` on, by file and number."""
    return tuple((file, first + part) for part in range(count))


class RegisterUse(msgspec.Struct, frozen=True, kw_only=True):
    """What the instructions of a function do with registers, as sets: bits of an integer.

    Attributes:
        reads: The registers that each instruction reads, before it writes.
        kills: Those it overwrites whenever it is reached.
        weights: Registers that count toward the pressure, by the number of 32-bit registers
            that each takes.
        predicates: Registers that are counted apart; ``None`` where the dialect has none.
        at_entry: Registers that hold something when the function starts.
        unknown: Why the registers are not known; empty if they are.
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
        total = 0  # a loop: this runs twice for every instruction
        for weight, mask in self.weights.items():
            total += weight * (live & mask).bit_count()
        return total


class RegisterFunction(Function[I_co], Protocol[I_co]):
    """A function that says what its instructions do with registers."""

    def register_use(self) -> RegisterUse:
        """Return what each instruction reads, writes and certainly overwrites."""


class ClassifiedFunction(Function[I_co], Protocol[I_co]):
    """A function whose instructions have classes, which an instruction mix counts."""

    def classes(self) -> Iterable[tuple[str, str | None]]:
        """Return the name and the class of each operation, ``None`` where it is not known."""


class StackAccess(msgspec.Struct, frozen=True, gc=False):
    """An instruction that puts a register away, or fetches it back, or accesses an array.

    Attributes:
        stores: Whether it stores, and does not load.
        place: Where to: "memory" is private memory (NVIDIA: local, AMD: scratch).
        bytes: Per thread; of a "VGPR lane" per wave. ``None`` where the instruction does not say.
        offset: Bytes above the stack pointer, where it is accessed at a constant distance.
        spills: Whether the compiler says that it spills or reloads.
    """

    index: int
    stores: bool
    place: SpillPlace
    bytes: int | None
    offset: int | None = None
    spills: bool = False


class SpillingFunction(Function[I_co], Protocol[I_co]):
    """A function of machine code, whose registers may be spilled."""

    def stack_accesses(self) -> Iterable[StackAccess]:
        """Return the instructions that spill, reload, or access arrays on the stack."""


class Named(Protocol):
    """A kernel, as any of the parsers returns it."""

    @property
    def name(self) -> str:
        """The function's name."""


K = TypeVar("K", bound=Named)


def kernel_named(kernels: Sequence[K], name: str) -> K | None:
    """Return the kernel of that name, or the only one there is.

    A cache entry without metadata takes the name of its files, which may have been renamed.
    """
    named = [kernel for kernel in kernels if kernel.name == name]
    if named:
        return named[0]
    return kernels[0] if len(kernels) == 1 else None


def instruction_mix(
    function: ClassifiedFunction[Instruction], functions_left_out: int = 0
) -> InstructionMix:
    """Count a function's operations by class, each once however often it would run.

    A dual-issue instruction counts as the two operations that it issues.

    Args:
        functions_left_out: Other functions of its module, which a call of it may run.
    """
    classes: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for name, kind in function.classes():
        if kind is None:
            unknown[name] += 1
        else:
            classes[kind] += 1
    return InstructionMix(
        stage=function.stage,
        total=classes.total() + unknown.total(),
        classes=dict(sorted(classes.items(), key=lambda item: (-item[1], item[0]))),
        unknown=dict(sorted(unknown.items())),
        functions_left_out=functions_left_out,
    )
