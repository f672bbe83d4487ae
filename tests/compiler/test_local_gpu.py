import os
import shutil
import subprocess
from pathlib import Path

import pytest

from irlens.compiler import local_gpu
from irlens.compiler.local_gpu import (
    Device,
    FunctionFacts,
    amd_device,
    amd_driver,
    nvidia_device,
    nvidia_driver,
    nvidia_function,
    timing_identity,
)
from irlens.model.config import Target

# The part of a driver that local_gpu.py uses, with one device: an H200.
FAKE_DRIVER = """
#include <string.h>
int cuInit(unsigned flags) { return flags != 0; }
int cuDeviceGetCount(int *count) { *count = COUNT; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 7; return ordinal != 0; }
int cuDeviceGetName(char *name, int size, int device) {
    strncpy(name, "NVIDIA H200", size);
    return device != 7;
}
int cuDeviceGetAttribute(int *value, int which, int device) {
    *value = which == 16 ? 132 : which == 75 ? 9 : which == 76 ? 0 : -1;
    return device != 7;
}
int cuDeviceGetUuid_v2(char *uuid, int device) {
    for (int i = 0; i < 16; i++) uuid[i] = i;
    return device != 7;
}
int cuFuncGetAttribute(int *value, int which, void *function) {
    *value = which == 4 ? 31 : which == 3 ? 8 : -1;
    return function != (void *)0x7f0012345678;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, void *function, int threads, unsigned long shared) {
    *blocks = 2048 / threads - (shared == 5000000000);
    return function != (void *)0x7f0012345678;
}
"""

FAKE_NVML = """
#include <string.h>
int nvmlInit_v2(void) { return BROKEN; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *version, unsigned size) {
    strncpy(version, "570.124.06", size);
    return size < 80;
}
"""


def fake_driver(folder: Path, devices: int, *defines: str) -> str:
    return library(folder / "libcuda.so.1", FAKE_DRIVER, f"COUNT={devices}", *defines)


def library(path: Path, source: str, *defines: str) -> str:
    gcc = shutil.which("gcc")
    assert gcc is not None, "these tests compile a stand-in for the driver with gcc"
    given = [f"-D{each}" for each in defines]
    command = [gcc, "-shared", "-fPIC", *given, "-x", "c", "-", "-o", str(path)]
    subprocess.run(command, input=source.encode(), check=True)
    return str(path)


def kfd_node(folder: Path, node: int, **properties: int) -> None:
    path = folder / str(node) / "properties"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{name} {value}\n" for name, value in properties.items()))


def test_an_nvidia_gpu_from_its_driver(tmp_path: Path) -> None:
    target = Target(vendor="nvidia", arch="sm_90", warp_size=32)
    uuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert nvidia_device(fake_driver(tmp_path, 1)) == Device(target, 132, "NVIDIA H200", uuid)


def test_an_old_driver_reports_no_uuid(tmp_path: Path) -> None:
    found = nvidia_device(fake_driver(tmp_path, 1, "cuDeviceGetUuid_v2=cuDeviceGetUuid"))
    assert found is not None
    assert found.uuid is None
    assert timing_identity(found) is None


def test_driver_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = library(tmp_path / "libnvidia-ml.so.1", FAKE_NVML, "BROKEN=0")
    assert nvidia_driver(nvml) == "570.124.06"
    assert nvidia_driver(library(tmp_path / "broken.so", FAKE_NVML, "BROKEN=1")) is None
    assert nvidia_driver(str(tmp_path / "absent.so")) is None
    assert amd_driver(tmp_path / "absent") is None
    assert amd_driver(tmp_path) == f"of Linux {os.uname().release}"
    (tmp_path / "version").write_text("6.10.5\n")
    assert amd_driver(tmp_path) == "6.10.5"
    monkeypatch.setattr(local_gpu, "amd_driver", lambda: "6.10.5")
    target = Target(vendor="amd", arch="gfx942", warp_size=64)
    assert timing_identity(Device(target, 304, None, "0x1f")) == "gfx942, 0x1f, driver 6.10.5"
    assert timing_identity(Device(target, 304, None)) is None


def test_no_device_without_a_driver(tmp_path: Path) -> None:
    assert nvidia_device(fake_driver(tmp_path, 0)) is None
    assert nvidia_device(str(tmp_path / "absent.so")) is None
    assert amd_device(tmp_path / "absent") is None


def test_the_drivers_facts_about_a_loaded_kernel(tmp_path: Path) -> None:
    library = fake_driver(tmp_path, 1)
    handle = 0x7F0012345678  # a 64-bit pointer
    assert nvidia_function(handle, 256, 12_320, library) == FunctionFacts(31, 8, 8)
    assert nvidia_function(handle, 256, 5_000_000_000, library) == FunctionFacts(31, 8, 7)
    assert nvidia_function(handle + 1, 256, 0, library) == FunctionFacts(None, None, None)


# Versions from ROCm's ISA tables: decimal, with the stepping in the last two digits.
@pytest.mark.parametrize(
    ("version", "wave", "simds", "per_cu", "arch", "units"),
    [
        (90402, 64, 1216, 4, "gfx942", 304),
        (90010, 64, 416, 4, "gfx90a", 104),
        (90500, 64, 1024, 4, "gfx950", 256),
        (110000, 32, 192, 2, "gfx1100", 96),
        (120001, 32, 128, 2, "gfx1201", 64),
    ],
)
def test_an_amd_gpu_from_the_kernel_driver(
    version: int, wave: int, simds: int, per_cu: int, arch: str, units: int, tmp_path: Path
) -> None:
    unique, uuid = (0, None) if arch.startswith("gfx1") else (0xCAFE, "0xcafe")
    kfd_node(tmp_path, 0, gfx_target_version=0, simd_count=0, simd_per_cu=0)
    kfd_node(tmp_path, 10, gfx_target_version=90402, simd_count=4, simd_per_cu=4)
    kfd_node(
        tmp_path, 2, gfx_target_version=version, wave_front_size=wave,
        simd_count=simds, simd_per_cu=per_cu, unique_id=unique,
    )  # fmt: skip
    target = Target(vendor="amd", arch=arch, warp_size=wave)
    assert amd_device(tmp_path) == Device(target, units, None, uuid)


def test_an_unreadable_topology_has_no_gpu(tmp_path: Path) -> None:
    kfd_node(tmp_path, 0)
    (tmp_path / "0" / "properties").write_text("gfx_target_version many\n")
    assert amd_device(tmp_path) is None
