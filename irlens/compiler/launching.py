"""Launching a kernel on the GPU of this machine and comparing it with its reference."""

import importlib.util
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from irlens.compiler import triton_compat as triton_door
from irlens.compiler.describe import Description
from irlens.compiler.device import FunctionFacts, nvidia_function
from irlens.compiler.reference import Reference
from irlens.compiler.triton_compat import Compiled, Kernel, Values
from irlens.compiler.values import Argument
from irlens.model.capture import RunResult
from irlens.model.config import Target
from irlens.model.errors import CaptureError
from irlens.model.sweep import Timing


class Bench:
    """The GPU of this machine, with one kernel's tensors on it.

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
        self._reference = Reference(description or Description(args={}), module, "cuda")
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
        """Make the arguments on the GPU, see ``Reference.tensors``."""
        return self._reference.tensors(args)

    def launch(
        self,
        kernel: Kernel,
        args: Mapping[str, Argument],
        settings: Values,
        grid: tuple[int, int, int],
    ) -> tuple[Compiled, RunResult | None]:
        """Launch one variant on fresh tensors and compare what it stores with the reference.

        Returns:
            No result where the GPU cannot take the variant.

        Raises:
            CaptureError: The reference does not fit the description.
        """
        values = self.tensors(args)
        with triton_door.scratch_from(self._scratch):
            compiled = triton_door.compile_variant(
                kernel,
                triton_door.with_descriptors(kernel, values, args),
                settings,
                grid,
                launch=True,
            )
        if compiled.refusal is not None:
            return compiled, None
        self._torch.cuda.synchronize()
        fresh = self.tensors(args)
        expected = self._reference.expected({**compiled.constexprs, **fresh})
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
        self, kernel: Kernel, args: Values, settings: Values, grid: tuple[int, int, int]
    ) -> Timing:
        """Launch one variant over and over, each time with a cold L2 cache.

        Args:
            kernel: The kernel.
            args: Its arguments, made by ``tensors``.
            settings: Its constexprs and options.
            grid: CTAs in x, y and z.

        Raises:
            CaptureError: The GPU cannot take the variant.
        """
        with triton_door.scratch_from(self._scratch):
            compiled = triton_door.compile_variant(kernel, args, settings, grid, launch=True)
            if compiled.refusal is not None:
                raise CaptureError(f"{kernel.name} cannot be launched: {compiled.refusal}")
            median, fast, slow = triton_door.times(kernel, args, settings, grid, (0.5, 0.2, 0.8))
        return Timing(median_ms=median, fast_ms=fast, slow_ms=slow)

    def _scratch(self, size: int, alignment: int, stream: int | None) -> Any:
        """Allocate bytes for a kernel; PyTorch aligns to more than any kernel asks for."""
        return self._torch.empty(size, dtype=self._torch.int8, device="cuda")

    def _facts(self, compiled: Compiled) -> FunctionFacts:
        """Ask the driver about the launched kernel."""
        handle = compiled.handle
        if self._target.vendor != "nvidia":
            return FunctionFacts(handle.n_regs, None, None)
        threads = handle.metadata.num_warps * self._target.warp_size
        return nvidia_function(handle.function, threads, handle.metadata.shared)


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
