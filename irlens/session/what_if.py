"""Occupancy of a kernel under other resource demands than its own."""

from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.facts import Provenance
from irlens.analyze.occupancy import Usage, compute
from irlens.analyze.resources import find_gpu, read_demand
from irlens.gpus import Gpu
from irlens.model.capture import Capture
from irlens.model.errors import IrlensError
from irlens.model.report import Occupancy, Report


class Demand:
    """The resource demand of a kernel on its GPU, of which some parts can be varied."""

    def __init__(self, gpu: Gpu, usage: Usage, num_warps: int) -> None:
        self._gpu = gpu
        self._usage = usage
        self._num_warps = num_warps

    def occupancy(self, *, registers: int, shared_bytes: int, num_warps: int) -> Occupancy:
        """Return the occupancy with other demands.

        Args:
            registers: Registers per thread that occupancy is computed from.
            shared_bytes: Shared memory per CTA, static and dynamic.
            num_warps: Warps per CTA. Warps that the compiler added stay in addition.
        """
        added = num_warps - self._num_warps
        usage = replace(
            self._usage,
            threads=self._usage.threads + added * self._gpu.arch.warp_size,
            registers=registers,
            shared_bytes=shared_bytes,
            # The limit in the binary holds for the compiled number of warps only.
            max_threads=None if added else self._usage.max_threads,
        )
        return compute(self._gpu, usage)


def demand_of_capture(capture: Capture) -> Demand | None:
    """Return a capture's demand, ``None`` if the GPU, the usage or the warps are unknown.

    Raises:
        ArtifactError: The binary is broken or gone.
    """
    provenance = Provenance()
    gpu = find_gpu(capture.target, capture.metadata, provenance)
    usage = read_demand(CaptureCode(capture), gpu, provenance).usage
    num_warps = capture.config.num_warps
    if gpu is None or usage is None or num_warps is None:
        return None
    return Demand(gpu, usage, num_warps)


def demand_of_report(report: Report) -> Demand | None:
    """Return the demand in a report; ``None`` if it does not reproduce the report's occupancy.

    A report does not record, for example, how many warps the compiler added.
    """
    resources, config, target = report.resources, report.config, report.target
    static, dynamic = resources.shared_static_bytes, resources.shared_dynamic_bytes
    if target is None or resources.registers is None or static is None or dynamic is None:
        return None
    if config.num_warps is None or report.occupancy is None:
        return None
    try:
        gpu = gpus.find(target.name)
        usage = Usage(
            threads=config.num_warps * target.warp_size,
            registers=resources.registers,
            shared_bytes=static + dynamic,
            barriers=resources.barriers or 1,
            scalar_registers=resources.sgprs or 0,
            cluster_ctas=config.num_ctas or 1,
        )
    except IrlensError:
        return None
    if compute(gpu, usage).limits != report.occupancy.limits:
        return None
    return Demand(gpu, usage, config.num_warps)
