"""Launching a kernel on the GPU of this machine and comparing it with its reference."""

import ctypes
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from irlens.capture import triton_door
from irlens.capture.describe import Description
from irlens.capture.triton_door import Compiled, Kernel, Values
from irlens.capture.values import Argument, Tensor
from irlens.model.capture import RunResult
from irlens.model.config import Target
from irlens.model.errors import CaptureError

_SEED = 0

# CUfunction_attribute in cuda.h
_LOCAL_SIZE_BYTES = 3
_NUM_REGS = 4


class Bench:
    """The GPU of this machine, with the tensors of one kernel on it.

    Args:
        target: What the request is for; has to be what the GPU is.
        description: The kernel's: outputs, reference, tolerance.
        module: The loaded file, for the reference function.

    Raises:
        CaptureError: There is no PyTorch, no GPU, or another GPU.
    """

    def __init__(self, target: Target, description: Description | None, module: ModuleType) -> None:
        self._torch = _import_torch()
        self._target = target
        self._description = description or Description(args={})
        self._reference = self._find_reference(module)
        properties = self._torch.cuda.get_device_properties(self._torch.cuda.current_device())
        self.device_name = str(properties.name)
        self.sm_count = int(properties.multi_processor_count)
        present = _arch(self._torch, properties)
        if present != target.arch:
            raise CaptureError(
                f"cannot run for {target.arch}: the GPU here ({self.device_name}) is {present}",
                hint=f"leave --run out, or ask for --target {present}",
            )

    def tensors(self, args: Mapping[str, Argument]) -> Values:
        """Make the arguments, the same ones on every call.

        Floating-point tensors are normally distributed; integers are 0 or 1, so that they are
        valid as indices too. An output that the reference does not read starts as NaN (an
        integer one as its smallest value), so that an element never stored is noticed.
        """
        generator = self._torch.Generator("cuda").manual_seed(_SEED)
        read = self._reference_parameters()
        values: Values = {}
        for name, argument in args.items():
            if not isinstance(argument, Tensor):
                values[name] = argument
            elif name in self._description.outputs and name not in read:
                values[name] = self._unwritten(argument)
            else:
                values[name] = self._random(argument, generator)
        return values

    def launch(
        self,
        kernel: Kernel,
        args: Mapping[str, Argument],
        settings: Values,
        grid: tuple[int, int, int],
    ) -> tuple[Compiled, RunResult]:
        """Launch one variant and compare what it stored with the reference."""
        torch = self._torch
        values = self.tensors(args)
        expected = self._expected(values, {**triton_door.plain(settings)})
        compiled = triton_door.launch_or_compile(kernel, values, settings, grid, launch=True)
        torch.cuda.synchronize()
        matches, error = None, None
        if expected is not None:
            actual = [values[name] for name in self._description.outputs]
            matches, error = self._compare(actual, expected)
        registers, local_bytes, blocks = _ask_driver(compiled.handle, self._target)
        return compiled, RunResult(
            device=self.device_name,
            matches_reference=matches,
            max_abs_error=error,
            registers=registers,
            local_bytes=local_bytes,
            blocks_per_sm=blocks,
        )

    def _find_reference(self, module: ModuleType) -> Callable[..., object] | None:
        name = self._description.reference
        if name is None:
            return None
        function = getattr(module, name, None)
        if not inspect.isfunction(function):
            raise CaptureError(f"{module.__file__} has no function '{name}' to be the reference")
        return function

    def _reference_parameters(self) -> list[str]:
        if self._reference is None:
            return list(self._description.outputs)
        return list(inspect.signature(self._reference).parameters)

    def _expected(self, values: Values, settings: Values) -> list[Any] | None:
        """Return the reference's outputs, computed on copies of the tensors."""
        if self._reference is None:
            return None
        known = {**settings, **values}
        given = {}
        for name in self._reference_parameters():
            if name not in known:
                raise CaptureError(f"the reference takes '{name}', which the kernel does not have")
            value = known[name]
            given[name] = value.clone() if self._torch.is_tensor(value) else value
        result = self._reference(**given)
        outputs = list(result) if isinstance(result, tuple | list) else [result]
        if len(outputs) != len(self._description.outputs):
            raise CaptureError(
                f"the reference returned {len(outputs)} tensors for "
                f"{len(self._description.outputs)} outputs"
            )
        return outputs

    def _compare(self, actual: list[Any], expected: list[Any]) -> tuple[bool, float | None]:
        """Return whether all outputs match, and the largest difference if it is a number."""
        torch, tolerance = self._torch, self._description.tolerance
        matches, largest = True, 0.0
        for left, right in zip(actual, expected, strict=True):
            if left.shape != right.shape:
                raise CaptureError(
                    f"the reference's shape {tuple(right.shape)} is not the output's "
                    f"{tuple(left.shape)}"
                )
            left, right = left.double(), right.double()
            matches &= torch.allclose(
                left, right, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True
            )
            same = (left == right) | (left.isnan() & right.isnan())
            difference = (left - right).abs().masked_fill(same, 0.0)
            largest = max(largest, float(difference.max()) if difference.numel() else 0.0)
            if difference.isnan().any():
                largest = float("inf")
        return matches, largest if largest != float("inf") else None

    def _random(self, tensor: Tensor, generator: object) -> Any:
        torch, dtype = self._torch, self._dtype(tensor)
        if dtype.is_floating_point:
            values = torch.randn(tensor.shape, generator=generator, device="cuda")
        else:
            values = torch.randint(0, 2, tensor.shape, generator=generator, device="cuda")
        return values.to(dtype)

    def _unwritten(self, tensor: Tensor) -> Any:
        torch, dtype = self._torch, self._dtype(tensor)
        if dtype.is_floating_point:
            return torch.full(tensor.shape, float("nan"), device="cuda").to(dtype)
        lowest = False if dtype == torch.bool else torch.iinfo(dtype).min
        return torch.full(tensor.shape, lowest, dtype=dtype, device="cuda")

    def _dtype(self, tensor: Tensor) -> Any:
        name = tensor.dtype.torch
        if name is None or not hasattr(self._torch, name):
            raise CaptureError(f"PyTorch has no {tensor.dtype.name} tensors")
        return getattr(self._torch, name)


