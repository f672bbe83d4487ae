"""Which lines of each stage a line of Python became, and the other way.

Keys are (file, line): line 57 of Triton's own ``standard.py`` is not line 57 of the kernel. A
stage's line carries its whole chain of frames, innermost first, so that what ``tl.sum`` was
inlined from belongs both to ``standard.py`` and to the line of the kernel that calls it.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from irlens.analyze import sass_origin
from irlens.artifacts import tools
from irlens.isa import amdgcn, mlir, ptx, sass
from irlens.isa.llir import parser as llir
from irlens.model.capture import Capture
from irlens.model.source import SourceLocation

Chain: TypeAlias = tuple[SourceLocation, ...]


class StageMap(msgspec.Struct, frozen=True):
    """The source of each line of one stage.

    Attributes:
        stage: Its name.
        text: Its text.
        chains: By 1-based line; lines that are no instruction are absent, an instruction without
            debug information has an empty chain.
    """

    stage: str
    text: str
    chains: dict[int, Chain]

    def lines_of(self, file: str, line: int) -> list[int]:
        """Return the stage's lines that came from a line of Python, inlined or not."""
        return [
            number
            for number, chain in sorted(self.chains.items())
            if any(frame.file == file and frame.line == line for frame in chain)
        ]

    @property
    def mapped(self) -> float:
        """Part of the stage's instructions that have a source, 0..1."""
        return sum(map(bool, self.chains.values())) / len(self.chains) if self.chains else 0.0


def map_stage(capture: Capture, stage: str) -> StageMap | None:
    """Map one stage of a capture; ``None`` where the capture does not have it.

    Args:
        capture: Where the stage is.
        stage: "ttir", "ttgir", "llir", "ptx", "amdgcn", or "sass", which is disassembled from
            the cubin.

    Raises:
        ArtifactError: The stage is broken.
        ToolError: The disassembler is missing or failed.
    """
    if stage == "sass":
        if "cubin" not in capture.stages:
            return None
        text = tools.disassemble(capture.stages["cubin"].read())
    elif stage in capture.stages:
        text = capture.stages[stage].text()
    else:
        return None
    if stage == "sass":
        ptx_stage = capture.stages.get("ptx")
        ptx_chains = dict(_ptx(ptx_stage.text())) if ptx_stage is not None else {}
        return StageMap(stage, text, dict(_sass(text, ptx_chains)))
    return StageMap(stage, text, dict(_READERS[stage](text)))


def _mlir(stage: str) -> Callable[[str], Iterator[tuple[int, Chain]]]:
    def read(text: str) -> Iterator[tuple[int, Chain]]:
        # An outer operation's lines are given first, and those of the ones inside it replace
        # them: the closing line of a loop, which carries its location, stays the loop's.
        for operation in mlir.parse(text, stage=stage).operations:
            yield operation.span.line, operation.location
            yield operation.span.end_line, operation.location

    return read


def _llir(text: str) -> Iterator[tuple[int, Chain]]:
    for function in llir.parse(text).functions:
        for instruction in function.instructions:
            yield instruction.line, instruction.locations


def _ptx(text: str) -> Iterator[tuple[int, Chain]]:
    for function in ptx.parse(text).functions:
        for instruction in function.instructions:
            yield instruction.line, instruction.locations


def _amdgcn(text: str) -> Iterator[tuple[int, Chain]]:
    for function in amdgcn.parse(text).functions:
        for statement in function.statements:
            if isinstance(statement, amdgcn.Instruction):
                yield statement.line, statement.locations


def _sass(text: str, ptx_chains: dict[int, Chain]) -> Iterator[tuple[int, Chain]]:
    for section in sass.parse(text).sections:
        for instruction in sass_origin.trace(section, ptx_chains).instructions:
            yield instruction.line, instruction.locations


_READERS: dict[str, Callable[[str], Iterator[tuple[int, Chain]]]] = {
    "source": _mlir("source"),
    "ttir": _mlir("ttir"),
    "ttgir": _mlir("ttgir"),
    "llir": _llir,
    "ptx": _ptx,
    "amdgcn": _amdgcn,
}

#: The stages that can be mapped, in the compiler's order.
MAPPED = (*_READERS, "sass")
