"""AMD's architectures that Triton compiles for.

LLVM's AMDGPU backend computes occupancy itself: its ``IsaInfo`` functions give registers,
waves, SIMDs and barriers, its processor definitions the LDS. RDNA rows are for work-group
processor mode, Triton's default; ``Gpu.in_cu_mode`` gives the other.
"""

from functools import partial
from typing import Any

from irlens.gpus.gpu import Arch, ScalarFile

KIB = 1024

_ISA_INFO = "LLVM, AMDGPU/Utils/AMDGPUBaseInfo.cpp, IsaInfo::"
_LDS = _ISA_INFO + "getAddressableLocalMemorySize (processor features in AMDGPU.td)"
_USAGE = "LLVM, AMDGPUUsage, compute_pgm_rsrc2, GRANULATED_LDS_SIZE"
_ROCM = "ROCm documentation, 'AMD GPU specifications'"

_SOURCES = {
    "units_per_sm": "by definition: AMD counts compute units",
    "warp_size": "Triton, backends/amd/compiler.py: 32 from gfx10 on, 64 before",
    "warps_per_sm": _ISA_INFO + "getMaxWavesPerEU times getEUsPerCU",
    "threads_per_block": _ISA_INFO + "getMaxFlatWorkGroupSize",
    "partitions": _ISA_INFO + "getEUsPerCU",
    "registers_per_sm": _ISA_INFO + "getTotalNumVGPRs per lane and SIMD; " + _ROCM,
    "registers_per_block": "no document: taken to be the whole file, as LLVM knows no other limit",
    "registers_per_thread": _ISA_INFO + "getAddressableNumVGPRs",
    "register_allocation_max": _ISA_INFO + "getAddressableNumVGPRs",
    "register_unit": _ISA_INFO + "getVGPRAllocGranule per lane",
    "register_granule": _ISA_INFO + "getVGPREncodingGranule",
    "shared_per_sm": _ISA_INFO + "getLocalMemorySize; " + _ROCM,
    "shared_per_block": _LDS,
    "shared_per_block_optin": _LDS,
    "shared_unit": _USAGE,
    "shared_reserved_per_block": "HIP's reservedSharedMemPerBlock, 0 on an MI300A (MT4G, "
    "sample_results); others: assumed the same",
    "barriers_per_sm": _ISA_INFO + "getMaxWorkGroupsPerCU",
    "grid_threads": "HIP API reference, hipModuleLaunchKernel: gridDim x blockDim < 2^32",
}
_BANK_SOURCE = {
    "shared_banks": "gfx9, gfx1151: rocprofiler-compute, rocprof_compute_soc, lds_banks_per_cu; "
    "gfx11: LLVM, AMDGPU.td, FeatureLDSBankCount32, and AMD, 'RDNA Performance Guide'; "
    "gfx950: Triton pull request 9662 (64, of which rocprofiler-compute counts 32)"
}
_LINE_SOURCE = {
    "memory_granule": "gfx908, gfx90a, gfx11: Linux, amdkfd/kfd_crat.c, cache_line_size of TCP; "
    "gfx942, gfx950, gfx115x: AMD's rocprofiler-compute, analysis_configs, which count as many"
    " bytes for each of TCP_TOTAL_CACHE_ACCESSES"
}
# LLVM forgot the trap handler's registers until 2026 (pull request 201342), and so did ROCm, which
# then launched cooperative grids that an MI300 could not hold (rocm-systems pull request 10618).
_SCALAR_SOURCE = {
    "scalar_registers": _ISA_INFO + "getTotalNumSGPRs, getSGPRAllocGranule and TRAP_NUM_SGPRS"
}


def _row(
    name: str,
    family: str,
    *,
    registers: int,
    registers_of_lane: int,
    shared: int,
    shared_of_group: int,
    **traits: Any,
) -> Arch:
    """Return a row.

    Args:
        registers: Vector registers of all lanes that a CU or WGP has, and a workgroup may have.
        registers_of_lane: Those that a lane may have, and address.
        shared: Bytes of LDS of a CU or WGP; ``shared_of_group``: of a workgroup.
    """
    return Arch(
        name=name,
        family=family,
        vendor="amd",
        blocks_per_sm=None,
        threads_per_block=1024,
        partitions=4,
        registers_per_sm=registers,
        registers_per_block=registers,
        registers_per_thread=registers_of_lane,
        register_allocation_max=registers_of_lane,
        shared_per_sm=shared,
        shared_per_block=shared_of_group,
        shared_per_block_optin=shared_of_group,
        single_warp_barrier=False,
        shared_reserved_per_block=0,
        grid_threads=(1 << 32) - 1,
        **traits,
    )


