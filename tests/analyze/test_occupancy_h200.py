"""Occupancy against what the CUDA driver and Nsight Compute said of real kernels on an H200."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from irlens import gpus as arch
from irlens.analyze.occupancy import Usage, compute
from irlens.gpus import Gpu

DATA = Path(__file__).parents[1] / "data" / "h200"
TRUTH = json.loads((DATA / "truth.json").read_text())
LAUNCHES = json.loads((DATA / "ncu.json").read_text())
BARRIERS = json.loads((DATA / "barriers.json").read_text())
H200 = arch.find("h200")


def test_the_row_equals_the_device() -> None:
    device, row = TRUTH["device"], H200.arch
    assert H200.sm_count == device["sm_count"]
    assert row.warp_size == device["warp_size"]
    assert row.warps_per_sm * row.warp_size == device["max_threads_per_sm"]
    assert row.blocks_per_sm == device["max_blocks_per_sm"]
    assert row.threads_per_block == device["max_threads_per_block"]
    assert row.registers_per_sm == device["max_regs_per_sm"]
    assert row.registers_per_block == device["max_regs_per_block"]
    assert row.shared_per_sm == device["max_shared_per_sm"]
    assert row.shared_per_block == device["max_shared_per_block"]
    assert row.shared_per_block_optin == device["max_shared_optin"]
    assert row.shared_reserved_per_block == device["reserved_shared"]


def usage(kernel: dict[str, Any], threads: int, dynamic_bytes: int) -> Usage:
    return Usage(
        threads=threads,
        registers=kernel["regs"],
        shared_bytes=kernel["shared"] + dynamic_bytes,
        max_threads=kernel["max_threads"],
    )


def test_blocks_per_sm_of_every_kernel() -> None:
    assert len(TRUTH["kernels"]) == 31
    for kernel in TRUTH["kernels"]:
        ours = compute(H200, usage(kernel, kernel["num_warps"] * 32, kernel["dynamic_shared"]))
        assert ours.blocks_per_sm == kernel["blocks_per_sm"], kernel["path"]
        assert ours.launchable == (kernel["blocks_per_sm"] > 0), kernel["path"]


def test_a_refused_launch_says_by_how_much() -> None:
    (kernel,) = (kernel for kernel in TRUTH["kernels"] if kernel["set_dynamic"])
    ours = compute(H200, usage(kernel, 256, kernel["dynamic_shared"]))
    (refusal,) = ours.refusals
    assert (refusal.resource, refusal.requested, refusal.limit, refusal.unit) == (
        *("shared_memory", 294_912, 232_448),
        "bytes/CTA",
    )
    (step,) = ours.next_step
    assert (step.resource, step.change) == ("shared_memory", 232_448 - 294_912)


def test_blocks_per_sm_of_every_what_if() -> None:
    compared = 0
    for kernel in TRUTH["kernels"]:
        for threads, dynamic_bytes, blocks in kernel["what_if"]:
            ours = compute(H200, usage(kernel, threads, dynamic_bytes))
            assert ours.blocks_per_sm == blocks, (kernel["path"], threads, dynamic_bytes)
            compared += 1
    assert compared == 1416


def number(launch: dict[str, str], name: str) -> int:
    return int(launch[name].replace(",", ""))


def carved_out(size: int) -> Gpu:
    """Return the GPU with a smaller carve-out for shared memory, in bytes per SM."""
    largest = size - H200.arch.shared_reserved_per_block
    arch = replace(H200.arch, shared_per_sm=size, shared_per_block_optin=largest)
    return replace(H200, arch=arch)


@pytest.mark.parametrize("launch", LAUNCHES, ids=lambda launch: launch["Kernel Name"])
def test_limits_of_a_profiled_launch(launch: dict[str, str]) -> None:
    ours = compute(
        # Nsight Compute judges by the carve-out that the driver had configured.
        carved_out(number(launch, "launch__shared_mem_config_size")),
        Usage(
            threads=number(launch, "launch__block_size"),
            registers=number(launch, "launch__registers_per_thread"),
            shared_bytes=number(launch, "launch__shared_mem_per_block_static")
            + number(launch, "launch__shared_mem_per_block_dynamic"),
            barriers=number(launch, "launch__barrier_count"),
        ),
        grid_ctas=number(launch, "launch__grid_size"),
    )
    assert ours.limits.warps == number(launch, "launch__occupancy_limit_warps")
    assert ours.limits.blocks == number(launch, "launch__occupancy_limit_blocks")
    assert ours.limits.registers == number(launch, "launch__occupancy_limit_registers")
    assert ours.limits.shared_memory == number(launch, "launch__occupancy_limit_shared_mem")
    # It never shows more CTAs for barriers than the SM has slots for; barriers.json, where the
    # driver admits 21 CTAs of 3 barriers, proves that 64 and not 32 are there to share.
    assert ours.limits.barriers == 64
    assert min(64, ours.limits.blocks) == number(launch, "launch__occupancy_limit_barriers")
    assert ours.waves == pytest.approx(float(launch["launch__waves_per_multiprocessor"]), abs=0.005)


def test_blocks_per_sm_of_kernels_that_use_barriers() -> None:
    assert len(BARRIERS["kernels"]) == 17
    for kernel in BARRIERS["kernels"]:
        for threads, blocks in kernel["blocks"]:
            ours = compute(
                H200,
                Usage(
                    threads=threads,
                    registers=kernel["registers"],
                    shared_bytes=0,
                    barriers=kernel["barriers"],
                ),
            )
            assert ours.blocks_per_sm == blocks, (kernel["barriers"], threads)
