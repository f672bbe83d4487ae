"""NVIDIA's architectures that Triton and its bundled PTX assemblers can compile for.

The CUDA Programming Guide lists most limits by compute capability; NVIDIA's CUDA C++ Core
Libraries (CCCL) state the same ones, and the driver's share of shared memory, as constants.
Allocation units are in ``cuda_occupancy.h``, which every CUDA toolkit and every Triton wheel
carries and the tests compare with.
"""

from functools import partial
from typing import Any

from irlens.gpus.gpu import Arch

KIB = 1024

_GUIDE = (
    "CUDA Programming Guide, Compute Capabilities, "
    "table 'Technical Specifications per Compute Capability'"
)
_TRAITS = "CCCL, libcudacxx/include/cuda/__device/arch_traits.h"
_HEADER = "CUDA toolkit, cuda_occupancy.h, "

_SOURCES = {
    "units_per_sm": "by definition: NVIDIA counts SMs",
    "memory_granule": "CUDA C++ Best Practices Guide, 'Coalesced Access to Global Memory'",
    "warp_size": _GUIDE,
    "warps_per_sm": _GUIDE,
    "blocks_per_sm": _GUIDE,
    "threads_per_block": _GUIDE,
    "partitions": _HEADER + "cudaOccSubPartitionsPerMultiprocessor",
    "registers_per_sm": _GUIDE,
    "registers_per_block": _GUIDE,
    "registers_per_thread": _GUIDE,
    "register_allocation_max": _HEADER + "cudaOccRegAllocationMaxPerThread",
    "register_unit": _HEADER + "cudaOccRegAllocationGranularity",
    "shared_per_sm": _GUIDE,
    "shared_per_block": _TRAITS + ", max_shared_memory_per_block",
    "shared_per_block_optin": _GUIDE,
    "shared_banks": "CUDA C++ Programming Guide, Compute Capabilities, 'Shared Memory'",
    "grid_blocks": _GUIDE,
    "shared_unit": _HEADER + "cudaOccSMemAllocationGranularity",
    "shared_reserved_per_block": _TRAITS + ", reserved_shared_memory_per_block",
}
_TENSOR_MEMORY_SOURCE = {
    "tensor_memory_columns": "PTX ISA, Tensor Memory: 512 columns and 128 rows, on sm_100f"
}
_BARRIER_SOURCE = {"barriers_per_sm": _HEADER + "cudaOccMaxBlocksPerSMBlockBarrierLimit"}


def _row(
    name: str, family: str, warps: int, blocks: int, shared: int, shared_of_cta: int, **traits: Any
) -> Arch:
    """Return a row.

    Args:
        warps: Warps that an SM holds at most; ``blocks``: CTAs.
        shared: KiB of shared memory of an SM; ``shared_of_cta``: of a CTA that opts in.
    """
    return Arch(
        name=name,
        family=family,
        vendor="nvidia",
        multiprocessor="SM",
        units_per_sm=1,
        warp_size=32,
        warps_per_sm=warps,
        blocks_per_sm=blocks,
        threads_per_block=1024,
        partitions=4,
        registers_per_sm=64 * KIB,
        registers_per_block=64 * KIB,
        registers_per_thread=255,
        # A launch may ask for 256, the largest multiple of the unit, though the last register
        # reads as zero and no instruction can name another.
        register_allocation_max=256,
        register_unit=256,
        scalar_registers=None,
        shared_per_sm=shared * KIB,
        shared_per_block=48 * KIB,
        shared_per_block_optin=shared_of_cta * KIB,
        single_warp_barrier=True,
        memory_granule=32,
        shared_banks=32,
        grid_blocks=((1 << 31) - 1, 65_535, 65_535),
        **traits,
    )


_volta = partial(
    _row,
    shared_unit=256,
    shared_reserved_per_block=0,
    barriers_per_sm=None,
    sources=_SOURCES,
)
_ampere = partial(
    _row,
    shared_unit=128,
    shared_reserved_per_block=KIB,
    barriers_per_sm=None,  # cuda_occupancy.h applies the barrier limit from Hopper on
    sources=_SOURCES,
)
_hopper = partial(
    _row,
    shared_unit=128,
    shared_reserved_per_block=KIB,
    sources=_SOURCES | _BARRIER_SOURCE,
)
_sm_100 = partial(
    _hopper,
    barriers_per_sm=64,
    tensor_memory_columns=512,
    sources=_SOURCES | _BARRIER_SOURCE | _TENSOR_MEMORY_SOURCE,
)

#: The first architecture that Triton supports (its README, 'Supported Hardware'). For older ones
#: every version since 3.4 makes products of fused multiply-adds.
OLDEST_SUPPORTED = 80

ARCHS: tuple[Arch, ...] = (
    # name, family, warps and CTAs of an SM, KiB of shared memory of an SM and of a CTA
    _volta("sm_70", "Volta", 64, 32, 96, 96),
    _volta("sm_75", "Turing", 32, 16, 64, 64),
    _ampere("sm_80", "Ampere", 64, 32, 164, 163),
    _ampere("sm_86", "Ampere", 48, 16, 100, 99),
    _ampere("sm_87", "Ampere", 48, 16, 164, 163),
    # CCCL's arch_traits.h defines 8.8 as a copy of 8.6.
    _ampere("sm_88", "Ampere", 48, 16, 100, 99),
    _ampere("sm_89", "Ada Lovelace", 48, 24, 100, 99),
    # The barriers were measured too: on an H200 2 barriers leave 32 CTAs, 3 leave 21.
    _hopper("sm_90", "Hopper", 64, 32, 228, 227, barriers_per_sm=64),
    _sm_100("sm_100", "Blackwell", 64, 32, 228, 227),
    # CUDA 13.0 renamed the architecture of Thor from sm_101 to sm_110 (its release notes). The
    # sources know it by the new name only.
    _hopper("sm_101", "Blackwell", 48, 24, 228, 227, barriers_per_sm=24),
    _sm_100("sm_103", "Blackwell", 64, 32, 228, 227),
    _hopper("sm_110", "Blackwell", 48, 24, 228, 227, barriers_per_sm=24),
    _hopper("sm_120", "Blackwell", 48, 24, 100, 99, barriers_per_sm=24),
    _hopper("sm_121", "Blackwell", 48, 24, 100, 99, barriers_per_sm=24),
)
