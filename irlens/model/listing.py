"""Records of the text of a capture's stages with what is known of each line.

A stage may have a hundred thousand lines, so annotations are columns: lists as long as the text,
and tables that they point into.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from irlens.model.schedule import Awaited, Control, LoopSchedule
from irlens.model.source import SourceLocation

#: What an instruction does in a software pipeline.
PipelineRole: TypeAlias = Literal["copy", "commit", "wait"]


class PipelineAnnotation(msgspec.Struct, frozen=True, kw_only=True):
    """The annotation of a line that is part of a software pipeline.

    Attributes:
        line: 1-based line of the stage.
        role: The line's role. A "copy" is any asynchronous operation: a copy into shared memory
            or out of it, a load that runs ahead, a matrix product of wgmma or tcgen05, a load
            from tensor memory or a store to it. In a TMA pipeline, "commit" announces bytes to
            the barrier. For NVIDIA's loads to registers, which have no explicit wait, "wait" is
            the first use. An operation that closes its own group (``HGMMA`` with gsb0; bulk
            stores and products in ttgir) is a "commit".
        pipeline: Index into ``Report.pipelines``; ``None`` if the line belongs to none of them,
            or if that is unknown.
        partners: 1-based lines, ascending: for a copy the commits that close its group (or the
            waits that retire it, without a commit), for a commit the waits that retire it, for a
            wait what it retires. On some path: a wait in a loop retires what was committed before
            the loop and in it. Empty if unknown.
        serialized: Whether ptxas serialized it: the machine code waits after every matrix
            product, whatever this stage says.
    """

    line: int
    role: PipelineRole
    pipeline: int | None
    partners: tuple[int, ...] = ()
    serialized: bool = False


class LoopRange(msgspec.Struct, frozen=True, kw_only=True):
    """A loop's lines.

    Attributes:
        first: 1-based first line: that of the header, unless parts of the loop precede it.
        last: 1-based last line, usually of the branch back or the closing brace.
        depth: 1 for an outermost loop.
        source: The ``for`` in Python, if known.
        schedule: What a warp's iteration issues in machine code, if known.
    """

    first: int
    last: int
    depth: int
    source: SourceLocation | None
    schedule: LoopSchedule | None = None


class StageListing(msgspec.Struct, frozen=True, kw_only=True):
    """One stage.

    Attributes:
        stage: "ttir", "ttgir", "llir", "ptx", "amdgcn", "sass", "metadata" or "source".
        text: The text; its lines are ``text.splitlines()`` by newline alone.
        chains: The distinct chains of source lines, innermost inlined function first.
        chain: Per line an index into ``chains``; -1 for a line without an instruction or source.
        live: Per line the live 32-bit registers per thread at its instruction; -1 without one.
            Empty where the stage's liveness is not computed (ttir, ttgir, llir) or failed.
        peak: The largest of ``live``, ``None`` if that is empty.
        loops: The loops, outer before inner.
        marks: Annotations of the lines in a software pipeline, in ascending order.
        control: By line the control fields of NVIDIA's machine code.
        waits: By line what an AMD wait waits for.
        problem: Why chains, live or loops are missing where they are expected; empty otherwise.
        comment: How a comment begins in it.
        note: Why marks are ``serialized``; empty if none is.
    """

    stage: str
    text: str
    chains: list[tuple[SourceLocation, ...]]
    chain: list[int]
    live: list[int]
    peak: int | None
    loops: list[LoopRange]
    marks: list[PipelineAnnotation]
    control: Mapping[int, Control] = {}
    waits: Mapping[int, tuple[Awaited, ...]] = {}
    problem: str = ""
    note: str = ""
    comment: str = "//"

    @classmethod
    def unannotated(cls, stage: str, text: str) -> "StageListing":
        """Return a stage's text of whose lines nothing is known."""
        blank = cls(
            stage=stage, text=text, chains=[], chain=[], live=[], peak=None, loops=[], marks=[]
        )
        return msgspec.structs.replace(blank, chain=[-1] * len(blank.lines))

    @property
    def lines(self) -> list[str]:
        """The text, line by line."""
        lines = self.text.split("\n")
        if not lines[-1]:
            lines.pop()
        return lines


class Occurrences(msgspec.Struct, frozen=True, kw_only=True):
    """Where a name of a stage occurs: an SSA value, a register or a label.

    Attributes:
        name: As written.
        definitions: 1-based lines that define or write it.
        uses: 1-based lines that read it.
    """

    name: str
    definitions: tuple[int, ...]
    uses: tuple[int, ...]


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A capture's text.

    Attributes:
        kernel: The kernel's name.
        python: The Python files that the capture keeps, by base name.
        stages: The stages that are text, in the compiler's order.
    """

    kernel: str
    python: dict[str, str]
    stages: dict[str, StageListing]


class CodeLine(msgspec.Struct, frozen=True):
    """A line of a stage.

    Attributes:
        number: 1-based.
        text: The line.
        frames: The frames that it was inlined through, but for the line that was asked for.
    """

    number: int
    text: str
    frames: tuple[SourceLocation, ...]


class StageLines(msgspec.Struct, frozen=True):
    """Some lines of a stage."""

    stage: str
    lines: tuple[CodeLine, ...]


class PythonLine(msgspec.Struct, frozen=True):
    """A line of Python, and the code that it became.

    Attributes:
        place: The line.
        text: Its text without indentation; "" if the capture does not hold it.
        stages: Its code at every stage with source locations.
    """

    place: SourceLocation
    text: str
    stages: tuple[StageLines, ...]
