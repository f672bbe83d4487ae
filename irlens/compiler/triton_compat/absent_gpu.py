"""Compiling for a GPU that need not be there: a driver that answers for it."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import triton
import triton.language as tl
from triton.backends.amd.compiler import HIPBackend
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.compiler.compiler import make_backend

from irlens.compiler.stand_in import StandIn
from irlens.compiler.triton_compat.kernels import Values
from irlens.compiler.values import Argument, tensor_of
from irlens.model.config import Target
from irlens.model.errors import CaptureError, UnknownNameError


@contextmanager
def compile_only(target: Target) -> Iterator[None]:
    """Make Triton believe that the target is the active GPU, though nothing can be launched."""
    config = triton.runtime.driver
    # Asking for `active` would make 3.5 and later look for a real GPU and fail.
    attribute = "_active" if "_active" in vars(config) else "active"
    before = vars(config)[attribute]
    within_2gb = vars(HIPBackend)["is_within_2gb"]
    config.set_active(AbsentGpu(target, before))
    # Up to 3.7 this imports torch before it looks at `ptr_range`, which StandIn always has.
    HIPBackend.is_within_2gb = staticmethod(lambda arg: arg.ptr_range() <= 2**31 - 1)
    try:
        yield
    finally:
        HIPBackend.is_within_2gb = within_2gb
        setattr(config, attribute, before)


def stand_ins(args: Mapping[str, Argument]) -> Values:
    """Return what to give Triton for the arguments: a tensor becomes a ``StandIn``.

    Its dtype is PyTorch's if the kernel's file has imported PyTorch, since the file's tuning
    functions may then compare it with ``torch.float16``.
    """
    torch = sys.modules.get("torch")
    values: Values = {}
    for name, value in args.items():
        tensor = tensor_of(value)
        if tensor is not None:
            dtype = getattr(torch, tensor.dtype.torch or "", None)
            values[name] = StandIn(tensor, dtype or getattr(tl, tensor.dtype.language))
        else:
            values[name] = value
    return values


def option_defaults(target: Target) -> Values:
    """Return the compile options that the target's compiler knows, with their defaults."""
    return dict(make_backend(_gpu_target(target)).parse_options({}).__dict__)


class AbsentGpu(DriverBase):  # type: ignore[misc]  # mypy does not follow triton's imports
    """A driver that answers what compiling asks, and nothing else.

    Args:
        target: The GPU to pretend.
        real: The driver that was active before, or ``None``.
    """

    def __init__(self, target: Target, real: Any = None) -> None:
        self.target = _gpu_target(target)
        self._real = real

    @property
    def utils(self) -> Any:
        """The real driver's: a kernel launched earlier may be collected, and unloaded, now."""
        if self._real is None:
            raise self._absent()
        return self._real.utils

    @classmethod
    def is_active(cls) -> bool:
        """Whether Triton may take it for the active one: that is what it is for."""
        return True

    def get_current_target(self) -> GPUTarget:
        """Return what is compiled for."""
        return self.target

    def get_current_device(self) -> int:
        """Return the number of the only device."""
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        """Return the default stream's handle."""
        return 0

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Raise ``CaptureError``: that is for launchers."""
        raise self._absent()

    def get_active_torch_device(self) -> object:
        """Raise ``CaptureError``: there is none."""
        raise self._absent()

    def get_benchmarker(self) -> object:
        """Raise ``CaptureError``: nothing can be timed."""
        raise self._absent()

    def _absent(self) -> CaptureError:
        return CaptureError(
            f"the kernel's file asks for a GPU while irlens only compiles for {self.target.arch}",
            hint="fix the tuned values with --set, --num-warps and --num-stages",
        )


def _gpu_target(target: Target) -> GPUTarget:
    """Return the target as Triton writes it: ("cuda", 90, 32), ("hip", "gfx942", 64)."""
    if target.vendor == "amd":
        return GPUTarget("hip", target.arch, target.warp_size)
    number = re.fullmatch(r"sm_(\d+)[af]?", target.arch)
    if number is None:
        raise UnknownNameError("target", target.arch, [])
    return GPUTarget("cuda", int(number[1]), target.warp_size)
