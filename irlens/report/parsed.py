"""The stages of a capture, parsed, with the control flow of each kernel."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from irlens.analyze import cfg
from irlens.analyze.cfg import Cfg
from irlens.analyze.facts import Provenance
from irlens.analyze.global_accesses import Assembly
from irlens.analyze.graph import find_loops
from irlens.analyze.stage_modules import stage_module
from irlens.isa import mlir, ptx
from irlens.isa.dialect import Named, kernel_named
from irlens.model.capture import Capture, Stage

if TYPE_CHECKING:
    from irlens.artifacts import mlir_dumps
    from irlens.artifacts.code_listings import CodeListings
    from irlens.isa import amdgcn, sass

N = TypeVar("N", bound=Named)

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
        listings: The listings of machine code that need not be made alone.
    """

    ttir: mlir.Module | None
    ttgir: mlir.Module | None
    ptx: ptx.Function | None
    amdgcn: "amdgcn.Function | None"
    sass: "sass.Section | None"
    flows: Mapping[str, Cfg]
    functions_left_out: int = 0
    listings: "CodeListings | None" = None

    @property
    def source(self) -> mlir.Module | None:
        """The IR that is closest to the source: the ttir; the ttgir of Gluon, which has none."""
        return self.ttir or self.ttgir

    @property
    def assembly(self) -> "Assembly | None":
        """The kernel's function in PTX or AMD's assembly, whichever there is."""
        return self.ptx or self.amdgcn


def parse(
    capture: Capture, provenance: Provenance, *, sass: bool, listings: "CodeListings | None" = None
) -> Parsed:
    """Parse the stages of a capture; only the dialects it holds are loaded.

    Args:
        capture: The capture.
        provenance: Receives which stages hold no kernel of the capture's name.
        sass: Whether to disassemble the cubin too.
        listings: Serve what needs the machine code later.

    Raises:
        ArtifactError: An artifact is broken.
        ToolError: The disassembler is missing or failed.
    """
    ptx_kernel, amd_kernel = None, None
    left_out = 0
    flows: dict[str, Cfg] = {}
    if "ptx" in capture.stages:
        module = ptx.parse(capture.stages["ptx"].text())
        ptx_kernel = _select(module.kernels, "ptx", capture, provenance)
        left_out = _left_out(module, ptx_kernel)
    if "amdgcn" in capture.stages:
        from irlens.isa import amdgcn

        programs = amdgcn.parse(capture.stages["amdgcn"].text()).kernels
        amd_kernel = _select(programs, "amdgcn", capture, provenance)
    for function in (ptx_kernel, amd_kernel):
        if function is not None:
            flows[function.stage] = cfg.build(function)
            if function.expansion is not None and function.expansion.unknown:
                provenance.missing(f"{function.expansion.unknown} is not known", "calls")
    ttir, ttgir = (_mlir(capture, name, provenance) for name in ("ttir", "ttgir"))
    section = None
    if sass and "cubin" in capture.stages:  # last: the disassembler works in the background
        section = _disassemble(capture, ptx_kernel, provenance)
    if section is not None:
        from irlens.analyze import sass_cfg

        flows["sass"] = sass_cfg.build(section)
    return Parsed(
        ttir=ttir,
        ttgir=ttgir,
        ptx=ptx_kernel,
        amdgcn=amd_kernel,
        sass=section,
        flows=flows,
        functions_left_out=left_out,
        listings=listings,
    )


def _left_out(module: ptx.PtxModule, kernel: ptx.Function | None) -> int:
    expansion = kernel.expansion if kernel is not None else None
    if expansion is None or not expansion.unknown:
        return 0
    followed = {each.name for each in expansion.functions}
    return sum(each.kind == "func" and each.name not in followed for each in module.functions)


def machine_code(capture: Capture, parsed: Parsed, provenance: Provenance) -> "sass.Section | None":
    """Return a kernel's machine code, disassembled now if it has not been; ``None`` without any.

    Raises:
        ArtifactError: The cubin is broken.
        ToolError: The disassembler is missing or failed.
    """
    if parsed.sass is not None or "cubin" not in capture.stages:
        return parsed.sass
    return _disassemble(capture, parsed.ptx, provenance, parsed.listings)


def _mlir(capture: Capture, name: str, provenance: Provenance) -> mlir.Module | None:
    """Return a parsed stage; ``None`` where there is none, or it does not show the whole kernel."""
    stage = capture.stages.get(name)
    if stage is None:
        return None
    module = stage_module(capture, name)
    if len(_kernels(module)) > 1 and (chosen := _last_of(capture, stage)):
        provenance.known(chosen.note, "stages")
        text = next(one.text for one in chosen.dumps if one.stage == name)
        module = stage_module(capture, name, text)
    if reason := _why_not_whole(module):
        provenance.missing(reason, *_READ_FROM[name])
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


def _disassemble(
    capture: Capture,
    ptx_kernel: ptx.Function | None,
    provenance: Provenance,
    listings: "CodeListings | None" = None,
) -> "sass.Section | None":
    from irlens.analyze import sass_origin
    from irlens.artifacts.tools import disassemble
    from irlens.isa import sass

    cubin = capture.stages["cubin"].read()
    listing = listings.of(cubin) if listings is not None else None
    sections = sass.parse(listing or disassemble(cubin)).sections
    section = _select(sections, "sass", capture, provenance)
    original = sass_origin.lines_of([ptx_kernel] if ptx_kernel is not None else ())
    return sass_origin.trace(section, original) if section is not None else None


def _select(kernels: Sequence[N], stage: str, capture: Capture, provenance: Provenance) -> N | None:
    kernel = kernel_named(kernels, capture.kernel)
    if kernel is None:
        reason = f"the {stage} holds no kernel named {capture.kernel}"
        provenance.missing(reason, "pipelines", "mix")
    return kernel
