"""How many CTAs of a kernel an SM can hold, why not more, and what would change it.

One rule serves every GPU, since what differs is a field of its row: registers are handed to each
warp in whole units and each sub-partition of the SM hands out its own, shared memory goes to each
CTA in whole units, the driver's part included. It equals the CUDA driver's answer
(``cuOccupancyMaxActiveBlocksPerMultiprocessor``), NVIDIA's calculator (``cuda_occupancy.h``) and,
for registers, what LLVM prints for AMD as ``; Occupancy:``.
"""

from irlens.analyze.occupancy.changes import curve, next_steps
from irlens.analyze.occupancy.per_sm import (
    Usage,
    limits,
    present,
    refusals,
    resident_blocks,
    theoretical,
    warps_of,
)
from irlens.gpus import Gpu
from irlens.model.curve import CURVES
from irlens.model.report import Occupancy

__all__ = ["Usage", "compute"]


def compute(
    gpu: Gpu, usage: Usage, *, grid_ctas: int | None = None, changes: bool = True
) -> Occupancy:
    """Compute the theoretical occupancy of a kernel.

    Shared memory is judged by the largest carve-out; ``gpu.with_shared_per_sm`` asks for another.

    Args:
        gpu: Where it runs; waves are known only if the product is.
        usage: What one CTA needs.
        grid_ctas: CTAs of the launch, all clusters together; ``None`` if unknown.
        changes: Whether to find what a change would do, which takes most of the time.
    """
    arch = gpu.arch
    allowed = limits(arch, usage)
    blocks = resident_blocks(allowed)
    waves, tail = _waves(gpu, usage, blocks, grid_ctas)
    return Occupancy(
        multiprocessor=arch.multiprocessor,
        blocks_per_sm=blocks,
        active_warps=blocks * warps_of(arch, usage),
        max_warps=arch.warps_per_sm,
        theoretical=theoretical(arch, usage, blocks),
        launchable=blocks > 0,
        limits=allowed,
        limited_by=[name for name, limit in present(allowed) if limit == blocks],
        next_step=next_steps(arch, usage, blocks) if changes else [],
        refusals=refusals(arch, usage),
        waves=waves,
        tail=tail,
        curves=[curve(arch, usage, name) for name in CURVES] if changes else [],
    )


def _waves(
    gpu: Gpu, usage: Usage, blocks: int, grid_ctas: int | None
) -> tuple[float | None, float | None]:
    # A cluster must find room within one group of SMs, so how many CTAs a GPU holds at once is
    # not a multiple of what one SM holds.
    if grid_ctas is None or gpu.sm_count is None or blocks == 0 or usage.cluster_ctas > 1:
        return None, None
    capacity = blocks * gpu.sm_count
    tail = grid_ctas % capacity or capacity
    return grid_ctas / capacity, tail / capacity if grid_ctas else None
