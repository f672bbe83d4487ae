"""What a launch moves and its roofline: the figures that need arguments and a grid."""

from typing import cast

from irlens.analyze.facts import Provenance
from irlens.analyze.roofline import roofline
from irlens.gpus import Dtype, Gpu
from irlens.isa.mlir import Module
from irlens.model.capture import Capture
from irlens.model.roofline import Roofline
from irlens.model.traffic import Traffic

NO_LAUNCH = "the launch is unknown: --arg and --grid give its arguments and its grid"
_NO_GRID = "the grid is unknown: --grid gives it"
#: What evaluating an untrusted ttir raises where it holds what no compiler writes. A report of
#: everything else must not fail with it.
_EVALUATION_ERRORS = (
    ArithmeticError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
)  # fmt: skip


def find_traffic(capture: Capture, ttir: Module | None, provenance: Provenance) -> Traffic | None:
    """Return what a capture's launch moves.

    Args:
        capture: Its configuration has the launch.
        ttir: Its ttir.
        provenance: Receives the origin under "traffic", or why figures are unknown.
    """
    config = capture.config
    if ttir is None:
        provenance.missing("there is no ttir in this capture", "traffic")
        return None
    if not config.args or config.grid is None:
        provenance.missing(_NO_GRID if config.args else NO_LAUNCH, "traffic")
        return None
    traffic = _count(capture, ttir, config.grid)
    if traffic.read_bytes is not None:
        origin = "ttir, its addresses and masks evaluated for every program of the grid"
        provenance.known(origin, "traffic")
    if traffic.reason:
        provenance.missing(traffic.reason, "traffic")
    return traffic


def find_roofline(
    traffic: Traffic | None, gpu: Gpu | None, provenance: Provenance
) -> Roofline | None:
    """Return the roofline of a launch; ``None`` where its bytes or the GPU are unknown.

    Args:
        traffic: What the launch moves.
        gpu: The GPU, for its peaks.
        provenance: Receives the origin under "roofline", or why figures are unknown.
    """
    if traffic is None or gpu is None:
        return None  # "traffic" or "target" has the reason
    read, written = traffic.distinct_read_bytes, traffic.distinct_written_bytes
    tensor, vector = _operations(traffic)
    result = roofline(
        gpu, None if read is None or written is None else read + written, tensor, vector
    )
    if result.reason:
        provenance.missing(result.reason, "roofline")
    if result.memory_us is not None or result.compute_us is not None:
        provenance.known(f"traffic, at the theoretical peaks of {gpu.name}", "roofline")
    return result


def _count(capture: Capture, ttir: Module, grid: tuple[int, int, int]) -> Traffic:
    from irlens.analyze import traffic  # most captures have no launch, and need no numpy

    try:
        return traffic.count(ttir, capture.config.args, grid)
    except _EVALUATION_ERRORS as error:
        return Traffic(reason=f"the ttir cannot be evaluated: {type(error).__name__}")


def _operations(traffic: Traffic) -> tuple[dict[Dtype, int] | None, dict[Dtype, int] | None]:
    """Return the operations of tensor cores and of all other units, by type."""
    if traffic.flops is None or traffic.tensor_flops is None:
        return None, None
    tensor = traffic.tensor_flops
    vector = {name: number - tensor.get(name, 0) for name, number in traffic.flops.items()}
    return cast(dict[Dtype, int], tensor), cast(dict[Dtype, int], vector)
