"""``torch.compile`` for the fake device.

TorchDynamo traces with PyTorch's fake tensors, which need no GPU, and TorchInductor only
queries facts that are known: so the kernels are those of the GPU. Only TorchInductor's benchmarks
are stubs. Helion asks the tensors for their device past the mode, so its look-up is replaced, too.

``torch.tensor(2.0, device="cuda")`` or ``x[:, [0, 2]]`` in a compiled function creates a tensor
while it is traced. TorchInductor reads small ones and puts their values into kernels. The values
come from Python, so they are kept here for the "meta" tensor that has none. A frozen parameter is a
constant too: its values are computed on the CPU. Where they are unknown, TorchInductor leaves the
constant in memory, as it does with large ones.

TorchInductor also folds graphs whose result has the same value in all elements: ``x +
torch.zeros(n)`` becomes ``x``. It computes that value on the GPU with tensors of one element; here
it does so on the CPU, where there are values.
"""

import dataclasses
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from irlens.compiler.fake_cuda import Deviations, NoValueError
from irlens.compiler.fake_cuda.device import is_fake, memory_of, plain_pytorch, within
from irlens.compiler.fake_cuda.propagation import operators
from irlens.compiler.fake_cuda.values import Values
from irlens.compiler.import_hooks import after_import

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
        setattr(graph, name, within(getattr(graph, name), lambda: _Constants(values)))
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
    reduce = within(pickler._reduce_tensor, lambda: _Constants(values))

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
            setattr(padding, name, within(method, lambda: _Constants(None)))


def fold_constants(folding: Any, mode: TorchFunctionMode, values: Values) -> None:
    """Patch ``torch._inductor.constant_folding`` to fold frozen parameters on the fake device."""
    run = within(folding.ConstantFolder.run, lambda: _Constants(values))
    folding.ConstantFolder.run = within(run, lambda: operators(mode, values))


def fold_on_cpu(passes: ModuleType) -> None:
    """Patch ``torch._inductor.fx_passes.joint_graph`` to compute a graph's values on the CPU."""
    folder = passes.UniformValueConstantFolder
    # The mode of fake tensors would turn "cuda" into "meta" before this one.
    for name in ("__init__", "run"):
        method = within(getattr(folder, name), _OnCpu)
        setattr(folder, name, within(method, torch._C.DisableTorchFunction))


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


_CUDA = torch.device("cuda", 0)


def install_compile(mode: TorchFunctionMode, values: Values, deviations: Deviations) -> None:
    """Make ``torch.compile`` compile for the fake device."""
    after_import(
        "torch._dynamo.variables.torch_function", lambda module: _hide_mode(module, type(mode))
    )
    after_import("torch._dynamo.device_interface", _register_interface)
    after_import("torch._subclasses.meta_utils", _trace_on_cuda)
    after_import("torch._inductor.config", _compile_in_process)
    after_import("torch._inductor.compile_fx", _disable_graphs)
    after_import("torch._inductor.fx_passes.joint_graph", fold_on_cpu)
    after_import("torch._inductor.fx_passes.pad_mm", time_padding)
    after_import("torch._meta_registrations", keep_constants)
    after_import(
        "torch._inductor.constant_folding", lambda module: fold_constants(module, mode, values)
    )
    after_import("torch._inductor.graph", lambda module: read_constants(module, values, deviations))
    after_import("torch._inductor.codecache", lambda module: hash_constants(module, values))
    after_import("torch._inductor.runtime.triton_heuristics", _launch_through_triton)
    after_import(
        "torch._inductor.runtime.benchmarking",
        lambda module: _stub_benchmarks(module, deviations),
    )
    torch._C._dynamo.guards._empty_strided_cuda = _empty_strided


def disable_compile(deviations: Deviations) -> None:
    """Make ``torch.compile`` return functions uncompiled."""
    compile_ = torch.compile

    def leave(model: Any = None, **options: Any) -> Any:
        if model is None:
            return lambda function: leave(function, **options)
        if isinstance(model, torch.nn.Module):
            deviations.uncompiled += 1
            return compile_(model, **{**options, "disable": True})
        return _counted(model, deviations)

    torch.compile = leave


