"""Constants of a compiled function that lie on a GPU that is not there.

``torch.tensor(2.0, device="cuda")`` or ``x[:, [0, 2]]`` in a function that is compiled makes a
tensor while it is traced. TorchInductor reads small ones, and puts their values into kernels. They
came from Python: so they are kept here, beside the tensor on "meta" that has none. A parameter that
is frozen is a constant too, but its values nobody knows.
"""

from functools import wraps
from types import ModuleType
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from irlens.compiler.fake_cuda import NoValueError

#: Values on the CPU, laid out as the memory on "meta" that they belong to.
_VALUES: dict[StorageWeakRef, torch.Tensor] = {}


def keep_constants(_: ModuleType) -> None:
    """Keep the values of what tracing makes on the CPU and copies to "cuda".

    Args:
        _: ``torch._meta_registrations``, which names the function that is changed.
    """
    copy, key = torch.ops.aten.copy_.default, torch._C.DispatchKey.Meta
    kernel = copy.py_kernels[key]

    def copied(self: Any, src: Any, non_blocking: bool = False) -> Any:
        made = kernel(self, src, non_blocking)
        if type(self) is type(src) is torch.Tensor and self.is_meta and src.is_cpu:
            _keep(self, src)
        return made

    copy.py_kernels[key] = copied
    copy._dispatch_cache.clear()


def read_constants(lowering: Any) -> None:
    """Let TorchInductor read constants where it puts them into kernels.

    Args:
        lowering: ``torch._inductor.graph``.
    """
    graph = lowering.GraphLowering
    for name in ("get_attr", "add_tensor_constant", "constant_name"):
        setattr(graph, name, _reading(getattr(graph, name)))
    same = lowering.is_same_tensor

    def is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
        # It goes by the address of their memory, and on "meta" there is none.
        absent = one.untyped_storage().device.type == "meta"
        return same(one, other) and (not absent or _memory(one) == _memory(other))

    lowering.is_same_tensor = is_same


def hash_constants(caching: ModuleType) -> None:
    """Let TorchInductor read constants where it looks for a graph that it has compiled.

    Args:
        caching: ``torch._inductor.codecache``.
    """
    pickler = caching.FxGraphCachePickler
    pickler._reduce_tensor = _reading(pickler._reduce_tensor)


def fold_constants(folding: ModuleType) -> None:
    """Let TorchInductor fold what it makes of frozen parameters: that takes no values.

    Args:
        folding: ``torch._inductor.constant_folding``.
    """
    folding.ConstantFolder.run = _reading(folding.ConstantFolder.run)


def values_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return a constant's values, on the CPU, or nothing of what is none."""
    values = _VALUES.get(_memory(tensor))
    if values is None or values.dtype != tensor.dtype:
        return None
    return values.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def _keep(tensor: torch.Tensor, source: torch.Tensor) -> None:
    for gone in [memory for memory in _VALUES if memory.expired()]:
        del _VALUES[gone]
    with (
        torch._C.DisableTorchFunction(),
        torch._C._DisablePythonDispatcher(),
        _disable_current_modes(),
    ):
        size, stride = tensor.size(), tensor.stride()
        values = torch.empty_strided(size, stride, dtype=tensor.dtype, device="cpu")
        _VALUES[_memory(tensor)] = values.copy_(source)


def _memory(tensor: torch.Tensor) -> StorageWeakRef:
    return StorageWeakRef(tensor.untyped_storage())


def _reading(method: Any) -> Any:
    @wraps(method)
    def reading(*args: Any, **kwargs: Any) -> Any:
        with _Constants():
            return method(*args, **kwargs)

    return reading


class _Constants(TorchFunctionMode):  # type: ignore[misc]  # mypy does not follow torch
    """Answers for constants as if they were on the GPU."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if args and type(args[0]) in _PLAIN and args[0].is_meta:
            if func in _ANSWERS:
                return _ANSWERS[func]
            if func in _READS:
                values = values_of(args[0])
                if values is None:
                    raise NoValueError("a constant of a function given to torch.compile")
                with torch._C._DisablePythonDispatcher():  # it is for tracing
                    return func(values)
        return func(*args, **(kwargs or {}))


_PLAIN = (torch.Tensor, torch.nn.Parameter)
_ANSWERS: dict[Any, Any] = {
    torch.Tensor.device.__get__: torch.device("cuda", 0),
    torch.Tensor.is_cuda.__get__: True,
    torch.Tensor.is_meta.__get__: False,
}
_READS = (torch.Tensor.item, torch.Tensor.tolist)
