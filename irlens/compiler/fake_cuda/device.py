"""Make "cuda" a device for PyTorch's C++ code, and register kernels for it.

A Python mode only reaches the program's own calls. TorchDynamo and TorchInductor leave every mode
to create tensors on "cuda", slice them and run autograd over fake ones. PyTorch then consults three
tables about the device: the kernels of an operator, the device guards and the device's hooks.
"""

import atexit
import ctypes
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

_PACKAGE = Path(torch.__file__).parent
_LIBRARIES = _PACKAGE / "lib"
#: Device types as indices into the table of guards, see c10/core/DeviceType.h.
_CUDA, _LAZY = 1, 17
#: The CUDA hooks that must return true, and the header that declares them.
_TRUE_HOOKS = ("isBuilt", "hasPrimaryContext")
_HOOKS_HEADER = _PACKAGE / "include" / "ATen" / "detail" / "AcceleratorHooksInterface.h"
_VIRTUAL = re.compile(r"\bvirtual\s[^;({]*?(~?\w+)\s*\(")
_COMMENT = re.compile(r"//.*")
#: Machine words before the functions of a vtable; at least as many functions as the hooks have.
_VTABLE_HEAD, _VTABLE_FUNCTIONS = 2, 64

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


def register_device() -> bool:
    """Make "cuda" a device, for the whole process.

    Returns:
        Whether it is one now: the tables of this PyTorch may be elsewhere.
    """
    if not _install_guard() or not _install_hooks():
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


def _install_hooks() -> bool:
    """Make "cuda" the accelerator, so that autograd finds its streams through the guard."""
    accelerator = getattr(torch._C, "_accelerator_getAccelerator", None)
    if accelerator is None:
        return False
    if not torch.backends.cuda.is_built() or not torch._C._cuda_getDeviceCount():
        try:
            slots = vtable_slots(_HOOKS_HEADER.read_text("utf-8"))
            library = ctypes.CDLL(str(_LIBRARIES / "libtorch_cpu.so"))
            get_hooks = library._ZN2at6detail12getCUDAHooksEv
            true_slots = [slots[name] for name in _TRUE_HOOKS]
        except (OSError, AttributeError, KeyError):
            return False
        get_hooks.restype = ctypes.POINTER(ctypes.c_void_p)
        _return_true(get_hooks(), true_slots)
    return bool(accelerator() == torch.device("cuda"))


def vtable_slots(header: str) -> dict[str, int]:
    """Return the vtable slots of a class's virtual functions by name.

    Args:
        header: Declaration of the class, which has no base. Slots are in the order of declaration;
            a destructor has two (Itanium C++ ABI, 2.5.2).
    """
    slots: dict[str, int] = {}
    slot = 0
    for name in _VIRTUAL.findall(_COMMENT.sub("", header)):
        slots.setdefault(name, slot)
        slot += 2 if name.startswith("~") else 1
    return slots


def _return_true(hooks: Any, slots: Sequence[int]) -> None:
    """Replace the vtable of an object by a copy whose functions in these slots return true."""
    word = ctypes.sizeof(ctypes.c_void_p)
    table = (ctypes.c_void_p * (_VTABLE_HEAD + _VTABLE_FUNCTIONS)).from_address(
        hooks[0] - _VTABLE_HEAD * word
    )
    copied = (ctypes.c_void_p * len(table))(*table)
    true = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(lambda hooks: True)
    for slot in slots:
        copied[_VTABLE_HEAD + slot] = ctypes.cast(true, ctypes.c_void_p).value
    # Python frees both at exit, and C++ code exits later.
    atexit.register(_restore_vtable, hooks, hooks[0], (copied, true))
    hooks[0] = ctypes.addressof(copied) + _VTABLE_HEAD * word


def _restore_vtable(hooks: Any, table: int, keep_alive: object) -> None:
    """Restore an object's vtable; ``keep_alive`` owns the replacement until now."""
    hooks[0] = table


def _register_factories(kernels: Any) -> None:
    """Make operators that create tensors on "cuda" create them on "meta"."""
    for schema in torch._C._jit_get_all_schemas():
        names = [argument.name for argument in schema.arguments]
        takes_tensor = any("Tensor" in str(argument.type) for argument in schema.arguments)
        namespace, _, name = schema.name.partition("::")
        if namespace != "aten" or takes_tensor or "device" not in names:
            continue
        overload = f"{name}.{schema.overload_name}" if schema.overload_name else name
        kernels.impl(overload, _on_meta(overload_of(overload)), "CUDA")


def _on_meta(operator: Any) -> Any:
    def create(*args: Any, pin_memory: object = None, **kwargs: Any) -> torch.Tensor:
        return operator(*args, **{**kwargs, "device": torch.device("meta")})

    return create
