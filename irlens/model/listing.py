"""Records of the text of a capture's stages with what is known of each line.

A stage may have a hundred thousand lines, so annotations are columns: lists as long as the text,
and tables that they point into.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from irlens.model.report import Pipeline
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


#: The asynchronous operations of pipelines that do not copy.
_OPERATIONS: dict[str | None, str] = {
    "wgmma": "product", "tcgen05": "product", "register": "load",
}  # fmt: skip


def role_word(annotation: PipelineAnnotation, pipelines: Sequence[Pipeline]) -> str:
    """Return the role of a line in one word; the "copy" of a matrix pipeline is a "product".

    Args:
        annotation: The line's.
        pipelines: The report's.
    """
    known = annotation.pipeline is not None and annotation.pipeline < len(pipelines)
    kind = pipelines[annotation.pipeline or 0].kind if known else None
    return _OPERATIONS.get(kind, annotation.role) if annotation.role == "copy" else annotation.role


class LoopRange(msgspec.Struct, frozen=True, kw_only=True):
    """A loop's lines.

    Attributes:
        first: 1-based first line: that of the header, unless parts of the loop precede it.
        last: 1-based last line, usually of the branch back or the closing brace.
        depth: 1 for an outermost loop.
        source: The ``for`` in Python, if known.
        schedule: What a warp's iteration issues in machine code: "96 instructions in 240 issue
            cycles: fma 40, alu 20"; else empty.
    """

    first: int
    last: int
    depth: int
    source: SourceLocation | None
    schedule: str = ""


def describe_iteration(loop: LoopRange, stage: str) -> str:
    """Return what an iteration of a loop issues, in words; empty where that is unknown."""
    warp = "wave" if stage == "amdgcn" else "warp"
    return f"a {warp}'s iteration: {loop.schedule}" if loop.schedule else ""


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
        schedule: Per line of NVIDIA's machine code the control fields of its instruction,
            "B0-----:R-:W1:-:S04", of AMD's what it waits for, "1 of 3 vmcnt: 77"; empty for a line
            without any. Empty for other stages.
        problem: Why chains, live or loops are missing where they are expected; empty otherwise.
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
    schedule: Sequence[str] = ()
    problem: str = ""
    note: str = ""

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
