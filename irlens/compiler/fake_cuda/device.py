"""Make "cuda" a device for PyTorch's C++ code, and register kernels for it.

A Python mode only reaches the program's own calls. TorchDynamo and TorchInductor leave every mode
to create tensors on "cuda", slice them and run autograd over fake ones. PyTorch then consults three
tables about the device: the kernels of an operator, the device guards and the device's hooks.
"""

import atexit
import ctypes
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import _disable_current_modes

from irlens.model.config import Vendor

#: The types that fake tensors have.
PLAIN = (torch.Tensor, torch.nn.Parameter)
_PACKAGE = Path(torch.__file__).parent
_LIBRARIES = _PACKAGE / "lib"
#: Device types as indices into the table of guards, see c10/core/DeviceType.h.
_CUDA, _LAZY = 1, 17
#: The headers that declare the hooks: those of every accelerator, then CUDA's own.
_HOOKS_HEADERS = [
    _PACKAGE / "include" / "ATen" / "detail" / f"{name}HooksInterface.h"
    for name in ("Accelerator", "CUDA")
]
#: What the hooks of a GPU return. The vendor's library, and for 64-bit indices cuDNN's version,
#: determine the memory format of a convolution; the version is one that PyTorch ships.
_HOOKS: dict[str, int | float] = {"isBuilt": 1, "hasPrimaryContext": 1}
_NVIDIA_HOOKS: dict[str, int | float] = {
    "compiledWithCuDNN": 1,
    "supportsDilatedConvolutionWithCuDNN": 1,
    "supportsDepthwiseConvolutionWithCuDNN": 1,
    "versionCuDNN": 91000,
    "versionRuntimeCuDNN": 91000,
    "batchnormMinEpsilonCuDNN": 0.0,
}
_AMD_HOOKS: dict[str, int | float] = {"compiledWithMIOpen": 1}
_VIRTUAL = re.compile(r"\bvirtual\s[^;({]*?(~?\w+)\s*\(")
_COMMENT = re.compile(r"//.*")
#: Machine words before the functions of a vtable.
_VTABLE_HEAD = 2

#: Registered kernels live as long as this.
_KERNELS = torch.library.Library("aten", "IMPL")


