"""Occupancy: how many CTAs an SM can hold, what limits them, and what would change it.

On AMD a CTA is a workgroup, and an SM a CU or WGP.

One rule serves every GPU, since what differs is a field of its row. Registers are handed to each
warp in whole units and each sub-partition of the SM hands out its own; shared memory goes to each
CTA in whole units, the driver's part included. It equals the CUDA driver's answer
(``cuOccupancyMaxActiveBlocksPerMultiprocessor``), NVIDIA's calculator (``cuda_occupancy.h``) and,
for registers, what LLVM prints for AMD as ``; Occupancy:``.
"""

from collections.abc import Callable
from math import prod
from typing import NamedTuple, get_args

import msgspec
from msgspec.structs import replace

from irlens.gpus import Arch, Gpu
from irlens.model.config import Config
from irlens.model.errors import ArtifactError
from irlens.model.program import Persistence
from irlens.model.report import (
    CURVES,
    CurveName,
    LimitName,
    NextStep,
    Occupancy,
    OccupancyCurve,
    OccupancyLimits,
    Refusal,
)
from irlens.model.resources import Resources


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What one CTA of a kernel needs of an SM (AMD: a workgroup, of a CU or WGP).

    Attributes:
        registers: Registers per thread. For AMD the vector registers a lane is allocated,
            AGPRs included where the file is unified: the kernel descriptor's
            GRANULATED_WORKITEM_VGPR_COUNT, or LLVM's ``.vgpr_count``, which is too small where
            ``waves_per_eu`` caps the waves (LLVM then allocates more than it uses).
        shared_bytes: Shared memory per CTA, static and dynamic together, without the bytes that
            the driver adds.
        barriers: Named barriers per CTA: EIATTR_NUM_BARRIERS of a cubin, 1 if it has none.
        scalar_registers: AMD: scalar registers per wave, VCC and the like included.
        max_threads: Threads per CTA that the kernel was compiled for at most; ``None`` if any.
        needed: Registers per thread that it uses, where it is allocated more whatever it uses.

    Raises:
        ArtifactError: No kernel can need this.
    """

    threads: int
    registers: int
    shared_bytes: int
    barriers: int = 1
    scalar_registers: int = 0
    max_threads: int | None = None
    needed: int | None = None
    cluster_ctas: int = 1

    def __post_init__(self) -> None:
        amounts = (self.registers, self.shared_bytes, self.barriers, self.scalar_registers)
        if self.threads > 0 and self.cluster_ctas > 0 and min(amounts) >= 0:
            return  # occupancy curves have hundreds of them
        least = {"threads": 1, "cluster_ctas": 1}
        for field in (*least, "registers", "shared_bytes", "barriers", "scalar_registers"):
            value = getattr(self, field)
            if value < least.get(field, 0):
                raise ArtifactError(
                    f"no kernel has {value} {field.replace('_', ' ')}",
                    hint="the capture's metadata or binary is damaged",
                )


def compute(gpu: Gpu, usage: Usage, *, grid_ctas: int | None = None) -> Occupancy:
    """Return the occupancy of a kernel, and what a change would do; see ``fit``."""
    fitted = fit(gpu, usage, grid_ctas)
    return msgspec.structs.replace(
        fitted,
        next_step=next_steps(gpu.arch, usage, fitted.blocks_per_sm),
        curves=all_curves(gpu.arch, usage),
    )


def fit(gpu: Gpu, usage: Usage, grid_ctas: int | None = None) -> Occupancy:
    """Return the theoretical occupancy of a kernel, without next steps and curves.

    Shared memory is limited by the largest carve-out.

    Args:
        gpu: Where it runs; waves are known only if the product is.
        grid_ctas: CTAs of the launch, all clusters together; ``None`` if unknown.
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
        next_step=[],
        refusals=refusals(arch, usage),
        waves=waves,
        tail=tail,
        curves=[],
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


