"""Hooks on every path to a kernel launch: Triton's own, compiled handles, TorchInductor's."""

import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import msgspec
from triton.compiler.compiler import CompiledKernel
from triton.runtime.autotuner import Autotuner
from triton.runtime.cache import get_cache_manager
from triton.runtime.jit import JITFunction, MockTensor

from irlens.compiler.calls.argument_values import Descriptor, Tensor, manifest_value
from irlens.compiler.calls.dtypes import DTYPES
from irlens.compiler.capture_files import Launch
from irlens.compiler.import_hooks import after_import
from irlens.compiler.triton_compat.grid_tracing import trace_grid
from irlens.compiler.triton_compat.jit import Values, manifest_values, options_of

#: Receives the cache entry of each launch, its arguments as manifests have them, and its grid.
Counted: TypeAlias = Callable[
    [str, dict[str, int | float | str], tuple[int, int, int] | None], None
]
#: Returns what tensors among the arguments hold, ``.npy`` files by name, as far as that is kept.
Contents: TypeAlias = Callable[[Values], dict[str, bytes]]
#: Receives a launch, the kernel's name, and the values of its arguments.
Every: TypeAlias = Callable[[Launch, str, Values], None]


#: The names that an autotuned kernel is called with, the innermost call last.
_FIXED: list[set[str]] = []


def watch_launches(
    report: Callable[[Launch], None],
    refused: Callable[[JITFunction, Exception], None],
    every: Every | None = None,
    counted: Counted = lambda entry, args, grid: None,
    contents: Contents = lambda args: {},
) -> None:
    """Report the first launch of each variant from now on, in the whole process.

    A variant that is only compiled is reported too, and again when it is launched; so is one that
    the GPU refuses.

    Args:
        refused: Receives a kernel and the exception that its compilation or launch raised.
        every: Receives every launch, not only the first of a variant.
        contents: Returns what tensors hold, for the launches that are reported.
    """
    watch = _LaunchWatch(report, every, counted, contents)
    _hook_run(watch, refused)
    _hook_autotuner(refused)
    _hook_compiled(watch)
    # Otherwise TorchDynamo would trace the hooks along with the program.
    after_import("torch._dynamo.trace_rules", lambda rules: rules.add("irlens"))
    after_import(
        "torch._inductor.runtime.triton_heuristics", lambda module: _hook_inductor(module, watch)
    )


class _LaunchWatch:
    """Remembers which variants have been reported."""

    def __init__(
        self,
        report: Callable[[Launch], None],
        every: Every | None,
        counted: Counted,
        contents: Contents,
    ) -> None:
        self._report = report
        self._contents = contents
        self._every = every
        self._counted = counted
        self._launched: dict[str, bool] = {}
        self._entries: dict[str, str] = {}

    def is_unknown(self, handle: Any) -> bool:
        """Whether a variant has not been reported."""
        return getattr(handle, "hash", None) not in self._launched

    def note_call(
        self, function: JITFunction, handle: Any, args: Any, kwargs: Values, grid: "_Grid"
    ) -> None:
        """Report a call of a jit function unless the same has been reported before."""
        key = getattr(handle, "hash", None)  # a hook may have prevented compilation
        launched = grid.extents is not None and not kwargs.get("warmup")
        if isinstance(key, str) and launched:
            self.count(handle, _bound(function, args, kwargs)[1], grid.extents)
        if isinstance(key, str) and launched and self._every is not None:
            self._pass_on(handle, function, *_bound(function, args, kwargs), grid.extents)
        if isinstance(key, str) and self._is_news(key, launched=launched):
            constexprs, arguments = _bound(function, args, kwargs)
            extents = grid.extents if launched else None
            launch = _launch(handle, function, constexprs, arguments, extents)
            formula = grid.formula(constexprs) if launched else ()
            fixed = tuple(name for name in constexprs if _FIXED and name in _FIXED[-1])
            held = self._contents(arguments) if launched else {}
            self._report(
                msgspec.structs.replace(launch, grid_formula=formula, fixed=fixed, contents=held)
            )

    def note_launch(
        self, handle: Any, function: Any, constexprs: Values, args: Values, grid: Any
    ) -> None:
        """Report a launch unless the variant has been launched before.

        Args:
            function: The jit function; ``None`` if another process has compiled it.
        """
        self.count(handle, args, grid)
        self._pass_on(handle, function, constexprs, args, grid)
        if self._is_news(handle.hash, launched=True):
            launch = _launch(handle, function, constexprs, args, grid)
            self._report(msgspec.structs.replace(launch, contents=self._contents(args)))

    def count(self, handle: Any, args: Values, grid: Any) -> None:
        """Count a launch."""
        key = handle.hash
        if key not in self._entries:
            self._entries[key] = _entry(key)
        self._counted(self._entries[key], _manifest_arguments(args), three_dimensions(grid))

    def takes_every(self) -> bool:
        """Whether every launch is wanted."""
        return self._every is not None

    def _pass_on(
        self, handle: Any, function: Any, constexprs: Values, args: Values, grid: Any
    ) -> None:
        if self._every is not None:
            launch = _launch(handle, function, constexprs, args, grid)
            self._every(launch, str(getattr(handle, "name", "")), args)

    def _is_news(self, key: str, *, launched: bool) -> bool:
        """Whether a variant has not been reported, or not as launched; mark it as reported."""
        known = self._launched.get(key)
        if known is not None and known >= launched:
            return False
        self._launched[key] = launched
        return True