@contextmanager
def kernel_registry() -> Iterator[Any]:
    """Yield the library to register kernels with, without warnings about replaced kernels."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Warning only once", category=UserWarning)
        yield _KERNELS


def overload_of(name: str) -> Any:
    """Return an overload of an operator by its name: "add.Tensor", or "addmm" for the default."""
    operator, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, operator), overload or "default")


def register_device(vendor: Vendor) -> bool:
    """Make "cuda" a device, for the whole process.

    Returns:
        Whether it is one now: the tables of this PyTorch may be elsewhere.
    """
    if not _install_guard() or not _install_hooks(_AMD_HOOKS if vendor == "amd" else _NVIDIA_HOOKS):
        return False
    with kernel_registry() as kernels:
        _register_factories(kernels)
    return True


def _install_guard() -> bool:
    """Install the no-op device guard that PyTorch has for CUDA builds without a GPU."""
    if not hasattr(torch._C, "_ensureCUDADeviceGuardSet"):
        return False
    if not torch.backends.cuda.is_built():
        # PyTorch replaces a guard that counts no devices: provide one, that of lazy tensors.
        try:
            library = ctypes.CDLL(str(_LIBRARIES / "libc10.so"))
            guards = (ctypes.c_void_p * (_LAZY + 1)).in_dll(
                library, "_ZN3c104impl26device_guard_impl_registryE"
            )
        except (OSError, ValueError):
            return False
        if guards[_CUDA] is None:
            guards[_CUDA] = guards[_LAZY]
    torch._C._ensureCUDADeviceGuardSet()
    return True


def _install_hooks(libraries: dict[str, int | float]) -> bool:
    """Make "cuda" the accelerator, so that autograd finds its streams through the guard.

    Args:
        libraries: Results of hooks that describe the vendor's libraries.
    """
    accelerator = getattr(torch._C, "_accelerator_getAccelerator", None)
    if accelerator is None:
        return False
    if not torch.backends.cuda.is_built() or not torch._C._cuda_getDeviceCount():
        try:
            slots = vtable_slots("".join(each.read_text("utf-8") for each in _HOOKS_HEADERS))
            library = ctypes.CDLL(str(_LIBRARIES / "libtorch_cpu.so"))
            get_hooks = library._ZN2at6detail12getCUDAHooksEv
            results: dict[int, int | float] = {
                slots[name]: result for name, result in _HOOKS.items()
            }
        except (OSError, AttributeError, KeyError):
            return False
        # PyTorch's versions have hooks of their own.
        results |= {slots[name]: result for name, result in libraries.items() if name in slots}
        get_hooks.restype = ctypes.POINTER(ctypes.c_void_p)
        _return_constants(get_hooks(), results, len(slots) + 1)
    return bool(accelerator() == torch.device("cuda"))


def vtable_slots(header: str) -> dict[str, int]:
    """Return the vtable slots of a class's virtual functions by name.

    Args:
        header: Declaration of the class, after those of its bases. Slots are in the order of
            declaration; a destructor has two (Itanium C++ ABI, 2.5.2), and a function that
            overrides another has its slot.
    """
    slots: dict[str, int] = {}
    slot = 0
    for name in _VIRTUAL.findall(_COMMENT.sub("", header)):
        if name not in slots:
            slots[name] = slot
            slot += 2 if name.startswith("~") else 1
    return slots


def _return_constants(hooks: Any, results: dict[int, int | float], length: int) -> None:
    """Replace the vtable of an object by a copy with functions that return constants.

    Args:
        results: Results by slot; all types but floating-point numbers share a register.
    """
    word = ctypes.sizeof(ctypes.c_void_p)
    table = (ctypes.c_void_p * (_VTABLE_HEAD + length)).from_address(hooks[0] - _VTABLE_HEAD * word)
    copied = (ctypes.c_void_p * len(table))(*table)
    functions = []
    for slot, result in results.items():
        type_ = ctypes.c_double if isinstance(result, float) else ctypes.c_long
        function = ctypes.CFUNCTYPE(type_)(lambda result=result: result)
        functions.append(function)
        copied[_VTABLE_HEAD + slot] = ctypes.cast(function, ctypes.c_void_p).value
    # Python frees both at exit, and C++ code exits later.
    atexit.register(_restore_vtable, hooks, hooks[0], (copied, functions))
    hooks[0] = ctypes.addressof(copied) + _VTABLE_HEAD * word


def _restore_vtable(hooks: Any, table: int, keep_alive: object) -> None:
    """Restore an object's vtable; ``keep_alive`` owns the replacement until now."""
    hooks[0] = table


def within(
    function: Callable[..., Any], context: Callable[[], AbstractContextManager[object]]
) -> Callable[..., Any]:
    """Return a function that enters a new context for each call."""

    @wraps(function)
    def entered(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return entered


@contextmanager
def plain_pytorch() -> Iterator[None]:
    """Run PyTorch on the CPU without any mode, autograd or autocasting."""
    with (
        torch._C.DisableTorchFunction(),
        torch._C._DisablePythonDispatcher(),
        torch._C._AutoDispatchBelowAutograd(),
        _disable_current_modes(),
        torch.no_grad(),
    ):
        yield


def is_fake(value: object) -> bool:
    """Whether a value is a fake tensor, and not one of PyTorch's."""
    return type(value) in PLAIN and value.is_meta  # type: ignore[attr-defined]


def memory_of(tensor: torch.Tensor) -> StorageWeakRef:
    """Return the identity of a tensor's memory, which stays unique after it is freed."""
    return StorageWeakRef(tensor.untyped_storage())


def as_torch_fake(value: Any) -> Any:
    """Return PyTorch's fake tensor on "cuda" for a tensor, in its mode; others unchanged."""
    if not isinstance(value, torch.Tensor):
        return value
    device = "cuda" if value.is_meta else value.device
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)


def _register_factories(kernels: Any) -> None:
    """Make operators that create tensors on "cuda" create them on "meta"."""
    for schema in torch._C._jit_get_all_schemas():
        names = [argument.name for argument in schema.arguments]
        takes_tensor = any("Tensor" in str(argument.type) for argument in schema.arguments)
        namespace, _, name = schema.name.partition("::")
        if namespace != "aten" or takes_tensor or "device" not in names:
            continue
        overload = f"{name}.{schema.overload_name}" if schema.overload_name else name
        # Library.impl would keep the program from registering a kernel of its own.
        kernels.m.impl(overload, "CUDA", _on_meta(overload_of(overload)), False)


def _on_meta(operator: Any) -> Any:
    def create(*args: Any, pin_memory: object = None, **kwargs: Any) -> torch.Tensor:
        return operator(*args, **{**kwargs, "device": torch.device("meta")})

    return create
