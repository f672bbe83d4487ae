"""The text of a capture's stages, line by line with what is known of each line, as records.

A stage may have a hundred thousand lines, so that what is known of them is kept in columns: lists
that are as long as the text has lines, and tables that they point into.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from irlens.model.report import Pipeline
from irlens.model.source import SourceLocation

#: What an instruction does in a software pipeline.
PipelineRole: TypeAlias = Literal["copy", "commit", "wait"]


class PipelineMark(msgspec.Struct, frozen=True, kw_only=True):
    """A line that is part of a software pipeline.

    Attributes:
        line: 1-based line of the stage.
        role: What it does. A "copy" is whatever goes on by itself: an asynchronous copy into
            shared memory or out of it, a load that runs ahead, a matrix product of wgmma or
            tcgen05, a load from tensor memory or a store to it. Of a TMA pipeline "commit" is
            the barrier's expectation of bytes; of NVIDIA's loads to registers, which nothing
            waits for explicitly, "wait" is the first use. What goes on and closes its group in
            one (``HGMMA`` with gsb0; bulk stores and products in ttgir) is a "commit".
        pipeline: Which of ``Report.pipelines`` it belongs to, from 0; ``None`` where it belongs
            to none that the report tells of, or it is not known to which.
        partners: 1-based lines, ascending: of a copy the commits that close its group (the waits
            that retire it, where nothing is committed), of a commit the waits that retire it, of
            a wait what it retires. On some path: a wait in a loop retires what was committed
            before the loop and in it. Empty where that is not known.
        serialized: Whether the assembler undid it: there is a wait behind every matrix product,
            whatever is written here.
    """

    line: int
    role: PipelineRole
    pipeline: int | None
    partners: tuple[int, ...] = ()
    serialized: bool = False


#: What goes on by itself in pipelines that do not copy.
_UNDER_WAY: dict[str | None, str] = {
    "wgmma": "product", "tcgen05": "product", "register": "load",
}  # fmt: skip


def role_word(mark: PipelineMark, pipelines: Sequence[Pipeline]) -> str:
    """Return what a mark's line does, in a word: "product" for a copy that is none.

    Args:
        mark: The mark.
        pipelines: Those that marks belong to.
    """
    known = mark.pipeline is not None and mark.pipeline < len(pipelines)
    kind = pipelines[mark.pipeline or 0].kind if known else None
    return _UNDER_WAY.get(kind, mark.role) if mark.role == "copy" else mark.role


class LoopRange(msgspec.Struct, frozen=True, kw_only=True):
    """A loop's lines.

    Attributes:
        first: 1-based line on which it begins: of its header, if nothing of it stands before that.
        last: 1-based line of its end, as a rule the branch back or the closing brace.
        depth: 1 for an outermost loop.
        source: The ``for`` in Python, if it is known.
    """

    first: int
    last: int
    depth: int
    source: SourceLocation | None


class StageListing(msgspec.Struct, frozen=True, kw_only=True):
    """One stage.

    Attributes:
        stage: "ttir", "ttgir", "llir", "ptx", "amdgcn", "sass", "metadata" or "source".
        text: The text; its lines are ``text.splitlines()`` by newline alone.
        chains: The distinct chains of source lines, innermost inlined function first.
        chain: Per line an index into ``chains``; -1 for a line that is no instruction or has no
            source.
        live: Per line the live 32-bit registers per thread at its instruction; -1 where there is
            none. Empty where the stage's liveness is not computed (ttir, ttgir, llir) or failed.
        peak: The largest of ``live``, ``None`` if that is empty.
        loops: The loops, outer before inner.
        marks: Lines that are part of a software pipeline, in ascending order.
        problem: Why chains, live or loops are missing where they could be expected; empty if not.
        note: Why marks are ``serialized``; empty if none is.
    """

    stage: str
    text: str
    chains: list[tuple[SourceLocation, ...]]
    chain: list[int]
    live: list[int]
    peak: int | None
    loops: list[LoopRange]
    marks: list[PipelineMark]
    problem: str = ""
    note: str = ""

    @property
    def lines(self) -> list[str]:
        """The text, line by line."""
        found = self.text.split("\n")
        if not found[-1]:
            found.pop()
        return found


class Occurrences(msgspec.Struct, frozen=True, kw_only=True):
    """Where a name of a stage stands: an SSA value, a register or a label.

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
