"""``torch.compile`` for a GPU that is not there.

TorchDynamo traces with fake tensors, which need no GPU, and TorchInductor asks of it what is known:
so the kernels are those that it would make there. Only what it would time is not timed.
"""

import dataclasses
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from irlens.compiler.after_import import after_import
from irlens.compiler.fake_cuda import Liberties
from irlens.compiler.fake_cuda.constants import (
    fold_constants,
    hash_constants,
    keep_constants,
    read_constants,
)
from irlens.compiler.fake_cuda.folding import fold_on_cpu

_CUDA = torch.device("cuda", 0)


def compile_for_absent(mode: type[TorchFunctionMode], liberties: Liberties) -> None:
    """Let ``torch.compile`` compile for the GPU that is pretended.

    Args:
        mode: That of the pretended tensors.
        liberties: Counts what is not timed.
    """
    after_import("torch._dynamo.variables.torch_function", lambda module: _hide_mode(module, mode))
    after_import("torch._dynamo.device_interface", _ask_cuda)
    after_import("torch._subclasses.meta_utils", _trace_on_cuda)
    after_import("torch._inductor.config", _compile_here)
    after_import("torch._inductor.compile_fx", _record_no_graphs)
    after_import("torch._inductor.fx_passes.joint_graph", fold_on_cpu)
    after_import("torch._meta_registrations", keep_constants)
    after_import("torch._inductor.constant_folding", fold_constants)
    after_import("torch._inductor.graph", read_constants)
    after_import("torch._inductor.codecache", hash_constants)
    after_import("torch._inductor.runtime.triton_heuristics", _launch_nowhere)
    after_import(
        "torch._inductor.runtime.benchmarking", lambda module: _time_nothing(module, liberties)
    )
    torch._C._dynamo.guards._empty_strided_cuda = _empty_strided


def compile_nothing(liberties: Liberties) -> None:
    """Let ``torch.compile`` leave functions as they are."""
    compiled = torch.compile

    def leave(model: Any = None, **options: Any) -> Any:
        if model is None:
            return lambda function: leave(function, **options)
        if isinstance(model, torch.nn.Module):
            liberties.uncompiled += 1
            return compiled(model, **{**options, "disable": True})
        return _counted(model, liberties)

    torch.compile = leave


def _counted(function: Callable[..., Any], liberties: Liberties) -> Callable[..., Any]:
    """Return a function that counts itself when it is called first."""
    called = False

    @wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal called
        liberties.uncompiled += not called
        called = True
        return function(*args, **kwargs)

    return counted


def _hide_mode(traced: ModuleType, mode: type[TorchFunctionMode]) -> None:
    """Keep TorchDynamo from tracing what pretends: to it tensors are on "cuda" by themselves."""
    start = traced.SymbolicTorchFunctionState.__init__

    def hidden(self: Any, py_stack: Any, *args: Any, **kwargs: Any) -> None:
        stack = list(py_stack)
        start(self, stack, *args, **kwargs)
        traces = list(zip(stack, list(self.mode_stack), strict=True))
        self.mode_stack.clear()
        self.mode_stack.extend(trace for each, trace in traces if not isinstance(each, mode))

    traced.SymbolicTorchFunctionState.__init__ = hidden


def _trace_on_cuda(meta_utils: ModuleType) -> None:
    """Let fake tensors that stand for pretended ones be on "cuda"."""
    describe = meta_utils.MetaTensorDescriber.describe_tensor

    def described(self: Any, tensor: torch.Tensor, **options: Any) -> Any:
        description = describe(self, tensor, **options)
        if description.device.type != "meta" or torch._subclasses.fake_tensor.is_fake(tensor):
            return description
        return dataclasses.replace(description, device=_CUDA)

    meta_utils.MetaTensorDescriber.describe_tensor = described


def _ask_cuda(interfaces: ModuleType) -> None:
    """Let CUDA's interface serve the tensors with which TorchInductor times its choices."""
    interfaces.register_interface_for_device("meta", interfaces.CudaInterface)


def _compile_here(config: Any) -> None:
    """Let TorchInductor compile in this process: in others there is no GPU to be seen."""
    config.compile_threads = 1


def _record_no_graphs(compiling: Any) -> None:
    """Call what would be recorded as a CUDA graph: there is nothing to replay."""
    compiling.cudagraphify = lambda model, *args, **kwargs: model


def _launch_nowhere(heuristics: ModuleType) -> None:
    """Let Triton's driver launch, and not PyTorch's own launcher, which asks CUDA."""
    static = getattr(heuristics, "StaticTritonCompileResult", None)
    if static is not None:  # since PyTorch 2.7
        static.can_statically_launch = staticmethod(lambda *args, **kwargs: None)
    # There are no values that tuning could overwrite.
    heuristics.CachingAutotuner.copy_args_to_cpu_if_needed = lambda *args, **kwargs: {}


def _time_nothing(benchmarking: ModuleType, liberties: Liberties) -> None:
    """Call once what would be timed, and let each take the same time: the first is then chosen."""

    def timed(self: Any, call: Callable[[], object], *args: object, **options: Any) -> Any:
        liberties.untimed += 1
        call()
        return [1.0] if options.get("return_mode") == "all" else 1.0

    for benchmarker in vars(benchmarking).values():
        if isinstance(benchmarker, type) and "benchmark_gpu" in vars(benchmarker):
            benchmarker.benchmark_gpu = timed  # type: ignore[attr-defined]


def _empty_strided(size: Any, stride: Any, dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="meta")
