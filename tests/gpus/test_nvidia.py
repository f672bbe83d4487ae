"""NVIDIA's limits against the constants that its CUDA C++ Core Libraries state."""

import pytest

from irlens import gpus as arch

# CCCL, libcudacxx/include/cuda/__device/arch_traits.h: KiB of shared memory of an SM, bytes of it
# that the driver takes of a CTA, CTAs and threads of an SM. It knows sm_101 as sm_110 only.
TRAITS = {
    "sm_70": (96, 0, 32, 2048),
    "sm_75": (64, 0, 16, 1024),
    "sm_80": (164, 1024, 32, 2048),
    "sm_86": (100, 1024, 16, 1536),
    "sm_87": (164, 1024, 16, 1536),
    "sm_88": (100, 1024, 16, 1536),
    "sm_89": (100, 1024, 24, 1536),
    "sm_90": (228, 1024, 32, 2048),
    "sm_100": (228, 1024, 32, 2048),
    "sm_103": (228, 1024, 32, 2048),
    "sm_110": (228, 1024, 24, 1536),
    "sm_120": (100, 1024, 24, 1536),
    "sm_121": (100, 1024, 24, 1536),
}


@pytest.mark.parametrize(("name", "limits"), TRAITS.items())
def test_limits_are_those_of_cccl(name: str, limits: tuple[int, int, int, int]) -> None:
    row = arch.by_arch(name).arch
    shared, reserved, blocks, threads = limits
    assert row.shared_per_sm == shared * 1024
    assert row.shared_per_block == 48 * 1024
    assert row.shared_per_block_optin == shared * 1024 - reserved
    assert row.shared_reserved_per_block == reserved
    assert row.blocks_per_sm == blocks
    assert row.warps_per_sm * row.warp_size == threads
    assert row.threads_per_block == 1024
    assert row.registers_per_sm == row.registers_per_block == 64 * 1024
    assert row.registers_per_thread == 255


def test_every_architecture_is_compared() -> None:
    nvidia = {gpu.arch.name for gpu in arch.gpus() if gpu.arch.vendor == "nvidia"}
    assert nvidia == TRAITS.keys() | {"sm_101"}
