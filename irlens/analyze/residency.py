"""A capture on its GPU: which one that is, and how much of it the kernel can fill."""

from irlens import gpus as arch
from irlens.analyze import occupancy
from irlens.analyze.ledger import Ledger
from irlens.analyze.resources import Demand
from irlens.gpus import Gpu
from irlens.model.capture import Capture
from irlens.model.errors import UnknownNameError
from irlens.model.report import Occupancy


def find_gpu(capture: Capture, ledger: Ledger) -> Gpu | None:
    """Return the GPU that a capture was compiled for.

    Args:
        capture: Any capture.
        ledger: Receives the reason where it is unknown, which is ``None``.
    """
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


def find_occupancy(
    capture: Capture, gpu: Gpu | None, demand: Demand, ledger: Ledger, *, changes: bool = True
) -> Occupancy | None:
    """Return how much of a GPU a kernel can fill.

    Args:
        capture: Its grid tells how often it does.
        gpu: What it was compiled for.
        demand: What it asks for.
        ledger: Receives the origin, or why something is missing.
        changes: Whether to find what a change would do, which takes most of the time.
    """
    if gpu is None or demand.usage is None:
        missing = [path.partition(".")[2] for path in ledger.unknown if "resources." in path]
        reason = f"it depends on {', '.join(missing)}" if missing else "the CTA's size is not known"
        ledger.missing(reason, "occupancy")
        return None
    ledger.known(f"computed from resources and the limits of {gpu.arch.name}", "occupancy")
    grid_ctas = _grid_ctas(capture)
    found = occupancy.compute(gpu, demand.usage, grid_ctas=grid_ctas, changes=changes)
    if found.waves is None and found.launchable:
        ledger.missing(_no_waves(capture, gpu), "occupancy.waves")
    return found


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
