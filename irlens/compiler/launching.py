"""Launch and time kernels on the local GPU."""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
from irlens.model.capture import RunResult, Timing
from irlens.model.config import Target
from irlens.model.errors import CaptureError, NotInstalledError
from irlens.model.sweep import Measurement, ProviderName, ProviderTime

#: Of the times: ``Timing`` has them in this order.
_QUANTILES = (0.5, 0.2, 0.8)


class GpuLauncher:
    """Launches a kernel on the local GPU, with tensors there.

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
        """Launch one variant on new tensors, compare its outputs with the reference, and time it.

        Returns:
            No result if the variant exceeds the GPU's resources.

        Raises:
            CaptureError: The reference does not match the description.
        """
        values = self.tensors(args)
        described = tensors.with_descriptors(kernel, values, args)
        with execution.scratch_from(self._scratch):
            compiled = execution.compile_variant(kernel, described, settings, grid)
        if compiled.refusal is not None:
            return compiled, None
        self._torch.cuda.synchronize()
        inputs = self.tensors(args)
        expected = self._reference.expected({**compiled.constexprs, **inputs})
        matches, error = None, None
        if expected is not None:
            matches, error = self._reference.compare(values, expected)
        timing = None
        if matches is not False:
            with execution.scratch_from(self._scratch), suppress(RuntimeError):  # no memory left
                timing = _timing(execution.benchmark(kernel, described, settings, grid, _QUANTILES))
        facts = self._facts(compiled)
        return compiled, RunResult(
            device=self.device_name,
            matches_reference=matches,
            max_abs_error=error,
            registers=facts.registers,
            local_bytes=facts.local_bytes,
            blocks_per_sm=facts.blocks_per_sm,
            timing=timing,
        )

    def time(
        self,
        kernel: Kernel,
        args: Mapping[str, Argument],
        settings: Values,
        grid: tuple[int, int, int],
        against: Sequence[ProviderName] = (),
    ) -> Measurement:
        """Time one variant whose results are right, and other implementations on its inputs.

        Each time is that of many launches, with a cold L2 cache.

        Raises:
            CaptureError: The variant exceeds the GPU's resources, or its results do not match the
                reference.
        """
        tensors_of = self.tensors(args)
        values = tensors.with_descriptors(kernel, tensors_of, args)
        with execution.scratch_from(self._scratch):
            compiled = execution.compile_variant(kernel, values, settings, grid)
            if compiled.refusal is not None:
                raise CaptureError(f"{kernel.name} cannot be launched: {compiled.refusal}")
            self._torch.cuda.synchronize()
            arguments = {**compiled.constexprs, **self.tensors(args)}
            expected = self._reference.expected(arguments)
            error = None
            if expected is not None:
                matches, error = self._reference.compare(tensors_of, expected)
                if not matches:
                    difference = "" if error is None else f" by up to {error:.3g}"
                    raise CaptureError(f"its results differ from the reference's{difference}")
            times = execution.benchmark(kernel, values, settings, grid, _QUANTILES)
        return Measurement(
            timing=_timing(times),
            max_abs_error=error,
            against=[self._time_provider(name, arguments, expected) for name in against],
        )

    def _time_provider(
        self, name: ProviderName, arguments: Values, expected: Sequence[Any] | None
    ) -> ProviderTime:
        """Time another implementation, if it computes something and its results are right."""
        try:
            call = self._reference.provider(name, arguments)
            if call is None or expected is None:
                return ProviderTime(name=name, reason="the description names no such function")
            if not self._reference.matches(call(), expected):
                return ProviderTime(name=name, reason="its results differ from the reference's")
            if self._reference.only_returns(call, arguments):
                return ProviderTime(name=name, reason="moves nothing: returns views")
            return ProviderTime(
                name=name, timing=_timing(execution.benchmark_call(call, _QUANTILES))
            )
        except RuntimeError as error:  # no memory, or what torch.compile cannot do
            first = str(error).strip().partition("\n")[0]
            return ProviderTime(name=name, reason=f"{type(error).__name__}: {first}")

    def blocks_per_sm(
        self, kernel: Kernel, args: Mapping[str, Argument], settings: Values
    ) -> int | None:
        """Return how many CTAs of one variant an SM holds, as the driver says; ``None`` if unknown.

        The kernel is compiled and loaded, and not launched.
        """
        values = tensors.with_descriptors(kernel, self.tensors(args), args)
        compiled = execution.compile_variant(kernel, values, settings)
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


def _timing(times: Sequence[float]) -> Timing:
    median, fast, slow = times
    return Timing(median_ms=median, fast_ms=fast, slow_ms=slow)


def _import_torch() -> Any:
    """Import PyTorch and check that it has a GPU."""
    if is_stand_in(sys.modules.get("torch")) or importlib.util.find_spec("torch") is None:
        raise NotInstalledError("--run")
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
