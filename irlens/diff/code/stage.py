"""A stage of a capture, parsed for comparison: its statements, functions and loops.

MLIR's text nests its loops. In LLVM IR and assemblies they are those of the control flow; each loop
is named by its ``for`` in Python.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from irlens.analyze.capture_code import CaptureCode, FunctionCode, StageCode
from irlens.analyze.loops import Loops
from irlens.diff.code.statements import Code, nested, read_code
from irlens.isa.dialect import Instruction
from irlens.isa.dialects import PARSED
from irlens.isa.syntax import Scope
from irlens.model import files
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError, UnknownNameError
from irlens.model.source import user_frame

#: The stages whose text can be compared.
STAGES = (*PARSED, "metadata")

_KERNEL = "kernel"
#: A directive of an assembly, and the lines of AMD metadata that name the kernel.
_DIRECTIVE = re.compile(r"(?:- )?\.(?:(?:name|symbol): |(?!\w++: ))")


class ComparedStage(msgspec.Struct, frozen=True):
    """A stage as it is compared.

    Attributes:
        loops: Its loops, outer ones first.
    """

    capture: Capture
    code: Code
    loops: list[Scope]

    def python(self, scope: Scope) -> str:
        """Return a loop's line of Python, stripped; empty if unknown."""
        return (self.capture.python_line(scope.source) if scope.source else None) or ""

    def loop_key(self, loop: Scope) -> str:
        """Return what tells loops apart: their line of Python, by text if that is known."""
        return self.python(loop) or str(loop.source)


def check_stages(stages: Iterable[str]) -> tuple[str, ...]:
    """Return the stages, each once.

    Raises:
        UnknownNameError: A stage does not exist, or is binary.
    """
    names = tuple(dict.fromkeys(stage.strip() for stage in stages))
    for name in names:
        if name not in STAGES:
            raise UnknownNameError("stage", name, STAGES)
    return names


def read_stages(
    before: CaptureCode, after: CaptureCode, stage: str
) -> tuple[ComparedStage, ComparedStage]:
    """Return the code of a stage on two sides.

    Raises:
        ArtifactError: A capture lacks the stage, metadata is no JSON, or the sides together have
            more lines and statements than one artifact may have.
        ToolError: The disassembler is missing or failed.
    """
    together = "\n".join((before[stage].text, after[stage].text)).encode("utf-8", "replace")
    files.check_statements(together, f"the {stage} of both sides together")
    return _read(before, stage), _read(after, stage)


def _read(whole: CaptureCode, stage: str) -> ComparedStage:
    code = read_code(whole[stage])
    return ComparedStage(whole.capture, code, _loops(code, whole[stage]))


def _loops(code: Code, stage: StageCode) -> list[Scope]:
    """Return the loops of all functions. Of loops that partly overlap one is kept."""
    # A loop's location stands on its closing brace, or on the branch back.
    located = [(loop, loop.last) for loop in code.loops]
    try:
        chains = stage.chains
        if isinstance(stage, FunctionCode):
            located = [loop for each in stage.functions for loop in _loops_of(stage.loops_of(each))]
    except ArtifactError:  # the parser cannot read the stage
        chains = {}
    return nested([replace(loop, source=user_frame(chains.get(at, ()))) for loop, at in located])


def _loops_of(loops: Loops[Instruction]) -> Iterator[tuple[Scope, int]]:
    """Yield the loops of a function, each with the line of its branch back."""
    for index, loop in enumerate(loops.forest.loops):
        header, body = loops.header(index), loops.forest.body(index)
        first = min(loops.cfg.blocks[number].line for number in body)
        last = max(each.end_line for each in loops.body(index))
        name = header.label if header.label is not None else f"on line {header.line}"
        yield Scope("loop", f"loop {name}", first, last), loops.block(loop.latches[0])[-1].line


def with_equal_kernel_names(
    one: ComparedStage, other: ComparedStage
) -> tuple[ComparedStage, ComparedStage]:
    """Return both stages, kernels of different names renamed alike."""
    if one.capture.kernel == other.capture.kernel:
        return one, other
    return _renamed(one), _renamed(other)


def _renamed(stage: ComparedStage) -> ComparedStage:
    rename = _KernelName(stage.capture.kernel)
    code = stage.code
    renamed = replace(
        code,
        statements=[replace(s, skeleton=rename.in_statement(s.skeleton)) for s in code.statements],
        functions=[
            replace(f, name=_KERNEL if f.name == stage.capture.kernel else f.name)
            for f in code.functions
        ],
    )
    return replace(stage, code=renamed)


class _KernelName:
    """Replaces a kernel's name by "kernel", but not the addition in a kernel called "add"."""

    def __init__(self, kernel: str) -> None:
        name = re.escape(kernel)
        # "@f" of MLIR and LLVM, PTX's parameters, SASS's "`(f)", a value in Triton's metadata.
        self._symbol = re.compile(
            rf"(?<=@){name}(?![\w$.-])|(?<![\w.$]){name}(?=_param_\d++\b)"
            rf'|(?<=`\(){name}(?=\))|(?<=": "){name}(?=")'
        )
        self._word = re.compile(
            rf"(?:(?<![\w.$])|(?<=\.text\.)|(?<=\.constant\d\.)){name}(?![\w$])"
        )

    def in_statement(self, skeleton: str) -> str:
        """Return a statement's skeleton with the name replaced."""
        if _DIRECTIVE.match(skeleton) or skeleton.endswith(":"):
            skeleton = self._word.sub(_KERNEL, skeleton)
        return self._symbol.sub(_KERNEL, skeleton)
