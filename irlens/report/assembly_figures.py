"""Figures that are read from a kernel's assembly: pipelines, register pressure, local memory."""

import msgspec

from irlens.analyze import pressure as register_pressure
from irlens.analyze import spills as spilling
from irlens.analyze.facts import Provenance
from irlens.analyze.mlir_loops import flattened, requested_stages
from irlens.analyze.pipelines import find_pipelines, settle
from irlens.analyze.pipelines.distinct_bytes import source_bytes
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.analyze.pipelines.warp_specialization import Specialization
from irlens.analyze.resources import Demand
from irlens.analyze.spills import Stack
from irlens.gpus import Gpu
from irlens.model.memory import LoopLoad
from irlens.model.pressure import Pressure, StagePressure
from irlens.model.report import Occupancy, Pipeline
from irlens.model.resources import LocalArray, SpillSite
from irlens.report.parsed import NO_ASSEMBLY, NOT_DISASSEMBLED, Parsed


def find_loop_pipelines(
    parsed: Parsed,
    demand: Demand,
    loads: tuple[LoopLoad, ...],
    serialized: bool | None,
    specialization: Specialization | None,
    provenance: Provenance,
) -> list[Pipeline]:
    """Return the pipelines of a kernel's loops, as its assembly has them.

    Args:
        loads: The reads of the loops of the ttgir.
        serialized: Whether ptxas serialized matrix products; ``None`` if that is unknown.
    """
    requested = requested_stages(parsed.ttir, parsed.code.capture.config.num_stages)
    threads = demand.usage.threads if demand.usage else None
    if parsed.amdgcn is not None:
        from irlens.analyze.pipelines import amdgcn as amd_pipelines
        from irlens.analyze.pipelines.amdgcn_trace import Left
        from irlens.analyze.ttgir_buffers import stays_in_iteration

        left = Left.OTHER_OPERATIONS if stays_in_iteration(parsed.ttgir) else Left.ANYTHING
        provenance.known("amdgcn, loads followed to their waits and uses", "pipelines")
        pipelines = amd_pipelines.find_pipelines(
            parsed.amdgcn,
            threads_per_cta=threads,
            requested=requested,
            of_source=source_bytes(loads),
            left=left,
            flow=parsed.flows["amdgcn"],
        )
        known = amd_pipelines.against_source(pipelines, loads, parsed.ttgir)
        return settle(known, parsed.amdgcn.expansion, parsed.flows["amdgcn"])
    if parsed.ptx is None:
        provenance.missing(NO_ASSEMBLY, "pipelines")
        return []
    pipelines = find_pipelines(
        PtxKernel(
            loops=analyze_loops(parsed.ptx, parsed.flows["ptx"], specialization),
            requested=requested,
            threads_per_cta=threads or parsed.ptx.threads_per_cta,
            serialized=serialized,
            of_source=source_bytes(loads),
            flattened=flattened(parsed.ttir),
        )
    )
    origin = "ptx, copies, commits and waits followed along the control flow"
    if serialized is not None and any(pipeline.kind == "wgmma" for pipeline in pipelines):
        origin += "; cubin, whether ptxas serialized matrix products"
    provenance.known(origin, "pipelines")
    return settle(pipelines, parsed.ptx.expansion, parsed.flows["ptx"])


def with_bytes_per_sm(pipeline: Pipeline, gpu: Gpu | None, occupancy: Occupancy | None) -> Pipeline:
    """Add a pipeline's bytes in flight per SM, and the bytes that hide the memory's latency."""
    in_flight, per_sm = pipeline.bytes_in_flight, None
    if in_flight is not None and occupancy is not None and occupancy.launchable:
        per_sm = in_flight * occupancy.ctas_abreast
    return msgspec.structs.replace(
        pipeline,
        bytes_in_flight_per_sm=per_sm,
        bytes_to_cover_latency=gpu.bytes_to_cover_latency if gpu is not None else None,
    )


def find_pressure(parsed: Parsed, provenance: Provenance) -> Pressure:
    """Return the register pressure of each stage, of machine code as far as it was read."""
    stages: dict[str, StagePressure] = {}
    for function in (parsed.ptx, parsed.amdgcn):
        if function is not None:
            flow = parsed.flows[function.stage]
            stages[function.stage] = register_pressure.analyze(function, flow)
    if parsed.sass is not None and parsed.code.sass is not None:
        stages["sass"] = parsed.code.sass.pressure
    elif "cubin" in parsed.code.capture.stages:
        provenance.missing(NOT_DISASSEMBLED, "pressure.sass")
    for stage, pressure in stages.items():
        provenance.known(f"{stage}, liveness over its control flow", f"pressure.{stage}")
        if pressure.peak is None:
            provenance.missing(pressure.reason, f"pressure.{stage}.peak")
    return Pressure(**stages)


def read_stack(parsed: Parsed, demand: Demand) -> Stack | None:
    """Return the accesses to the stack; ``None`` where no machine code was read."""
    if parsed.amdgcn is not None:
        calls = parsed.amdgcn.expansion is not None
        count = None if calls else demand.resources.vgpr_spills
        return spilling.read_amdgcn(parsed.amdgcn, count)
    return spilling.read_sass(parsed.sass, parsed.ptx) if parsed.sass is not None else None


def find_spills(
    parsed: Parsed, demand: Demand, stack: Stack | None, provenance: Provenance
) -> list[SpillSite] | None:
    """Return the instructions that spill or reload registers; ``None`` where they are unknown."""
    local_bytes = demand.resources.local_bytes
    if parsed.amdgcn is None and local_bytes == 0:
        return []
    machine_code = parsed.amdgcn or parsed.sass
    if machine_code is None or stack is None:
        absent = "there is no machine code in this capture"
        provenance.missing(absent if local_bytes is None else NOT_DISASSEMBLED, "spills")
        return None
    reason = stack.unknown
    if parsed.amdgcn is not None and parsed.amdgcn.expansion is not None:
        unfollowed = parsed.amdgcn.expansion.unknown
        reason = f"{unfollowed} is not known" if unfollowed else reason
    if reason:
        provenance.missing(reason, "spills")
        return None
    return spilling.find_spills(machine_code, stack.spills, parsed.flows[machine_code.stage])


def find_local_arrays(parsed: Parsed, demand: Demand, stack: Stack | None) -> list[LocalArray]:
    """Return the arrays in local memory."""
    if parsed.ptx is not None and demand.resources.local_bytes:
        gone = stack is not None and not stack.unknown and not stack.arrays
        return [] if gone else spilling.arrays_of_ptx(parsed.ptx)
    if parsed.amdgcn is not None and stack is not None:
        return spilling.arrays_accessed(parsed.amdgcn, stack.arrays)
    return []
