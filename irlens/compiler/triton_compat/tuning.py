"""What an autotuner is about to try, as requests to compile."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from triton.runtime.autotuner import Autotuner, Config, Heuristics
from triton.runtime.driver import driver

from irlens.compiler.request import Request
from irlens.compiler.triton_compat.jit import Values, manifest_values
from irlens.compiler.triton_compat.launch_hooks import manifest_argument, three_dimensions
from irlens.gpus import Gpu, by_arch, find
from irlens.model.errors import CaptureError, UnknownNameError

#: What Triton's launcher adds to the keyword arguments of a call.
_OF_THE_LAUNCH = frozenset({"grid", "warmup"})


def current_gpu() -> Gpu:
    """Return the GPU that Triton launches on now.

    Raises:
        UnknownNameError: irlens does not know its architecture.
    """
    target = driver.active.get_current_target()
    try:
        import torch

        return find(torch.cuda.get_device_name())
    except (ImportError, RuntimeError, AssertionError, UnknownNameError):
        return by_arch(str(target.arch))


def tuned_requests(
    tuner: Autotuner, configs: Sequence[Config], named_args: Values, kwargs: Values
) -> list[Request]:
    """Return a request for each configuration, with the arguments and the grid of a call.

    Raises:
        CaptureError: What a configuration compiles depends on more than its values.
        UnknownNameError: irlens does not know the GPU.
    """
    if any(config.pre_hook is not None for config in configs):
        raise CaptureError("a configuration's pre_hook may change the arguments of a launch")
    gpu = current_gpu()
    function: Any = tuner.fn
    heuristics: dict[str, Callable[[Values], Any]] = {}
    while isinstance(function, Heuristics):
        heuristics |= function.values
        function = function.fn
    constexprs = {param.name for param in function.params if param.is_constexpr}
    params = {param.name for param in function.params}
    call = {
        name: value
        for name, value in {**named_args, **kwargs}.items()
        if name not in _OF_THE_LAUNCH
    }
    args = {
        name: manifest_argument(value)
        for name, value in call.items()
        if name in params and name not in constexprs
    }
    fixed = {name: value for name, value in call.items() if name not in args}
    code = tuner.base_fn.__code__
    return [
        Request(
            kernel=f"{code.co_filename}:{tuner.base_fn.__name__}",
            target=gpu.target,
            sm_count=gpu.sm_count,
            settings=manifest_values({**fixed, **config.all_kwargs()}),
            args=dict(args),
            grid=_grid(kwargs.get("grid"), {**call, **config.all_kwargs()}, heuristics),
        )
        for config in configs
    ]


def _grid(
    grid: Any, values: Values, heuristics: Mapping[str, Callable[[Values], Any]]
) -> tuple[int, ...]:
    """Return the CTAs that a configuration launches; nothing if Triton would refuse them."""
    if callable(grid):
        for name, heuristic in heuristics.items():
            values = {**values, name: heuristic(values)}
        grid = grid(values)
    return three_dimensions(grid) or ()
