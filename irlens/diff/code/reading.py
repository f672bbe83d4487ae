"""A stage of a capture, read: its statements, its functions and loops, and where these are."""

import importlib
import re
from collections.abc import Callable, Iterable
from typing import TypeAlias, cast

import msgspec
from msgspec.structs import replace

from irlens.analyze.source_map import MAPPED, map_stage
from irlens.artifacts import tools
from irlens.diff.code import loops
from irlens.diff.code.statements import Code, Scope
from irlens.model.capture import Capture
from irlens.model.comparison import Side
from irlens.model.errors import ArtifactError, UnknownNameError

_Read: TypeAlias = Callable[[str], Code]

_KERNEL = "kernel"
#: A directive of an assembly, and of AMD's metadata the lines that name the kernel.
_DIRECTIVE = re.compile(r"(?:- )?\.(?:(?:name|symbol): |(?!\w++: ))")
#: The module of this package that reads each stage.
_READERS = {
    "source": "mlir",
    "ttir": "mlir",
    "ttgir": "mlir",
    "llir": "llir",
    "ptx": "ptx",
    "amdgcn": "amdgcn",
    "sass": "sass",
    "metadata": "metadata",
}
#: The stages whose text can be compared.
STAGES = tuple(_READERS)


class ReadStage(msgspec.Struct, frozen=True):
    """One stage.

    Attributes:
        capture: Whose it is.
        code: Its statements and functions.
        loops: Its loops, as they nest.
    """

    capture: Capture
    code: Code
    loops: list[Scope]

    def python(self, scope: Scope) -> str:
        """Return the line of Python that a loop is, stripped; empty where it is not known."""
        source = scope.source
        lines = (self.capture.python(source.file) or "").splitlines() if source else []
        known = source is not None and source.line <= len(lines)
        return lines[source.line - 1].strip() if source and known else ""

    def loop_key(self, loop: Scope) -> str:
        """Return what tells a loop from others: its line of Python, by text if that is known."""
        return self.python(loop) or str(loop.source)


def check_stages(stages: Iterable[str]) -> tuple[str, ...]:
    """Return the stages, each once.

    Raises:
        UnknownNameError: There is no stage of that name, or it is binary.
    """
    names = tuple(dict.fromkeys(stage.strip() for stage in stages))
    for name in names:
        if name not in STAGES:
            raise UnknownNameError("stage", name, STAGES)
    return names


def read(capture: Capture, stage: str) -> ReadStage:
    """Read a stage.

    Raises:
        ArtifactError: The capture does not have it, or metadata is no JSON.
        ToolError: The disassembler is missing or failed.
    """
    reader = importlib.import_module(f"irlens.diff.code.{_READERS[stage]}")
    code = cast(_Read, reader.read)(_text(capture, stage))
    return ReadStage(capture, code, loops.find(code, _chains(capture, stage)))


def side_of(capture: Capture, label: str) -> Side:
    """Return a capture as a side of a comparison."""
    recorded = [
        made.triton_version for made in (capture.manifest, capture.metadata) if made is not None
    ]
    return Side(
        kernel=capture.kernel,
        target=capture.target,
        triton_version=next(filter(None, recorded), None),
        config=capture.config,
        label=label,
    )


def _text(capture: Capture, stage: str) -> str:
    if stage == "sass" and "cubin" in capture.stages:
        return tools.disassemble(capture.stages["cubin"].read())
    if stage == "metadata" and capture.directory is not None:
        path = capture.directory / f"{capture.kernel}.json"
        if path.is_file():
            return path.read_text("utf-8", "replace")
    if stage not in capture.stages:
        raise ArtifactError(
            f"{capture.kernel}: no {stage} in this capture",
            hint=f"there is: {', '.join(capture.stages) or 'nothing'}",
        )
    return capture.stages[stage].text()


def _chains(capture: Capture, stage: str) -> loops.Chains:
    """Return the source of each line; nothing where the parser cannot read the stage."""
    try:
        mapped = map_stage(capture, stage) if stage in MAPPED else None
    except ArtifactError:
        return {}
    return mapped.chains if mapped is not None else {}


def alike(one: ReadStage, other: ReadStage) -> tuple[Code, Code]:
    """Return the code of both, kernels of different names called the same."""
    if one.capture.kernel == other.capture.kernel:
        return one.code, other.code
    return _renamed(one), _renamed(other)


def _renamed(stage: ReadStage) -> Code:
    rename = _Renaming(stage.capture.kernel)
    code = stage.code
    return replace(
        code,
        statements=[replace(s, skeleton=rename.in_statement(s.skeleton)) for s in code.statements],
        functions=[
            replace(f, name=_KERNEL if f.name == stage.capture.kernel else f.name)
            for f in code.functions
        ],
    )


class _Renaming:
    """Calls a kernel "kernel" where it is meant: of one called "add" no addition is its name."""

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
        """Return a statement with the kernel called so."""
        if _DIRECTIVE.match(skeleton) or skeleton.endswith(":"):
            skeleton = self._word.sub(_KERNEL, skeleton)
        return self._symbol.sub(_KERNEL, skeleton)
