"""What ``torch.cuda`` answers of a GPU that is not there."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import torch

from irlens.compiler.fake_cuda import NoGpuError, NoValueError
from irlens.compiler.triton_compat import toolkit_version
from irlens.model.config import Target

_DEVICE = torch.device("cuda", 0)


class GpuFacts(msgspec.Struct, frozen=True):
    """What a program may ask ``torch.cuda`` of a GPU.

    Attributes:
        target: What it is.
        name: The product's name as its driver has it.
        properties: Those of ``torch.cuda.get_device_properties`` that are known.
    """

    target: Target
    name: str
    properties: dict[str, int]


def pretend_runtime(facts: GpuFacts) -> None:
    """Replace what asks CUDA's or ROCm's runtime; what is left of it says that there is none."""
    idle = {name: _idle() for name in _IDLE}
    for name, answer in {**_facts(facts), **_ANSWERS, **idle}.items():
        setattr(torch.cuda, name, answer)
    torch.Tensor.record_stream = _idle()
    torch.cuda.nvtx._nvtx = _Idle()
    torch.cuda._CudaDeviceProperties = _Properties  # TorchDynamo takes them for constants
    torch.Generator = _Generator
    if hasattr(torch, "accelerator"):  # since 2.6
        torch.accelerator.is_available = lambda: True
        torch.accelerator.current_accelerator = lambda check_available=False: torch.device("cuda")
        torch.accelerator.device_count = lambda: 1
        torch.accelerator.current_device_index = lambda: 0
        torch.accelerator.synchronize = _idle()
        torch.accelerator.current_stream = lambda device=None: _STREAM
    if facts.target.vendor == "amd":
        torch.version.hip = "0.0"  # programs ask whether there is one; which, nobody knows
    else:
        torch.version.cuda = toolkit_version(facts.target)
    vars(torch._C)["__getattr__"] = _missing
    torch._C._cuda_getCurrentRawStream = lambda device=0: 0
    torch._C._cuda_cudaCachingAllocator_is_enabled = lambda: True


class _Idle:
    """A stream, an event, a graph: takes every call, and does nothing."""

    cuda_stream = 0
    device = _DEVICE

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Take what a real one takes."""

    def __enter__(self) -> "_Idle":
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was entered."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return what does nothing: ``synchronize``, ``wait_stream``, ``replay``, ..."""
        if name.startswith("__"):
            raise AttributeError(name)
        return _idle()

    def query(self) -> bool:
        """Whether all is done."""
        return True

    def elapsed_time(self, end: object) -> float:
        """Return no number: no time has been measured."""
        return float("nan")


class _Generator(torch.Generator):  # type: ignore[misc]  # mypy does not follow torch
    """A generator of random numbers, for whatever device.

    A GPU's state is 16 bytes: a seed, and how far its sequence (Philox) has been used. Kernels that
    make random numbers get both as arguments. Nothing is drawn here, so that it is never used.
    """

    device = _DEVICE
    _offset = 0

    def __new__(cls, device: Any = "cpu") -> Any:
        made = torch.device(device)
        if made.type != "cuda":
            return _CpuGenerator(made)
        return super().__new__(cls)

    def get_state(self) -> torch.Tensor:
        """Return seed and offset, as the 16 bytes that CUDA's has."""
        seed = self.initial_seed()
        signed = seed - (1 << 64) if seed >> 63 else seed
        numbers = torch.tensor([signed, self._offset], dtype=torch.int64, device="cpu")
        return numbers.view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> "_Generator":
        """Take seed and offset from what ``get_state`` returned."""
        seed, self._offset = state.view(torch.int64).tolist()
        return self._seeded(seed)

    def manual_seed(self, seed: int) -> "_Generator":
        """Start the sequence of a seed."""
        self._offset = 0
        return self._seeded(seed)

    def _seeded(self, seed: int) -> "_Generator":
        super().manual_seed(seed)
        return self


#: The generator of devices that are there.
_CpuGenerator = torch.Generator


class _Properties(SimpleNamespace):
    """Those that are known; another is an error that says so instead of being made up."""

    def __getattr__(self, name: str) -> Any:
        raise NoGpuError(f"{name} of torch.cuda.get_device_properties")


def _idle() -> Callable[..., None]:
    """Return what does nothing: one of its own for each, since TorchDynamo tells them apart."""
    return lambda *args, **kwargs: None


def _missing(name: str) -> Any:
    """Answer for what a PyTorch without CUDA does not have.

    Raises:
        NoGpuError: Where that is the door to the runtime.
        AttributeError: Where it is anything else.
    """
    if name.startswith("_cuda_"):
        raise NoGpuError(f"torch._C.{name}")
    raise AttributeError(f"module 'torch._C' has no attribute '{name}'")


def _memory(device: object = None) -> tuple[int, int]:
    raise NoValueError("torch.cuda.mem_get_info")


def _seed(seed: int) -> None:
    _RANDOM.manual_seed(int(seed))


def _restore(state: torch.Tensor) -> None:
    _RANDOM.set_state(state)


def _facts(facts: GpuFacts) -> dict[str, Any]:
    """Return what tells of the GPU."""
    version = _capability(facts.target)
    properties = _Properties(
        name=facts.name,
        major=version[0],
        minor=version[1],
        gcnArchName=facts.target.arch,
        warp_size=facts.target.warp_size,
        **facts.properties,
    )
    return {
        "get_device_name": lambda device=None: facts.name,
        "get_device_capability": lambda device=None: version,
        "get_device_properties": lambda device=None: properties,
        "is_bf16_supported": lambda including_emulation=True: version >= (8, 0),
    }


_STREAM = _Idle()
_RANDOM = _Generator("cuda")

#: What can be answered of any GPU.
_ANSWERS: dict[str, Any] = {
    "_is_compiled": lambda: True,
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "device_count": lambda: 1,
    "current_device": lambda: 0,
    "_exchange_device": lambda device: 0,
    "_maybe_exchange_device": lambda device: 0,
    "can_device_access_peer": lambda device, peer: False,
    "device": _Idle,
    "device_of": _Idle,
    "Stream": _Idle,
    "Event": _Idle,
    "stream": lambda stream: stream or _Idle(),
    "current_stream": lambda device=None: _STREAM,
    "default_stream": lambda device=None: _STREAM,
    "CUDAGraph": _Idle,
    "graph": _Idle,
    "graph_pool_handle": lambda: (0, 0),
    "is_current_stream_capturing": lambda: False,
    "mem_get_info": _memory,
    "default_generators": (_RANDOM,),
    "initial_seed": lambda: _RANDOM.initial_seed(),
    "manual_seed": lambda seed: _seed(seed),
    "manual_seed_all": lambda seed: _seed(seed),
    "get_rng_state": lambda device="cuda": _RANDOM.get_state(),
    "get_rng_state_all": lambda: [_RANDOM.get_state()],
    "set_rng_state": lambda state, device="cuda": _restore(state),
    "set_rng_state_all": lambda states: _restore(*states),
}

#: What has nothing to do.
_IDLE = (
    "init", "set_device", "set_stream", "synchronize", "empty_cache", "ipc_collect",
    "reset_peak_memory_stats", "reset_accumulated_memory_stats",
)  # fmt: skip


def _capability(target: Target) -> tuple[int, int]:
    """Return major and minor version: 9.0 of sm_90; 9.4 of gfx942, whose 2 is the stepping."""
    if target.vendor == "nvidia":
        number = int(target.arch.removeprefix("sm_"))
        return number // 10, number % 10
    digits = target.arch.removeprefix("gfx")
    return int(digits[:-2]), int(digits[-2], 16)
