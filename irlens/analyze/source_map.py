"""The source map: which lines of a stage a line of Python became, and the reverse.

Keys are (file, line): line 57 of Triton's own ``standard.py`` is not line 57 of the kernel. A
stage's line carries its whole chain of frames, innermost first, so that code inlined from
``tl.sum`` belongs both to ``standard.py`` and to the line of the kernel that calls it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

import msgspec

from irlens.analyze import sass_origin
from irlens.artifacts import tools
from irlens.isa import amdgcn, mlir, ptx, sass
from irlens.isa.dialect import Function, Instruction
from irlens.isa.llir import parser as llir
from irlens.model.capture import Capture
from irlens.model.source import SourceLocation

Chain: TypeAlias = tuple[SourceLocation, ...]


class StageMap(msgspec.Struct, frozen=True):
    """The source of each line of one stage.

    Attributes:
        stage: Its name.
        text: Its text.
        chains: By 1-based line. Lines without an instruction are absent; an instruction without
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
        """Fraction of the stage's instructions that have a source, 0..1."""
        return sum(map(bool, self.chains.values())) / len(self.chains) if self.chains else 0.0


def map_stage(capture: Capture, stage: str) -> StageMap | None:
    """Map one stage of a capture; ``None`` where the capture does not have it.

    Args:
        capture: The capture that holds the stage.
        stage: One of ``MAPPED``; "sass" is disassembled from the cubin.

    Raises:
        ArtifactError: The stage is broken.
        ToolError: The disassembler is missing or failed.
    """
    artifact = capture.stages.get("cubin" if stage == "sass" else stage)
    if artifact is None:
        return None
    if stage in _MLIR:
        text = artifact.text()
        return StageMap(stage, text, dict(_mlir_chains(text, stage)))
    text = tools.disassemble(artifact.read()) if stage == "sass" else artifact.text()
    functions: Sequence[Function[Instruction]]
    if stage == "sass":
        ptx_stage = capture.stages.get("ptx")
        kernels = ptx.parse(ptx_stage.text()).kernels if ptx_stage is not None else ()
        original = sass_origin.lines_of(kernels)
        functions = [sass_origin.trace(each, original) for each in sass.parse(text).sections]
    else:
        functions = _PARSERS[stage](text).functions
    return StageMap(stage, text, dict(_chains(functions)))


class _Parsed(Protocol):
    @property
    def functions(self) -> Sequence[Function[Instruction]]: ...


def _chains(functions: Sequence[Function[Instruction]]) -> Iterator[tuple[int, Chain]]:
    return ((each.line, each.locations) for one in functions for each in one.instructions)


def _mlir_chains(text: str, stage: str) -> Iterator[tuple[int, Chain]]:
    # The lines of an outer operation come first, and those of the ones inside it replace them:
    # the closing line of a loop, which carries its location, stays the loop's.
    for operation in mlir.parse(text, stage=stage).operations:
        yield operation.span.line, operation.location
        yield operation.span.end_line, operation.location


_MLIR = ("source", "ttir", "ttgir")
_PARSERS: dict[str, Callable[[str], _Parsed]] = {
    "llir": llir.parse,
    "ptx": ptx.parse,
    "amdgcn": amdgcn.parse,
}

#: The stages that can be mapped, in the compiler's order.
MAPPED = (*_MLIR, *_PARSERS, "sass")
