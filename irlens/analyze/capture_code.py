"""The code of a capture: each stage is disassembled once, parsed once, and followed once.

``CaptureCode(capture)["sass"]`` has the text of a stage, its functions, control flow, loops, and
the source of its lines. Each is computed when it is first asked for, and kept as long as the
object: what the report has parsed serves an annotated listing and a comparison, too.

Source lines are keyed by (file, line): line 57 of Triton's own ``standard.py`` is not line 57 of
the kernel. A line carries its whole chain of frames, innermost first, so that code inlined from
``tl.sum`` belongs both to ``standard.py`` and to the line of the kernel that calls it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

import msgspec

from irlens.isa.dialect import Function, kernel_named
from irlens.isa.dialects import parse
from irlens.model import files
from irlens.model.capture import BINARY_STAGES, STAGE_ORDER, Capture
from irlens.model.errors import ArtifactError
from irlens.model.source import SourceLocation

if TYPE_CHECKING:  # a stage's dialect, and what follows its code, is loaded with the stage
    from irlens.analyze.cfg import Cfg
    from irlens.analyze.loops import Loops
    from irlens.analyze.mlir_loops import Loop
    from irlens.analyze.sass_cfg import SassCfg
    from irlens.artifacts import cubin, hsaco
    from irlens.artifacts.code_listings import CodeListings
    from irlens.isa import amdgcn, mlir, ptx, sass
    from irlens.isa.llir import parser as llir
    from irlens.model.pressure import StagePressure
    from irlens.model.schedule import Control

M = TypeVar("M")
F = TypeVar("F", bound=Function[Any])
G = TypeVar("G", bound="Cfg")
C = TypeVar("C", bound="StageCode")
T = TypeVar("T")
Chain: TypeAlias = tuple[SourceLocation, ...]

#: The machine code of a cubin, disassembled, takes the place of the cubin.
_LISTED = tuple(
    "sass" if stage == "cubin" else stage
    for stage in STAGE_ORDER
    if stage == "cubin" or stage not in BINARY_STAGES
)


#: The longest ttir, in characters, whose tree is kept for other captures.
_LONGEST = 1 << 17


class StageCode:
    """A stage's text; this class is that of one without code, as Triton's metadata are."""

    def __init__(self, whole: "CaptureCode", name: str) -> None:
        self._whole = whole
        self.name = name
        self._derived: dict[Callable[..., object], object] = {}

    @cached_property
    def text(self) -> str:
        """The text.

        Raises:
            ArtifactError: The stage is gone, or no text.
            ToolError: It has to be disassembled, and the disassembler is missing or failed.
        """
        return self._whole.capture.stages[self.name].text()

    @property
    def locations(self) -> Iterator[tuple[int, int, Chain]]:
        """First line, last line and source of each instruction, later ones replacing earlier."""
        return iter(())

    @cached_property
    def chains(self) -> Mapping[int, Chain]:
        """The source of each line on which an instruction starts; empty where it has none."""
        return {first: chain for first, _, chain in self.locations}

    def lines_of(self, file: str, line: int) -> list[int]:
        """Return the stage's lines that came from a line of Python, inlined or not."""
        return [
            number
            for number, chain in sorted(self.chains.items())
            if any(frame.file == file and frame.line == line for frame in chain)
        ]

    def once(self: C, make: Callable[[C], T]) -> T:
        """Return what a function makes of this code; it is called once."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast(T, self._derived[make])


class MetadataCode(StageCode):
    """Triton's metadata."""

    @cached_property
    def text(self) -> str:
        """The metadata as ``format_metadata`` returns them; raises as ``StageCode.text`` does."""
        stage = self._whole.capture.metadata_stage
        return format_metadata(stage.text() if stage is not None else "")


