"""Let kernel files that ask PyTorch for the GPU be answered from the target's row.

Libraries choose settings by the compute capability or the number of SMs while they are imported.
Without a GPU PyTorch raises an exception; with another GPU it would answer for that one.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import SimpleNamespace
from typing import Any

from irlens import gpus
from irlens.compiler.import_hooks import after_import
from irlens.model.config import Target
from irlens.model.errors import UnknownNameError

#: The targets that files are loaded for, and the toolkit's version for each, the innermost last.
_TARGETS: list[Target] = []
_TOOLKITS: list[str | None] = []


@contextmanager
def described_to_torch(target: Target | None, toolkit: str | None = None) -> Iterator[None]:
    """Let ``torch.cuda`` describe a target; ``None`` for the local GPU.

    Args:
        toolkit: The version of CUDA or HIP for it, if it is known.
    """
    if target is None:
        yield
        return
    _TARGETS.append(target)
    _TOOLKITS.append(toolkit)
    try:
        after_import("torch", _answer)  # each time: another module may have been in its place
        yield
    finally:
        _TARGETS.pop()
        _TOOLKITS.pop()
        _tell_toolkit(sys.modules.get("torch"))


class _Told(str):
    """A version in the place of ``None``."""


def _tell_toolkit(torch: Any) -> None:
    """Let a PyTorch that was built for no GPU say what one for the target's vendor says.

    Libraries define kernels where ``torch.version.cuda`` is new enough, or ``torch.version.hip``
    is any.
    """
    version: Any = getattr(torch, "version", None)
    for name in ("cuda", "hip"):
        if isinstance(getattr(version, name, None), _Told):
            setattr(version, name, None)
    if not _TARGETS or _TOOLKITS[-1] is None:
        return
    if all(getattr(version, name, "") is None for name in ("cuda", "hip")):
        name = "hip" if _TARGETS[-1].vendor == "amd" else "cuda"
        setattr(version, name, _Told(_TOOLKITS[-1]))


def described(name: str) -> Callable[..., Any] | None:
    """Return the function of PyTorch that describes the target; ``None`` for all others."""
    answer = _ANSWERS.get(name.removeprefix("torch.cuda."))
    if answer is None or not _TARGETS:
        return None
    return lambda *args, **kwargs: answer(_TARGETS[-1])


def _answer(torch: Any) -> None:
    """Patch the functions of ``torch.cuda`` that are not patched yet to describe the target."""
    for name in _ANSWERS:
        own = getattr(torch.cuda, name)
        if not hasattr(own, "__answers__"):
            setattr(torch.cuda, name, _answering(own, name))
    _tell_toolkit(torch)


def capability(target: Target) -> tuple[int, int]:
    """Return the compute capability: 9.0 for sm_90; 9.4 for gfx942, whose 2 is the stepping."""
    if target.vendor == "nvidia":
        number = int(target.arch.removeprefix("sm_"))
        return number // 10, number % 10
    digits = target.arch.removeprefix("gfx")
    return int(digits[:-2]), int(digits[-2], 16)


def properties_of(target: Target, name: str) -> dict[str, Any]:
    """Return the known attributes of ``torch.cuda.get_device_properties``.

    Args:
        name: Its name as its driver reports it.
    """
    gpu = gpus.find(target.name)
    row, (major, minor) = gpu.arch, capability(target)
    properties = {
        "name": name,
        "major": major,
        "minor": minor,
        "gcnArchName": target.arch,
        "warp_size": target.warp_size,
        "shared_memory_per_block": row.shared_per_block,
        "shared_memory_per_block_optin": row.shared_per_block_optin,
        "shared_memory_per_multiprocessor": row.shared_per_sm,
        "regs_per_multiprocessor": row.registers_per_sm,
        "max_threads_per_multi_processor": row.warps_per_sm * row.warp_size,
    }
    return properties | ({} if gpu.sm_count is None else {"multi_processor_count": gpu.sm_count})


def driver_properties(target: Target) -> dict[str, int]:
    """Return the known properties of a GPU by the names that Triton's drivers have for them."""
    try:
        gpu = gpus.find(target.name)
    except UnknownNameError:
        return {}  # of an architecture without a row; whether it exists the compiler says
    properties = {
        "max_shared_mem": gpu.arch.shared_per_block_optin,
        "max_num_regs": gpu.arch.registers_per_block,
        "warpSize": gpu.arch.warp_size,
    }
    count = {} if gpu.sm_count is None else {"multiprocessor_count": gpu.sm_count}
    return properties | count


def driver_name(gpu: gpus.Gpu) -> str:
    """Return a GPU's name as its driver reports it, or else irlens's name."""
    return next(iter(gpu.product.drivers), gpu.name) if gpu.product else gpu.name


def _name(target: Target) -> str:
    return driver_name(gpus.find(target.name))


_ANSWERS: dict[str, Callable[[Target], Any]] = {
    "is_available": lambda target: True,
    "device_count": lambda target: 1,
    "current_device": lambda target: 0,
    "get_device_name": _name,
    "get_device_capability": capability,
    "get_device_properties": lambda target: SimpleNamespace(**properties_of(target, _name(target))),
}


def _answering(own: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(own)
    def answered(*args: Any, **kwargs: Any) -> Any:
        return (described(name) or own)(*args, **kwargs)

    answered.__answers__ = True  # type: ignore[attr-defined]
    return answered
