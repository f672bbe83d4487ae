"""``torch.cuda`` for the fake device."""

import functools
import io
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import torch

from irlens.compiler.fake_cuda import Deviations, NoGpuError, NoValueError
from irlens.compiler.import_hooks import after_import
from irlens.compiler.sources.target_facts import capability
from irlens.compiler.triton_compat.drivers import toolkit_version
from irlens.model.config import Target

_DEVICE = torch.device("cuda", 0)


class GpuFacts(msgspec.Struct, frozen=True):
    """Facts about a GPU for ``torch.cuda``.

    Attributes:
        properties: The known attributes of ``torch.cuda.get_device_properties``.
        memory: Its memory's size in bytes; ``None`` if unknown.
    """

    target: Target
    name: str
    properties: dict[str, Any]
    memory: int | None = None


def install_runtime(
    facts: GpuFacts, deviations: Deviations, read_time: Callable[[], float]
) -> None:
    """Replace the functions that call CUDA's or ROCm's runtime; all others raise ``NoGpuError``.

    Args:
        read_time: Answers with the time between two events.
    """
    _Stub.elapsed_time = lambda self, end: read_time()  # type: ignore[method-assign]
    no_ops = {name: _no_op() for name in _NO_OPS}
    # Nothing measures the GPU.
    readings = dict.fromkeys(_READINGS, lambda *args, **kwargs: float("nan"))
    queries = _device_queries(facts, deviations)
    for name, replacement in (queries | _REPLACEMENTS | no_ops | readings).items():
        setattr(torch.cuda, name, replacement)
    torch.Tensor.record_stream = _no_op()
    torch.save = _save_without_gpu(torch.save, deviations)
    torch.cuda.nvtx._nvtx = _Stub()
    torch.cuda._CudaDeviceProperties = _Properties  # TorchDynamo treats them as constants
    torch.Generator = _Generator
    if hasattr(torch, "accelerator"):  # since 2.6
        torch.accelerator.is_available = lambda: True
        torch.accelerator.current_accelerator = lambda check_available=False: torch.device("cuda")
        torch.accelerator.device_count = lambda: 1
        torch.accelerator.current_device_index = lambda: 0
        torch.accelerator.synchronize = _no_op()
        torch.accelerator.current_stream = lambda device=None: _STREAM
    name = "hip" if facts.target.vendor == "amd" else "cuda"
    setattr(torch.version, name, toolkit_version(facts.target))
    vars(torch._C)["__getattr__"] = _missing
    torch._C._cuda_getCurrentRawStream = lambda device=0: 0
    torch._C._cuda_cudaCachingAllocator_is_enabled = lambda: True
    after_import("pynvml", lambda module: _stub_nvml(module, facts.name))


def _save_without_gpu(save: Callable[..., None], deviations: Deviations) -> Callable[..., None]:
    """Return ``torch.save`` that leaves files alone where the GPU's memory would be written."""

    @functools.wraps(save)
    def save_on_cpu(obj: object, f: object, *args: Any, **kwargs: Any) -> None:
        try:
            save(obj, io.BytesIO(), *args, **kwargs)
        except (NotImplementedError, NoValueError):  # its storage is PyTorch's "meta"
            deviations.unsaved += 1
        else:
            save(obj, f, *args, **kwargs)

    return save_on_cpu


def _stub_nvml(nvml: Any, name: str) -> None:
    """Make NVML find one device; it supports no query but that for its name."""
    handle = object()
    known = {
        "nvmlInit": None,
        "nvmlInitWithFlags": None,
        "nvmlShutdown": None,
        "nvmlDeviceGetCount": 1,
        "nvmlDeviceGetHandleByIndex": handle,
        "nvmlDeviceGetName": name,
    }

    def unsupported(*args: object, **kwargs: object) -> Any:
        raise nvml.NVMLError(nvml.NVML_ERROR_NOT_SUPPORTED)

    for function in [each for each in vars(nvml) if re.match("nvml(Device|System)[A-Z]", each)]:
        setattr(nvml, function, unsupported)
    for function, result in known.items():
        setattr(nvml, function, lambda *args, result=result, **kwargs: result)


class _Stub:
    """A stream, an event or a graph: every method is a no-op."""

    cuda_stream = 0
    device = _DEVICE

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Accept the arguments of the real class."""

    def __enter__(self) -> "_Stub":
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a no-op: ``synchronize``, ``wait_stream``, ``replay``, ..."""
        if name.startswith("__"):
            raise AttributeError(name)
        return _no_op()

    def query(self) -> bool:
        """Return ``True``: all work is complete."""
        return True

    def elapsed_time(self, end: object) -> float:
        """Return NaN until the runtime is installed, then what it answers with."""
        return float("nan")


