"""``torch.compile`` for the fake device.

TorchDynamo traces with PyTorch's fake tensors, which need no GPU, and TorchInductor only
queries facts that are known: so the kernels are those of the GPU. Only TorchInductor's benchmarks
are stubs. Helion asks the tensors for their device past the mode, so its look-up is replaced, too.
"""

import dataclasses
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from irlens.compiler.fake_cuda import Deviations
from irlens.compiler.fake_cuda.graph_constants import (
    fold_constants,
    fold_on_cpu,
    hash_constants,
    keep_constants,
    read_constants,
    time_padding,
)
from irlens.compiler.fake_cuda.values import Values
from irlens.compiler.import_hooks import after_import

_CUDA = torch.device("cuda", 0)


def install_compile(mode: TorchFunctionMode, values: Values, deviations: Deviations) -> None:
    """Make ``torch.compile`` compile for the fake device.

    Args:
        mode: The mode of fake tensors.
        deviations: Counts stubbed benchmarks and constants that could not be read.
    """
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
