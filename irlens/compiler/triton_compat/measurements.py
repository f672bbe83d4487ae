"""Leave out what autotuners run to measure it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any

from irlens.compiler.import_hooks import after_import


def pause_while_measuring(paused: Callable[[], AbstractContextManager[None]]) -> None:
    """Enter a context wherever Triton's autotuner or TorchInductor's measures.

    Args:
        paused: Returns the context.
    """
    after_import(
        "triton.runtime.autotuner", lambda module: _pause_in(module.Autotuner, "_bench", paused)
    )
    # After hooks that replace what measures.
    after_import("torch", lambda module: _pause_inductor(paused))


def _pause_inductor(paused: Callable[[], AbstractContextManager[None]]) -> None:
    after_import(
        "torch._inductor.runtime.triton_heuristics",
        lambda module: _pause_in(module.CachingAutotuner, "benchmark_all_configs", paused),
    )
    after_import(
        "torch._inductor.runtime.benchmarking", lambda module: _pause_benchmarkers(module, paused)
    )


def _pause_benchmarkers(module: Any, paused: Callable[[], AbstractContextManager[None]]) -> None:
    for benchmarker in vars(module).values():
        if isinstance(benchmarker, type) and "benchmark_gpu" in vars(benchmarker):
            _pause_in(benchmarker, "benchmark_gpu", paused)


def _pause_in(owner: Any, name: str, paused: Callable[[], AbstractContextManager[None]]) -> None:
    measure = getattr(owner, name)

    @wraps(measure)
    def measured(*args: Any, **kwargs: Any) -> Any:
        with paused():
            return measure(*args, **kwargs)

    setattr(owner, name, measured)