def limits(arch: Arch, usage: Usage) -> OccupancyLimits:
    """Return the CTAs per SM that each resource alone allows; 0 where one CTA is too much."""
    refuses_threads = any(each.resource == "threads" for each in refusals(arch, usage))
    return OccupancyLimits(
        warps=0 if refuses_threads else arch.warps_per_sm // warps_of(arch, usage),
        blocks=arch.blocks_per_sm,
        registers=_by_registers(arch, usage),
        shared_memory=_by_shared(arch, usage),
        barriers=_by_barriers(arch, usage),
    )


def _by_registers(arch: Arch, usage: Usage) -> int | None:
    warps = warps_of(arch, usage)
    largest = _registers_per_warp(arch, usage) * _round_up(warps, arch.partitions)
    if usage.registers > arch.register_allocation_max or largest > arch.registers_per_block:
        return 0
    served = warps_by_registers(arch, usage)
    return None if served is None else served * arch.partitions // warps


def _by_shared(arch: Arch, usage: Usage) -> int | None:
    if usage.shared_bytes > arch.shared_per_block_optin:
        return 0
    shared = _round_up(usage.shared_bytes + arch.shared_reserved_per_block, arch.shared_unit)
    return arch.shared_per_sm // shared if shared else None


def _by_barriers(arch: Arch, usage: Usage) -> int | None:
    barriers = _barriers(arch, usage)
    return arch.barriers_per_sm // barriers if arch.barriers_per_sm and barriers else None


def resident_blocks(allowed: OccupancyLimits) -> int:
    """Return the CTAs per SM that all resources together allow."""
    return min(limit for _, limit in present(allowed))


