"""NVIDIA's architectures that Triton and its bundled PTX assemblers can compile for.

The CUDA Programming Guide lists most limits by compute capability; NVIDIA's CUDA C++ Core
Libraries (CCCL) state the same ones, and the driver's share of shared memory, as constants.
Allocation units are in ``cuda_occupancy.h``, which every CUDA toolkit and every Triton wheel
carries and the tests compare with.
"""

from functools import partial

from msgspec.structs import replace

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

_row = partial(
    Arch,
    vendor="nvidia",
    multiprocessor="SM",
    units_per_sm=1,
    warp_size=32,
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
    shared_per_block=48 * KIB,
    single_warp_barrier=True,
    memory_granule=32,
    shared_banks=32,
    grid_blocks=((1 << 31) - 1, 65_535, 65_535),
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

SM_70 = _volta(
    name="sm_70",
    family="Volta",
    warps_per_sm=64,
    blocks_per_sm=32,
    shared_per_sm=96 * KIB,
    shared_per_block_optin=96 * KIB,
)
SM_75 = _volta(
    name="sm_75",
    family="Turing",
    warps_per_sm=32,
    blocks_per_sm=16,
    shared_per_sm=64 * KIB,
    shared_per_block_optin=64 * KIB,
)
SM_80 = _ampere(
    name="sm_80",
    family="Ampere",
    warps_per_sm=64,
    blocks_per_sm=32,
    shared_per_sm=164 * KIB,
    shared_per_block_optin=163 * KIB,
)
SM_86 = _ampere(
    name="sm_86",
    family="Ampere",
    warps_per_sm=48,
    blocks_per_sm=16,
    shared_per_sm=100 * KIB,
    shared_per_block_optin=99 * KIB,
)
SM_87 = _ampere(
    name="sm_87",
    family="Ampere",
    warps_per_sm=48,
    blocks_per_sm=16,
    shared_per_sm=164 * KIB,
    shared_per_block_optin=163 * KIB,
)
# CCCL's arch_traits.h defines 8.8 as a copy of 8.6.
SM_88 = replace(SM_86, name="sm_88")
SM_89 = _ampere(
    name="sm_89",
    family="Ada Lovelace",
    warps_per_sm=48,
    blocks_per_sm=24,
    shared_per_sm=100 * KIB,
    shared_per_block_optin=99 * KIB,
)
SM_90 = _hopper(
    name="sm_90",
    family="Hopper",
    warps_per_sm=64,
    blocks_per_sm=32,
    shared_per_sm=228 * KIB,
    shared_per_block_optin=227 * KIB,
    barriers_per_sm=64,  # measured too: on an H200 2 barriers leave 32 CTAs, 3 leave 21
)
SM_100 = _hopper(
    name="sm_100",
    family="Blackwell",
    warps_per_sm=64,
    blocks_per_sm=32,
    shared_per_sm=228 * KIB,
    shared_per_block_optin=227 * KIB,
    barriers_per_sm=64,
    tensor_memory_columns=512,
    sources=_SOURCES | _BARRIER_SOURCE | _TENSOR_MEMORY_SOURCE,
)
SM_103 = replace(SM_100, name="sm_103")
SM_110 = _hopper(
    name="sm_110",
    family="Blackwell",
    warps_per_sm=48,
    blocks_per_sm=24,
    shared_per_sm=228 * KIB,
    shared_per_block_optin=227 * KIB,
    barriers_per_sm=24,
)
# CUDA 13.0 renamed the architecture of Thor from sm_101 to sm_110 (its release notes). The sources
# know it by the new name only.
SM_101 = replace(SM_110, name="sm_101")
SM_120 = _hopper(
    name="sm_120",
    family="Blackwell",
    warps_per_sm=48,
    blocks_per_sm=24,
    shared_per_sm=100 * KIB,
    shared_per_block_optin=99 * KIB,
    barriers_per_sm=24,
)
SM_121 = replace(SM_120, name="sm_121")

#: The first architecture that Triton supports (its README, 'Supported Hardware'). For older ones
#: every version since 3.4 makes products of fused multiply-adds.
OLDEST_SUPPORTED = 80

ARCHS: tuple[Arch, ...] = (
    SM_70,
    SM_75,
    SM_80,
    SM_86,
    SM_87,
    SM_88,
    SM_89,
    SM_90,
    SM_100,
    SM_101,
    SM_103,
    SM_110,
    SM_120,
    SM_121,
)
