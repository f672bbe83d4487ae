"""Instruments a process: notes Triton's launches, and installs a fake GPU."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens import gpus
from irlens.artifacts import cubin, hsaco
from irlens.compiler.fake_cuda import Deviations
from irlens.compiler.import_hooks import after_import
from irlens.isa.dialect import kernel_named
from irlens.model.config import Target
from irlens.model.errors import CaptureError
from irlens.record.job import LAUNCHES, Job

if TYPE_CHECKING:
    from irlens.compiler.triton_compat.drivers import LoadedFacts


def instrument(job: Job, deviations: Deviations) -> None:
    """Instrument this process, which runs a job's program or is a child of one that does.

    Args:
        job: The job.
        deviations: Counts what runs differently from a GPU from now on.
    """
    target = job.target
    if target is not None:
        _install_driver(job, target)
        after_import("torch", lambda module: _install_torch_gpu(job, target, deviations))
    _note_launches(Path(job.folder) / LAUNCHES)


def _note_launches(path: Path) -> None:
    """Note launches as they happen: a program may be killed by a signal."""
    from irlens.compiler.capture_files import Launch
    from irlens.compiler.triton_compat.launch_hooks import watch_launches

    encoder = msgspec.json.Encoder()

    def note(launch: Launch) -> None:
        # Reopened, since a program may fork; the folder is gone once the recording has ended.
        with suppress(FileNotFoundError), path.open("ab") as stream:
            stream.write(encoder.encode(launch) + b"\n")

    watch_launches(note)


def _install_driver(job: Job, target: Target) -> None:
    """Install a stub driver for Triton."""
    from irlens.compiler.triton_compat.drivers import install_stub_driver

    row = gpus.by_arch(target.arch).arch
    known = {
        "max_shared_mem": row.shared_per_block_optin,
        "max_num_regs": row.registers_per_block,
        "warpSize": row.warp_size,
    }
    if job.sm_count is not None:
        known["multiprocessor_count"] = job.sm_count
    read = _cubin_facts if target.vendor == "nvidia" else _hsaco_facts
    install_stub_driver(target, known, row.threads_per_block, read)


def _install_torch_gpu(job: Job, target: Target, deviations: Deviations) -> None:
    """Install a fake GPU for PyTorch."""
    from irlens.compiler.fake_cuda.dispatch import install_fake_cuda
    from irlens.compiler.fake_cuda.runtime import GpuFacts

    row = gpus.by_arch(target.arch).arch
    properties = {
        "shared_memory_per_block": row.shared_per_block,
        "shared_memory_per_block_optin": row.shared_per_block_optin,
        "shared_memory_per_multiprocessor": row.shared_per_sm,
        "regs_per_multiprocessor": row.registers_per_sm,
        "max_threads_per_multi_processor": row.warps_per_sm * row.warp_size,
    }
    if job.sm_count is not None:
        properties["multi_processor_count"] = job.sm_count
    install_fake_cuda(GpuFacts(target=target, name=job.gpu_name, properties=properties), deviations)


def _cubin_facts(binary: bytes, kernel: str) -> "LoadedFacts":
    """Return the facts that a driver reports for a loaded kernel of a cubin.

    Raises:
        CaptureError: The cubin does not have them.
    """
    from irlens.compiler.triton_compat.drivers import LoadedFacts

    found = kernel_named(cubin.read(binary).kernels, kernel)
    if found is None or found.registers is None or found.local_bytes is None:
        raise CaptureError(f"the cubin of {kernel} does not say how many registers it takes")
    return LoadedFacts(found.registers, found.local_bytes)


def _hsaco_facts(binary: bytes, kernel: str) -> "LoadedFacts":
    """Return the facts that a driver reports for a loaded kernel of a code object.

    Raises:
        CaptureError: The code object holds no such kernel.
    """
    from irlens.compiler.triton_compat.drivers import LoadedFacts

    found = kernel_named(hsaco.read(binary).kernels, kernel)
    if found is None:
        raise CaptureError(f"the hsaco holds no kernel named {kernel}")
    return LoadedFacts(found.registers, found.scratch_bytes)