def format_metadata(text: str) -> str:
    """Return a JSON object with one key per line, by name, as the code diff counts lines.

    Values keep their notation. Text that is not an object is returned unchanged.
    """
    try:
        values = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except files.DECODE_ERRORS:
        return text
    entries = (
        msgspec.json.encode(key) + b": " + msgspec.json.format(bytes(value), indent=0)
        for key, value in sorted(values.items())
    )
    return (b"{" + b",\n ".join(entries) + b"}\n").decode()


class MlirCode(StageCode):
    """A stage of MLIR."""

    @cached_property
    def module(self) -> "mlir.Module":
        """The tree of operations, as written."""
        is_shared = self.name == "ttir" and len(self.text) <= _LONGEST
        return _ttir(self.text) if is_shared else cast("mlir.Module", parse(self.name, self.text))

    @cached_property
    def named(self) -> "mlir.Module":
        """The tree, whose kernel's arguments have the names of its parameters."""
        return self._with_names(self.module)

    def part(self, text: str) -> "mlir.Module":
        """Return the tree of a part of the text, with the names of parameters."""
        return self._with_names(cast("mlir.Module", parse(self.name, text)))

    def _with_names(self, module: "mlir.Module") -> "mlir.Module":
        manifest = self._whole.capture.manifest
        from irlens.isa.mlir.normalization import named_text

        # Triton numbers arguments up to 3.4, and later renames those that the kernel assigns.
        text = named_text(module, manifest.args if manifest is not None else {})
        return module if text is None else cast("mlir.Module", parse(self.name, text))

    @property
    def locations(self) -> Iterator[tuple[int, int, Chain]]:
        """The source of each operation's first and last line."""
        # The lines of an outer operation come first, and those of the ones inside it replace them:
        # the closing line of a loop, which carries its location, stays the loop's.
        for operation in self.module.operations:
            for line in dict.fromkeys((operation.span.line, operation.span.end_line)):
                yield line, line, operation.location

    @cached_property
    def loops(self) -> "Mapping[int, Loop]":
        """The loops by the index of their operation, outer ones first."""
        from irlens.analyze.mlir_loops import find_loops

        return find_loops(self.module)


@lru_cache(maxsize=16)
def _ttir(text: str) -> "mlir.Module":
    """Return the tree of a ttir, which most configurations of a kernel share."""
    return cast("mlir.Module", parse("ttir", text))


class FunctionCode(StageCode, Generic[M, F, G]):
    """A stage of functions: LLVM IR, or an assembly."""

    def __init__(self, whole: "CaptureCode", name: str) -> None:
        super().__init__(whole, name)
        # By the function's line, and its number of instructions: a kernel may be expanded.
        self._flows: dict[tuple[int, int], G] = {}
        self._loops: dict[tuple[int, int], Loops[Any]] = {}

    @cached_property
    def module(self) -> M:
        """The whole text, parsed."""
        return cast(M, parse(self.name, self.text))

    @cached_property
    def functions(self) -> Sequence[F]:
        """The functions, in the order of the text."""
        return cast(Any, self.module).functions  # type: ignore[no-any-return]

    @cached_property
    def kernels(self) -> Sequence[F]:
        """The functions that a launch can name, with what they call."""
        return cast(Any, self.module).kernels  # type: ignore[no-any-return]

    @cached_property
    def kernel(self) -> F | None:
        """The function of the capture's kernel, with what it calls."""
        return kernel_named(cast(Sequence[Any], self.kernels), self._whole.capture.kernel)

    @property
    def flow(self) -> G:
        """The control flow of the kernel; raises as ``flow_of`` does."""
        assert self.kernel is not None
        return self.flow_of(self.kernel)

    @property
    def loops(self) -> "Loops[Any]":
        """The loops of the kernel; raises as ``flow_of`` does."""
        assert self.kernel is not None
        return self.loops_of(self.kernel)

    def flow_of(self, function: F) -> G:
        """Return the control flow of one of the functions, or of a kernel with what it calls.

        Raises:
            ArtifactError: A branch to a label that does not exist.
        """
        key = function.line, len(function.instructions)
        if key not in self._flows:
            self._flows[key] = self._build(function)
        return self._flows[key]

    def loops_of(self, function: F) -> "Loops[Any]":
        """Return the loops of such a function; raises as ``flow_of`` does."""
        from irlens.analyze import loops

        key = function.line, len(function.instructions)
        if key not in self._loops:
            self._loops[key] = loops.find(function, self.flow_of(function))
        return self._loops[key]

    def _build(self, function: F) -> G:
        from irlens.analyze import cfg

        return cast(G, cfg.build(function))

    @property
    def locations(self) -> Iterator[tuple[int, int, Chain]]:
        """The source of each instruction."""
        for function in self.functions:
            for each in function.instructions:
                yield each.line, each.end_line, each.locations


