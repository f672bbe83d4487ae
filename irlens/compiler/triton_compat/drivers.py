"""Triton drivers that need no GPU: one that only compiles, and one whose launches are no-ops."""

import importlib
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec
import triton
import triton.testing
from triton.backends import backends
from triton.backends.amd.compiler import HIPBackend
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.backends.nvidia.compiler import get_ptxas_version
from triton.runtime.cache import get_cache_manager

from irlens.compiler.import_hooks import after_import
from irlens.compiler.triton_compat import knobs
from irlens.compiler.triton_compat.autotuning import take_first_that_fits
from irlens.compiler.triton_compat.execution import current_allocator
from irlens.compiler.triton_compat.jit import triton_target
from irlens.model.config import Target
from irlens.model.errors import CaptureError

#: In ``Cuda compilation tools, release 12.9, V12.9.86``.
_RELEASE = re.compile(r"\brelease (\d+\.\d+)")


@contextmanager
def compile_only(target: Target, properties: dict[str, int]) -> Iterator[None]:
    """Make a target Triton's active GPU for compiling; nothing can be launched.

    Args:
        properties: The known ones of the device properties that Triton's drivers report.
    """
    config = triton.runtime.driver
    # From 3.5 on, reading `active` looks for a real GPU and fails.
    attribute = "_active" if "_active" in vars(config) else "active"
    before = vars(config)[attribute]
    within_2gb = vars(HIPBackend).get("is_within_2gb")  # Triton 3.2 does not ask
    config.set_active(CompileOnlyDriver(target, before, properties))
    # Up to 3.7 this imports torch before it calls `ptr_range`, which every placeholder has.
    if within_2gb is not None:
        HIPBackend.is_within_2gb = staticmethod(lambda arg: arg.ptr_range() <= 2**31 - 1)
    try:
        yield
    finally:
        if within_2gb is not None:
            HIPBackend.is_within_2gb = within_2gb
        setattr(config, attribute, before)


def toolkit_version(target: Target) -> str | None:
    """Return the CUDA version of Triton's assembler for an NVIDIA GPU, "12.9", or HIP's."""
    if target.vendor == "amd":
        return "0.0"  # programs test whether it is set; the version is unknown
    takes_arch = signature(get_ptxas_version).parameters  # Triton up to 3.3 has one ptxas for all
    arch = [int(target.arch.removeprefix("sm_"))] if takes_arch else []
    release = _RELEASE.search(get_ptxas_version(*arch))
    return release[1] if release else None


class CompileOnlyDriver(DriverBase):  # type: ignore[misc]  # mypy does not follow triton's imports
    """A driver that answers the queries of the compiler, and no others.

    Args:
        real: The previously active driver, or ``None``.
        properties: The known ones of the device properties that Triton's drivers report.
    """

    def __init__(self, target: Target, real: Any, properties: dict[str, int]) -> None:
        self.target = triton_target(target)
        self._real = real
        self.utils: Any = _CompileOnlyUtils(_Properties(target, properties), real, self._no_gpu)

    @classmethod
    def is_active(cls) -> bool:
        """Return ``True``: Triton may activate it."""
        return True

    def get_current_target(self) -> GPUTarget:
        """Return the target to compile for."""
        return self.target

    def get_current_device(self) -> int:
        """Return the number of the only device."""
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        """Return the default stream's handle."""
        return 0

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Raise ``CaptureError``: there are no launchers."""
        raise self._no_gpu()

    def get_active_torch_device(self) -> object:
        """Return PyTorch's name of the device, which does not have to be there.

        Raises:
            CaptureError: The kernel's file has not imported PyTorch.
        """
        torch: Any = sys.modules.get("torch")
        if torch is None:
            raise self._no_gpu()
        return torch.device("cuda", 0)

    def get_benchmarker(self) -> Callable[..., object]:
        """Return what raises ``CaptureError`` where something is timed.

        Autotuners of Triton up to 3.3 get it when they are made.
        """

        def benchmark(*args: object, **kwargs: object) -> object:
            raise self._no_gpu()

        return benchmark

    def _no_gpu(self) -> CaptureError:
        return CaptureError(
            "the kernel's file asks for a GPU, and irlens only compiles",
            hint="fix the tuned values with --set, --num-warps and --num-stages",
        )


class _CompileOnlyUtils:
    """Describes the target, and leaves all else to the real driver's queries, if there is one.

    Garbage collection may unload a kernel of the real GPU.
    """

    def __init__(
        self, properties: "_Properties", real: Any, refusal: Callable[[], CaptureError]
    ) -> None:
        self._properties, self._real, self._refusal = properties, real, refusal

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Return the known properties; reading another one raises."""
        return self._properties

    def __getattr__(self, name: str) -> Any:
        if self._real is None:
            raise self._refusal()
        return getattr(self._real.utils, name)


