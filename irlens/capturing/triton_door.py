"""The door to Triton: everything that depends on how Triton works inside is in this module.

Written against Triton 3.4 to 3.9. Kernels go through Triton's own just-in-time path
(``JITFunction.run``), so specialisation, constexpr handling and cache entries are Triton's; only
the driver underneath is replaced by one that answers for a GPU that need not be there.
"""

import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import triton
import triton.language as tl
from triton import knobs
from triton.backends.amd.compiler import HIPBackend
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.compiler.compiler import make_backend
from triton.runtime import _allocation
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.cache import get_cache_manager
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction
from triton.testing import do_bench

from irlens.capturing.call import Parameter
from irlens.capturing.stand_in import StandIn
from irlens.capturing.values import Argument, Tensor, dtype_of
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import CaptureError, UnknownNameError

#: What a kernel's parameter or option may be given: Triton takes any Python object.
Values: TypeAlias = dict[str, Any]


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


class Kernel(msgspec.Struct, frozen=True):
    """A jit function with the autotuners and heuristics around it.

    Attributes:
        wrappers: From the outermost to the innermost.
        function: The jit function.
    """

    wrappers: tuple[Autotuner | Heuristics, ...]
    function: JITFunction

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self.function.fn.__name__)

    def parameters(self) -> list[Parameter]:
        """Return the function's parameters in order."""
        return [Parameter(p.name, p.is_constexpr, not p.has_default) for p in self.function.params]

    def defaults(self) -> Values:
        """Return the constexprs that have a default, with it."""
        params = self.function.params
        return {p.name: p.default for p in params if p.is_constexpr and p.has_default}

    def tuned(self) -> list[str]:
        """Return what the configurations of the autotuners around it set, in their order."""
        tuners = [wrapper for wrapper in self.wrappers if isinstance(wrapper, Autotuner)]
        configs = [config for tuner in tuners for config in tuner.configs]
        return list(dict.fromkeys(name for config in configs for name in config.all_kwargs()))


def find(namespace: Mapping[str, object], name: str) -> Kernel:
    """Return the kernel that a loaded module calls ``name``.

    Raises:
        UnknownNameError: The module has no jit function of that name.
    """
    wrappers = []
    inner = namespace.get(name)
    while isinstance(inner, Autotuner | Heuristics):
        wrappers.append(inner)
        inner = inner.fn
    if not isinstance(inner, JITFunction):
        kinds = (Autotuner, Heuristics, JITFunction)
        known = [key for key, value in namespace.items() if isinstance(value, kinds)]
        raise UnknownNameError("kernel", name, known)
    return Kernel(tuple(wrappers), inner)


def option_defaults(target: Target) -> Values:
    """Return the compile options that the target's compiler knows, with their defaults."""
    return dict(make_backend(_gpu_target(target)).parse_options({}).__dict__)


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
            yield


@contextmanager
def compile_only(target: Target) -> Iterator[None]:
    """Make Triton believe that the target is the active GPU, though nothing can be launched."""
    config = triton.runtime.driver
    # Asking for `active` would make 3.5 and later look for a real GPU and fail.
    attribute = "_active" if "_active" in vars(config) else "active"
    before = vars(config)[attribute]
    within_2gb = vars(HIPBackend)["is_within_2gb"]
    config.set_active(_AbsentGpu(_gpu_target(target), before))
    # Up to 3.7 this imports torch before it looks at `ptr_range`, which StandIn always has.
    HIPBackend.is_within_2gb = staticmethod(lambda arg: arg.ptr_range() <= 2**31 - 1)
    try:
        yield
    finally:
        HIPBackend.is_within_2gb = within_2gb
        setattr(config, attribute, before)


def variants(
    kernel: Kernel,
    args: Values,
    defaults: Mapping[str, ConstexprValue],
    overrides: Mapping[str, ConstexprValue],
) -> list[Values]:
    """Return the constexprs and options of every variant, as the wrappers choose them.

    An autotuner contributes each configuration its ``prune_configs_by`` leaves. The overrides
    apply over each, and what they make equal is kept once.

    Raises:
        CaptureError: The file's own pruning or heuristic function failed.
    """
    fixed = {name: _chosen(kernel, name, value) for name, value in overrides.items()}
    found: list[Values] = [{**{n: _to_triton(v) for n, v in defaults.items()}, **fixed}]
    for wrapper in kernel.wrappers:
        if isinstance(wrapper, Autotuner):
            found = [
                {**settings, **config.all_kwargs(), **fixed}
                for settings in found
                for config in _configs(wrapper, args, settings, fixed)
            ]
        else:
            found = [{**s, **_heuristic_values(wrapper, args, s, fixed)} for s in found]
    distinct: list[Values] = []
    for settings in found:
        if settings not in distinct:
            distinct.append(settings)
    return distinct


