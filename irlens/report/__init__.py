"""From a capture to its report: the one path that everything takes."""

import hashlib
from collections.abc import Iterable

import msgspec

from irlens import rules as checks
from irlens.analyze import cfg, shared_memory, ttgir_loads
from irlens.analyze import pressure as register_pressure
from irlens.analyze.facts import Facts
from irlens.analyze.ledger import Ledger
from irlens.analyze.mlir_loops import requested_stages
from irlens.analyze.pipelines import find_pipelines, warp_groups
from irlens.analyze.pipelines.repeated import source_bytes
from irlens.analyze.pipelines.serialized import find_serialized
from irlens.analyze.pipelines.warp_groups import Specialization
from irlens.analyze.residency import find_gpu, find_occupancy
from irlens.analyze.resources import Demand, read_demand
from irlens.analyze.tensor_memory import with_tensor_memory
from irlens.gpus import Gpu
from irlens.isa.ptx import mix
from irlens.model.capture import BINARY_STAGES, STAGE_ORDER, Capture, Stage
from irlens.model.memory import LoopLoad, SharedMemory
from irlens.model.pressure import Pressure, StagePressure
from irlens.model.report import SCHEMA, InstructionMix, Occupancy, Pipeline, Report, StageSize
from irlens.model.source import SourceLocation
from irlens.model.spills import SpillSite
from irlens.report.parsed import Parsed, parse

NO_ASSEMBLY = "there is no ptx and no amdgcn in this capture"


def inspect(capture: Capture, *, sass: bool = False) -> Report:
    """Return everything that can be known of a capture.

    What cannot be known is ``None`` in the report, with the reason under ``unknown``.

    Args:
        capture: Any capture, however little it holds.
        sass: Whether to disassemble the cubin too, which takes a moment.

    Raises:
        ArtifactError: An artifact is broken.
        ToolError: ``sass`` is asked for, and the disassembler is missing or failed.
    """
    ledger = Ledger()
    gpu = find_gpu(capture, ledger)
    demand = read_demand(capture, gpu, ledger)
    parsed = parse(capture, ledger, sass=sass)
    resources = with_tensor_memory(demand.resources, capture, parsed.ptx, gpu, ledger)
    occupancy = find_occupancy(capture, gpu, demand, ledger)
    loads = _loads(capture, parsed)
    specialization = _specialization(parsed, ledger)
    groups = specialization.groups if specialization is not None else ()
    serialized = find_serialized(capture, parsed.ptx) if parsed.ptx is not None else None
    pipelines = [
        _on_the_gpu(pipeline, gpu, occupancy)
        for pipeline in _pipelines(
            capture, parsed, demand, loads, serialized, specialization, ledger
        )
    ]
    pressure = _pressure(parsed, ledger)
    spills = _spills(parsed, demand, ledger)
    facts = Facts(
        gpu=gpu,
        config=capture.config,
        resources=resources,
        occupancy=occupancy,
        pipelines=pipelines,
        threads=demand.usage.threads if demand.usage else None,
        warp_groups=groups,
        ttir=parsed.ttir,
        ttgir=parsed.ttgir,
        loads=loads,
        ptx=parsed.ptx,
        spills=spills,
        serialized=serialized,
    )
    findings = checks.run(facts)
    places = [
        *(pipeline.source for pipeline in pipelines),
        *(load.source for load in loads),
        *(finding.source for finding in findings),
        *_pressed(pressure),
    ]
    return Report(
        schema=SCHEMA,
        kernel=capture.kernel,
        target=capture.target,
        triton_version=_triton_version(capture, ledger),
        config=capture.config,
        stages=_sizes(capture),
        resources=resources,
        occupancy=occupancy,
        warp_groups=list(groups),
        pipelines=pipelines,
        loads=list(loads),
        memory=_memory(capture, parsed, ledger),
        pressure=pressure,
        spills=spills,
        mix=_mixes(parsed),
        findings=findings,
        run=capture.manifest.run if capture.manifest else None,
        code=_code(capture, places),
        sources=ledger.sources,
        unknown=ledger.unknown,
    )


def _triton_version(capture: Capture, ledger: Ledger) -> str | None:
    if capture.manifest:
        return capture.manifest.triton_version
    if capture.metadata and capture.metadata.triton_version:
        return capture.metadata.triton_version
    ledger.missing("Triton's metadata is not in this capture, or too old to say", "triton_version")
    return None


def _sizes(capture: Capture) -> dict[str, StageSize]:
    ordered = sorted(capture.stages.values(), key=lambda stage: STAGE_ORDER.index(stage.name))
    return {stage.name: _size(stage) for stage in ordered}


def _size(stage: Stage) -> StageSize:
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
    ledger: Ledger,
) -> list[Pipeline]:
    requested = requested_stages(parsed.ttir, capture.config.num_stages)
    threads = demand.usage.threads if demand.usage else None
    if parsed.amdgcn is not None:
        from irlens.analyze.pipelines import amdgcn as amd_pipelines
        from irlens.analyze.pipelines.source_iterations import against_source

        ledger.known("amdgcn, loads followed to their waits and uses", "pipelines")
        found = amd_pipelines.find_pipelines(
            parsed.amdgcn,
            threads_per_cta=threads,
            requested=requested,
            of_source=source_bytes(loads),
        )
        return against_source(found, loads, parsed.ttgir)
    if parsed.ptx is None:
        ledger.missing(NO_ASSEMBLY, "pipelines")
        return []
    found = find_pipelines(
        parsed.ptx,
        cfg.build(parsed.ptx),
        threads_per_cta=threads or parsed.ptx.threads_per_cta,
        requested=requested,
        serialized=serialized,
        specialization=specialization,
        of_source=source_bytes(loads),
    )
    origin = "ptx, copies, commits and waits followed along the control flow"
    if serialized is not None and any(pipeline.kind == "wgmma" for pipeline in found):
        origin += "; cubin, whether ptxas serialized matrix products"
    ledger.known(origin, "pipelines")
    return found


