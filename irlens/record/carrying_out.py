"""Watching Triton in a process, and putting a GPU in place that is not there."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens import gpus as arch
from irlens.artifacts import cubin, hsaco
from irlens.compiler.fake_cuda import Deviations
from irlens.compiler.import_hooks import after_import
from irlens.isa.dialect import kernel_named
from irlens.model.config import Target
from irlens.model.errors import CaptureError
from irlens.record.order import LAUNCHES, Order

if TYPE_CHECKING:
    from irlens.compiler.triton_compat.drivers import LoadedFacts


def carry_out(order: Order, liberties: Deviations) -> None:
    """Do all that an order says of the process that runs the program, or one that it starts.

    Args:
        order: The order.
        liberties: Counts, from now on, what is done otherwise than on a GPU.
    """
    target = order.target
    if target is not None:
        _pretend_driver(order, target)
        after_import("torch", lambda module: _pretend_torch(order, target, liberties))
    _watch(Path(order.notes) / LAUNCHES)


def _watch(notes: Path) -> None:
    """Write down launches as they come: a program may end by a signal."""
    from irlens.compiler.capture_files import Launch
    from irlens.compiler.triton_compat.launch_hooks import watch_launches

    encoder = msgspec.json.Encoder()

    def tell(launch: Launch) -> None:
        # Opened anew, since a program may fork; gone when nobody waits for this process any more.
        with suppress(FileNotFoundError), notes.open("ab") as stream:
            stream.write(encoder.encode(launch) + b"\n")

    watch_launches(tell)


def _pretend_driver(order: Order, target: Target) -> None:
    """Put a driver in place for Triton."""
    from irlens.compiler.triton_compat.drivers import install_stub_driver

    row = arch.by_arch(target.arch).arch
    known = {
        "max_shared_mem": row.shared_per_block_optin,
        "max_num_regs": row.registers_per_block,
        "warpSize": row.warp_size,
    }
    if order.sm_count is not None:
        known["multiprocessor_count"] = order.sm_count
    read = _cubin_facts if target.vendor == "nvidia" else _hsaco_facts
    install_stub_driver(target, known, row.threads_per_block, read)


def _pretend_torch(order: Order, target: Target, liberties: Deviations) -> None:
    """Put a GPU in place for PyTorch."""
    from irlens.compiler.fake_cuda.dispatch import install
    from irlens.compiler.fake_cuda.runtime import GpuFacts

    row = arch.by_arch(target.arch).arch
    properties = {
        "shared_memory_per_block": row.shared_per_block,
        "shared_memory_per_block_optin": row.shared_per_block_optin,
        "shared_memory_per_multiprocessor": row.shared_per_sm,
        "regs_per_multiprocessor": row.registers_per_sm,
        "max_threads_per_multi_processor": row.warps_per_sm * row.warp_size,
    }
    if order.sm_count is not None:
        properties["multi_processor_count"] = order.sm_count
    install(GpuFacts(target=target, name=order.name, properties=properties), liberties)


def _cubin_facts(binary: bytes, kernel: str) -> "LoadedFacts":
    """Return what a driver says of a kernel that it has loaded.

    Raises:
        CaptureError: The cubin does not say.
    """
    from irlens.compiler.triton_compat.drivers import LoadedFacts

    found = kernel_named(cubin.read(binary).kernels, kernel)
    if found is None or found.registers is None or found.local_bytes is None:
        raise CaptureError(f"the cubin of {kernel} does not say how many registers it takes")
    return LoadedFacts(found.registers, found.local_bytes)


def _hsaco_facts(binary: bytes, kernel: str) -> "LoadedFacts":
    """Return what a driver says of a kernel that it has loaded.

    Raises:
        CaptureError: The code object holds no such kernel.
    """
    from irlens.compiler.triton_compat.drivers import LoadedFacts

    found = kernel_named(hsaco.read(binary).kernels, kernel)
    if found is None:
        raise CaptureError(f"the hsaco holds no kernel named {kernel}")
    return LoadedFacts(found.registers, found.scratch_bytes)