# Vector registers per lane and SIMD (512: architectural and accumulation registers share one
# file from gfx90a on), times 64 lanes and 4 SIMDs.
_cdna = partial(
    _row,
    multiprocessor="CU",
    units_per_sm=1,
    warp_size=64,
    scalar_registers=ScalarFile(per_partition=800, unit=16, reserved=16),
    shared=64 * KIB,
    shared_of_group=64 * KIB,
    shared_unit=512,
    barriers_per_sm=16,
    shared_banks=32,
    sources=_SOURCES | _SCALAR_SOURCE | _LINE_SOURCE | _BANK_SOURCE,
)
_unified = partial(
    _cdna,
    warps_per_sm=4 * 8,
    registers=512 * 64 * 4,
    registers_of_lane=512,
    register_unit=8 * 64,
    register_granule=8,
)

_RDNA_SOURCES = (
    _SOURCES
    | _LINE_SOURCE
    | _BANK_SOURCE
    | {
        "shared_unit": "Mesa, src/amd/common/ac_gpu_info.c, lds_alloc_granularity from GFX10.3 on; "
        "LLVM pull request 224852: GFX11 and GFX12.0 allocate 1,024 bytes and encode 512"
    }
)

_rdna = partial(
    _row,
    multiprocessor="WGP",
    units_per_sm=2,
    warp_size=32,
    warps_per_sm=4 * 16,
    registers_of_lane=256,
    register_granule=8,
    scalar_registers=None,
    shared=128 * KIB,
    shared_of_group=64 * KIB,
    shared_unit=KIB,  # though the kernel descriptor counts in 512 bytes
    barriers_per_sm=32,
    memory_granule=128,
    shared_banks=32,
    sources=_RDNA_SOURCES,
)
_large_file = partial(_rdna, registers=1536 * 32 * 4, register_unit=24 * 32)
_small_file = partial(_rdna, registers=1024 * 32 * 4, register_unit=16 * 32)
# The cache line of RDNA 4 is not confirmed: the driver reads it from a table of the GPU's. Nor is
# the number of banks: LLVM says 32 of all, gfx950 included.
_rdna4 = partial(
    _large_file,
    family="RDNA 4",
    memory_granule=None,
    shared_banks=None,
    sources={
        name: s for name, s in _RDNA_SOURCES.items() if name not in _LINE_SOURCE | _BANK_SOURCE
    },
)

ARCHS: tuple[Arch, ...] = (
    _cdna(
        "gfx908",
        "CDNA",
        warps_per_sm=4 * 10,
        registers=256 * 64 * 4,  # AGPRs are a second file of the same size
        registers_of_lane=256,
        register_unit=4 * 64,
        register_granule=4,
        memory_granule=64,
    ),
    _unified("gfx90a", "CDNA 2", memory_granule=64),
    _unified("gfx942", "CDNA 3", memory_granule=128),
    _unified(
        "gfx950",
        "CDNA 4",
        shared=160 * KIB,
        shared_of_group=160 * KIB,
        shared_unit=1280,
        shared_banks=64,
        memory_granule=128,
    ),
    _large_file("gfx1100", "RDNA 3"),
    _large_file("gfx1101", "RDNA 3"),
    _small_file("gfx1102", "RDNA 3"),
    _small_file("gfx1150", "RDNA 3.5"),
    _large_file("gfx1151", "RDNA 3.5"),
    _rdna4("gfx1200"),
    _rdna4("gfx1201"),
    _row(
        "gfx1250",
        "CDNA 5",
        multiprocessor="CU",
        units_per_sm=1,
        warp_size=32,
        warps_per_sm=4 * 16,
        registers=1024 * 32 * 4,
        registers_of_lane=1024,
        register_unit=16 * 32,
        register_granule=16,
        scalar_registers=None,
        shared=320 * KIB,
        shared_of_group=320 * KIB,
        shared_unit=2 * KIB,  # LLVM said 1 KiB until November 2025 (pull request 167614)
        barriers_per_sm=16,
        # The documentation of ROCm does not have it yet.
        sources=_SOURCES
        | {
            "registers_per_sm": _ISA_INFO + "getTotalNumVGPRs per lane and SIMD",
            "shared_per_sm": _ISA_INFO + "getLocalMemorySize",
        },
    ),
)
