"""Operations of a program as they were recorded: what each reads and writes of which memory."""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.source import SourceLocation

#: What decides how an operation's iterations relate to its operands.
#:
#: "pointwise" computes each element from the same one of every operand, "reduction" folds axes of
#: its space, "normalization" folds and spreads back (softmax), "product" is a matrix product or a
#: convolution, "gather" reads and "scatter" writes where data says, "fill" only writes, "random"
#: draws, "join" writes each operand to its part, "view" moves nothing, "kernel" is a launch of
#: Triton, "transfer" moves between host and GPU, "library" is anything else.
OperationKind: TypeAlias = Literal[
    "pointwise", "reduction", "normalization", "product", "gather", "scatter", "fill", "random",
    "join", "view", "kernel", "transfer", "library",
]  # fmt: skip


class Region(msgspec.Struct, frozen=True):
    """Part of a memory, as a strided tensor.

    Attributes:
        memory: Number of the memory, from 0 on.
        dtype: Element type: "fp32".
        item_bytes: Bytes of an element.
        shape: Extents.
        strides: Strides in elements; as many as extents.
        offset: Elements before the first.
        most: Elements that are accessed at most, where data decides which; ``None`` for all.
    """

    memory: int
    dtype: str
    item_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    most: int | None = None

    @property
    def text(self) -> str:
        """The dtype and shape: "fp32[4096, 1024]"."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


class RecordedLaunch(msgspec.Struct, frozen=True):
    """A launch of a Triton kernel.

    Attributes:
        entry: The kernel's directory in Triton's cache.
        arguments: The arguments by name: numbers, and tensors as "fp32[4096, 1024]".
        grid: CTAs in x, y and z; ``None`` if unknown.
        tensors: What its tensor arguments are of which memory, by name.
    """

    entry: str
    arguments: dict[str, int | float | str]
    grid: tuple[int, int, int] | None
    tensors: dict[str, Region]


class RecordedOperation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An operation that ran.

    Attributes:
        name: PyTorch's name of the operator, or the Triton kernel's.
        kind: What it does.
        reads: What it reads, each tensor argument once.
        writes: What it writes, results and arguments changed in place.
        space: Extents of its iterations: a reduction's operand, or else the result.
        axes: The axes of ``space`` that a reduction or a normalization folds.
        source: The line of the program that called it; ``None`` if unknown.
        graph: Name of the compiled graph that it is part of; empty outside of any.
        launch: The launch of a "kernel", before its accesses are known.
        requested_bytes: Bytes that all programs of a launch load, each as often as it is loaded;
            ``None`` for other operations.
        at_most: Why ``reads`` and ``writes`` are an upper bound; empty where they are exact.
        unknown: Why its bytes are unknown; empty where they are known.
    """

    name: str
    kind: OperationKind
    reads: tuple[Region, ...] = ()
    writes: tuple[Region, ...] = ()
    space: tuple[int, ...] = ()
    axes: tuple[int, ...] = ()
    source: SourceLocation | None = None
    graph: str = ""
    launch: RecordedLaunch | None = None
    requested_bytes: int | None = None
    at_most: str = ""
    unknown: str = ""


class RecordedProgram(msgspec.Struct, frozen=True, kw_only=True):
    """The operations of a program in the order in which they ran.

    Attributes:
        operations: All of them, views included.
        names: Names of memories that have one: a function's arguments.
        outputs: What a function returned. ``None`` for a program, which returns nothing: what it
            still holds at its end is its output, and what no operation reads.
        held: Memories that exist at the end of a program.
    """

    operations: tuple[RecordedOperation, ...]
    names: dict[int, str] = {}
    outputs: tuple[Region, ...] | None = None
    held: tuple[int, ...] = ()


class CompiledGraph(msgspec.Struct, frozen=True, kw_only=True):
    """A function that ``torch.compile`` compiled, or a part of one.

    Attributes:
        name: The function's.
        before: What it runs without a compiler; ``None`` if unknown.
        after: What it ran compiled, when it was called first; ``None`` if it was not.
        reason: Why ``before`` is unknown; empty if it is known.
    """

    name: str
    before: RecordedProgram | None = None
    after: RecordedProgram | None = None
    reason: str = ""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What a process ran.

    Attributes:
        program: All operations.
        graphs: The functions that it compiled.
        dropped: Operations beyond the number that is kept.
    """

    program: RecordedProgram
    graphs: tuple[CompiledGraph, ...] = ()
    dropped: int = 0