class LoadedFacts(msgspec.Struct, frozen=True):
    """A driver's facts about a kernel that it has loaded.

    Attributes:
        registers: Registers per thread (AMD: vector registers per lane).
        local_bytes: Local memory per thread, bytes.
    """

    registers: int
    local_bytes: int


#: Returns the facts of a kernel from its binary and its name.
BinaryReader = Callable[[bytes, str], LoadedFacts]
#: Returns the positions of a kernel's arguments that it may write through, from its code and the
#: name of that stage; ``None`` if they are unknown.
WriteFinder = Callable[[str, str], frozenset[int] | None]
#: Called at each launch with each tensor that the kernel may write to, and the kernel's name.
_write_watchers: list[Callable[[Any, str], None]] = []


def watch_writes(watch: Callable[[Any, str], None]) -> None:
    """Report the tensors that each launch may write to, in the whole process."""
    _write_watchers.append(watch)


def install_stub_driver(
    target: Target,
    properties: dict[str, int],
    threads_per_block: int,
    read: BinaryReader,
    find_writes: WriteFinder,
    read_time: Callable[[], float],
) -> None:
    """Install a driver whose launches are no-ops, for the whole process.

    Autotuners compile every configuration, then take the first one that fits the GPU.

    Args:
        properties: The known ones of the device properties that Triton's drivers report.
        threads_per_block: The GPU's maximum of threads per CTA.
        read_time: Answers with the time of what a program measures.
    """
    knobs.never_interpret()
    _StubLauncher.find_writes = staticmethod(find_writes)
    driver = _StubDriver(target, _StubUtils(target, properties, threads_per_block, read))
    triton.runtime.driver.set_active(driver)
    _replace_backend_drivers(driver)
    benchmark = _stub_benchmark(read_time)
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = benchmark
    take_first_that_fits()
    _stub_libraries(target.vendor)


class _StubDriver(CompileOnlyDriver):
    """A driver that accepts every launch and executes none."""

    def __init__(self, target: Target, utils: "_StubUtils") -> None:
        super().__init__(target, None, {})
        self.utils = utils

    @property
    def launcher_cls(self) -> Any:
        return _StubLauncher

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Any:
        return _stub_benchmark(lambda: math.nan)

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch

        return torch.empty(1, dtype=torch.int, device="cuda")

    def clear_cache(self, cache: Any) -> None:
        """Do nothing: nothing is measured."""


class _StubUtils:
    """The driver's queries about binaries and the device."""

    def __init__(
        self, target: Target, properties: dict[str, int], threads_per_block: int, read: BinaryReader
    ) -> None:
        self._properties = _Properties(target, properties)
        self._threads_per_block = threads_per_block
        self._read = read
        self._handles = itertools.count(1)

    def load_binary(
        self, name: str, kernel: bytes, shared: int, device: int
    ) -> tuple[int, int, int, int, int]:
        """Return fake handles of module and function, registers, "spills", threads per CTA."""
        facts = self._read(kernel, name)
        # Triton reports 32-bit words of local memory as spills.
        spills = facts.local_bytes // 4
        handle = next(self._handles)
        return handle, handle, facts.registers, spills, self._threads_per_block

    def unload_module(self, module: object) -> None:
        """Do nothing: nothing is loaded."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Return the known properties; reading another one raises."""
        return self._properties

    def set_printf_fifo_size(self, size: int) -> None:
        """Do nothing: nothing prints."""


class _Properties(dict[str, int]):
    """Properties of a GPU; reading an unknown one raises instead of inventing a value."""

    def __init__(self, target: Target, known: dict[str, int]) -> None:
        super().__init__(known)
        self._target = target

    def __missing__(self, name: str) -> int:
        gpu = self._target.name
        raise CaptureError(
            f"the program asks for {name} of the GPU, which is unknown without one",
            hint=f"irlens does not know it for {gpu}; it knows more about a product such as h100",
        )


