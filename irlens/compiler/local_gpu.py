"""The local GPU as its driver reports it, without Triton and PyTorch."""

import ctypes
import os
from pathlib import Path
from uuid import UUID

import msgspec

from irlens.model.config import Target

# CUdevice_attribute in cuda.h
_MULTIPROCESSOR_COUNT = 16
_COMPUTE_CAPABILITY_MAJOR = 75
_COMPUTE_CAPABILITY_MINOR = 76

# CUfunction_attribute in cuda.h
_LOCAL_SIZE_BYTES = 3
_NUM_REGS = 4

# NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE in nvml.h
_NVML_VERSION_SIZE = 80

#: Folder of the loaded amdgpu kernel driver.
_AMDGPU = Path("/sys/module/amdgpu")
#: The amdgpu kernel driver's properties of each processor, CPUs included.
_KFD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")


class Device(msgspec.Struct, frozen=True):
    """A GPU in this machine.

    Attributes:
        name: The product's name from its driver, or ``None`` if it has none.
        uuid: Unique identifier of this GPU; ``None`` if its driver reports none.
    """

    target: Target
    sm_count: int
    name: str | None
    uuid: str | None = None

    @property
    def label(self) -> str:
        """The name to show to users: the product's, else the arch."""
        return self.name or self.target.arch


class FunctionFacts(msgspec.Struct, frozen=True):
    """A driver's facts about a loaded kernel; ``None`` if it does not report them.

    Attributes:
        local_bytes: Local memory per thread, bytes.
        blocks_per_sm: CTAs that fit on an SM at once.
    """

    registers: int | None
    local_bytes: int | None
    blocks_per_sm: int | None


def find_device() -> Device | None:
    """Return this machine's first GPU that CUDA may use, else its first AMD GPU, else ``None``."""
    return nvidia_device() or amd_device()


def nvidia_device(library: str = "libcuda.so.1") -> Device | None:
    """Return the CUDA driver's first device; ``CUDA_VISIBLE_DEVICES`` has its usual effect.

    CUDA Driver API: ``cuInit``, ``cuDeviceGet``, ``cuDeviceGetName``, ``cuDeviceGetUuid_v2``,
    ``cuDeviceGetAttribute``. No context is created.
    """
    try:
        cuda = ctypes.CDLL(library)
    except OSError:
        return None
    count, device = ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return None
    name = ctypes.create_string_buffer(256)
    if cuda.cuDeviceGet(ctypes.byref(device), 0) or cuda.cuDeviceGetName(name, 256, device):
        return None

    def attribute(which: int) -> int:
        value = ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(value), which, device)
        return value.value

    arch = f"sm_{attribute(_COMPUTE_CAPABILITY_MAJOR)}{attribute(_COMPUTE_CAPABILITY_MINOR)}"
    target = Target(vendor="nvidia", arch=arch, warp_size=32)
    uuid, get_uuid = ctypes.create_string_buffer(16), getattr(cuda, "cuDeviceGetUuid_v2", None)
    has_uuid = get_uuid is not None and not get_uuid(uuid, device)
    return Device(
        target,
        attribute(_MULTIPROCESSOR_COUNT),
        name.value.decode("utf-8", "replace"),
        f"GPU-{UUID(bytes=uuid.raw)}" if has_uuid else None,
    )


def timing_identity(device: Device) -> str | None:
    """Return the identity of a GPU and its driver: only times of the same identity compare.

    It is "NVIDIA H200, GPU-..., driver 570.124.06"; ``None`` if the drivers report too little.
    """
    driver = nvidia_driver() if device.target.vendor == "nvidia" else amd_driver()
    if device.uuid is None or driver is None:
        return None
    return f"{device.label}, {device.uuid}, driver {driver}"


def nvidia_driver(library: str = "libnvidia-ml.so.1") -> str | None:
    """Return the kernel driver's version: "570.124.06"; ``None`` if it is unknown.

    NVML: ``nvmlInit_v2``, ``nvmlSystemGetDriverVersion``.
    """
    try:
        nvml = ctypes.CDLL(library)
    except OSError:
        return None
    version = ctypes.create_string_buffer(_NVML_VERSION_SIZE)
    if nvml.nvmlInit_v2():
        return None
    failed = nvml.nvmlSystemGetDriverVersion(version, len(version))
    nvml.nvmlShutdown()
    return None if failed else version.value.decode("utf-8", "replace")


def amd_driver(module: Path = _AMDGPU) -> str | None:
    """Return the kernel driver's version: "6.10.5"; ``None`` if there is no driver.

    A driver that was installed separately has its own version; the kernel's built-in driver has
    the version of the kernel.
    """
    try:
        return (module / "version").read_text().strip()
    except OSError:
        return f"of Linux {os.uname().release}" if module.is_dir() else None


def nvidia_function(
    handle: int, threads: int, shared: int, library: str = "libcuda.so.1"
) -> FunctionFacts:
    """Return the CUDA driver's facts about a kernel that it has loaded.

    CUDA Driver API: ``cuFuncGetAttribute``, ``cuOccupancyMaxActiveBlocksPerMultiprocessor``.

    Args:
        shared: Dynamic shared memory per CTA, bytes.
    """
    cuda, function = ctypes.CDLL(library), ctypes.c_void_p(handle)

    def attribute(which: int) -> int | None:
        value = ctypes.c_int()
        failed = cuda.cuFuncGetAttribute(ctypes.byref(value), which, function)
        return None if failed else value.value

    blocks = ctypes.c_int()
    failed = cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(
        ctypes.byref(blocks), function, ctypes.c_int(threads), ctypes.c_size_t(shared)
    )
    return FunctionFacts(
        attribute(_NUM_REGS), attribute(_LOCAL_SIZE_BYTES), None if failed else blocks.value
    )


def amd_device(nodes: Path = _KFD_NODES) -> Device | None:
    """Return the first GPU in the kernel driver's topology.

    ``gfx_target_version`` is decimal 90402 for gfx942 and 90010 for gfx90a: two digits each for
    the minor version and the stepping, which the name writes in hexadecimal
    (linux/drivers/gpu/drm/amd/amdkfd/kfd_topology.c, ``node_show``).
    """
    for path in sorted(nodes.glob("*/properties"), key=lambda path: path.parent.name.zfill(8)):
        try:
            lines = [line.split() for line in path.read_text().splitlines()]
            properties = {name: int(value) for name, value in lines}
        except (OSError, ValueError):
            continue
        version = properties.get("gfx_target_version", 0)
        if not version:
            continue
        major, minor, step = version // 10000, version // 100 % 100, version % 100
        target = Target(
            vendor="amd",
            arch=f"gfx{major}{minor:x}{step:x}",
            warp_size=properties.get("wave_front_size", 64 if major < 10 else 32),
        )
        units = properties.get("simd_count", 0) // max(properties.get("simd_per_cu", 1), 1)
        # Some consumer products have no unique_id, and old kernels do not report it.
        unique = properties.get("unique_id", 0)
        return Device(target, units, None, f"{unique:#x}" if unique else None)
    return None
