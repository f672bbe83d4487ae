"""Letting the C++ part of PyTorch take "cuda" for a device that is there.

Modes reach what a program calls. TorchDynamo and TorchInductor leave every mode to make tensors on
"cuda" for themselves, slice them and run autograd over fake ones. PyTorch asks three tables about a
device then: which function serves an operator, what guards the device, what its hooks answer.
"""

import atexit
import ctypes
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from irlens.compiler.fake_cuda.operators import overload_of, registering

_PACKAGE = Path(torch.__file__).parent
_LIBRARIES = _PACKAGE / "lib"
#: Places in the table of guards: a device type each, see c10/core/DeviceType.h.
_CUDA, _LAZY = 1, 17
#: What the CUDA hooks are to answer with yes, and the header that declares it.
_ANSWERED = ("isBuilt", "hasPrimaryContext")
_HOOKS = _PACKAGE / "include" / "ATen" / "detail" / "AcceleratorHooksInterface.h"
_VIRTUAL = re.compile(r"\bvirtual\s[^;({]*?(~?\w+)\s*\(")
_COMMENT = re.compile(r"//.*")
#: What stands before the functions in their table, and more functions than it has, in words.
_HEAD, _FUNCTIONS = 2, 64


def pretend_device() -> bool:
    """Let "cuda" be a device, in the whole process and for good.

    Returns:
        Whether this PyTorch lets it: its tables may be elsewhere.
    """
    if not _guarded() or not _accelerates():
        return False
    with registering() as kernels:
        _make_on_meta(kernels)
    return True


def _guarded() -> bool:
    """Guard "cuda" by what does nothing. PyTorch has that, for a CUDA build without a GPU."""
    if not hasattr(torch._C, "_ensureCUDADeviceGuardSet"):
        return False
    if not torch.backends.cuda.is_built():
        # It takes the place of a guard that counts no devices: here, of lazy tensors' own.
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


def _accelerates() -> bool:
    """Let autograd find the streams of "cuda", of which the guard tells."""
    accelerator = getattr(torch._C, "_accelerator_getAccelerator", None)
    if accelerator is None:
        return False
    if not torch.backends.cuda.is_built() or not torch._C._cuda_getDeviceCount():
        try:
            places = virtual_functions(_HOOKS.read_text("utf-8"))
            library = ctypes.CDLL(str(_LIBRARIES / "libtorch_cpu.so"))
            hooks_of = library._ZN2at6detail12getCUDAHooksEv
            answered = [places[name] for name in _ANSWERED]
        except (OSError, AttributeError, KeyError):
            return False
        hooks_of.restype = ctypes.POINTER(ctypes.c_void_p)
        _answer_yes(hooks_of(), answered)
    return bool(accelerator() == torch.device("cuda"))


def virtual_functions(header: str) -> dict[str, int]:
    """Return the places of a class's virtual functions in their table, by name.

    Args:
        header: What declares the class, which derives from none. The functions stand in the table
            in the order in which they are declared; a destructor takes two places (Itanium C++ ABI,
            2.5.2).
    """
    places: dict[str, int] = {}
    place = 0
    for name in _VIRTUAL.findall(_COMMENT.sub("", header)):
        places.setdefault(name, place)
        place += 2 if name.startswith("~") else 1
    return places


def _answer_yes(hooks: Any, places: Sequence[int]) -> None:
    """Let hooks answer that CUDA is built in, and that there is a context of its devices."""
    word = ctypes.sizeof(ctypes.c_void_p)
    table = (ctypes.c_void_p * (_HEAD + _FUNCTIONS)).from_address(hooks[0] - _HEAD * word)
    copied = (ctypes.c_void_p * len(table))(*table)
    yes = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(lambda hooks: True)
    for place in places:
        copied[_HEAD + place] = ctypes.cast(yes, ctypes.c_void_p).value
    # Python frees both when it ends, and C++ ends after it.
    atexit.register(_put_back, hooks, hooks[0], (copied, yes))
    hooks[0] = ctypes.addressof(copied) + _HEAD * word


def _put_back(hooks: Any, table: int, kept: object) -> None:
    """Give hooks their own table again; what stood in for it has been kept until now."""
    hooks[0] = table


def _make_on_meta(kernels: Any) -> None:
    """Make a tensor on "meta" of every one that is to be made on "cuda" out of nothing."""
    for schema in torch._C._jit_get_all_schemas():
        names = [argument.name for argument in schema.arguments]
        takes = any("Tensor" in str(argument.type) for argument in schema.arguments)
        space, _, name = schema.name.partition("::")
        if space != "aten" or takes or "device" not in names:
            continue
        overload = f"{name}.{schema.overload_name}" if schema.overload_name else name
        kernels.impl(overload, _on_meta(overload_of(overload)), "CUDA")


def _on_meta(operator: Any) -> Any:
    def made(*args: Any, pin_memory: object = None, **kwargs: Any) -> torch.Tensor:
        return operator(*args, **{**kwargs, "device": torch.device("meta")})

    return made