def _import_torch() -> Any:
    """Import PyTorch and check that it sees a GPU."""
    if importlib.util.find_spec("torch") is None:
        raise CaptureError(
            "--run needs PyTorch, which is not installed", hint='pip install "irlens[run]"'
        )
    import torch

    if not torch.cuda.is_available():
        raise CaptureError(
            "--run needs a GPU, and PyTorch sees none here",
            hint="leave --run out: compiling needs no GPU",
        )
    return torch


def _arch(torch: Any, properties: Any) -> str:
    """Return the arch of a GPU as a target has it: "sm_90", "gfx942"."""
    if torch.version.hip is not None:
        return str(properties.gcnArchName).split(":")[0]
    return f"sm_{properties.major}{properties.minor}"


def _ask_driver(handle: Any, target: Target) -> tuple[int | None, int | None, int | None]:
    """Return registers and local bytes per thread, and resident CTAs per SM, as the driver has it.

    CUDA Driver API: ``cuFuncGetAttribute``, ``cuOccupancyMaxActiveBlocksPerMultiprocessor``.
    """
    if target.vendor != "nvidia":
        return handle.n_regs, None, None
    cuda = ctypes.CDLL("libcuda.so.1")
    function = ctypes.c_void_p(handle.function)
    metadata = handle.metadata

    def attribute(which: int) -> int | None:
        value = ctypes.c_int()
        status = cuda.cuFuncGetAttribute(ctypes.byref(value), which, function)
        return value.value if status == 0 else None

    blocks = ctypes.c_int()
    status = cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(
        ctypes.byref(blocks),
        function,
        ctypes.c_int(metadata.num_warps * target.warp_size),
        ctypes.c_size_t(metadata.shared),
    )
    return attribute(_NUM_REGS), attribute(_LOCAL_SIZE_BYTES), blocks.value if status == 0 else None