class _Grid:
    """A launch's grid, and its extents once a callable grid has been evaluated.

    Attributes:
        argument: The grid to pass to Triton, which alone knows what to call it with.
        extents: CTAs in each dimension; ``None`` until they are known.
    """

    def __init__(self, grid: Any) -> None:
        self._grid = grid
        self._bound: Values = {}
        self.argument = self._evaluate if callable(grid) else grid
        self.extents = None if callable(grid) else grid

    def _evaluate(self, bound: Values) -> Any:
        self._bound, self.extents = bound, self._grid(bound)
        return self.extents

    def formula(self, constexprs: Collection[str]) -> tuple[int | str, ...]:
        """Return how the extents follow from constexprs; empty where that is unknown."""
        extents = three_dimensions(self.extents)
        if not callable(self._grid) or extents is None:
            return ()
        return trace_grid(self._grid, self._bound, constexprs, extents)


def _hook_run(watch: _LaunchWatch, refused: Callable[[JITFunction, Exception], None]) -> None:
    """Hook ``kernel[grid](...)`` and ``kernel.warmup(...)``."""
    run = JITFunction.run

    def hooked(self: JITFunction, *args: Any, **kwargs: Any) -> Any:
        grid = _Grid(kwargs.get("grid"))
        kwargs["grid"] = grid.argument
        try:
            handle = run(self, *args, **kwargs)
        except Exception as error:  # any error: the kernel may have been compiled before it
            for variant in filter(watch.is_unknown, list(_compiled(self))):
                watch.note_call(self, variant, args, kwargs, grid)
            refused(self, error)
            raise
        watch.note_call(self, handle, args, kwargs, grid)
        return handle

    JITFunction.run = hooked


def _hook_autotuner(refused: Callable[[JITFunction, Exception], None]) -> None:
    """Hook autotuned kernels: their calls, and their definition, which newer versions check."""
    init, run = Autotuner.__init__, Autotuner.run

    @wraps(run)
    def called(self: Autotuner, *args: Any, **kwargs: Any) -> Any:
        _FIXED.append({*self.arg_names[: len(args)], *kwargs})
        try:
            return run(self, *args, **kwargs)
        finally:
            _FIXED.pop()

    @wraps(init)
    def hooked(self: Autotuner, fn: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, fn, *args, **kwargs)
        except ValueError as error:
            function = fn
            while not isinstance(function, JITFunction) and hasattr(function, "fn"):
                function = function.fn
            if isinstance(function, JITFunction):
                refused(function, error)
            raise

    Autotuner.__init__, Autotuner.run = hooked, called


def _hook_compiled(watch: _LaunchWatch) -> None:
    """Hook launches of the handle that ``warmup`` returns: ``compiled[grid](...)``."""
    at_grid = CompiledKernel.__getitem__

    def hooked(self: CompiledKernel, grid: Any) -> Callable[..., None]:
        launch = at_grid(self, grid)

        def launched(*args: Any, **kwargs: Any) -> None:
            launch(*args, **kwargs)
            function = getattr(self.src, "fn", None)  # none if it was compiled from an IR file
            with suppress(TypeError):  # the call may have fewer arguments than the function
                if isinstance(function, JITFunction):
                    watch.note_call(function, self, args, {}, _Grid(grid))

        return launched

    CompiledKernel.__getitem__ = hooked


def _hook_inductor(heuristics: ModuleType, watch: _LaunchWatch) -> None:
    """Hook every launcher that TorchInductor generates, which bypasses Triton's own launch.

    PyTorch before 2.7 generates launchers elsewhere: what they launch is captured without
    arguments.
    """
    result = getattr(heuristics, "CompileResult", None)
    generate = getattr(result, "_gen_launcher_code", None)
    if result is None or generate is None:
        return

    def generated(self: Any, scope: Values, def_args: Any, runner_args: Any) -> Any:
        launch = generate(self, scope, def_args, runner_args)
        reported = False

        @wraps(launch)
        def launched(*args: Any, **kwargs: Any) -> Any:
            nonlocal reported
            result = launch(*args, **kwargs)
            named = {**dict(zip(def_args, args, strict=False)), **kwargs}
            grid = heuristics.GridExpr.from_meta(self.inductor_meta, self.config)
            constexprs, arguments = _split_constexprs(self.compile_meta, named)
            if reported and not watch.takes_every():
                watch.count(self.kernel, arguments, grid.eval_slow(named))
                return result
            reported = True
            function = getattr(getattr(self.kernel, "src", None), "fn", None)
            watch.note_launch(self.kernel, function, constexprs, arguments, grid.eval_slow(named))
            return result

        scope["launcher"] = launched  # TorchInductor takes it from there
        return launched

    result._gen_launcher_code = generated