class _StubLauncher:
    """Does everything that Triton's launcher does except for the launch."""

    find_writes: WriteFinder

    def __init__(self, source: Any, metadata: Any) -> None:
        self._name, self._key = metadata.name, metadata.hash
        self._written: frozenset[int] | None = None
        self._types = list(source.signature.values())
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
            current_allocator()(x * y * z * self._ctas * size, alignment, stream)
        if enter is not None:
            enter(metadata)
        for index, (type_, value) in enumerate(zip(self._types, args, strict=False)):
            if isinstance(type_, str) and type_.startswith("*"):
                _check_accessible(index, value)
        if _write_watchers:
            self._report_writes(args)
        if leave is not None:
            leave(metadata)

    def _report_writes(self, args: tuple[Any, ...]) -> None:
        if self._written is None:
            self._written = self._find_writes()
        for index in self._written:
            value = args[index] if index < len(args) else None
            for watch in _write_watchers:
                watch(getattr(value, "base", value), self._name)

    def _find_writes(self) -> frozenset[int]:
        """Return the positions of the arguments that the kernel may write through."""
        passed = [index for index, type_ in enumerate(self._types) if type_ != "constexpr"]
        types = [self._types[index] for index in passed]
        # A tuple or a descriptor becomes several arguments of the code.
        if all(isinstance(each, str) and not each.startswith("tensordesc") for each in types):
            folder = Path(get_cache_manager(self._key).cache_dir)
            for stage in ("ttir", "ttgir"):  # Gluon's kernels have no ttir
                path = folder / f"{self._name}.{stage}"
                found = self.find_writes(path.read_text(), stage) if path.exists() else None
                if found is not None:
                    return frozenset(passed[index] for index in found if index < len(passed))
        return frozenset(range(len(self._types)))


def _check_accessible(index: int, pointer: Any) -> None:
    """Raise Triton's ``ValueError`` for memory that a GPU cannot access."""
    device = getattr(getattr(pointer, "device", None), "type", None)
    if device == "cpu" and pointer.data_ptr() and not pointer.is_pinned():
        raise ValueError(
            f"Pointer argument (at {index}) cannot be accessed from Triton (cpu tensor?)"
        )


def _replace_backend_drivers(driver: _StubDriver) -> None:
    """Make lookups of a driver among Triton's backends, as TorchInductor's, return this one."""
    vendor = "amd" if driver.target.backend == "hip" else "nvidia"
    for name, backend in backends.items():
        backends[name] = replace(backend, driver=_driver_class(driver, active=name == vendor))


def _driver_class(driver: _StubDriver, *, active: bool) -> type[DriverBase]:
    """Return a driver class whose only instance is ``driver``."""

    class Singleton(DriverBase):  # type: ignore[misc]  # mypy does not follow triton's imports
        is_active = staticmethod(lambda: active)

        def __new__(cls) -> Any:
            return driver

    return Singleton


def _stub_libraries(vendor: str) -> None:
    """Stub the vendor's libraries that Triton binds: matrix products, NVML's clocks, profilers."""
    module = importlib.import_module("triton._C.libtriton")
    folder, name = ("nvidia", "CublasLt") if vendor == "nvidia" else ("amd", "HipblasLt")
    for library in ("cublas", "hipblas"):
        binding = getattr(getattr(module, folder, None), library, None)
        if binding is not None:
            setattr(binding, name, _StubBlas)
    after_import("triton.profiler", _stub_profiler)
    triton.testing.nvsmi = lambda attributes: [math.nan] * len(attributes)


def _stub_profiler(profiler: Any) -> None:
    """Make Triton's profiler profile nothing: it needs the vendor's library, and a GPU."""
    sessions = {"start": 0, "activate": None, "deactivate": None, "finalize": None}
    # Its package has a function of the name of the module, which calls those of the module.
    modules = (profiler, sys.modules[f"{profiler.__name__}.profile"])
    for module, (name, result) in itertools.product(modules, sessions.items()):
        setattr(module, name, lambda *args, result=result, **kwargs: result)


class _StubBlas:
    """A matrix library whose products are no-ops."""

    def __init__(self, workspace: object) -> None:
        """Accept the workspace of the real class."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Return a product that marks its arguments as written."""
        if name.startswith("__"):
            raise AttributeError(name)

        def multiply(*args: Any, **kwargs: Any) -> None:
            for watch, value in itertools.product(_write_watchers, (*args, *kwargs.values())):
                watch(value, f"{name} of the vendor's library")

        return multiply


def _stub_benchmark(read_time: Callable[[], float]) -> Callable[..., Any]:
    """Return what measures a function: it calls the function once and answers with times."""

    def benchmark(
        call: Callable[[], object],
        *args: object,
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
        **others: object,
    ) -> Any:
        call()
        times = [read_time() for _ in quantiles or (0.5,)]
        # For a single quantile, Triton returns a number.
        is_list = return_mode == "all" if quantiles is None else len(times) > 1
        return times if is_list else times[0]

    return benchmark
