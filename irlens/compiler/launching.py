"""Launch and time kernels on the local GPU."""

import importlib.util
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from irlens.compiler.calls.argument_values import Argument
from irlens.compiler.local_gpu import FunctionFacts, nvidia_function
from irlens.compiler.reference import Reference
from irlens.compiler.sources.description import Description
from irlens.compiler.sources.stand_ins import is_stand_in
from irlens.compiler.triton_compat import execution, tensors
from irlens.compiler.triton_compat.execution import Compiled
from irlens.compiler.triton_compat.jit import Kernel, Values
from irlens.model.capture import RunResult
from irlens.model.config import Target
from irlens.model.errors import CaptureError
from irlens.model.sweep import Timing


class GpuLauncher:
    """Launches a kernel on the local GPU, with tensors there.

    Args:
        target: Target of the request; must match the GPU.
        description: The kernel's description: outputs, reference, tolerance.
        module: The loaded file, which has the reference function.

    Raises:
        CaptureError: There is no PyTorch, no GPU, or another GPU.
    """

    def __init__(self, target: Target, description: Description | None, module: ModuleType) -> None:
        self._torch = _import_torch()
        self._target = target
        self._reference = Reference(description or Description(args={}), module, "cuda")
        properties = self._torch.cuda.get_device_properties(self._torch.cuda.current_device())
        self.device_name = str(properties.name)
        self.sm_count = int(properties.multi_processor_count)
        present = _arch(self._torch, properties)
        if present != target.arch:
            raise CaptureError(
                f"cannot run for {target.arch}: the GPU here ({self.device_name}) is {present}",
                hint=f"leave out --run, or use --target {present}",
            )

    def tensors(self, args: Mapping[str, Argument]) -> Values:
        """Return the arguments on the GPU, see ``Reference.tensors``."""
        return self._reference.tensors(args)

    def launch(
        self,
        kernel: Kernel,
        args: Mapping[str, Argument],
        settings: Values,
        grid: tuple[int, int, int],
    ) -> tuple[Compiled, RunResult | None]:
        """Launch one variant on new tensors and compare its outputs with the reference.

        Returns:
            No result if the variant exceeds the GPU's resources.

        Raises:
            CaptureError: The reference does not match the description.
        """
        values = self.tensors(args)
        with execution.scratch_from(self._scratch):
            compiled = execution.compile_variant(
                kernel,
                tensors.with_descriptors(kernel, values, args),
                settings,
                grid,
                launch=True,
            )
        if compiled.refusal is not None:
            return compiled, None
        self._torch.cuda.synchronize()
        inputs = self.tensors(args)
        expected = self._reference.expected({**compiled.constexprs, **inputs})
        matches, error = None, None
        if expected is not None:
            matches, error = self._reference.compare(values, expected)
        facts = self._facts(compiled)
        return compiled, RunResult(
            device=self.device_name,
            matches_reference=matches,
            max_abs_error=error,
            registers=facts.registers,
            local_bytes=facts.local_bytes,
            blocks_per_sm=facts.blocks_per_sm,
        )

    def time(
        self,
        kernel: Kernel,
        args: Mapping[str, Argument],
        settings: Values,
        grid: tuple[int, int, int],
    ) -> Timing:
        """Return the time of one variant over many launches, each with a cold L2 cache.

        Raises:
            CaptureError: The variant exceeds the GPU's resources.
        """
        values = tensors.with_descriptors(kernel, self.tensors(args), args)
        with execution.scratch_from(self._scratch):
            compiled = execution.compile_variant(kernel, values, settings, grid, launch=True)
            if compiled.refusal is not None:
                raise CaptureError(f"{kernel.name} cannot be launched: {compiled.refusal}")
            median, fast, slow = execution.benchmark(
                kernel, values, settings, grid, (0.5, 0.2, 0.8)
            )
        return Timing(median_ms=median, fast_ms=fast, slow_ms=slow)

    def blocks_per_sm(
        self, kernel: Kernel, args: Mapping[str, Argument], settings: Values
    ) -> int | None:
        """Return how many CTAs of one variant an SM holds, as the driver says; ``None`` if unknown.

        The kernel is compiled and loaded, and not launched.
        """
        values = tensors.with_descriptors(kernel, self.tensors(args), args)
        compiled = execution.compile_variant(kernel, values, settings, (1, 1, 1), launch=False)
        compiled.handle._init_handles()  # what a launch does first
        return self._facts(compiled).blocks_per_sm

    def _scratch(self, size: int, alignment: int, stream: int | None) -> Any:
        """Allocate global scratch memory; PyTorch's alignment exceeds what any kernel needs."""
        return self._torch.empty(size, dtype=self._torch.int8, device="cuda")

    def _facts(self, compiled: Compiled) -> FunctionFacts:
        """Query the driver about the launched kernel."""
        handle = compiled.handle
        if self._target.vendor != "nvidia":
            return FunctionFacts(handle.n_regs, None, None)
        threads = handle.metadata.num_warps * self._target.warp_size
        return nvidia_function(handle.function, threads, handle.metadata.shared)


def _import_torch() -> Any:
    """Import PyTorch and check that it has a GPU."""
    if is_stand_in(sys.modules.get("torch")) or importlib.util.find_spec("torch") is None:
        raise CaptureError(
            "--run needs PyTorch, which is not installed", hint='pip install "irlens[run]"'
        )
    import torch

    if not torch.cuda.is_available():
        raise CaptureError(
            "--run needs a GPU, and PyTorch finds none here",
            hint="leave out --run: compiling needs no GPU",
        )
    return torch


def _arch(torch: Any, properties: Any) -> str:
    """Return the arch of a GPU in the target's notation: "sm_90", "gfx942"."""
    if torch.version.hip is not None:
        return str(properties.gcnArchName).split(":")[0]
    return f"sm_{properties.major}{properties.minor}"
