"""Resources of a kernel, read from its binary and Triton's metadata, and its occupancy."""

from collections.abc import Sequence

import msgspec

from irlens import gpus
from irlens.analyze import occupancy
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.facts import Provenance
from irlens.analyze.occupancy import Usage
from irlens.artifacts import hsaco
from irlens.gpus import Gpu
from irlens.isa.dialect import kernel_named
from irlens.model.capture import Capture, Metadata
from irlens.model.config import Target
from irlens.model.errors import CaptureError, UnknownNameError
from irlens.model.report import Occupancy
from irlens.model.resources import Resources

METADATA = "Triton's metadata"
#: The resources without which there is no ``Usage``.
_OCCUPANCY_INPUTS = {
    "registers": "registers",
    "shared_dynamic_bytes": "dynamic shared memory",
    "shared_static_bytes": "static shared memory",
    "barriers": "barriers",
}
#: What a cubin says: the kernel's field and its place in the file, by the name of the resource.
_CUBIN_ORIGINS = {
    "registers": ("registers", "EIATTR_REGCOUNT"),
    "stack_bytes": ("stack_bytes", "EIATTR_MIN_STACK_SIZE"),
    "local_bytes": ("local_bytes", "EIATTR_MIN_STACK_SIZE"),
    "shared_static_bytes": ("static_shared_bytes", "section sizes"),
    "code_bytes": ("code_bytes", "section sizes"),
    "constant_bytes": ("constant_bytes", "section sizes"),
    "barriers": ("barriers", "EIATTR_NUM_BARRIERS"),
}
_AMD_COUNTS = (
    "registers", "vgprs", "agprs", "sgprs", "vgpr_spills", "sgpr_spills", "local_bytes",
    "shared_static_bytes",
)  # fmt: skip
#: Architectures with accumulation registers: CDNA.
_WITH_AGPRS = ("gfx908", "gfx90a", "gfx94", "gfx95")
#: Fields of an AMD kernel that its file may contradict, by the name of the resource.
_AMD_FIELDS = {
    "shared_static_bytes": "lds_bytes", "local_bytes": "scratch_bytes", "vgprs": "vgprs",
    "code_bytes": "code_bytes",
}  # fmt: skip


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What a kernel needs, as the report states it and as the occupancy is computed from it.

    Attributes:
        usage: For the occupancy; ``None`` where something it depends on is unknown.
        doubt: Why the allocated registers are unknown although the needed ones are known.
    """

    resources: Resources
    usage: Usage | None
    doubt: str = ""


def find_gpu(
    target: Target | None, metadata: Metadata | None, provenance: Provenance
) -> Gpu | None:
    """Return the GPU that a capture of a target was compiled for."""
    if target is None:
        provenance.missing("no artifact says what it was compiled for", "target", "occupancy")
        return None
    try:
        gpu = gpus.find(target.product) if target.product else gpus.by_arch(target.arch)
    except UnknownNameError:
        provenance.missing(f"irlens has no row for {target.arch}", "occupancy")
        return None
    if metadata and metadata.wgp_cu_mode == "cu":
        return gpu.in_cu_mode()
    return gpu


def read_demand(code: CaptureCode, gpu: Gpu | None, provenance: Provenance) -> Demand:
    """Read the resources of a kernel from its binary and metadata.

    Args:
        code: Of a capture whose cubin or hsaco is read if it has one.
        gpu: The GPU it was compiled for; ``None`` where that is unknown.

    Raises:
        ArtifactError: The binary is broken.
    """
    capture = code.capture
    if "hsaco" in capture.stages:
        return _amd(code.hsaco.kernels, "hsaco, metadata note", code, gpu, provenance)
    if "amdgcn" in capture.stages:
        kernels = hsaco.read_assembly(capture.stages["amdgcn"].text())
        return _amd(kernels, "amdgcn, its metadata", code, gpu, provenance)
    if "cubin" in capture.stages:
        return _nvidia(code, gpu, provenance)
    binary = "hsaco" if gpu is not None and gpu.arch.vendor == "amd" else "cubin"
    reason = f"there is no {binary} in this capture; only the machine code has it"
    return _unknown(reason, _dynamic_shared(code, provenance), provenance)


def _nvidia(code: CaptureCode, gpu: Gpu | None, provenance: Provenance) -> Demand:
    capture = code.capture
    kernel = kernel_named(code.cubin.kernels, capture.kernel)
    shared = _dynamic_shared(code, provenance)
    if kernel is None:
        reason = f"the cubin holds no kernel named {capture.kernel}"
        names = (*_CUBIN_ORIGINS, "shared_reserved_bytes")
        provenance.missing(reason, *(f"resources.{name}" for name in names))
        return _unknown(reason, shared, provenance)
    for name, (field, origin) in _CUBIN_ORIGINS.items():
        if getattr(kernel, field) is None:
            reason = kernel.doubts.get(field) or f"the cubin has no {origin}"
            provenance.missing(reason, f"resources.{name}")
        else:
            provenance.known(f"cubin, {origin}", f"resources.{name}")
    banks = kernel.constant_bytes
    resources = Resources(
        registers=kernel.registers,
        shared_dynamic_bytes=shared,
        shared_static_bytes=kernel.static_shared_bytes,
        local_bytes=kernel.local_bytes,
        stack_bytes=kernel.stack_bytes,
        shared_reserved_bytes=_reserved(gpu, provenance),
        constant_bytes=None if banks is None else sum(banks.values()),
        code_bytes=kernel.code_bytes,
        barriers=kernel.barriers,
    )
    limit = _product(kernel.max_threads)
    threads = _product(kernel.required_threads) or _threads(capture) or limit
    registers, static, barriers = kernel.registers, kernel.static_shared_bytes, kernel.barriers
    if threads is None or registers is None or shared is None:
        return Demand(resources=resources, usage=None)
    if static is None or barriers is None:
        return Demand(resources=resources, usage=None)
    usage = Usage(
        threads=threads,
        registers=registers,
        shared_bytes=shared + static,
        barriers=barriers or 1,
        max_threads=limit,
        cluster_ctas=capture.config.num_ctas or 1,
    )
    return Demand(resources=resources, usage=usage)


def _amd(
    kernels: Sequence[hsaco.Kernel],
    note: str,
    code: CaptureCode,
    gpu: Gpu | None,
    provenance: Provenance,
) -> Demand:
    capture = code.capture
    kernel = kernel_named(kernels, capture.kernel)
    shared = _dynamic_shared(code, provenance)
    if kernel is None:
        reason = f"the {note.partition(',')[0]} describes no kernel {capture.kernel}"
        names = (*_AMD_COUNTS, "code_bytes", "lds_bytes", "shared_reserved_bytes")
        provenance.missing(reason, *(f"resources.{name}" for name in names))
        return _unknown(reason, shared, provenance)
    provenance.known(note, *(f"resources.{name}" for name in _AMD_COUNTS))
    for name, field in _AMD_FIELDS.items():
        if field in kernel.doubts:
            provenance.missing(kernel.doubts[field], f"resources.{name}")
    if kernel.vgprs is None:
        reason = "AGPRs in a file of their own outnumber them, and the note has the larger count"
        provenance.missing(reason, "resources.vgprs")
    if kernel.agprs is None and capture.target and capture.target.arch.startswith(_WITH_AGPRS):
        provenance.missing("the note does not count them", "resources.agprs")
    for name in ("vgpr_spills", "sgpr_spills"):
        if getattr(kernel, name) is None:
            reason = "the note leaves out what functions spill that the kernel calls"
            provenance.missing(reason, f"resources.{name}")
    static = kernel.lds_bytes
    resources = Resources(
        registers=kernel.registers,
        shared_dynamic_bytes=shared,
        shared_static_bytes=static,
        local_bytes=kernel.scratch_bytes,
        stack_bytes=None,
        shared_reserved_bytes=_reserved(gpu, provenance),
        code_bytes=kernel.code_bytes,
        vgprs=kernel.vgprs,
        agprs=kernel.agprs,
        sgprs=kernel.sgprs,
        vgpr_spills=kernel.vgpr_spills,
        sgpr_spills=kernel.sgpr_spills,
        lds_bytes=None if shared is None or static is None else shared + static,
    )
    threads = (
        _product(kernel.required_workgroup_size) or _threads(capture) or kernel.max_workgroup_size
    )
    doubt = kernel.doubts.get("register_granules", "") or _too_few(kernel, gpu)
    if resources.lds_bytes is None or doubt:
        return Demand(resources=resources, usage=None, doubt=doubt)
    allocated = _allocated_registers(kernel, gpu)
    usage = Usage(
        threads=threads,
        registers=allocated,
        needed=kernel.registers if allocated > kernel.registers else None,
        shared_bytes=resources.lds_bytes,
        scalar_registers=kernel.sgprs,
        max_threads=kernel.max_workgroup_size,
    )
    return Demand(resources=resources, usage=usage)


def _too_few(kernel: hsaco.Kernel, gpu: Gpu | None) -> str:
    """Return that the descriptor allocates too few registers; empty if it does not."""
    granule = gpu.arch.register_granule if gpu is not None else None
    if granule is None or kernel.register_granules is None:
        return ""
    allocated = kernel.register_granules * granule
    if allocated >= kernel.registers:
        return ""
    return f"the descriptor allocates {allocated} registers, the metadata say {kernel.registers}"


def _allocated_registers(kernel: hsaco.Kernel, gpu: Gpu | None) -> int:
    """Vector registers a lane gets: more than it needs where ``waves_per_eu`` caps the waves."""
    granule = gpu.arch.register_granule if gpu is not None else None
    if granule is None or kernel.register_granules is None:
        return kernel.registers
    allocated = kernel.register_granules * granule
    # The arch rounds the allocation itself: a change counts from what the kernel needs.
    rounding = allocated - kernel.registers < granule
    return kernel.registers if rounding else allocated


def _unknown(reason: str, shared: int | None, provenance: Provenance) -> Demand:
    """What is known without machine code."""
    names = ("registers", "local_bytes", "stack_bytes", "shared_static_bytes")
    provenance.missing(reason, *(f"resources.{name}" for name in names))
    return Demand(
        resources=Resources(
            registers=None,
            shared_dynamic_bytes=shared,
            shared_static_bytes=None,
            local_bytes=None,
            stack_bytes=None,
        ),
        usage=None,
    )


def _dynamic_shared(code: CaptureCode, provenance: Provenance) -> int | None:
    path, metadata = "resources.shared_dynamic_bytes", code.capture.metadata
    if metadata is not None and metadata.shared is not None:
        provenance.known(f"{METADATA}, shared", path)
        return metadata.shared
    from irlens.analyze import shared_memory  # parses the text, which the metadata makes needless

    if stage := shared_memory.without_dynamic(code):
        provenance.known(f"{stage}, which accesses none", path)
        return 0
    provenance.missing("it is given at launch, and Triton's metadata is not in this capture", path)
    return None


def _reserved(gpu: Gpu | None, provenance: Provenance) -> int | None:
    if gpu is None:
        provenance.missing("the GPU is not known", "resources.shared_reserved_bytes")
        return None
    source = gpu.arch.sources["shared_reserved_per_block"]
    provenance.known(source, "resources.shared_reserved_bytes")
    return gpu.arch.shared_reserved_per_block


def _threads(capture: Capture) -> int | None:
    """Threads per CTA as the metadata has them, those of partitions included."""
    if capture.metadata is None or capture.metadata.num_warps is None or capture.target is None:
        return None
    return capture.metadata.num_warps * capture.target.warp_size


def _product(dimensions: tuple[int, int, int] | None) -> int | None:
    if dimensions is None:
        return None
    x, y, z = dimensions
    return x * y * z


def find_occupancy(
    capture: Capture,
    gpu: Gpu | None,
    demand: Demand,
    provenance: Provenance,
) -> Occupancy | None:
    """Return the occupancy of a kernel on its GPU, without next steps and curves."""
    if gpu is None or demand.usage is None:
        missing = [
            words
            for name, words in _OCCUPANCY_INPUTS.items()
            if f"resources.{name}" in provenance.unknown
        ]
        reason = f"it depends on {', '.join(missing)}" if missing else "the CTA's size is not known"
        provenance.missing(demand.doubt or reason, "occupancy")
        return None
    provenance.known(f"computed from resources and the limits of {gpu.arch.name}", "occupancy")
    result = occupancy.fit(gpu, demand.usage, _grid_ctas(capture))
    over = occupancy.grid_refusals(gpu.arch, demand.usage, capture.config.grid)
    if over:
        refusals = [*result.refusals, *over]
        result = msgspec.structs.replace(
            result, launchable=False, refusals=refusals, waves=None, tail=None
        )
    if result.waves is None and result.launchable:
        provenance.missing(_no_waves(capture, gpu), "occupancy.waves")
    return result


def with_grid(capture: Capture, gpu: Gpu | None, demand: Demand) -> Capture:
    """Return the capture with the grid that follows from its occupancy, where one does."""
    formula = capture.manifest.grid_formula if capture.manifest is not None else None
    if formula is None or gpu is None or demand.usage is None or capture.config.grid is not None:
        return capture
    from irlens.compiler.calls.binding import evaluate_formula  # few grids need it

    blocks = occupancy.fit(gpu, demand.usage).blocks_per_sm
    try:
        grid = evaluate_formula(formula, blocks) if blocks else None
    except CaptureError:  # a manifest may say anything
        grid = None
    config = msgspec.structs.replace(capture.config, grid=grid)
    return msgspec.structs.replace(capture, config=config)


def _no_waves(capture: Capture, gpu: Gpu) -> str:
    """Why the number of waves is not known."""
    if gpu.sm_count is None:
        return f"{gpu.arch.name} does not fix the number of SMs: name a product as the target"
    if capture.config.grid is None:
        return "the grid is not known"
    return "the CTAs of a cluster need room in one group of SMs"


def _grid_ctas(capture: Capture) -> int | None:
    if capture.config.grid is None:
        return None
    x, y, z = capture.config.grid
    return x * y * z * (capture.config.num_ctas or 1)
