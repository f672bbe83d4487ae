"""What a kernel holds: registers and memories, read from the binary and Triton's metadata."""

import msgspec

from irlens.analyze.kernels import by_name
from irlens.analyze.ledger import Ledger
from irlens.analyze.occupancy import Usage
from irlens.artifacts import cubin, hsaco
from irlens.gpus import Gpu
from irlens.model.capture import Capture
from irlens.model.resources import Resources

METADATA = "Triton's metadata"


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What a kernel asks for, as the report states it and as occupancy needs it.

    Attributes:
        resources: For the report.
        usage: For the occupancy; ``None`` where something it depends on is unknown.
    """

    resources: Resources
    usage: Usage | None


def read_demand(capture: Capture, gpu: Gpu | None, ledger: Ledger) -> Demand:
    """Read what a capture's binary and metadata say of its kernel.

    Args:
        capture: Its cubin or hsaco is read if it has one.
        gpu: What it was compiled for; ``None`` where that is unknown.
        ledger: Receives origins and reasons under "resources".

    Raises:
        ArtifactError: The binary is broken.
    """
    if "hsaco" in capture.stages:
        return _amd(capture, gpu, ledger)
    if "cubin" in capture.stages:
        return _nvidia(capture, gpu, ledger)
    binary = "hsaco" if gpu is not None and gpu.arch.vendor == "amd" else "cubin"
    reason = f"there is no {binary} in this capture; only the machine code tells"
    return _unknown(reason, _dynamic_shared(capture, ledger), ledger)


def _nvidia(capture: Capture, gpu: Gpu | None, ledger: Ledger) -> Demand:
    kernel = by_name(cubin.read(capture.stages["cubin"].read()).kernels, capture.kernel)
    shared = _dynamic_shared(capture, ledger)
    if kernel is None:
        return _unknown(f"the cubin holds no kernel named {capture.kernel}", shared, ledger)
    names = ("registers", "stack_bytes", "local_bytes")
    origins = ("EIATTR_REGCOUNT", "EIATTR_MIN_STACK_SIZE", "EIATTR_MIN_STACK_SIZE")
    for name, origin in zip(names, origins, strict=True):
        if getattr(kernel, name) is None:
            ledger.missing(f"the cubin has no {origin}", f"resources.{name}")
        else:
            ledger.known(f"cubin, {origin}", f"resources.{name}")
    ledger.known(
        "cubin, section sizes", "resources.shared_static_bytes", "resources.code_bytes",
        "resources.constant_bytes",
    )  # fmt: skip
    ledger.known("cubin, EIATTR_NUM_BARRIERS", "resources.barriers")
    resources = Resources(
        registers=kernel.registers,
        shared_dynamic_bytes=shared,
        shared_static_bytes=kernel.static_shared_bytes,
        local_bytes=kernel.local_bytes,
        stack_bytes=kernel.stack_bytes,
        shared_reserved_bytes=_reserved(gpu, ledger),
        constant_bytes=sum(kernel.constant_bytes.values()),
        code_bytes=kernel.code_bytes,
        barriers=kernel.barriers,
    )
    threads = _product(kernel.required_threads) or _threads(capture)
    if threads is None or kernel.registers is None or shared is None:
        return Demand(resources=resources, usage=None)
    usage = Usage(
        threads=threads,
        registers=kernel.registers,
        shared_bytes=shared + kernel.static_shared_bytes,
        barriers=kernel.barriers or 1,
        max_threads=_product(kernel.max_threads),
        cluster_ctas=capture.config.num_ctas or 1,
    )
    return Demand(resources=resources, usage=usage)


def _amd(capture: Capture, gpu: Gpu | None, ledger: Ledger) -> Demand:
    kernel = by_name(hsaco.read(capture.stages["hsaco"].read()).kernels, capture.kernel)
    shared = _dynamic_shared(capture, ledger)
    if kernel is None:
        return _unknown(f"the hsaco holds no kernel named {capture.kernel}", shared, ledger)
    note = "hsaco, metadata note"
    counted = ("registers", "vgprs", "agprs", "sgprs", "vgpr_spills", "sgpr_spills", "local_bytes")
    ledger.known(note, *(f"resources.{name}" for name in (*counted, "shared_static_bytes")))
    if kernel.vgprs is None:
        reason = "AGPRs in a file of their own outnumber them, and the note has the larger count"
        ledger.missing(reason, "resources.vgprs")
    resources = Resources(
        registers=kernel.registers,
        shared_dynamic_bytes=shared,
        shared_static_bytes=kernel.lds_bytes,
        local_bytes=kernel.scratch_bytes,
        stack_bytes=None,
        shared_reserved_bytes=_reserved(gpu, ledger),
        code_bytes=kernel.code_bytes,
        vgprs=kernel.vgprs,
        agprs=kernel.agprs,
        sgprs=kernel.sgprs,
        vgpr_spills=kernel.vgpr_spills,
        sgpr_spills=kernel.sgpr_spills,
        lds_bytes=None if shared is None else shared + kernel.lds_bytes,
    )
    threads = _product(kernel.required_workgroup_size) or _threads(capture)
    if threads is None or shared is None:
        return Demand(resources=resources, usage=None)
    usage = Usage(
        threads=threads,
        registers=_allocated_registers(kernel, gpu),
        shared_bytes=shared + kernel.lds_bytes,
        scalar_registers=kernel.sgprs,
        max_threads=kernel.max_workgroup_size,
    )
    return Demand(resources=resources, usage=usage)


def _allocated_registers(kernel: hsaco.Kernel, gpu: Gpu | None) -> int:
    """Vector registers a lane gets: more than it needs where ``waves_per_eu`` caps the waves."""
    granule = gpu.arch.register_granule if gpu is not None else None
    if granule is None or kernel.register_granules is None:
        return kernel.registers
    allocated = kernel.register_granules * granule
    # The allocation's own rounding is the arch's business: a change counts from what is needed.
    rounding = allocated - kernel.registers < granule
    return kernel.registers if rounding else allocated


def _unknown(reason: str, shared: int | None, ledger: Ledger) -> Demand:
    """What is left to say where no machine code tells."""
    names = ("registers", "local_bytes", "stack_bytes", "shared_static_bytes")
    ledger.missing(reason, *(f"resources.{name}" for name in names))
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


def _dynamic_shared(capture: Capture, ledger: Ledger) -> int | None:
    path = "resources.shared_dynamic_bytes"
    if capture.metadata is None:
        ledger.missing("it is given at launch, and Triton's metadata is not in this capture", path)
        return None
    ledger.known(f"{METADATA}, shared", path)
    return capture.metadata.shared


def _reserved(gpu: Gpu | None, ledger: Ledger) -> int | None:
    if gpu is None:
        return None
    source = gpu.arch.sources["shared_reserved_per_block"]
    ledger.known(source, "resources.shared_reserved_bytes")
    return gpu.arch.shared_reserved_per_block


def _threads(capture: Capture) -> int | None:
    """Threads per CTA as the metadata has them, those of partitions included."""
    if capture.metadata is None or capture.target is None:
        return None
    return capture.metadata.num_warps * capture.target.warp_size


def _product(dimensions: tuple[int, int, int] | None) -> int | None:
    if dimensions is None:
        return None
    x, y, z = dimensions
    return x * y * z
