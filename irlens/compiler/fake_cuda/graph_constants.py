"""Values of constants in functions that ``torch.compile`` compiles.

``torch.tensor(2.0, device="cuda")`` or ``x[:, [0, 2]]`` in a compiled function creates a tensor
while it is traced. TorchInductor reads small ones and puts their values into kernels. The values
come from Python, so they are kept here for the "meta" tensor that has none. A frozen parameter is a
constant too: its values are computed on the CPU. Where they are unknown, TorchInductor leaves the
constant in memory, as it does with large ones.

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
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from irlens.compiler.fake_cuda import Deviations, NoValueError
from irlens.compiler.fake_cuda.device import is_fake, memory_of, plain_pytorch
from irlens.compiler.fake_cuda.propagation import operators
from irlens.compiler.fake_cuda.values import Values

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


def read_constants(lowering: Any, values: Values, deviations: Deviations) -> None:
    """Patch ``torch._inductor.graph`` to read constants where it puts them into kernels."""
    graph = lowering.GraphLowering
    for name in ("get_attr", "add_tensor_constant", "constant_name"):
        setattr(graph, name, _with_constants(getattr(graph, name), values))
    inline = graph.get_attr

    @wraps(inline)
    def get_attr(self: Any, target: str, args: Any, kwargs: Any) -> Any:
        try:
            return inline(self, target, args, kwargs)
        except NoValueError:
            deviations.unread += 1
            return self.add_tensor_constant(lowering.getattr_recursive(self.module, target), target)

    graph.get_attr = get_attr
    same = lowering.is_same_tensor

    def is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
        # It compares addresses of memory, and "meta" has none.
        is_meta = one.untyped_storage().device.type == "meta"
        return same(one, other) and (not is_meta or memory_of(one) == memory_of(other))

    lowering.is_same_tensor = is_same


def hash_constants(caching: Any, values: Values) -> None:
    """Patch ``torch._inductor.codecache`` to read constants for the keys of compiled graphs."""
    pickler = caching.FxGraphCachePickler
    reduce = _with_constants(pickler._reduce_tensor, values)

    @wraps(reduce)
    def reduce_tensor(self: Any, tensor: torch.Tensor) -> Any:
        try:
            return reduce(self, tensor)
        except NoValueError as error:  # in no cache, like what PyTorch cannot read
            raise caching.BypassFxGraphCache(str(error)) from error

    pickler._reduce_tensor = reduce_tensor


def time_padding(padding: ModuleType) -> None:
    """Patch ``torch._inductor.fx_passes.pad_mm`` to time matrix products as if on the GPU."""
    for name in ("_should_pad", "_should_pad_bench", "should_pad_bench"):  # PyTorch's versions
        method = getattr(padding, name, None)
        if method is not None:
            setattr(padding, name, _with_constants(method))


def fold_constants(folding: Any, mode: TorchFunctionMode, values: Values) -> None:
    """Patch ``torch._inductor.constant_folding`` to fold frozen parameters on the fake device."""
    run = _with_constants(folding.ConstantFolder.run, values)

    @wraps(run)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        with operators(mode, values):
            return run(*args, **kwargs)

    folding.ConstantFolder.run = recorded


def fold_on_cpu(passes: ModuleType) -> None:
    """Patch ``torch._inductor.fx_passes.joint_graph`` to compute a graph's values on the CPU."""
    folder = passes.UniformValueConstantFolder
    folder.__init__ = _on_cpu(folder.__init__)
    folder.run = _on_cpu(folder.run)


def _values_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """Return a constant's values on the CPU, or ``None`` if they are unknown."""
    values = _VALUES.get(memory_of(tensor))
    if values is None or values.dtype != tensor.dtype:
        return None
    return values.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def _keep(tensor: torch.Tensor, source: torch.Tensor) -> None:
    """Remember the values of a "meta" tensor."""
    for freed in [memory for memory in _VALUES if memory.expired()]:
        del _VALUES[freed]
    with plain_pytorch():
        size, stride = tensor.size(), tensor.stride()
        values = torch.empty_strided(size, stride, dtype=tensor.dtype, device="cpu")
        _VALUES[memory_of(tensor)] = values.copy_(source)


def _with_constants(method: Any, values: Values | None = None) -> Any:
    """Return the method, run in a mode that answers for constants."""

    @wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with _Constants(values):
            return method(*args, **kwargs)

    return wrapped


class _Constants(TorchFunctionMode):  # type: ignore[misc]  # mypy does not follow torch
    """Answers for constants as if they were on the GPU."""

    def __init__(self, values: Values | None) -> None:
        super().__init__()
        self._values = values

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if args and is_fake(args[0]):
            if func in _ANSWERS:
                return _ANSWERS[func]
            if func in _READS:
                values = _values_of(args[0])
                if values is None:
                    what = "a constant of a function given to torch.compile"
                    if self._values is None:
                        raise NoValueError(what)
                    values = self._values.read(args[0], what)
                with torch._C._DisablePythonDispatcher():  # active while tracing
                    return func(values)
        return func(*args, **(kwargs or {}))


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
