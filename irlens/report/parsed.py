"""The stages of a capture, parsed, with the control flow of each kernel."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from irlens.analyze.capture_code import CaptureCode, FunctionCode, MlirCode
from irlens.analyze.cfg import Cfg
from irlens.analyze.facts import Provenance
from irlens.analyze.global_accesses import Assembly
from irlens.analyze.graph import find_loops
from irlens.isa import mlir, ptx
from irlens.isa.dialect import Function
from irlens.model.capture import Capture, Disassembly, Stage
from irlens.model.errors import OutOfWorkError

if TYPE_CHECKING:
    from irlens.artifacts import mlir_dumps
    from irlens.isa import amdgcn, sass

NOT_DISASSEMBLED = "the machine code was not disassembled"
NO_TTGIR = "there is no ttgir in this capture"
NO_ASSEMBLY = "there is no ptx and no amdgcn in this capture"

K = TypeVar("K", bound=Function[Any])

#: What cannot be known without the control flow of an assembly.
_NEEDS_FLOW = ("pipelines", "mix")
#: What cannot be known without a stage of MLIR.
_READ_FROM = {"ttir": ("traffic", "stages.ttir"), "ttgir": ("loads", "memory", "stages.ttgir")}
#: Until then these made and filled buffers of shared memory, as tensors.
_BEFORE_3_0 = ("ttg.alloc_tensor", "ttg.insert_slice_async", "ttg.extract_slice")


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """The stages of a capture that figures are read from; ``None`` is "not in this capture".

    Attributes:
        flows: Control flow of the kernel in ptx, sass and amdgcn, by stage.
        functions_left_out: Functions of the ptx that a call of the kernel that cannot be followed
            may run.
    """

    code: CaptureCode
    ttir: mlir.Module | None
    ttgir: mlir.Module | None
    ptx: ptx.Function | None
    amdgcn: "amdgcn.Function | None"
    sass: "sass.Section | None"
    flows: Mapping[str, Cfg]
    functions_left_out: int = 0

    @property
    def source(self) -> mlir.Module | None:
        """The IR that is closest to the source: the ttir; the ttgir of Gluon, which has none."""
        return self.ttir or self.ttgir

    @property
    def why_no_source(self) -> str:
        """Why there is no ``source``: no such stage, or none that shows the whole kernel."""
        given = (self.code.ttir, self.code.ttgir)
        reasons = (_why_not_whole(each.named) for each in given if each is not None)
        return next(filter(None, reasons), "there is neither ttir nor ttgir in this capture")

    @property
    def assembly(self) -> "Assembly | None":
        """The kernel's function in PTX or AMD's assembly, whichever there is."""
        return self.ptx or self.amdgcn


def parse(code: CaptureCode, provenance: Provenance, disassembly: Disassembly) -> Parsed:
    """Parse the stages of a capture; only the dialects it holds are loaded.

    Raises:
        ArtifactError: An artifact is broken.
        ToolError: The disassembler is missing or failed.
    """
    ptx_kernel, amd_kernel, section = None, None, None
    left_out = 0
    flows: dict[str, Cfg] = {}
    if code.ptx is not None:
        ptx_kernel = _followed(code.ptx, flows, code, provenance)
        left_out = _left_out(code.ptx.module, ptx_kernel)
    if code.amdgcn is not None:
        amd_kernel = _followed(code.amdgcn, flows, code, provenance)
    for function in (ptx_kernel, amd_kernel):
        if function is not None and function.expansion is not None and function.expansion.unknown:
            provenance.missing(f"{function.expansion.unknown} is not known", "calls")
    ttir, ttgir = (_mlir(each, code.capture, provenance) for each in (code.ttir, code.ttgir))
    if (
        disassembly is not Disassembly.SKIP and code.sass is not None
    ):  # last: the disassembler works in the background
        section = _followed(code.sass, flows, code, provenance)
    return Parsed(
        code=code,
        ttir=ttir,
        ttgir=ttgir,
        ptx=ptx_kernel,
        amdgcn=amd_kernel,
        sass=section,
        flows=flows,
        functions_left_out=left_out,
    )


def _followed(
    stage: FunctionCode[Any, K, Any],
    flows: dict[str, Cfg],
    code: CaptureCode,
    provenance: Provenance,
) -> K | None:
    """Return the kernel of a stage, and add its control flow; note why there is none.

    Without its loops no figure is made of a kernel.
    """
    kernel = noted(stage.kernel, stage.name, code, provenance)
    if kernel is None:
        return None
    try:
        flow = stage.flow
        if not flow.unknown:
            _ = flow.forest
    except OutOfWorkError as error:
        reason = f"the {stage.name} cannot be followed: {error.message}"
        machine_code = ("spills",) if stage.name != "ptx" else ()
        provenance.missing(reason, *_NEEDS_FLOW, *machine_code, f"pressure.{stage.name}")
        return None
    flows[stage.name] = flow
    return kernel


def _left_out(module: ptx.PtxModule, kernel: ptx.Function | None) -> int:
    expansion = kernel.expansion if kernel is not None else None
    if expansion is None or not expansion.unknown:
        return 0
    followed = {each.name for each in expansion.functions}
    return sum(each.kind == "func" and each.name not in followed for each in module.functions)


def _mlir(code: MlirCode | None, capture: Capture, provenance: Provenance) -> mlir.Module | None:
    """Return a parsed stage; ``None`` where there is none, or it does not show the whole kernel."""
    if code is None:
        return None
    module = code.named
    if len(_kernels(module)) > 1 and (chosen := _last_of(capture, capture.stages[code.name])):
        provenance.known(chosen.note, "stages")
        module = code.part(next(one.text for one in chosen.dumps if one.stage == code.name))
    if reason := _why_not_whole(module):
        provenance.missing(reason, *_READ_FROM[code.name])
        return None
    return module


def _kernels(module: mlir.Module) -> list[mlir.Operation]:
    return [each for each in module.named("tt.func") if "private" not in each.words]


def _last_of(capture: Capture, stage: Stage) -> "mlir_dumps.Chosen | None":
    """Return the last modules of a capture's kernel in a stage that holds several."""
    from irlens.artifacts import mlir_dumps  # the compiler writes one

    chosen = [
        each
        for each in mlir_dumps.choose(stage.read())
        if stage.name in {one.stage for one in each.dumps}
    ]
    named = [each for each in chosen if each.kernel == capture.kernel]
    return next(iter(named or (chosen if len(chosen) == 1 else [])), None)


