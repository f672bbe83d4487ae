"""How autotuners choose: without a GPU, and with a limit on their configurations."""

import math
from collections.abc import Callable
from contextlib import ContextDecorator
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from triton.runtime.autotuner import Autotuner

from irlens.compiler.import_hooks import after_import


def take_first_that_fits() -> None:
    """Make autotuners take the first configuration that fits the GPU.

    Triton gives one that does not fit an infinite time, and cannot order NaN or a placeholder
    against that. The times become equal and finite here only, where no program sees them.
    """
    bench = Autotuner._bench

    def _bench(self: Autotuner, *args: Any, **kwargs: Any) -> list[float]:
        times = map(float, bench(self, *args, **kwargs))  # of a placeholder it is NaN
        return [0.0 if math.isnan(time) else time for time in times]

    Autotuner._bench = _bench


def limit_configurations(number: int) -> None:
    """Make autotuners, and those of TorchInductor, try only their first configurations.

    Configurations that do not fit the GPU are tried and do not count.
    """
    tried: WeakKeyDictionary[Autotuner, int] = WeakKeyDictionary()
    prune, bench = Autotuner.prune_configs, Autotuner._bench

    def prune_configs(self: Autotuner, *args: Any, **kwargs: Any) -> Any:
        tried[self] = 0
        return prune(self, *args, **kwargs)

    def _bench(self: Autotuner, *args: Any, **kwargs: Any) -> list[float]:
        if tried.get(self, 0) >= number:
            return [math.inf] * 3
        times: list[float] = bench(self, *args, **kwargs)
        tried[self] = tried.get(self, 0) + any(map(math.isfinite, times))
        return times

    Autotuner.prune_configs, Autotuner._bench = prune_configs, _bench
    after_import("torch._inductor.config", lambda module: _limit_templates(module, number))
    after_import(
        "torch._inductor.runtime.triton_heuristics", lambda module: _limit_inductor(module, number)
    )


def _limit_templates(config: Any, number: int) -> None:
    """Limit the kernels that TorchInductor instantiates from a template."""
    tests: Any = getattr(config, "test_configs", None)
    if hasattr(tests, "max_mm_configs"):
        tests.max_mm_configs = number


def _limit_inductor(heuristics: ModuleType, number: int) -> None:
    """Limit the configurations of TorchInductor's own autotuner."""
    init = heuristics.CachingAutotuner.__init__

    def limited(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        self.configs = self.configs[:number]

    heuristics.CachingAutotuner.__init__ = limited


def pause_while_measuring(paused: Callable[[], ContextDecorator]) -> None:
    """Enter a context wherever Triton's autotuner or TorchInductor's measures."""
    after_import(
        "triton.runtime.autotuner", lambda module: _pause_in(module.Autotuner, "_bench", paused)
    )
    # After hooks that replace what measures.
    after_import("torch", lambda module: _pause_inductor(paused))


def _pause_inductor(paused: Callable[[], ContextDecorator]) -> None:
    after_import(
        "torch._inductor.runtime.triton_heuristics",
        lambda module: _pause_in(module.CachingAutotuner, "benchmark_all_configs", paused),
    )
    after_import(
        "torch._inductor.runtime.benchmarking", lambda module: _pause_benchmarkers(module, paused)
    )


def _pause_benchmarkers(module: Any, paused: Callable[[], ContextDecorator]) -> None:
    for benchmarker in vars(module).values():
        if isinstance(benchmarker, type) and "benchmark_gpu" in vars(benchmarker):
            _pause_in(benchmarker, "benchmark_gpu", paused)


def _pause_in(owner: Any, name: str, paused: Callable[[], ContextDecorator]) -> None:
    setattr(owner, name, paused()(getattr(owner, name)))
