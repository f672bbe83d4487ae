"""From a capture to its report: the one path that every command, screen and library call takes."""

import hashlib
from collections.abc import Iterable

import msgspec

from irlens import rules
from irlens.analyze import pressure as register_pressure
from irlens.analyze import shared_memory, ttgir_loads
from irlens.analyze.facts import Facts, Provenance
from irlens.analyze.mix import instruction_mix
from irlens.analyze.mlir_loops import requested_stages
from irlens.analyze.pipelines import find_pipelines, warp_specialization
from irlens.analyze.pipelines.distinct_bytes import source_bytes
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.analyze.pipelines.warp_specialization import Specialization
from irlens.analyze.pipelines.wgmma import find_serialized
from irlens.analyze.resources import Demand, find_gpu, find_occupancy, read_demand, with_grid
from irlens.analyze.spills import find_spills
from irlens.analyze.tensor_memory import with_tensor_memory
from irlens.artifacts.compile_options import is_known_release
from irlens.gpus import Gpu
from irlens.model.capture import BINARY_STAGES, STAGE_ORDER, Capture, Stage
from irlens.model.memory import LoopLoad, SharedMemory
from irlens.model.pressure import Pressure, StagePressure
from irlens.model.report import SCHEMA, InstructionMix, Occupancy, Pipeline, Report, StageSize
from irlens.model.resources import SpillSite
from irlens.model.source import SourceLocation
from irlens.report.parsed import Parsed, parse

NOT_DISASSEMBLED = "the machine code was not disassembled; --sass does that"
NO_ASSEMBLY = "there is no ptx and no amdgcn in this capture"


def inspect(capture: Capture, *, sass: bool = False) -> Report:
    """Return everything that can be known about a capture.

    What cannot be known is ``None`` in the report, with the reason under ``unknown``.

    Args:
        capture: Any capture, however little it holds.
        sass: Whether to disassemble the cubin too, which takes a moment.

    Raises:
        ArtifactError: An artifact is broken.
        ToolError: ``sass`` is requested, and the disassembler is missing or failed.
    """
    provenance = Provenance()
    gpu = find_gpu(capture, provenance)
    demand = read_demand(capture, gpu, provenance)
    capture = with_grid(capture, gpu, demand)
    parsed = parse(capture, provenance, sass=sass)
    resources = with_tensor_memory(
        demand.resources, capture, parsed.ptx, parsed.flows.get("ptx"), gpu, provenance
    )
    occupancy = find_occupancy(capture, gpu, demand, provenance)
    _note_options(capture, provenance)
    loads = ttgir_loads.find(parsed.ttgir, capture.config.num_stages) if parsed.ttgir else ()
    specialization = _specialization(parsed, provenance)
    serialized = find_serialized(capture, parsed.ptx) if parsed.ptx is not None else None
    pipelines = [
        _with_bytes_per_sm(pipeline, gpu, occupancy)
        for pipeline in _pipelines(
            capture, parsed, demand, loads, serialized, specialization, provenance
        )
    ]
    pressure = _pressure(parsed, "cubin" in capture.stages, provenance)
    facts = Facts(
        gpu=gpu,
        config=capture.config,
        resources=resources,
        occupancy=occupancy,
        pipelines=pipelines,
        threads=demand.usage.threads if demand.usage else None,
        warp_groups=specialization.groups if specialization is not None else (),
        ttir=parsed.ttir,
        ttgir=parsed.ttgir,
        loads=loads,
        ptx=parsed.ptx,
        amdgcn=parsed.amdgcn,
        spills=_spills(parsed, demand, provenance),
        serialized=serialized,
    )
    findings = rules.run(facts)
    locations = [
        *(pipeline.source for pipeline in pipelines),
        *(load.source for load in loads),
        *(finding.source for finding in findings),
        *_pressure_lines(pressure),
    ]
    return Report(
        schema=SCHEMA,
        kernel=capture.kernel,
        target=capture.target,
        triton_version=_triton_version(capture, provenance),
        config=capture.config,
        stages=_stage_sizes(capture),
        resources=resources,
        occupancy=occupancy,
        warp_groups=list(facts.warp_groups),
        pipelines=pipelines,
        loads=list(loads),
        memory=_shared_memory(capture, parsed, provenance),
        pressure=pressure,
        spills=facts.spills,
        mix=_mixes(parsed),
        findings=findings,
        run=capture.manifest.run if capture.manifest else None,
        code=_code(capture, locations, provenance),
        sources=provenance.sources,
        unknown=provenance.unknown,
    )


def _triton_version(capture: Capture, provenance: Provenance) -> str | None:
    if capture.manifest:
        return capture.manifest.triton_version
    if capture.metadata and capture.metadata.triton_version:
        return capture.metadata.triton_version
    reason = "Triton's metadata is not in this capture, or too old to say"
    provenance.missing(reason, "triton_version")
    return None


def _note_options(capture: Capture, provenance: Provenance) -> None:
    """Note whether the compile options are known, and whether they are all that were chosen."""
    version = capture.metadata.triton_version if capture.metadata else None
    if capture.config.options is None:
        reason = "Triton's metadata is not in this capture"
    elif capture.manifest is not None and capture.manifest.options is not None:
        return  # the compiler itself stated its defaults
    elif is_known_release(version):
        return
    else:
        reason = (
            f"the defaults of Triton {version} are not known to this irlens"
            if version
            else "Triton's metadata is too old to say which version's defaults it has"
        )
    provenance.missing(reason, "config.options")


def _stage_sizes(capture: Capture) -> dict[str, StageSize]:
    ordered = sorted(capture.stages.values(), key=lambda stage: STAGE_ORDER.index(stage.name))
    return {stage.name: _stage_size(stage) for stage in ordered}