def _why_not_whole(module: mlir.Module) -> str:
    """Return why figures of the kernel cannot be read from a module; "" if they can."""
    functions = _kernels(module)
    if not functions:
        return f"the {module.stage} is an excerpt, without the kernel's function"
    if len(functions) > 1:
        return f"the {module.stage} holds {len(functions)} kernels in one module"
    if module.unknown:
        return f"line {module.unknown[0].line} of the {module.stage} is not understood"
    if _has_branch_loops(module):
        return f"the {module.stage} has loops of branches, which irlens does not follow"
    if any(module.named(*_BEFORE_3_0)):
        return f"the {module.stage} is of a Triton before 3.0"
    return ""


def _has_branch_loops(module: mlir.Module) -> bool:
    """Whether branches of a function lead back, as loops do once they are lowered."""
    for function in module.named("tt.func"):
        for region in function.regions:
            at = {block.label: number for number, block in enumerate(region.blocks)}
            successors = [
                [
                    at[word]
                    for index in block.operations[-1:]
                    for word in module.operations[index].words
                    if word in at
                ]
                for block in region.blocks
            ]
            if find_loops(successors).loops:
                return True
    return False


def noted(kernel: K | None, stage: str, code: CaptureCode, provenance: Provenance) -> K | None:
    """Return the kernel of a stage; note if there is none of the capture's name."""
    if kernel is None:
        reason = f"the {stage} holds no kernel named {code.capture.kernel}"
        provenance.missing(reason, "pipelines", "mix")
    return kernel


def with_machine_code(capture: Capture, provenance: Provenance) -> Capture:
    """Return a capture with a cubin, made of its ptx where it holds none."""
    if "ptx" not in capture.stages or "cubin" in capture.stages:
        return capture
    from irlens.artifacts.assembling import assemble  # captures of Triton have a cubin

    assembled = assemble(capture.stages["ptx"].text())
    if isinstance(assembled, str):
        provenance.missing(assembled, *(f"resources.{name}" for name in _OF_MACHINE_CODE))
        return capture
    provenance.known(
        f"the cubin is not in this capture: {assembled.by} made one of the ptx", "stages"
    )
    cubin = Stage("cubin", content=assembled.cubin)
    return replace(capture, stages={**capture.stages, "cubin": cubin})


_OF_MACHINE_CODE = ("registers", "local_bytes", "stack_bytes", "shared_static_bytes")