class _Generator(torch.Generator):  # type: ignore[misc]  # mypy does not follow torch
    """A random number generator for any device.

    A GPU's state is 16 bytes: the seed, and the offset in its Philox sequence. Kernels that draw
    random numbers get both as arguments. Nothing is drawn here, so the offset stays 0.
    """

    device = _DEVICE
    _offset = 0

    def __new__(cls, device: Any = "cpu") -> Any:
        resolved = torch.device(device)
        if resolved.type != "cuda":
            return _RealGenerator(resolved)
        return super().__new__(cls)

    def get_state(self) -> torch.Tensor:
        """Return seed and offset as the 16 bytes of a CUDA generator."""
        seed = self.initial_seed()
        signed = seed - (1 << 64) if seed >> 63 else seed
        numbers = torch.tensor([signed, self._offset], dtype=torch.int64, device="cpu")
        return numbers.view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> "_Generator":
        """Set seed and offset from a state of ``get_state``."""
        seed, self._offset = state.view(torch.int64).tolist()
        return self._seeded(seed)

    def manual_seed(self, seed: int) -> "_Generator":
        """Restart the sequence with a seed."""
        self._offset = 0
        return self._seeded(seed)

    def _seeded(self, seed: int) -> "_Generator":
        super().manual_seed(seed)
        return self


#: PyTorch's generator, for real devices.
_RealGenerator = torch.Generator


class _Properties(SimpleNamespace):
    """Properties of a GPU; reading an unknown one raises instead of inventing a value."""

    def __getattr__(self, name: str) -> Any:
        what = f"{name} of torch.cuda.get_device_properties"
        if name == "total_memory":
            return self.read_memory(what)
        raise NoGpuError(what)


def _no_op() -> Callable[..., None]:
    """Return a new no-op; TorchDynamo requires a distinct function for each name."""
    return lambda *args, **kwargs: None


def _missing(name: str) -> Any:
    """Raise for an attribute of ``torch._C`` that a PyTorch without CUDA does not have.

    Raises:
        NoGpuError: It is a function of the CUDA runtime.
    """
    if name.startswith("_cuda_"):
        raise NoGpuError(f"torch._C.{name}")
    raise AttributeError(f"module 'torch._C' has no attribute '{name}'")


def _seed(seed: int) -> None:
    _RANDOM.manual_seed(int(seed))


def _restore(state: torch.Tensor) -> None:
    _RANDOM.set_state(state)


def _device_queries(facts: GpuFacts, deviations: Deviations) -> dict[str, Any]:
    """Return the functions of ``torch.cuda`` that describe the GPU."""

    def read_memory(what: str) -> int:
        if facts.memory is None:
            raise NoGpuError(what)
        deviations.memory = True
        return facts.memory

    version = capability(facts.target)
    properties = _Properties(read_memory=read_memory, **facts.properties)
    return {
        "get_device_name": lambda device=None: facts.name,
        "get_device_capability": lambda device=None: version,
        "get_device_properties": lambda device=None: properties,
        "mem_get_info": lambda device=None: (read_memory("torch.cuda.mem_get_info"),) * 2,
        "is_bf16_supported": lambda including_emulation=True: version >= (8, 0),
    }


_STREAM = _Stub()
_RANDOM = _Generator("cuda")

#: Replacements that are the same for every GPU.
_REPLACEMENTS: dict[str, Any] = {
    "_is_compiled": lambda: True,
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "_exchange_device": lambda device: 0,
    "_maybe_exchange_device": lambda device: 0,
    "can_device_access_peer": lambda device, peer: False,
    "device": _Stub,
    "device_of": _Stub,
    "Stream": _Stub,
    "Event": _Stub,
    "stream": lambda stream: stream or _Stub(),
    "current_stream": lambda device=None: _STREAM,
    "default_stream": lambda device=None: _STREAM,
    "CUDAGraph": _Stub,
    "graph": _Stub,
    "graph_pool_handle": lambda: (0, 0),
    "is_current_stream_capturing": lambda: False,
    "default_generators": (_RANDOM,),
    "initial_seed": lambda: _RANDOM.initial_seed(),
    "manual_seed": lambda seed: _seed(seed),
    "manual_seed_all": lambda seed: _seed(seed),
    "get_rng_state": lambda device="cuda": _RANDOM.get_state(),
    "get_rng_state_all": lambda: [_RANDOM.get_state()],
    "set_rng_state": lambda state, device="cuda": _restore(state),
    "set_rng_state_all": lambda states: _restore(*states),
}

#: Functions that become no-ops.
_NO_OPS = (
    "init", "set_device", "set_stream", "synchronize", "empty_cache", "ipc_collect",
    "reset_peak_memory_stats", "reset_accumulated_memory_stats",
)  # fmt: skip

#: Functions that return readings of NVML and of the allocator.
_READINGS = (
    "utilization", "temperature", "power_draw", "clock_rate", "memory_usage", "device_memory_used",
    "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
)  # fmt: skip