class SassCode(FunctionCode["sass.Sass", "sass.Section", "SassCfg"]):
    """The machine code of a cubin, whose instructions have the source of their PTX.

    Args:
        listing: The text, if it was disassembled together with others'.
    """

    def __init__(self, whole: "CaptureCode", listing: str | None = None) -> None:
        super().__init__(whole, "sass")
        self._listing = listing

    @cached_property
    def text(self) -> str:
        """The disassembly; raises as ``StageCode.text`` does."""
        if self._listing is not None:
            return self._listing
        from irlens.artifacts.tools import disassemble

        return disassemble(self._whole.capture.stages["cubin"].read())

    @cached_property
    def functions(self) -> "Sequence[sass.Section]":
        """The code sections."""
        from irlens.analyze import sass_origin

        original = self._whole.ptx
        kernels = original.kernels if original is not None else ()
        lines: dict[str, sass_origin.PtxLines] = {}
        traced = []
        for section in self.module.sections:
            own = kernel_named(kernels, section.name)
            key = own.name if own is not None else ""
            if key not in lines:
                lines[key] = sass_origin.lines_of(kernels if own is None else [own])
            traced.append(sass_origin.trace(section, lines[key]))
        return traced

    @cached_property
    def kernels(self) -> "Sequence[sass.Section]":
        """The code sections."""
        return self.functions

    def _build(self, function: "sass.Section") -> "SassCfg":
        from irlens.analyze import sass_cfg

        return sass_cfg.build(function)

    @cached_property
    def pressure(self) -> "StagePressure":
        """The registers that the kernel occupies."""
        from irlens.analyze import sass_pressure

        assert self.kernel is not None
        return sass_pressure.analyze(self.kernel, self.flow)

    @cached_property
    def control(self) -> "Mapping[int, Control]":
        """Control fields by line of the listing, decoded from the cubin."""
        from irlens.artifacts import cubin
        from irlens.isa.sass.records import INSTRUCTION_BYTES, decode_all

        code = cubin.code_sections(self._whole.capture.stages["cubin"].read())
        found = {}
        for section in self.module.sections:
            fields = decode_all(code.get(section.name, b""))
            for each in section.instructions:
                index, rest = divmod(each.offset, INSTRUCTION_BYTES)
                if index < len(fields) and not rest:
                    found[each.line] = fields[index]
        return found


PtxCode: TypeAlias = FunctionCode["ptx.PtxModule", "ptx.Function", "Cfg"]
AmdgcnCode: TypeAlias = FunctionCode["amdgcn.Program", "amdgcn.Function", "Cfg"]
LlirCode: TypeAlias = FunctionCode["llir.Module", "llir.Function", "Cfg"]