def _counted(function: Callable[..., Any], deviations: Deviations) -> Callable[..., Any]:
    """Return a function that counts itself on its first call."""
    called = False

    @wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal called
        deviations.uncompiled += not called
        called = True
        return function(*args, **kwargs)

    return counted


def _hide_mode(torch_function: ModuleType, mode: type[TorchFunctionMode]) -> None:
    """Keep TorchDynamo from tracing the mode: in a trace, tensors are on "cuda" already."""
    init = torch_function.SymbolicTorchFunctionState.__init__

    def hidden(self: Any, py_stack: Any, *args: Any, **kwargs: Any) -> None:
        stack = list(py_stack)
        init(self, stack, *args, **kwargs)
        traces = list(zip(stack, list(self.mode_stack), strict=True))
        self.mode_stack.clear()
        self.mode_stack.extend(trace for each, trace in traces if not isinstance(each, mode))

    torch_function.SymbolicTorchFunctionState.__init__ = hidden


def _trace_on_cuda(meta_utils: ModuleType) -> None:
    """Put PyTorch's fake tensors of the program's "meta" tensors on "cuda"."""
    describe = meta_utils.MetaTensorDescriber.describe_tensor

    def described(self: Any, tensor: torch.Tensor, **options: Any) -> Any:
        description = describe(self, tensor, **options)
        if description.device.type != "meta" or torch._subclasses.fake_tensor.is_fake(tensor):
            return description
        return dataclasses.replace(description, device=_CUDA)

    meta_utils.MetaTensorDescriber.describe_tensor = described


def _register_interface(interfaces: ModuleType) -> None:
    """Use CUDA's interface for the "meta" tensors that TorchInductor benchmarks with."""
    interfaces.register_interface_for_device("meta", interfaces.CudaInterface)


def _compile_in_process(config: Any) -> None:
    """Make TorchInductor compile in this process: its worker processes have no fake device."""
    config.compile_threads = 1


def _disable_graphs(compile_fx: Any) -> None:
    """Call the function instead of recording a CUDA graph: there is nothing to replay."""
    compile_fx.cudagraphify = lambda model, *args, **kwargs: model


def _launch_through_triton(heuristics: ModuleType) -> None:
    """Launch with Triton's driver instead of PyTorch's static launcher, which calls CUDA."""
    static = getattr(heuristics, "StaticTritonCompileResult", None)
    if static is not None:  # since PyTorch 2.7
        static.can_statically_launch = staticmethod(lambda *args, **kwargs: None)
    # There are no values that tuning could overwrite.
    heuristics.CachingAutotuner.copy_args_to_cpu_if_needed = lambda *args, **kwargs: {}


def _stub_benchmarks(benchmarking: ModuleType, deviations: Deviations) -> None:
    """Make every benchmark call its function once and return the same time: the first one wins."""

    def benchmark(self: Any, call: Callable[[], object], *args: object, **options: Any) -> Any:
        deviations.untimed += 1
        call()
        return [1.0] if options.get("return_mode") == "all" else 1.0

    for benchmarker in vars(benchmarking).values():
        if isinstance(benchmarker, type) and "benchmark_gpu" in vars(benchmarker):
            benchmarker.benchmark_gpu = benchmark  # type: ignore[attr-defined]


def _empty_strided(size: Any, stride: Any, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="meta")


#: Functions of ``helion._argument_device`` (1.5) that return a device.
_FUNCTIONS = ("_leaf_device", "_find_argument_device", "_canonicalize_argument_device")


def install_helion() -> None:
    """Let Helion find its arguments on "cuda", which it asks of the tensors past their mode."""
    after_import("helion._argument_device", _find_on_cuda)


def _find_on_cuda(module: ModuleType) -> None:
    for name in _FUNCTIONS:
        function = getattr(module, name, None)
        if function is not None:
            setattr(module, name, _on_cuda(function))


def _on_cuda(find: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(find)
    def found(*args: Any, **kwargs: Any) -> Any:
        device = find(*args, **kwargs)
        return _CUDA if getattr(device, "type", None) == "meta" else device

    return found
