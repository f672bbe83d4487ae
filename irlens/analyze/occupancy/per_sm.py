"""How many CTAs of a kernel an SM can hold, by each of its resources (AMD: a CU or WGP)."""

import msgspec

from irlens.gpus import Arch
from irlens.model.errors import ArtifactError
from irlens.model.report import LimitName, OccupancyLimits, Refusal


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What one CTA of a kernel asks of an SM (AMD: a workgroup, of a CU or WGP).

    Attributes:
        threads: Threads per CTA.
        registers: Registers per thread. For AMD the vector registers a lane is allocated,
            AGPRs included where the file is unified: the kernel descriptor's
            GRANULATED_WORKITEM_VGPR_COUNT, or LLVM's ``.vgpr_count``, which is too small where
            ``waves_per_eu`` caps the waves (LLVM then allocates more than it uses).
        shared_bytes: Shared memory per CTA, static and dynamic together, without the bytes that
            the driver adds.
        barriers: Named barriers per CTA: EIATTR_NUM_BARRIERS of a cubin, 1 if it has none.
        scalar_registers: AMD: scalar registers per wave, VCC and the like included.
        max_threads: Threads per CTA that the kernel was compiled for at most; ``None`` if any.
        cluster_ctas: CTAs per cluster.

    Raises:
        ArtifactError: No kernel can ask for this.
    """

    threads: int
    registers: int
    shared_bytes: int
    barriers: int = 1
    scalar_registers: int = 0
    max_threads: int | None = None
    cluster_ctas: int = 1

    def __post_init__(self) -> None:
        least = {"threads": 1, "cluster_ctas": 1}
        for field in (*least, "registers", "shared_bytes", "barriers", "scalar_registers"):
            value = getattr(self, field)
            if value < least.get(field, 0):
                raise ArtifactError(
                    f"no kernel has {value} {field.replace('_', ' ')}",
                    hint="the capture's metadata or binary is damaged",
                )


def limits(arch: Arch, usage: Usage) -> OccupancyLimits:
    """Return the CTAs per SM that each resource alone allows; 0 where one CTA is too much."""
    warps = warps_of(arch, usage)
    shared = _shared_allocated(arch, usage)
    barriers = _barriers(arch, usage)
    by_warps: int | None = arch.warps_per_sm // warps
    by_registers = _blocks_by_registers(arch, usage, warps)
    by_shared = arch.shared_per_sm // shared if shared else None
    by_barriers = arch.barriers_per_sm // barriers if arch.barriers_per_sm and barriers else None
    refused = {refusal.resource for refusal in refusals(arch, usage)}
    return OccupancyLimits(
        warps=0 if "threads" in refused else by_warps,
        blocks=arch.blocks_per_sm,
        registers=0 if "registers" in refused else by_registers,
        shared_memory=0 if "shared_memory" in refused else by_shared,
        barriers=by_barriers,
    )


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


def refusals(arch: Arch, usage: Usage) -> list[Refusal]:
    """Return every limit of a single CTA that the kernel exceeds."""
    # A launch is checked as if every sub-partition received as many warps as the fullest one.
    warps = _round_up(warps_of(arch, usage), arch.partitions)
    registers = _registers_per_warp(arch, usage) * warps
    barriers = _barriers(arch, usage)
    threads = min(arch.threads_per_block, usage.max_threads or arch.threads_per_block)
    asked = (
        ("threads", usage.threads, threads, "threads/CTA"),
        ("registers", usage.registers, arch.register_allocation_max, "registers/thread"),
        ("registers", registers, arch.registers_per_block, "registers/CTA"),
        ("shared_memory", usage.shared_bytes, arch.shared_per_block_optin, "bytes/CTA"),
        ("barriers", barriers, arch.barriers_per_sm, "barriers/CTA"),
    )
    return [
        Refusal(resource=resource, requested=requested, limit=limit, unit=unit)
        for resource, requested, limit, unit in asked
        if limit is not None and requested > limit
    ]


def present(allowed: OccupancyLimits) -> list[tuple[LimitName, int]]:
    """Return the limits that there are by the names of their resources."""
    everything: list[tuple[LimitName, int | None]] = [
        ("warps", allowed.warps),
        ("blocks", allowed.blocks),
        ("registers", allowed.registers),
        ("shared_memory", allowed.shared_memory),
        ("barriers", allowed.barriers),
    ]
    return [(name, limit) for name, limit in everything if limit is not None]


def warps_of(arch: Arch, usage: Usage) -> int:
    """Return the warps of a CTA, the last one perhaps not full."""
    return -(-usage.threads // arch.warp_size)


def theoretical(arch: Arch, usage: Usage, blocks: int) -> float:
    """Return the part of an SM's warps (0..1) that so many CTAs have."""
    return blocks * warps_of(arch, usage) / arch.warps_per_sm


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _registers_per_warp(arch: Arch, usage: Usage) -> int:
    """Return the vector registers that a warp is given, all lanes together."""
    return _round_up(usage.registers * arch.warp_size, arch.register_unit)


def _shared_allocated(arch: Arch, usage: Usage) -> int:
    return _round_up(usage.shared_bytes + arch.shared_reserved_per_block, arch.shared_unit)


def _barriers(arch: Arch, usage: Usage) -> int:
    if warps_of(arch, usage) == 1 and not arch.single_warp_barrier:
        return 0
    return usage.barriers


def _blocks_by_registers(arch: Arch, usage: Usage, warps: int) -> int | None:
    served = warps_by_registers(arch, usage)
    return None if served is None else served * arch.partitions // warps