class CaptureCode:
    """The code of a capture's stages.

    Args:
        listings: Of several captures, this one among them, if they are disassembled together.
    """

    def __init__(self, capture: Capture, listings: "CodeListings | None" = None) -> None:
        self.capture = capture
        self._listings = listings

    @cached_property
    def _codes(self) -> dict[str, StageCode]:
        return {stage: _code_of(self, stage) for stage in self.stages}

    @cached_property
    def stages(self) -> tuple[str, ...]:
        """The stages that are text, in the compiler's order.

        These include "sass" if there is a cubin to disassemble, and "metadata" if Triton's is kept.
        """
        held = self.capture.stages
        stages = [each for each in _LISTED if ("cubin" if each == "sass" else each) in held]
        return (*stages, *(["metadata"] if self.capture.metadata_stage is not None else []))

    def __contains__(self, stage: str) -> bool:
        return stage in self._codes

    def __getitem__(self, stage: str) -> StageCode:
        """Return the code of a stage.

        Raises:
            ArtifactError: The capture does not have it as text.
        """
        if stage not in self._codes:
            raise ArtifactError(
                f"{self.capture.kernel}: no {stage} in this capture",
                hint=f"stages: {', '.join(self.capture.stages) or 'none'}",
            )
        return self._codes[stage]

    def with_capture(self, capture: Capture) -> "CaptureCode":
        """Return the code of this capture in another state, with what both have in common."""
        if capture is self.capture:
            return self
        other = CaptureCode(capture, self._listings)
        ours, theirs = self.capture.stages, capture.stages
        same = {name for name, stage in ours.items() if theirs.get(name) is stage}
        if "ptx" in (ours.keys() | theirs.keys()) - same:
            same.discard("cubin")  # machine code has the source of its PTX
        for name in other._codes.keys() & self._codes.keys():
            if ("cubin" if name == "sass" else name) in same:
                other._codes[name] = self._codes[name]
        known = vars(self)
        if "cubin" in same and "listed" in known:
            vars(other)["listed"] = self.listed
        for binary in {"cubin", "hsaco"} & same & known.keys():
            vars(other)[binary] = known[binary]
        return other

    @property
    def ttir(self) -> MlirCode | None:
        """The IR before layouts."""
        return cast("MlirCode | None", self._codes.get("ttir"))

    @property
    def ttgir(self) -> MlirCode | None:
        """The IR with layouts."""
        return cast("MlirCode | None", self._codes.get("ttgir"))

    @property
    def source(self) -> MlirCode | None:
        """The IR that is closest to the source: the ttir; the ttgir of Gluon, which has none."""
        return self.ttir or self.ttgir

    @property
    def ptx(self) -> PtxCode | None:
        """The PTX."""
        return cast("PtxCode | None", self._codes.get("ptx"))

    @property
    def amdgcn(self) -> AmdgcnCode | None:
        """AMD's assembly."""
        return cast("AmdgcnCode | None", self._codes.get("amdgcn"))

    @cached_property
    def cubin(self) -> "cubin.Cubin":
        """What NVIDIA's assembler recorded; raises as ``artifacts.cubin.read``."""
        from irlens.artifacts import cubin

        return cubin.read(self.capture.stages["cubin"].read())

    @cached_property
    def hsaco(self) -> "hsaco.Hsaco":
        """What AMD's assembler recorded; raises as ``artifacts.hsaco.read``."""
        from irlens.artifacts import hsaco

        return hsaco.read(self.capture.stages["hsaco"].read())

    @property
    def sass(self) -> SassCode | None:
        """NVIDIA's machine code, disassembled alone: labels are named as nvdisasm names them."""
        return cast("SassCode | None", self._codes.get("sass"))

    @cached_property
    def listed(self) -> SassCode | None:
        """The same if it was disassembled together with others', which takes a fraction of that."""
        if self._listings is None or "cubin" not in self.capture.stages:
            return None
        listing = self._listings.of(self.capture.stages["cubin"].read())
        return SassCode(self, listing) if listing is not None else None


def _code_of(whole: CaptureCode, stage: str) -> StageCode:
    match stage:
        case "source" | "ttir" | "ttgir":
            return MlirCode(whole, stage)
        case "sass":
            return SassCode(whole)
        case "metadata":
            return MetadataCode(whole, stage)
        case _:
            return FunctionCode(whole, stage)
