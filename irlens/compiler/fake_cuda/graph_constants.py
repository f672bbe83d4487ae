"""Values of constants in functions that ``torch.compile`` compiles.

``torch.tensor(2.0, device="cuda")`` or ``x[:, [0, 2]]`` in a compiled function creates a tensor
while it is traced. TorchInductor reads small ones and puts their values into kernels. The values
come from Python, so they are kept here for the "meta" tensor that has none. A frozen parameter is a
constant too, but its values are unknown.

TorchInductor also folds graphs whose result has the same value in all elements: ``x +
torch.zeros(n)`` becomes ``x``. It computes that value on the GPU with tensors of one element; here
it does so on the CPU, where there are values.
"""

from functools import wraps
from types import ModuleType
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_map

from irlens.compiler.fake_cuda import NoValueError

_CPU = torch.device("cpu")

#: Values on the CPU by the "meta" memory they belong to, with its layout.
_VALUES: dict[StorageWeakRef, torch.Tensor] = {}


def keep_constants(_: ModuleType) -> None:
    """Patch ``torch._meta_registrations`` to keep values that tracing copies to "cuda"."""
    copy, key = torch.ops.aten.copy_.default, torch._C.DispatchKey.Meta
    kernel = copy.py_kernels[key]

    def copied(self: Any, src: Any, non_blocking: bool = False) -> Any:
        result = kernel(self, src, non_blocking)
        if type(self) is type(src) is torch.Tensor and self.is_meta and src.is_cpu:
            _keep(self, src)
        return result

    copy.py_kernels[key] = copied
    copy._dispatch_cache.clear()


def read_constants(lowering: Any) -> None:
    """Patch ``torch._inductor.graph`` to read constants where it puts them into kernels."""
    graph = lowering.GraphLowering
    for name in ("get_attr", "add_tensor_constant", "constant_name"):
        setattr(graph, name, _with_constants(getattr(graph, name)))
    same = lowering.is_same_tensor

    def is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
        # It compares addresses of memory, and "meta" has none.
        is_meta = one.untyped_storage().device.type == "meta"
        return same(one, other) and (not is_meta or _memory(one) == _memory(other))

    lowering.is_same_tensor = is_same


def hash_constants(caching: ModuleType) -> None:
    """Patch ``torch._inductor.codecache`` to read constants for the keys of compiled graphs."""
    pickler = caching.FxGraphCachePickler
    pickler._reduce_tensor = _with_constants(pickler._reduce_tensor)


def fold_constants(folding: ModuleType) -> None:
    """Patch ``torch._inductor.constant_folding`` to fold frozen parameters without values."""
    folding.ConstantFolder.run = _with_constants(folding.ConstantFolder.run)


def fold_on_cpu(passes: ModuleType) -> None:
    """Patch ``torch._inductor.fx_passes.joint_graph`` to compute a graph's values on the CPU."""
    folder = passes.UniformValueConstantFolder
    folder.__init__ = _on_cpu(folder.__init__)
    folder.run = _on_cpu(folder.run)


def _values_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return a constant's values on the CPU, or ``None`` if they are unknown."""
    values = _VALUES.get(_memory(tensor))
    if values is None or values.dtype != tensor.dtype:
        return None
    return values.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def _keep(tensor: torch.Tensor, source: torch.Tensor) -> None:
    """Remember the values of a "meta" tensor."""
    for freed in [memory for memory in _VALUES if memory.expired()]:
        del _VALUES[freed]
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


def _with_constants(method: Any) -> Any:
    """Return the method, run in a mode that answers for constants."""

    @wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with _Constants():
            return method(*args, **kwargs)

    return wrapped


class _Constants(TorchFunctionMode):  # type: ignore[misc]  # mypy does not follow torch
    """Answers for constants as if they were on the GPU."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if args and type(args[0]) in _PLAIN and args[0].is_meta:
            if func in _ANSWERS:
                return _ANSWERS[func]
            if func in _READS:
                values = _values_of(args[0])
                if values is None:
                    raise NoValueError("a constant of a function keywords to torch.compile")
                with torch._C._DisablePythonDispatcher():  # active while tracing
                    return func(values)
        return func(*args, **(kwargs or {}))


_PLAIN = (torch.Tensor, torch.nn.Parameter)
_ANSWERS: dict[Any, Any] = {
    torch.Tensor.device.__get__: torch.device("cuda", 0),
    torch.Tensor.is_cuda.__get__: True,
    torch.Tensor.is_meta.__get__: False,
}
_READS = (torch.Tensor.item, torch.Tensor.tolist)


def _on_cpu(method: Any) -> Any:
    """Return the method, with its computations on the CPU."""

    @wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        # The mode of fake tensors would turn "cuda" into "meta" before this one.
        with torch._C.DisableTorchFunction(), _OnCpu():
            return method(*args, **kwargs)

    return wrapped


class _OnCpu(TorchDispatchMode):  # type: ignore[misc]  # mypy does not follow torch
    """Redirects computations on "cuda" to the CPU."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        args, keywords = tree_map(_cpu_argument, (args, kwargs or {}))
        if keywords.get("pin_memory"):  # needs the GPU's runtime
            keywords["pin_memory"] = False
        return func(*args, **keywords)


def _cpu_argument(value: Any) -> Any:
    """Return the CPU for "cuda", a constant's values for the constant, anything else unchanged."""
    if isinstance(value, torch.Tensor) and value.is_meta:
        values = _values_of(value)
        return value if values is None else values
    return _CPU if isinstance(value, torch.device) and value.type == "cuda" else value