def plain(settings: Values) -> dict[str, ConstexprValue]:
    """Return settings as they are recorded: scalars as they are, a dtype as "tl.float16"."""
    return {name: _from_triton(value) for name, value in settings.items()}


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
    kept = _allocation._allocator  # 3.4 keeps the allocator itself, later ones a variable of it
    before = kept.get() if isinstance(kept, ContextVar) else kept
    triton.set_allocator(allocate)
    try:
        yield
    finally:
        triton.set_allocator(before)


def stand_ins(args: Mapping[str, Argument]) -> Values:
    """Return what to give Triton for the arguments: a tensor becomes a ``StandIn``.

    Its dtype is PyTorch's if the kernel's file has imported PyTorch, since the file's tuning
    functions may then compare it with ``torch.float16``.
    """
    torch = sys.modules.get("torch")
    values: Values = {}
    for name, value in args.items():
        if isinstance(value, Tensor):
            dtype = getattr(torch, value.dtype.torch or "", None)
            values[name] = StandIn(value, dtype or getattr(tl, value.dtype.language))
        else:
            values[name] = value
    return values


class _AbsentGpu(DriverBase):  # type: ignore[misc]  # mypy does not follow triton's imports
    """A driver that answers what compiling asks, and nothing else.

    Args:
        target: The GPU to pretend.
        real: The driver that was active before, or ``None``.
    """

    def __init__(self, target: GPUTarget, real: Any) -> None:
        self.target = target
        self._real = real

    @property
    def utils(self) -> Any:
        """The real driver's: a kernel launched earlier may be collected, and unloaded, now."""
        if self._real is None:
            raise self._absent()
        return self._real.utils

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def map_python_to_cpp_type(self, ty: str) -> str:
        raise self._absent()

    def get_active_torch_device(self) -> object:
        raise self._absent()

    def get_benchmarker(self) -> object:
        raise self._absent()

    def _absent(self) -> CaptureError:
        return CaptureError(
            f"the kernel's file asks for a GPU while irlens only compiles for {self.target.arch}",
            hint="fix the tuned values with --set, --num-warps and --num-stages",
        )


def _gpu_target(target: Target) -> GPUTarget:
    """Return the target as Triton writes it: ("cuda", 90, 32), ("hip", "gfx942", 64)."""
    if target.vendor == "amd":
        return GPUTarget("hip", target.arch, target.warp_size)
    number = re.fullmatch(r"sm_(\d+)[af]?", target.arch)
    if number is None:
        raise UnknownNameError("target", target.arch, [])
    return GPUTarget("cuda", int(number[1]), target.warp_size)


def _configs(tuner: Autotuner, args: Values, settings: Values, fixed: Values) -> Sequence[Any]:
    """Return the configurations that the tuner would try."""
    tuned = {name for config in tuner.configs for name in config.all_kwargs()}
    if tuned <= fixed.keys():
        return list(tuner.configs[:1])
    known = {name: value for name, value in settings.items() if name not in tuned}
    tuner.nargs = args
    try:
        return list(tuner.prune_configs(known))
    finally:
        tuner.nargs = None


def _heuristic_values(
    heuristics: Heuristics, args: Values, settings: Values, fixed: Values
) -> Values:
    """Return what the heuristics decide, one after the other as Triton does."""
    values: Values = {}
    for name, decide in heuristics.values.items():
        values[name] = fixed[name] if name in fixed else decide({**args, **settings, **values})
    return values


def _chosen(kernel: Kernel, name: str, value: ConstexprValue) -> object:
    """Return what an override means: a function of the tuner's own is recorded by its name."""
    tuners = (wrapper for wrapper in kernel.wrappers if isinstance(wrapper, Autotuner))
    configs = (config.all_kwargs() for tuner in tuners for config in tuner.configs)
    functions = (given[name] for given in configs if callable(given.get(name)))
    named = (one for one in functions if _from_triton(one) == value)
    return next(named, _to_triton(value))


def _to_triton(value: ConstexprValue) -> object:
    """Turn "tl.float16" into the dtype, and leave everything else as it is."""
    dtype = dtype_of(value)
    return getattr(tl, dtype.language) if dtype else value


def _from_triton(value: object) -> ConstexprValue:
    """Return a constexpr's value as it is recorded."""
    if isinstance(value, tl.constexpr):
        value = value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tl.dtype):
        return next(
            (f"tl.{name}" for name, known in vars(tl).items() if known is value), str(value)
        )
    return str(getattr(value, "__name__", value))
