"""Compile, launch and benchmark one variant under Triton's active driver."""

import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import msgspec
import triton
import triton.language as tl
from triton.compiler import compiler
from triton.runtime.cache import get_cache_manager
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction
from triton.testing import do_bench

from irlens.artifacts import processes, tools
from irlens.compiler.triton_compat import inductor, knobs
from irlens.compiler.triton_compat.jit import Kernel, Values, manifest_values, options_of
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError

#: The least value of options that Triton compiles otherwise, or fails at without a clear message.
#: It takes 0 stages for 1.
_LEAST = {"num_warps": 1, "num_stages": 0, "num_ctas": 1, "maxnreg": 1}


class Compiled(msgspec.Struct, frozen=True):
    """One compiled variant.

    Attributes:
        options: Its other compile options, see ``Config.options``.
        refusal: Why the GPU could not launch it; ``None`` if it did, or was not asked to.
    """

    entry: Path
    constexprs: dict[str, ConstexprValue]
    options: dict[str, ConstexprValue]
    handle: Any
    refusal: str | None


@contextmanager
def private_cache(directory: Path) -> Iterator[None]:
    """Make Triton compile into an empty directory, whatever the user's settings.

    ``TRITON_INTERPRET`` would not compile at all, cache managers and ``STORE_BINARY_ONLY`` would
    put artifacts elsewhere or omit them, an override would replace them, and
    ``TRITON_OVERRIDE_ARCH`` would change the target.

    Raises:
        CaptureError: Triton was imported to interpret kernels, not to compile them.
    """
    if not isinstance(tl.cdiv, JITFunction):
        raise CaptureError(
            "Triton was imported with TRITON_INTERPRET set, so it cannot compile in this process",
            hint="unset TRITON_INTERPRET before Triton is imported",
        )
    for_ptxas = {n: value for n, value in tools.LARGE_PAGES.items() if n not in os.environ}
    with (
        knobs.compiling_into(directory),
        processes.with_variables(for_ptxas),
        warnings.catch_warnings(),
    ):
        # 3.9 announces another default for 3.10. irlens compiles with the installed Triton's
        # default, and the kernel's metadata records it.
        warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION is unset")
        with knobs.version_as_key(directory):
            yield


def compile_variant(
    kernel: Kernel, args: Values, settings: Values, grid: tuple[int, int, int] | None = None
) -> Compiled:
    """Compile one variant under the active driver, and launch it if there is a grid.

    Raises:
        CaptureError: An option has an invalid value, or a hook of the process prevents compilation.
    """
    _check_options(kernel, settings)
    function = kernel.function
    # This process may have compiled a function of a shared module before; Triton would then answer
    # from memory and write no artifacts.
    held = "device_caches" if hasattr(function, "device_caches") else "cache"  # Triton 3.2
    caches = getattr(function, held)
    setattr(function, held, defaultdict(caches.default_factory))
    refusal = None
    try:
        if kernel.specialization is not None:
            handle = inductor.compile_specialized(kernel, args, settings)
        else:
            handle = function.run(grid=grid or (1, 1, 1), warmup=True, **args, **settings)
        if handle is None:
            raise CaptureError(f"{kernel.name}: a Triton hook (jit_cache_hook) skips compilation")
        if grid is not None:
            try:
                function.run(grid=grid, warmup=False, **args, **settings)
            except OutOfResources as error:
                refusal = str(error)
    finally:
        setattr(function, held, caches)
    return _compiled(kernel, settings, handle, refusal)


def _check_options(kernel: Kernel, settings: Values) -> None:
    """Raise ``CaptureError`` for what Triton would fail at, or ignore, without a clear message."""
    for name, least in _LEAST.items():
        value = settings.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            required = f"a whole number of at least {least}"
        elif name == "num_ctas" and value & (value - 1):  # of num_warps Triton says so itself
            required = "a power of 2"
        else:
            continue
        raise CaptureError(f"{kernel.name}: {name} must be {required}, not {value}")


def compile_ttir(kernel: Kernel, text: str, settings: Values, workspace: Path) -> Compiled:
    """Compile a ttir under the active driver, with the options of a kernel's variant."""
    path = workspace / "edited.ttir"
    path.write_text(text, "utf-8")
    constexprs = {each.name for each in kernel.function.params if each.is_constexpr}
    options = {name: value for name, value in settings.items() if name not in constexprs}
    handle = compiler.compile(
        str(path), target=triton.runtime.driver.active.get_current_target(), options=options
    )
    return _compiled(kernel, settings, handle, None)


def _compiled(kernel: Kernel, settings: Values, handle: Any, refusal: str | None) -> Compiled:
    parameters = kernel.function.params
    bound = {p.name: settings.get(p.name, p.default) for p in parameters if p.is_constexpr}
    entry = Path(get_cache_manager(handle.hash).cache_dir)
    return Compiled(entry, manifest_values(bound), options_of(handle), handle, refusal)


def benchmark(
    kernel: Kernel,
    args: Values,
    settings: Values,
    grid: tuple[int, int, int],
    quantiles: Sequence[float],
) -> list[float]:
    """Return quantiles of a launch's time in milliseconds, see ``benchmark_call``."""

    def launch() -> None:
        kernel.function.run(grid=grid, warmup=False, **args, **settings)

    return benchmark_call(launch, quantiles)


def benchmark_call(call: Callable[[], object], quantiles: Sequence[float]) -> list[float]:
    """Return quantiles of the GPU's time for a call in milliseconds, from Triton's ``do_bench``.

    The L2 cache is cold before each call. GPU events have a resolution of half a microsecond: six
    digits hold every significant time, and none of the noise of the arithmetic.
    """
    return [float(f"{time:.6g}") for time in do_bench(call, quantiles=list(quantiles))]


@contextmanager
def scratch_from(allocate: Callable[[int, int, int | None], Any]) -> Iterator[None]:
    """Use an allocator for the global scratch memory of launched kernels.

    It holds the descriptors that a kernel makes with ``tl.make_tensor_descriptor``; Triton has no
    default allocator.

    Args:
        allocate: Takes bytes, alignment and stream, and returns a tensor.
    """
    before = current_allocator()
    triton.set_allocator(allocate)
    try:
        yield
    finally:
        triton.set_allocator(before)


def current_allocator() -> Any:
    """Return the allocator of scratch memory: it takes bytes, alignment and stream."""
    from triton.runtime import _allocation  # Triton 3.2 has no scratch memory

    allocator = _allocation._allocator  # itself in 3.4, a context variable in later versions
    return allocator.get() if isinstance(allocator, ContextVar) else allocator
