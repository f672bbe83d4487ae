"""Occupancy against NVIDIA's own calculator, the ``cuda_occupancy.h`` of the Triton wheel.

The header takes a device's properties (warps, registers and shared memory per SM, the opt-in
limit) from the device; here it gets those of our row. Compared are the allocation rule and what
the header knows itself of a capability: allocation units, sub-partitions, CTAs and barriers per
SM, registers per thread.
"""

import importlib.util
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from irlens import gpus as arch
from irlens.analyze.occupancy import Usage, limits, resident_blocks

CASES = 110_000
NO_LIMIT = 2**31 - 1
NVIDIA = [gpu.arch for gpu in arch.gpus() if gpu.product is None and gpu.arch.vendor == "nvidia"]

FILTER = r"""
#include <stdio.h>
#include "cuda_occupancy.h"
int main(void) {
    cudaOccDeviceProp device = {0};
    int threads, registers, stat, dynamic, barriers;
    unsigned long shared, block, optin, reserved;
    while (scanf("%d %d %d %d %d %d %lu %lu %lu %lu %d %d %d %d %d",
                 &device.computeMajor, &device.computeMinor, &device.maxThreadsPerBlock,
                 &device.maxThreadsPerMultiprocessor, &device.regsPerBlock,
                 &device.regsPerMultiprocessor, &shared, &block, &optin, &reserved,
                 &threads, &registers, &stat, &dynamic, &barriers) == 15) {
        cudaOccFuncAttributes kernel = {0};
        cudaOccDeviceState state = {0};
        cudaOccResult result = {0};
        device.warpSize = 32;
        device.numSms = 1;
        device.sharedMemPerMultiprocessor = shared;
        device.sharedMemPerBlock = block;
        device.sharedMemPerBlockOptin = optin;
        device.reservedSharedMemPerBlock = reserved;
        kernel.maxThreadsPerBlock = 1024;
        kernel.numRegs = registers;
        kernel.sharedSizeBytes = stat;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = dynamic;
        kernel.numBlockBarriers = barriers;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
        int status = cudaOccMaxActiveBlocksPerMultiprocessor(
            &result, &device, &kernel, &state, threads, dynamic);
        printf("%d %d %d %d %d %d %d\n", status, result.activeBlocksPerMultiprocessor,
               result.blockLimitWarps, result.blockLimitBlocks, result.blockLimitRegs,
               result.blockLimitSharedMem, result.blockLimitBarriers);
    }
    return 0;
}
"""

Case = tuple[int, int, int, int, int]  # threads, registers, static and dynamic bytes, barriers


@pytest.fixture(scope="module")
def calculator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Found without importing Triton, which would take longer than the whole test.
    triton = importlib.util.find_spec("triton")
    assert triton
    assert triton.origin
    header = Path(triton.origin).parent / "backends" / "nvidia" / "include" / "cuda_occupancy.h"
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler, "a C compiler is needed to ask NVIDIA's calculator"
    program = tmp_path_factory.mktemp("calculator") / "filter"
    (program.parent / "filter.c").write_text(FILTER)
    subprocess.run(
        [compiler, "-O1", "-w", f"-I{header.parent}", "filter.c", "-o", program],
        cwd=program.parent,
        check=True,
    )
    return program


def near(random_: random.Random, edges: list[int], most: int) -> int:
    """Return a number of ``0..most``, as often as not an edge or its neighbour."""
    if random_.random() < 0.5:
        return min(max(random_.choice(edges) + random_.choice((-1, 0, 1)), 0), most)
    return random_.randint(0, most)


def draw(random_: random.Random, row: arch.Arch) -> Case:
    optin, unit = row.shared_per_block_optin, row.shared_unit
    blocks = random_.randint(1, 33)
    reserved = row.shared_reserved_per_block
    threads = near(random_, [32 * random_.randint(0, 33), 1024], 1100)
    registers = near(random_, [0, 8 * random_.randint(0, 32), 64, 128, 168, 255, 256], 300)
    shared = near(
        random_,
        [
            *(0, row.shared_per_block, optin),
            unit * random_.randint(0, optin // unit),
            # The most that this many CTAs can have, and the first that they cannot.
            row.shared_per_sm // blocks // unit * unit - reserved,
            row.shared_per_sm // blocks - reserved,
        ],
        optin + 2 * unit,
    )
    static = random_.choice((0, 0, min(shared, 32), random_.randint(0, min(shared, 49_152))))
    return max(threads, 1), registers, static, shared - static, random_.randint(0, 20)


def ask(calculator: Path, asked: list[tuple[arch.Arch, Case]]) -> list[list[int]]:
    lines = []
    for row, case in asked:
        capability = int(row.name.removeprefix("sm_"))
        device = (
            *divmod(capability, 10),
            row.threads_per_block,
            row.warps_per_sm * row.warp_size,
            row.registers_per_block,
            row.registers_per_sm,
            row.shared_per_sm,
            row.shared_per_block,
            row.shared_per_block_optin,
            row.shared_reserved_per_block,
        )
        lines.append(" ".join(map(str, (*device, *case))))
    answer = subprocess.run(
        [calculator], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    return [[int(word) for word in line.split()] for line in answer.stdout.splitlines()]


def test_every_limit_equals_nvidias_calculator(calculator: Path) -> None:
    plain: Case = (128, 32, 0, 1024, 1)
    probes = ask(calculator, [(row, plain) for row in NVIDIA])
    # 2 is CUDA_OCC_ERROR_UNKNOWN_DEVICE: a header is older than some of our rows.
    known = [row for row, (status, *_) in zip(NVIDIA, probes, strict=True) if status != 2]
    assert {row.name for row in known} >= {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"}

    random_ = random.Random(20260)
    asked = [(row, draw(random_, row)) for row in known for _ in range(CASES // len(known) + 1)]
    answers = ask(calculator, asked)
    assert len(answers) == len(asked)
    differences = []
    for (row, case), (status, *theirs) in zip(asked, answers, strict=True):
        threads, registers, static, dynamic, barriers = case
        usage = Usage(
            threads=threads, registers=registers, shared_bytes=static + dynamic, barriers=barriers
        )
        allowed = limits(row, usage)
        ours = [
            resident_blocks(allowed),
            *(
                NO_LIMIT if limit is None else limit
                for limit in (
                    *(allowed.warps, allowed.blocks, allowed.registers),
                    *(allowed.shared_memory, allowed.barriers),
                )
            ),
        ]
        if status != 0 or ours != theirs:
            differences.append((row.name, case, ours, status, theirs))
    assert differences == []
    assert len(asked) >= CASES