def _specialization(parsed: Parsed, ledger: Ledger) -> Specialization | None:
    if parsed.ptx is None:
        if parsed.amdgcn is None:
            ledger.missing(NO_ASSEMBLY, "warp_groups")
        elif parsed.ttgir is not None and warp_groups.is_specialized(parsed.ttgir):
            ledger.missing(warp_groups.NO_PTX, "warp_groups")
        return None
    found = warp_groups.find(parsed.ptx, cfg.build(parsed.ptx), parsed.ttgir)
    if found is not None and found.reason:
        ledger.missing(found.reason, "warp_groups")
    elif found is not None:
        ledger.known("ttgir, ttg.warp_specialize; ptx, setmaxnreg", "warp_groups")
    return found


def _on_the_gpu(pipeline: Pipeline, gpu: Gpu | None, occupancy: Occupancy | None) -> Pipeline:
    """Say what a CTA's pipeline comes to on an SM, and what the GPU's memory would need."""
    flying = pipeline.bytes_in_flight
    return msgspec.structs.replace(
        pipeline,
        bytes_in_flight_per_sm=(
            flying * occupancy.blocks_per_sm
            if flying is not None and occupancy is not None and occupancy.launchable
            else None
        ),
        bytes_to_cover_latency=gpu.bytes_to_cover_latency if gpu is not None else None,
    )


def _loads(capture: Capture, parsed: Parsed) -> tuple[LoopLoad, ...]:
    if parsed.ttgir is None:
        return ()
    return ttgir_loads.find(parsed.ttgir, capture.config.num_stages)


def _memory(capture: Capture, parsed: Parsed, ledger: Ledger) -> SharedMemory | None:
    if parsed.ttgir is None:
        ledger.missing("there is no ttgir in this capture", "memory")
        return None
    ledger.known("ttgir, ttg.local_alloc and their live ranges", "memory")
    return shared_memory.explain(
        parsed.ttgir, capture.metadata.shared if capture.metadata is not None else None
    )


def _pressure(parsed: Parsed, ledger: Ledger) -> Pressure:
    found: dict[str, StagePressure] = {}
    if parsed.ptx is not None:
        found["ptx"] = register_pressure.analyze(parsed.ptx, cfg.build(parsed.ptx))
    if parsed.sass is not None:
        from irlens.analyze import sass_pressure

        found["sass"] = sass_pressure.analyze(parsed.sass)
    if parsed.amdgcn is not None:
        found["amdgcn"] = register_pressure.analyze(parsed.amdgcn, cfg.build(parsed.amdgcn))
    for stage, pressure in found.items():
        ledger.known(f"{stage}, liveness over its control flow", f"pressure.{stage}")
        if pressure.peak is None:
            ledger.missing(pressure.reason, f"pressure.{stage}.peak")
    return Pressure(**found)


def _spills(parsed: Parsed, demand: Demand, ledger: Ledger) -> list[SpillSite] | None:
    if parsed.amdgcn is not None:
        from irlens.analyze import amdgcn_spills

        return amdgcn_spills.find_spills(parsed.amdgcn, cfg.build(parsed.amdgcn))
    if demand.resources.local_bytes == 0:
        return []
    if parsed.sass is not None:
        from irlens.analyze import sass_spills

        return sass_spills.find_spills(parsed.sass)
    reason = (
        "there is no machine code in this capture"
        if demand.resources.local_bytes is None
        else "the machine code was not disassembled; --pressure does that"
    )
    ledger.missing(reason, "spills")
    return None


def _pressed(pressure: Pressure) -> Iterable[SourceLocation]:
    """The lines of Python that the pressure is told by."""
    for stage in (pressure.ptx, pressure.sass, pressure.amdgcn):
        if stage is not None:
            yield from (line.source for line in stage.lines)


def _mixes(parsed: Parsed) -> list[InstructionMix]:
    if parsed.ptx is not None:
        return [mix.instruction_mix(parsed.ptx)]
    if parsed.amdgcn is not None:
        from irlens.isa.amdgcn import mix as amdgcn_mix

        return [amdgcn_mix.instruction_mix(parsed.amdgcn)]
    return []


def _code(capture: Capture, places: Iterable[SourceLocation | None]) -> dict[str, str]:
    """The lines of Python that the report speaks of, if the capture holds the source."""
    code: dict[str, str] = {}
    lines: dict[str, list[str]] = {}
    for place in sorted({place for place in places if place is not None}):
        if place.file not in lines:
            lines[place.file] = (capture.python(place.file) or "").splitlines()
        if 1 <= place.line <= len(lines[place.file]):
            code[str(place)] = lines[place.file][place.line - 1].strip()
    return code
