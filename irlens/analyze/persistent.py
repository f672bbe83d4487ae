"""How many programs a persistent launch has, and how many the tutorial's formula gives it."""

from math import prod

from irlens.gpus import Gpu
from irlens.model.config import Config
from irlens.model.program import Persistence
from irlens.model.report import Occupancy
from irlens.model.resources import Resources


def persistence(
    gpu: Gpu | None, occupancy: Occupancy | None, resources: Resources, config: Config
) -> Persistence | None:
    """Return how a persistent launch fills the GPU.

    ``None`` where the launch has not as many programs as the GPU holds, or that is unknown.
    """
    if gpu is None or gpu.sm_count is None or occupancy is None or config.grid is None:
        return None
    fits = occupancy.blocks_per_sm
    if not fits or prod(config.grid) * (config.num_ctas or 1) != gpu.sm_count * fits:
        return None
    return Persistence(
        multiprocessor=occupancy.multiprocessor,
        sm_count=gpu.sm_count,
        blocks_per_sm=fits,
        tutorial_blocks_per_sm=_of_tutorial(gpu, resources, config),
    )


def _of_tutorial(gpu: Gpu, resources: Resources, config: Config) -> int | None:
    """Return the CTAs per SM of Triton's softmax tutorial; ``None`` where it has no answer.

    ``NUM_REGS // (n_regs * WARP_SIZE * num_warps)``, and at most ``SIZE_SMEM // shared``: registers
    without their granule, no limit of warps and blocks, and no memory that the system reserves.
    NUM_REGS and SIZE_SMEM are what the driver gives Triton: the registers of a block, and the
    shared memory that a block may opt in to. Of AMD the tutorial says something else.
    """
    if gpu.arch.vendor != "nvidia" or not resources.registers or not config.num_warps:
        return None
    registers = resources.registers * gpu.target.warp_size * config.num_warps
    blocks = gpu.arch.registers_per_block // registers
    shared = resources.shared_dynamic_bytes
    if shared is None:
        return None
    return min(blocks, gpu.arch.shared_per_block_optin // shared) if shared else blocks