def warps_by_registers(arch: Arch, usage: Usage) -> int | None:
    """Return the warps that one sub-partition's registers can serve; ``None`` if it needs none.

    For AMD these are waves per SIMD, vector and scalar registers considered.
    """
    served = []
    if vector := _registers_per_warp(arch, usage):
        served.append(arch.registers_per_partition // vector)
    if arch.scalar_registers and usage.scalar_registers:
        file = arch.scalar_registers
        scalar = _round_up(usage.scalar_registers, file.unit) + file.reserved
        served.append(file.per_partition // scalar)
    return min(served, default=None)


def grid_refusals(arch: Arch, usage: Usage, grid: tuple[int, int, int] | None) -> list[Refusal]:
    """Return a refusal for each dimension of a grid that exceeds the limit of the GPU."""
    most = arch.most_in_grid(usage.threads) if grid is not None else ()
    return [
        Refusal(resource="grid", requested=extent, limit=limit, unit=f"CTAs in {axis}")
        for axis, extent, limit in zip("xyz", grid or (), most, strict=False)
        if extent > limit
    ]


def refusals(arch: Arch, usage: Usage) -> list[Refusal]:
    """Return every limit of a single CTA that the kernel exceeds."""
    # A launch is checked as if every sub-partition received as many warps as the fullest one.
    warps = _round_up(warps_of(arch, usage), arch.partitions)
    registers = _registers_per_warp(arch, usage) * warps
    barriers = _barriers(arch, usage)
    threads = min(arch.threads_per_block, usage.max_threads or arch.threads_per_block)
    requests = (
        ("threads", usage.threads, threads, "threads/CTA"),
        ("registers", usage.registers, arch.register_allocation_max, "registers/thread"),
        ("registers", registers, arch.registers_per_block, "registers/CTA"),
        ("shared_memory", usage.shared_bytes, arch.shared_per_block_optin, "bytes/CTA"),
        ("barriers", barriers, arch.barriers_per_sm, "barriers/CTA"),
    )
    return [
        Refusal(resource=resource, requested=requested, limit=limit, unit=unit)
        for resource, requested, limit, unit in requests
        if limit is not None and requested > limit
    ]


def present(allowed: OccupancyLimits) -> list[tuple[LimitName, int]]:
    """Return the limits that apply, by the names of their resources."""
    everything = ((name, getattr(allowed, name)) for name in get_args(LimitName))
    return [(name, limit) for name, limit in everything if limit is not None]


def warps_of(arch: Arch, usage: Usage) -> int:
    """Return the warps of a CTA, the last one perhaps not full."""
    return -(-usage.threads // arch.warp_size)


def theoretical(arch: Arch, usage: Usage, blocks: int) -> float:
    """Return the fraction of an SM's warps (0..1) that this many CTAs have."""
    return blocks * warps_of(arch, usage) / arch.warps_per_sm


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _registers_per_warp(arch: Arch, usage: Usage) -> int:
    """Return the vector registers that a warp is given, all lanes together."""
    return _round_up(usage.registers * arch.warp_size, arch.register_unit)


def _barriers(arch: Arch, usage: Usage) -> int:
    if warps_of(arch, usage) == 1 and not arch.single_warp_barrier:
        return 0
    return usage.barriers


def next_steps(arch: Arch, usage: Usage, blocks: int) -> list[NextStep]:
    """Return, for each resource, the smallest reduction that alone admits more CTAs.

    Warps are not among them: a kernel compiled for fewer warps is another kernel, with other
    registers and other shared memory. Nor are registers that are allocated beyond those needed.
    """
    levers = [name for name in _LEVERS if name != "registers" or usage.needed is None]
    steps = (_next_step(arch, usage, blocks, name) for name in levers)
    return [step for step in steps if step is not None]


def _next_step(arch: Arch, usage: Usage, blocks: int, name: LimitName) -> NextStep | None:
    lever = _LEVERS[name]
    amount, resident = getattr(usage, lever.field), _resident(arch, usage, name)
    enough = _largest(lever.least, amount - 1, lambda amount: resident(amount) > blocks)
    if enough is None:
        return None
    more = resident(enough)
    return NextStep(
        resource=name,
        change=enough - amount,
        unit=lever.unit,
        blocks_per_sm=more,
        theoretical=theoretical(arch, usage, more),
    )


def all_curves(arch: Arch, usage: Usage) -> list[OccupancyCurve]:
    """Return the curve of each resource that has one."""
    return [curve(arch, usage, name) for name in CURVES]


def curve(arch: Arch, usage: Usage, name: CurveName) -> OccupancyCurve:
    """Return the CTAs per SM for every amount of a resource that a CTA may have."""
    lever = _LEVERS[name]
    at, resident = getattr(usage, lever.field), _resident(arch, usage, name)
    most = {"registers": arch.registers_per_thread, "shared_memory": arch.shared_per_block_optin}
    last = max(most[name], at)
    start = min(lever.least, at)
    steps = [(start, resident(start))]
    # What is left of the range always has fewer CTAs at its end than at its start.
    while resident(last) < steps[-1][1]:
        after = _first_below(steps[-1], last, resident)
        steps.append((after, resident(after)))
    return OccupancyCurve(resource=name, unit=lever.unit, at=at, steps=steps, last=last)


def _resident(arch: Arch, usage: Usage, name: LimitName) -> Callable[[int], int]:
    """Return the function from an amount of one resource to the CTAs per SM.

    Each limit follows from its own resource, so the others are computed once.
    """
    others = [limit for each, limit in present(limits(arch, usage)) if each != name]
    lever = _LEVERS[name]

    def resident(amount: int) -> int:
        limit = lever.limit(arch, replace(usage, **{lever.field: amount}))
        return min(others) if limit is None else min(limit, *others)

    return resident


def _first_below(step: tuple[int, int], last: int, resident: Callable[[int], int]) -> int:
    """Return the first amount after a step from which on fewer CTAs fit; there is one."""
    start, blocks = step
    return (_largest(start, last, lambda amount: resident(amount) == blocks) or start) + 1


def _largest(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """Return the largest number of ``low..high`` for which ``holds``, if it holds for any.

    Less of a resource never admits fewer CTAs, so where it holds it holds for all smaller ones.
    """
    if low > high or not holds(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


class _Lever(NamedTuple):
    """What a kernel can have less of: a field of ``Usage``, and the CTAs per SM that it allows."""

    field: str
    unit: str
    least: int
    limit: Callable[[Arch, Usage], int | None]


_LEVERS: dict[LimitName, _Lever] = {
    "registers": _Lever("registers", "registers/thread", 1, _by_registers),
    "shared_memory": _Lever("shared_bytes", "bytes/CTA", 0, _by_shared),
    "barriers": _Lever("barriers", "barriers/CTA", 0, _by_barriers),
}


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
