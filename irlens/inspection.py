"""From a capture to its report: the one path that everything takes."""

import hashlib
from collections.abc import Iterable

from irlens import arch
from irlens.analyze import amdgcn_mix, cfg, mix
from irlens.analyze.ledger import Ledger
from irlens.analyze.mlir_loops import requested_stages
from irlens.analyze.occupancy import compute
from irlens.analyze.pipelines import cp_async
from irlens.analyze.resources import Demand, read_demand
from irlens.arch import Gpu
from irlens.model.capture import BINARY_STAGES, STAGE_ORDER, Capture, Stage
from irlens.model.errors import UnknownNameError
from irlens.model.report import (
    SCHEMA,
    InstructionMix,
    Occupancy,
    Pipeline,
    Report,
    StageSize,
)
from irlens.model.source import SourceLocation
from irlens.parse import amdgcn, mlir, ptx


def inspect(capture: Capture) -> Report:
    """Return everything that can be known of a capture.

    What cannot be known is ``None`` in the report, with the reason under ``unknown``.

    Raises:
        ArtifactError: An artifact is broken.
    """
    ledger = Ledger()
    gpu = _gpu(capture, ledger)
    demand = read_demand(capture, gpu, ledger)
    ttir, _ttgir = _mlir(capture, "ttir"), _mlir(capture, "ttgir")
    kernel = _ptx_kernel(capture, ledger)
    pipelines = _pipelines(capture, kernel, ttir, demand, ledger)
    return Report(
        schema=SCHEMA,
        kernel=capture.kernel,
        target=capture.target,
        triton_version=_triton_version(capture, ledger),
        config=capture.config,
        stages=_sizes(capture),
        resources=demand.resources,
        occupancy=_occupancy(capture, gpu, demand, ledger),
        pipelines=pipelines,
        mix=_mixes(capture, kernel),
        findings=[],
        run=capture.manifest.run if capture.manifest else None,
        code=_code(capture, (pipeline.source for pipeline in pipelines)),
        sources=ledger.sources,
        unknown=ledger.unknown,
    )


def _gpu(capture: Capture, ledger: Ledger) -> Gpu | None:
    target = capture.target
    if target is None:
        ledger.missing("no artifact says what it was compiled for", "target", "occupancy")
        return None
    try:
        gpu = arch.find(target.product) if target.product else arch.by_arch(target.arch)
    except UnknownNameError:
        ledger.missing(f"irlens has no row for {target.arch}", "occupancy")
        return None
    if capture.metadata and capture.metadata.wgp_cu_mode == "cu":
        return gpu.in_cu_mode()
    return gpu


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


def _occupancy(
    capture: Capture, gpu: Gpu | None, demand: Demand, ledger: Ledger
) -> Occupancy | None:
    if gpu is None or demand.usage is None:
        missing = [path.partition(".")[2] for path in ledger.unknown if "resources." in path]
        reason = f"it depends on {', '.join(missing)}" if missing else "the CTA's size is not known"
        ledger.missing(reason, "occupancy")
        return None
    ledger.known(f"computed from resources and the limits of {gpu.arch.name}", "occupancy")
    occupancy = compute(gpu, demand.usage, grid_ctas=_grid_ctas(capture))
    if occupancy.waves is None and occupancy.launchable:
        ledger.missing(_no_waves(capture, gpu), "occupancy.waves")
    return occupancy


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


def _ptx_kernel(capture: Capture, ledger: Ledger) -> ptx.Function | None:
    if "ptx" not in capture.stages:
        return None
    kernels = ptx.parse(capture.stages["ptx"].text()).kernels
    named = [kernel for kernel in kernels if kernel.name == capture.kernel]
    if not named and len(kernels) == 1:
        named = list(kernels)
    if not named:
        ledger.missing(f"the ptx holds no kernel named {capture.kernel}", "pipelines", "mix")
        return None
    return named[0]


def _pipelines(
    capture: Capture,
    kernel: ptx.Function | None,
    ttir: mlir.Module | None,
    demand: Demand,
    ledger: Ledger,
) -> list[Pipeline]:
    if kernel is None:
        reason = (
            "software pipelining is read from ptx; for AMD it is not analysed yet"
            if "amdgcn" in capture.stages
            else "there is no ptx in this capture"
        )
        ledger.missing(reason, "pipelines")
        return []
    ledger.known("ptx, cp.async groups followed along the control flow", "pipelines")
    threads = demand.usage.threads if demand.usage else kernel.threads_per_cta

    return cp_async.find(
        kernel,
        cfg.build(kernel),
        threads_per_cta=threads,
        requested=requested_stages(ttir, capture.config.num_stages),
    )


def _mlir(capture: Capture, name: str) -> mlir.Module | None:
    stage = capture.stages.get(name)
    return mlir.parse(stage.text(), stage=name) if stage is not None else None


def _mixes(capture: Capture, kernel: ptx.Function | None) -> list[InstructionMix]:
    if kernel is not None:
        return [mix.instruction_mix(kernel)]
    if "amdgcn" not in capture.stages:
        return []
    functions = amdgcn.parse(capture.stages["amdgcn"].text()).kernels
    named = [function for function in functions if function.name == capture.kernel]
    return [amdgcn_mix.instruction_mix(function) for function in named]


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