def _split_constexprs(meta: Mapping[str, Any], arguments: Values) -> tuple[Values, Values]:
    """Return the constexprs and the arguments of a launch, in the order of the parameters."""
    params = list(meta["signature"])
    constants = {name: meta["constants"][name] for name in params if name in meta["constants"]}
    constexprs = {name: value for name, value in constants.items() if name not in arguments}
    return constexprs, {name: arguments[name] for name in params if name in arguments}


def _compiled(function: JITFunction) -> Iterator[Any]:
    """Yield the compiled variants of a function, on every device."""
    for caches in list(function.device_caches.values()):
        yield from list(caches[0].values())


def _bound(function: JITFunction, args: Any, kwargs: Values) -> tuple[Values, Values]:
    """Return the constexprs and the arguments of a call."""
    params = {param.name: param for param in function.params}
    named = {key: value for key, value in kwargs.items() if key in params}
    bound = function.signature.bind(*args, **named)
    bound.apply_defaults()
    constexprs = {key: bound.arguments[key] for key in params if params[key].is_constexpr}
    arguments = {
        key: bound.arguments[key]
        for key in params
        if key not in constexprs and key in bound.arguments
    }
    return constexprs, arguments


def _launch(handle: Any, function: Any, constexprs: Values, args: Values, grid: Any) -> Launch:
    """Return the record of a launch."""
    code = getattr(getattr(function, "fn", None), "__code__", None)
    return Launch(
        entry=_entry(handle.hash),
        file=str(code.co_filename) if code is not None else None,
        constexprs=manifest_values(constexprs),
        args=_manifest_arguments(args),
        grid=None if grid is None else three_dimensions(grid),
        options=options_of(handle),
    )


def _manifest_arguments(args: Values) -> dict[str, int | float | str]:
    return {name: manifest_argument(value) for name, value in args.items()}


def _entry(key: str) -> str:
    """Return the directory of a variant in Triton's cache."""
    return str(Path(get_cache_manager(key).cache_dir).absolute())


def three_dimensions(grid: Any) -> tuple[int, int, int] | None:
    """Return a grid with all dimensions; ``None`` if Triton does not accept it."""
    try:
        x, y, z, *_ = (*map(operator.index, grid), 1, 1)
    except (TypeError, ValueError):  # not a sequence of whole numbers, or an empty one
        return None
    return x, y, z


def manifest_argument(value: Any) -> int | float | str:
    """Return an argument of any type as manifests store it; tensors by dtype and shape."""
    if value is None or isinstance(value, bool | int | float):
        return manifest_value(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(str(manifest_argument(each)) for each in value)})"
    block = getattr(value, "block_shape", None)
    tensor = _tensor(value if block is None else value.base)
    if tensor is None:
        return str(getattr(value, "__name__", None) or type(value).__name__)
    if isinstance(value, MockTensor) and tensor.shape == (1,):
        return f"*{tensor.dtype.name}"  # it always has this shape; written like Triton's pointers
    if block is None:
        text = str(tensor)
        strides = _gaps(value, tensor)
    else:
        text = str(Descriptor(tensor, tuple(block), _layout(value, tensor)))
        strides = _gaps(value.base, tensor)
    if strides is None:
        return text
    shape = str(tensor)
    return f"{shape}:strides[{', '.join(map(str, strides))}]{text.removeprefix(shape)}"


def _gaps(value: Any, tensor: Tensor) -> tuple[int, ...] | None:
    """Return the strides of a view whose elements are not all of those between two of them.

    A transposed tensor has no gaps: its elements fill the same bytes.
    """
    stride = getattr(value, "stride", None)
    if not callable(stride):
        return None
    strides = tuple(map(int, stride()))
    if 0 in tensor.shape or len(strides) != len(tensor.shape):
        return None
    last = sum((extent - 1) * step for extent, step in zip(tensor.shape, strides, strict=True))
    return strides if last + 1 != math.prod(tensor.shape) else None


def _layout(descriptor: Any, tensor: Tensor) -> str | None:
    """Return the layout of a Gluon descriptor; ``None`` for the default, and for Triton's own."""
    layout = getattr(descriptor, "layout", None)
    if layout is None:
        return None
    from irlens.compiler.triton_compat.gluon_layouts import default_layout

    default = default_layout(tensor.dtype.language, descriptor.block_shape)
    return None if layout == default else str(layout)


def _tensor(value: Any) -> Tensor | None:
    """Return the dtype and shape of a tensor; ``None`` if Triton has no name for its dtype."""
    dtype = DTYPES.get(str(getattr(value, "dtype", None)).removeprefix("torch."))
    shape = getattr(value, "shape", None)
    if dtype is None or shape is None:
        return None
    return Tensor(dtype, tuple(int(extent) for extent in shape))
