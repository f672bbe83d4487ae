"""Occupancy on AMD against LLVM, which prints the waves per SIMD that it counts on."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from triton._C.libtriton import llvm

from irlens import gpus as arch
from irlens.analyze.occupancy import Usage, compute, warps_by_registers

AMD = [gpu for gpu in arch.gpus() if gpu.product is None and gpu.arch.vendor == "amd"]
COMMENTS = Path(__file__).parents[1] / "data" / "amdgcn" / "occupancy.json"


def waves_per_simd(row: arch.Arch, usage: Usage) -> int:
    by_registers = warps_by_registers(row, usage)
    assert by_registers is not None
    return min(by_registers, row.warps_per_sm // row.partitions)


def test_register_limit_of_compiled_kernels() -> None:
    kernels = json.loads(COMMENTS.read_text())
    assert {kernel["arch"] for kernel in kernels} == {gpu.arch.name for gpu in AMD}
    for kernel in kernels:
        row = arch.by_arch(kernel["arch"]).arch
        usage = Usage(
            threads=kernel["num_warps"] * row.warp_size,
            registers=kernel["next_free_vgpr"],
            scalar_registers=kernel["total_sgprs"],
            shared_bytes=0,
        )
        assert waves_per_simd(row, usage) == kernel["occupancy"], kernel


def ask(name: str, kernels: list[tuple[list[str], int, int]]) -> list[tuple[int, int]]:
    """Compile kernels of (registers clobbered, bytes of LDS, threads) for one architecture.

    Returns:
        For each, the occupancy that LLVM prints and the vector registers that it allocates.
    """
    module = []
    for i, (registers, lds, threads) in enumerate(kernels):
        clobbers = ",".join(f"~{{{register}}}" for register in registers)
        body = f'call void asm sideeffect "", "{clobbers}"()\n'
        if lds:
            module.append(f"@lds{i} = internal addrspace(3) global [{lds} x i8] poison, align 16")
            body += f"store volatile i8 0, ptr addrspace(3) @lds{i}\n"
        module.append(f"define amdgpu_kernel void @k{i}() #{i} {{\n{body}ret void\n}}")
        size = f'"amdgpu-flat-work-group-size"="{threads},{threads}"'
        module.append(f'attributes #{i} = {{ {size} "uniform-work-group-size"="true" }}')
    llvm.init_targets()
    arguments: tuple[Any, ...] = ("\n".join(module), "amdgcn-amd-amdhsa", name, "", [], True, False)
    try:
        text = llvm.translate_to_asm(*arguments)
    except TypeError:  # newer Tritons want to know canonicalize_gep too
        text = llvm.translate_to_asm(*arguments, False)
    occupancy = [int(number) for number in re.findall(r"; Occupancy: (\d+)", text)]
    allocated = [int(number) for number in re.findall(r"\.amdhsa_next_free_vgpr (\d+)", text)]
    assert len(occupancy) == len(allocated) == len(kernels)
    return list(zip(occupancy, allocated, strict=True))


@pytest.mark.parametrize("gpu", AMD, ids=lambda gpu: gpu.name)
def test_register_limit_at_every_allocation_unit(gpu: arch.Gpu) -> None:
    row = gpu.arch
    unit = row.register_unit // row.warp_size
    counts = sorted({n for edge in range(unit, 257, unit) for n in (edge - 1, edge, edge + 1)})
    kernels = [([f"v{n - 1}"], 0, row.warp_size) for n in counts if n <= 256]
    if row.registers_per_thread == 512:  # the accumulation registers follow in the same file
        kernels += [(["v255", f"a{n - 1}"], 0, row.warp_size) for n in counts if n <= 256]
    for (registers, _, _), (occupancy, allocated) in zip(
        kernels, ask(row.name, kernels), strict=True
    ):
        usage = Usage(threads=row.warp_size, registers=allocated, shared_bytes=0)
        assert waves_per_simd(row, usage) == occupancy, registers


@pytest.mark.parametrize("gpu", AMD, ids=lambda gpu: gpu.name)
def test_lds_and_workgroup_limits(gpu: arch.Gpu) -> None:
    row = gpu.arch
    # A workgroup of whole SIMDs' worth of waves or less, so that waves per SIMD come out whole;
    # LDS in the hardware's units, since older LLVMs divide without rounding up to them. Amounts
    # that leave 9 waves are left out: LLVM then pads gfx908's scalar registers to what leaves 8.
    sizes = [row.warp_size * waves for waves in (1, 2, 4, 8, 16) if row.warp_size * waves <= 1024]
    shares = (*range(1, 9), *range(10, 33), 40)
    amounts = sorted({row.shared_per_sm // n // row.shared_unit * row.shared_unit for n in shares})
    kernels = [
        (["v0"], lds, threads)
        for threads in sizes
        for lds in (0, row.shared_unit, *amounts)
        if lds <= row.shared_per_block_optin
    ]
    for (_, lds, threads), (occupancy, registers) in zip(
        kernels, ask(row.name, kernels), strict=True
    ):
        ours = compute(gpu, Usage(threads=threads, registers=registers, shared_bytes=lds))
        assert -(-ours.active_warps // row.partitions) == occupancy, (lds, threads)


@pytest.mark.parametrize(
    ("name", "lds", "workgroups"),
    [
        ("gfx942", 21_504, 3),  # 42 units of 512 bytes (LLVM, AMDGPUUsage, GRANULATED_LDS_SIZE)
        ("gfx942", 21_505, 2),
        ("gfx950", 14_080, 11),  # 11 units of 1,280 bytes (the same)
        ("gfx950", 14_081, 10),
        ("gfx1100", 43_008, 3),  # 42 units of 1,024 bytes (Mesa, lds_alloc_granularity)
        ("gfx1100", 43_009, 2),
        ("gfx1250", 45_056, 7),  # 22 units of 2,048 bytes (LLVM pull request 167614)
        ("gfx1250", 45_057, 6),
    ],
)
def test_lds_is_handed_out_in_the_documented_units(name: str, lds: int, workgroups: int) -> None:
    usage = Usage(threads=128, registers=8, shared_bytes=lds)
    assert compute(arch.by_arch(name), usage).limits.shared_memory == workgroups


def test_cu_mode_halves_what_a_workgroup_can_share() -> None:
    rdna = arch.by_arch("gfx1100")
    usage = Usage(threads=256, registers=96, shared_bytes=32 * 1024)
    assert compute(rdna, usage).blocks_per_sm == 4
    assert compute(rdna.in_cu_mode(), usage).blocks_per_sm == 2