def _stage_size(stage: Stage) -> StageSize:
    content = stage.read()
    lines = None if stage.name in BINARY_STAGES else len(content.splitlines())
    return StageSize(lines=lines, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def _pipelines(
    capture: Capture,
    parsed: Parsed,
    demand: Demand,
    loads: tuple[LoopLoad, ...],
    serialized: bool | None,
    specialization: Specialization | None,
    provenance: Provenance,
) -> list[Pipeline]:
    requested = requested_stages(parsed.ttir, capture.config.num_stages)
    threads = demand.usage.threads if demand.usage else None
    if parsed.amdgcn is not None:
        from irlens.analyze.pipelines import amdgcn as amd_pipelines

        provenance.known("amdgcn, loads followed to their waits and uses", "pipelines")
        pipelines = amd_pipelines.find_pipelines(
            parsed.amdgcn,
            threads_per_cta=threads,
            requested=requested,
            of_source=source_bytes(loads),
        )
        return amd_pipelines.against_source(pipelines, loads, parsed.ttgir)
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
        )
    )
    origin = "ptx, copies, commits and waits followed along the control flow"
    if serialized is not None and any(pipeline.kind == "wgmma" for pipeline in pipelines):
        origin += "; cubin, whether ptxas serialized matrix products"
    provenance.known(origin, "pipelines")
    return pipelines


def _specialization(parsed: Parsed, provenance: Provenance) -> Specialization | None:
    if parsed.ptx is None:
        if parsed.amdgcn is None:
            provenance.missing(NO_ASSEMBLY, "warp_groups")
        elif parsed.ttgir is not None and warp_specialization.is_specialized(parsed.ttgir):
            provenance.missing(warp_specialization.NO_PTX, "warp_groups")
        return None
    specialization = warp_specialization.find(parsed.ptx, parsed.flows["ptx"], parsed.ttgir)
    if specialization is not None and specialization.reason:
        provenance.missing(specialization.reason, "warp_groups")
    elif specialization is not None:
        provenance.known("ttgir, ttg.warp_specialize; ptx, setmaxnreg", "warp_groups")
    return specialization


def _with_bytes_per_sm(
    pipeline: Pipeline, gpu: Gpu | None, occupancy: Occupancy | None
) -> Pipeline:
    """Add a pipeline's bytes in flight per SM, and the bytes that hide the memory's latency."""
    in_flight = pipeline.bytes_in_flight
    return msgspec.structs.replace(
        pipeline,
        bytes_in_flight_per_sm=(
            in_flight * occupancy.blocks_per_sm
            if in_flight is not None and occupancy is not None and occupancy.launchable
            else None
        ),
        bytes_to_cover_latency=gpu.bytes_to_cover_latency if gpu is not None else None,
    )


def _shared_memory(capture: Capture, parsed: Parsed, provenance: Provenance) -> SharedMemory | None:
    if parsed.ttgir is None:
        provenance.missing("there is no ttgir in this capture", "memory")
        return None
    provenance.known("ttgir, ttg.local_alloc and their live ranges", "memory")
    return shared_memory.explain(
        parsed.ttgir, capture.metadata.shared if capture.metadata is not None else None
    )


def _pressure(parsed: Parsed, has_cubin: bool, provenance: Provenance) -> Pressure:
    stages: dict[str, StagePressure] = {}
    for function in (parsed.ptx, parsed.amdgcn):
        if function is not None:
            flow = parsed.flows[function.stage]
            stages[function.stage] = register_pressure.analyze(function, flow)
    if parsed.sass is not None:
        from irlens.analyze import sass_pressure

        stages["sass"] = sass_pressure.analyze(parsed.sass)
    elif has_cubin:
        provenance.missing(NOT_DISASSEMBLED, "pressure.sass")
    for stage, pressure in stages.items():
        provenance.known(f"{stage}, liveness over its control flow", f"pressure.{stage}")
        if pressure.peak is None:
            provenance.missing(pressure.reason, f"pressure.{stage}.peak")
    return Pressure(**stages)


def _pressure_lines(pressure: Pressure) -> Iterable[SourceLocation]:
    """Source lines with a pressure figure."""
    for _, stage in pressure.stages():
        yield from (line.source for line in stage.lines)


def _spills(parsed: Parsed, demand: Demand, provenance: Provenance) -> list[SpillSite] | None:
    if parsed.amdgcn is None and demand.resources.local_bytes == 0:
        return []
    machine_code = parsed.amdgcn or parsed.sass
    if machine_code is not None:
        return find_spills(machine_code, parsed.flows[machine_code.stage])
    reason = (
        "there is no machine code in this capture"
        if demand.resources.local_bytes is None
        else NOT_DISASSEMBLED
    )
    provenance.missing(reason, "spills")
    return None


def _mixes(parsed: Parsed) -> list[InstructionMix]:
    if parsed.ptx is not None:
        return [instruction_mix(parsed.ptx, parsed.device_functions)]
    return [instruction_mix(parsed.amdgcn)] if parsed.amdgcn is not None else []


def _code(
    capture: Capture, locations: Iterable[SourceLocation | None], provenance: Provenance
) -> dict[str, str]:
    """The source lines that the report refers to, if the capture holds the source."""
    code: dict[str, str] = {}
    lines: dict[str, list[str]] = {}
    for location in sorted({each for each in locations if each is not None}):
        if location.file not in lines:
            lines[location.file] = (capture.python(location.file) or "").splitlines()
            if capture.refuses_python(location.file):
                reason = f"python/{location.file} leads out of the capture and is not read"
                provenance.missing(reason, "code")
        if 1 <= location.line <= len(lines[location.file]):
            code[str(location)] = lines[location.file][location.line - 1].strip()
    return code
