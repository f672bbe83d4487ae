"""What if a kernel asked for other amounts?"""

from msgspec.structs import replace

from irlens import gpus as arch
from irlens.analyze.ledger import Ledger
from irlens.analyze.occupancy import Usage, compute
from irlens.analyze.residency import find_gpu
from irlens.analyze.resources import read_demand
from irlens.gpus import Gpu
from irlens.model.capture import Capture
from irlens.model.errors import IrlensError
from irlens.model.report import Occupancy, Report


class Demands:
    """A kernel on its GPU, ready to be asked what would happen with other demands.

    Args:
        gpu: What it was compiled for.
        usage: What it asks for.
        num_warps: Warps per CTA that it was compiled for.
    """

    def __init__(self, gpu: Gpu, usage: Usage, num_warps: int) -> None:
        self._gpu = gpu
        self._usage = usage
        self._num_warps = num_warps

    def occupancy(self, *, registers: int, shared_bytes: int, num_warps: int) -> Occupancy:
        """Return the occupancy with other demands.

        Args:
            registers: Per thread, of those that occupancy is computed from.
            shared_bytes: Per CTA, static and dynamic together.
            num_warps: Warps per CTA. Warps that the compiler added by itself stay.
        """
        more = num_warps - self._num_warps
        usage = replace(
            self._usage,
            threads=self._usage.threads + more * self._gpu.arch.warp_size,
            registers=registers,
            shared_bytes=shared_bytes,
            # Compiled for other warps it would say so.
            max_threads=None if more else self._usage.max_threads,
        )
        return compute(self._gpu, usage)


def demands_of_capture(capture: Capture) -> Demands | None:
    """Return a capture's demands, ``None`` where something that decides is not known.

    Raises:
        ArtifactError: The binary is broken or gone.
    """
    ledger = Ledger()
    gpu = find_gpu(capture, ledger)
    usage = read_demand(capture, gpu, ledger).usage
    num_warps = capture.config.num_warps
    if gpu is None or usage is None or num_warps is None:
        return None
    return Demands(gpu, usage, num_warps)


def demands_of_report(report: Report) -> Demands | None:
    """Return what a report tells of the demands; ``None`` where that does not lead to its figures.

    A report does not tell, for example, how many warps the compiler added for itself.
    """
    held, config, target = report.resources, report.config, report.target
    static, dynamic = held.shared_static_bytes, held.shared_dynamic_bytes
    if target is None or held.registers is None or static is None or dynamic is None:
        return None
    if config.num_warps is None or report.occupancy is None:
        return None
    try:
        gpu = arch.find(target.name)
        usage = Usage(
            threads=config.num_warps * target.warp_size,
            registers=held.registers,
            shared_bytes=static + dynamic,
            barriers=held.barriers or 1,
            scalar_registers=held.sgprs or 0,
            cluster_ctas=config.num_ctas or 1,
        )
    except IrlensError:
        return None
    demands = compute(gpu, usage)
    if demands.limits != report.occupancy.limits:
        return None
    return Demands(gpu, usage, config.num_warps)
