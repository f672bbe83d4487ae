"""Compiling, or launching, every variant that a request asks for."""

from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import msgspec

from irlens.compiler import launching
from irlens.compiler import triton_compat as triton_door
from irlens.compiler.call import bind, evaluate_grid, require, resolve
from irlens.compiler.describe import Description
from irlens.compiler.request import Request
from irlens.compiler.triton_compat import Kernel
from irlens.compiler.values import Argument
from irlens.model.capture import RunResult
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError


class Variant(msgspec.Struct, frozen=True):
    """One compiled variant, still in Triton's cache.

    Attributes:
        entry: Triton's cache entry.
        constexprs: Every constexpr parameter's value.
        args: Every run-time argument.
        grid: CTAs in x, y and z, where they are known.
        run: The launch, if there was one.
    """

    entry: Path
    constexprs: dict[str, ConstexprValue]
    args: dict[str, Argument]
    grid: tuple[int, int, int] | None
    run: RunResult | None


def make_variants(
    request: Request, description: Description | None, module: ModuleType, kernel: Kernel
) -> list[Variant]:
    """Compile the kernel once for each configuration, and launch it if the request says so.

    Raises:
        CaptureError: A value is missing, or what is needed to launch is.
        UnknownNameError: An override names nothing that the kernel has.
    """
    bench = launching.Bench(request.target, description, module) if request.run else None
    if bench is not None:
        request = msgspec.structs.replace(request, sm_count=bench.sm_count)
    options = triton_door.option_defaults(request.target)
    call = resolve(request, description, kernel.parameters(), options)
    made: list[Variant] = []
    with nullcontext() if bench else triton_door.compile_only(request.target):
        args = bench.tensors(call.args) if bench else triton_door.stand_ins(call.args)
        described = triton_door.with_descriptors(kernel, args, call.args)
        for settings in triton_door.variants(kernel, described, call.defaults, call.overrides):
            require(kernel.name, kernel.parameters(), call, settings)
            chosen = triton_door.plain(settings)
            grid, bound = evaluate_grid(call, chosen), bind(call, chosen)
            if bench is None:
                compiled = triton_door.compile_variant(
                    kernel,
                    triton_door.with_descriptors(kernel, args, bound),
                    settings,
                    grid or (1, 1, 1),
                    launch=False,
                )
                result = None
            elif grid is None:
                raise CaptureError(f"{kernel.name} cannot be launched: its grid is not known")
            else:
                compiled, result = bench.launch(kernel, bound, settings, grid)
            if all(compiled.entry != variant.entry for variant in made):
                made.append(Variant(compiled.entry, compiled.constexprs, call.args, grid, result))
    # An autotuner passes over configurations that the GPU cannot take, and so does a run.
    if bench is not None and all(variant.run is None for variant in made):
        raise CaptureError(f"{kernel.name} cannot be launched: {compiled.refusal}")
    return made
