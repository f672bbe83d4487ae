"""Compiling, launching and timing one variant under Triton's active driver."""

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import triton
import triton.language as tl
from triton import knobs
from triton.compiler import compiler
from triton.runtime import _allocation, cache
from triton.runtime.cache import get_cache_manager
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction
from triton.testing import do_bench

from irlens.compiler.triton_compat.kernels import Kernel, Values, plain
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError


class Compiled(msgspec.Struct, frozen=True):
    """One compiled variant.

    Attributes:
        entry: Triton's cache entry, a directory.
        constexprs: Every constexpr parameter's value.
        handle: Triton's own object.
        refusal: Why the GPU could not take it, if it was to be launched and could not.
    """

    entry: Path
    constexprs: dict[str, ConstexprValue]
    handle: Any
    refusal: str | None


@contextmanager
def private_cache(directory: Path) -> Iterator[None]:
    """Let Triton compile into an empty directory, whatever the user's settings say.

    ``TRITON_INTERPRET`` would not compile at all, the cache managers and ``STORE_BINARY_ONLY``
    would leave artifacts elsewhere or out, an override would replace them, and
    ``TRITON_OVERRIDE_ARCH`` would change the target.

    Raises:
        CaptureError: Triton was imported to interpret kernels, not to compile them.
    """
    if not isinstance(tl.cdiv, JITFunction):
        raise CaptureError(
            "Triton was imported with TRITON_INTERPRET set, so it cannot compile in this process",
            hint="unset TRITON_INTERPRET before Triton is imported",
        )
    with knobs.cache.scope(), knobs.compilation.scope(), knobs.runtime.scope():
        knobs.cache.dir = str(directory)
        knobs.cache.manager_class = None
        knobs.cache.remote_manager_class = None
        knobs.compilation.override = False
        knobs.compilation.dump_ir = False
        knobs.compilation.store_binary_only = False
        knobs.runtime.interpret = False
        knobs.runtime.override_arch = None
        with warnings.catch_warnings():
            # 3.9 announces another default for 3.10. irlens compiles with the default of the
            # Triton that is installed, and its metadata says which that was.
            warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION is unset")
            with _named_by_version(directory):
                yield


@contextmanager
def _named_by_version(directory: Path) -> Iterator[None]:
    """Let entries of a private cache be named by this Triton's version, not by a hash of all of it.

    The hash keeps apart what several Tritons leave in one cache. In a private one there is nothing
    to keep apart, and it takes as long as compiling: it reads half a gigabyte.
    """

    def key(hashed: Callable[[], str]) -> str:
        is_private = knobs.cache.dir == str(directory)  # a kernel's file may choose another
        return str(triton.__version__) if is_private else hashed()

    with ExitStack() as stack:
        for module in (cache, compiler):  # 3.4 has it in the latter
            if hasattr(module, "triton_key"):
                stack.callback(setattr, module, "triton_key", module.triton_key)
                module.triton_key = partial(key, module.triton_key)
        yield


def compile_variant(
    kernel: Kernel, args: Values, settings: Values, grid: tuple[int, int, int], *, launch: bool
) -> Compiled:
    """Compile one variant under the active driver, and launch it if asked to.

    Raises:
        CaptureError: A hook of the process prevents compilation.
    """
    function = kernel.function
    # A function that another module shares may have been compiled before in this process; then
    # Triton would answer from memory and write no artifacts.
    caches = function.device_caches
    function.device_caches = defaultdict(caches.default_factory)
    refusal = None
    try:
        handle = function.run(grid=grid, warmup=True, **args, **settings)
        if handle is None:
            raise CaptureError(f"{kernel.name}: a Triton hook (jit_cache_hook) does not let it be")
        if launch:
            try:
                function.run(grid=grid, warmup=False, **args, **settings)
            except OutOfResources as error:
                refusal = str(error)
    finally:
        function.device_caches = caches
    bound = {p.name: settings.get(p.name, p.default) for p in function.params if p.is_constexpr}
    entry = Path(get_cache_manager(handle.hash).cache_dir)
    return Compiled(entry, plain(bound), handle, refusal)


def times(
    kernel: Kernel,
    args: Values,
    settings: Values,
    grid: tuple[int, int, int],
    quantiles: Sequence[float],
) -> list[float]:
    """Return quantiles of the milliseconds that a launch takes, by Triton's own benchmark.

    Events on the GPU tell half a microsecond: six digits hold every time that says something, and
    not the noise of the arithmetic.
    """

    def launch() -> None:
        kernel.function.run(grid=grid, warmup=False, **args, **settings)

    return [float(f"{time:.6g}") for time in do_bench(launch, quantiles=list(quantiles))]


@contextmanager
def scratch_from(allocate: Callable[[int, int, int | None], Any]) -> Iterator[None]:
    """Give launched kernels the global memory that they ask for besides their arguments.

    Descriptors that a kernel makes with ``tl.make_tensor_descriptor`` are kept there, and Triton
    by itself has none to give.

    Args:
        allocate: Takes bytes, alignment and stream, and returns a tensor.
    """
    before = allocator()
    triton.set_allocator(allocate)
    try:
        yield
    finally:
        triton.set_allocator(before)


def allocator() -> Any:
    """Return what gives kernels that memory: it takes bytes, alignment and stream."""
    kept = _allocation._allocator  # 3.4 keeps the allocator itself, later ones a variable of it
    return kept.get() if isinstance(kept, ContextVar) else kept
