"""Launching on a GPU that is not there: kernels are compiled, and their launches do nothing."""

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import triton
import triton.testing
from triton import knobs
from triton.backends import backends
from triton.backends.driver import DriverBase
from triton.backends.nvidia.compiler import get_ptxas_version
from triton.runtime.autotuner import Autotuner

from irlens.compiler.triton_compat.absent_gpu import AbsentGpu
from irlens.compiler.triton_compat.running import allocator
from irlens.model.config import Target
from irlens.model.errors import CaptureError

#: In ``Cuda compilation tools, release 12.9, V12.9.86``.
_RELEASE = re.compile(r"\brelease (\d+\.\d+)")


class LoadedFacts(msgspec.Struct, frozen=True):
    """What a driver says of a kernel that it has loaded.

    Attributes:
        registers: Registers per thread (AMD: vector registers per lane).
        local_bytes: Local memory per thread, bytes.
    """

    registers: int
    local_bytes: int


#: Reads from a binary, and the kernel's name, what a driver would say.
Reader = Callable[[bytes, str], LoadedFacts]


def launch_nowhere(
    target: Target, properties: dict[str, int], threads_per_block: int, read: Reader
) -> None:
    """Make Triton believe, in the whole process and for good, that the target is the active GPU.

    Its autotuners compile every configuration, and then take the first that fits.

    Args:
        target: The GPU.
        properties: What is known of what Triton's drivers call its properties.
        threads_per_block: The most threads that it takes in one CTA.
        read: Reads a binary.
    """
    knobs.runtime.interpret = False
    utils = _Utils(target, properties, threads_per_block, read)
    driver = _Nowhere(target, utils)
    triton.runtime.driver.set_active(driver)
    _find_only(driver)
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = _timed
    _tune_by_order()


def _find_only(driver: "_Nowhere") -> None:
    """Let whoever looks for a driver among Triton's backends, as TorchInductor does, find this."""
    vendor = "amd" if driver.target.backend == "hip" else "nvidia"
    for name, backend in backends.items():
        backends[name] = replace(backend, driver=_finding(driver, active=name == vendor))


def _finding(driver: "_Nowhere", *, active: bool) -> type[DriverBase]:
    """Return a class of drivers that has one alone."""

    class Found(DriverBase):  # type: ignore[misc]  # mypy does not follow triton's imports
        is_active = staticmethod(lambda: active)

        def __new__(cls) -> Any:
            return driver

    return Found


def toolkit_version(target: Target) -> str | None:
    """Return the version of CUDA that Triton's assembler for an NVIDIA GPU belongs to: "12.9"."""
    told = _RELEASE.search(get_ptxas_version(int(target.arch.removeprefix("sm_"))))
    return told[1] if told else None


class _Nowhere(AbsentGpu):
    """A driver that takes every launch and carries out none."""

    def __init__(self, target: Target, utils: "_Utils") -> None:
        super().__init__(target)
        self._utils = utils

    @property
    def utils(self) -> Any:
        return self._utils

    @property
    def launcher_cls(self) -> Any:
        return _Launcher

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Any:
        return _timed

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch

        return torch.empty(1, dtype=torch.int, device="cuda")

    def clear_cache(self, cache: Any) -> None:
        """Leave it: nothing is measured."""


class _Utils:
    """What a driver answers of binaries and of its device."""

    def __init__(
        self, target: Target, properties: dict[str, int], threads_per_block: int, read: Reader
    ) -> None:
        self._properties = _Properties(properties)
        self._properties.target = target
        self._threads_per_block = threads_per_block
        self._read = read
        self._handles = itertools.count(1)

    def load_binary(
        self, name: str, kernel: bytes, shared: int, device: int
    ) -> tuple[int, int, int, int, int]:
        """Return made-up handles of module and function, registers, "spills", threads per CTA."""
        facts = self._read(kernel, name)
        # Triton calls the words of local memory spills.
        spills = facts.local_bytes // 4
        handle = next(self._handles)
        return handle, handle, facts.registers, spills, self._threads_per_block

    def unload_module(self, module: object) -> None:
        """Forget it: there is none."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Return those that are known; asking for another is an error."""
        return self._properties

    def set_printf_fifo_size(self, size: int) -> None:
        """Leave it: nothing prints."""


class _Properties(dict[str, int]):
    """Properties of a GPU; what is not known says so instead of being made up."""

    target: Target

    def __missing__(self, name: str) -> int:
        which = self.target.name
        raise CaptureError(
            f"the program asks for {name} of a GPU that is not there",
            hint=f"irlens does not know that of {which}; a product such as h100 is known better",
        )


class _Launcher:
    """Launches a kernel: it does all that Triton's launcher does, but for the launch."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self._kinds = list(source.signature.values())
        self._scratch = (metadata.global_scratch_size, metadata.global_scratch_align)
        self._ctas = metadata.num_ctas

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: object,
        function: object,
        packed: object,
        metadata: object,
        enter: Callable[[object], object] | None,
        leave: Callable[[object], object] | None,
        *args: Any,
    ) -> None:
        size, alignment = self._scratch
        if size > 0:
            allocator()(x * y * z * self._ctas * size, alignment, stream)
        if enter is not None:
            enter(metadata)
        for place, (kind, value) in enumerate(zip(self._kinds, args, strict=False)):
            if isinstance(kind, str) and kind.startswith("*"):
                _check_reachable(place, value)
        if leave is not None:
            leave(metadata)


def _check_reachable(place: int, pointer: Any) -> None:
    """Raise what Triton raises of memory that only the CPU can reach: a ``ValueError``."""
    device = getattr(getattr(pointer, "device", None), "type", None)
    if device == "cpu" and pointer.data_ptr() and not pointer.is_pinned():
        raise ValueError(
            f"Pointer argument (at {place}) cannot be accessed from Triton (cpu tensor?)"
        )


def _timed(
    call: Callable[[], object],
    *args: object,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    **others: object,
) -> Any:
    """Call once what would be timed. Its time is not a number: there is none."""
    call()
    if quantiles is not None:
        # Of one, Triton returns the number.
        return [math.nan] * len(quantiles) if len(quantiles) > 1 else math.nan
    return [math.nan] if return_mode == "all" else math.nan


def _tune_by_order() -> None:
    """Let autotuners take the first configuration that the GPU can take.

    Triton gives one that it cannot take an infinite time, and compares no NaN with that: here, and
    nowhere that a program could see it, the others have the same finite one.
    """
    bench = Autotuner._bench

    def _bench(self: Autotuner, *args: Any, **kwargs: Any) -> list[float]:
        return [0.0 if math.isnan(time) else time for time in bench(self, *args, **kwargs)]

    Autotuner._bench = _bench
