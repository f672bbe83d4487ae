"""Watching what a program launches, by whatever way it comes to Triton's launch."""

import operator
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from triton.compiler.compiler import CompiledKernel
from triton.runtime.cache import get_cache_manager
from triton.runtime.jit import JITFunction, MockTensor

from irlens.compiler.dtypes import DTYPES
from irlens.compiler.launch import Launch
from irlens.compiler.triton_compat.inductor import watch_inductor
from irlens.compiler.triton_compat.kernels import Values, plain
from irlens.compiler.values import Descriptor, Tensor, recorded


def watch_launches(tell: Callable[[Launch], None]) -> None:
    """Tell of each variant when it is launched first, from now on and in the whole process.

    One that was only compiled ahead is told of, too, and again when it is launched; and so is one
    that the GPU refuses to take.

    Args:
        tell: Receives it when the launch has been given to the GPU.
    """
    run = JITFunction.run
    watch = _Watch(tell)

    def watched(self: JITFunction, *args: Any, **kwargs: Any) -> Any:
        grid = _Grid(kwargs.get("grid"))
        kwargs["grid"] = grid.asked
        try:
            handle = run(self, *args, **kwargs)
        except Exception:  # whatever it is, the kernel may have been compiled before
            for refused in filter(watch.is_new, list(_compiled(self))):
                watch.note(self, refused, args, kwargs, grid)
            raise
        watch.note(self, handle, args, kwargs, grid)
        return handle

    JITFunction.run = watched
    _watch_compiled(watch)
    watch_inductor(watch.note_described)


def _watch_compiled(watch: "_Watch") -> None:
    """Tell of what is launched by what ``warmup`` returned: ``compiled[grid](...)``."""
    at_grid = CompiledKernel.__getitem__

    def watched(self: CompiledKernel, grid: Any) -> Callable[..., None]:
        launch = at_grid(self, grid)

        def launched(*args: Any, **kwargs: Any) -> None:
            launch(*args, **kwargs)
            function = getattr(self.src, "fn", None)  # none if it was made from a file of IR
            with suppress(TypeError):  # it may be given less than the function would need
                if isinstance(function, JITFunction):
                    watch.note(function, self, args, {}, _Grid(grid))

        return launched

    CompiledKernel.__getitem__ = watched


class _Grid:
    """A launch's grid, and what it comes to if it is a function.

    Attributes:
        asked: What to give Triton, which alone knows what the function is called with.
        extents: CTAs in each dimension; ``None`` until they are known.
    """

    def __init__(self, given: Any) -> None:
        self._given = given
        self.asked = self._evaluate if callable(given) else given
        self.extents = None if callable(given) else given

    def _evaluate(self, bound: Values) -> Any:
        self.extents = self._given(bound)
        return self.extents


class _Watch:
    """Remembers which variants have been told of."""

    def __init__(self, tell: Callable[[Launch], None]) -> None:
        self._tell = tell
        self._launched: dict[str, bool] = {}

    def is_new(self, handle: Any) -> bool:
        """Whether nothing has been told of a variant: it is the one that was to be launched."""
        return getattr(handle, "hash", None) not in self._launched

    def note(
        self, function: JITFunction, handle: Any, args: Any, kwargs: Values, grid: _Grid
    ) -> None:
        """Tell of a variant unless there is nothing new about it."""
        name = getattr(handle, "hash", None)  # a hook may have kept Triton from compiling
        launched = grid.extents is not None and not kwargs.get("warmup")
        if isinstance(name, str) and self._is_news(name, launched=launched):
            constexprs, given = _bound(function, args, kwargs)
            self._tell(
                _launch(name, function, constexprs, given, grid.extents if launched else None)
            )

    def note_described(
        self, name: str, function: Any, constexprs: Values, args: Values, grid: Any
    ) -> None:
        """Tell of a variant of which all is known, its hash first, unless it is nothing new."""
        if self._is_news(name, launched=True):
            self._tell(_launch(name, function, constexprs, args, grid))

    def _is_news(self, name: str, *, launched: bool) -> bool:
        """Whether no more has been told of a variant yet; from now on it has."""
        known = self._launched.get(name)
        if known is not None and known >= launched:
            return False
        self._launched[name] = launched
        return True


def _compiled(function: JITFunction) -> Iterator[Any]:
    """Yield what a function has been compiled to, on every device."""
    for caches in list(function.device_caches.values()):
        yield from list(caches[0].values())


def _bound(function: JITFunction, args: Any, kwargs: Values) -> tuple[Values, Values]:
    """Return the constexprs and the arguments that a function is called with."""
    params = {param.name: param for param in function.params}
    named = {key: value for key, value in kwargs.items() if key in params}
    bound = function.signature.bind(*args, **named)
    bound.apply_defaults()
    constexprs = {key: bound.arguments[key] for key in params if params[key].is_constexpr}
    given = {
        key: bound.arguments[key]
        for key in params
        if key not in constexprs and key in bound.arguments
    }
    return constexprs, given


def _launch(name: str, function: Any, constexprs: Values, args: Values, grid: Any) -> Launch:
    """Describe a launch."""
    code = getattr(getattr(function, "fn", None), "__code__", None)
    return Launch(
        entry=str(Path(get_cache_manager(name).cache_dir).absolute()),
        file=str(code.co_filename) if code is not None else None,
        constexprs=plain(constexprs),
        args={key: _described(value) for key, value in args.items()},
        grid=None if grid is None else _three(grid),
    )


def _three(grid: Any) -> tuple[int, int, int] | None:
    """Return a grid with all of its dimensions; ``None`` of what Triton does not take for one."""
    try:
        x, y, z, *_ = (*map(operator.index, grid), 1, 1)
    except (TypeError, ValueError):  # not a sequence of whole numbers, or an empty one
        return None
    return x, y, z


def _described(value: Any) -> int | float | str:
    """Return an argument as it is recorded: tensors by what they are, whoever made them."""
    if value is None or isinstance(value, bool | int | float):
        return recorded(value)
    if isinstance(value, tuple | list):
        return f"({', '.join(str(_described(each)) for each in value)})"
    block = getattr(value, "block_shape", None)
    tensor = _tensor(value if block is None else value.base)
    if tensor is not None and isinstance(value, MockTensor) and tensor.shape == (1,):
        return f"*{tensor.dtype.name}"  # which has no shape but this; as Triton writes pointers
    if tensor is not None:
        return recorded(
            tensor if block is None else Descriptor(tensor, tuple(block), _layout(value, tensor))
        )
    return str(getattr(value, "__name__", None) or type(value).__name__)


def _layout(descriptor: Any, tensor: Tensor) -> str | None:
    """Return the layout of a descriptor of Gluon's; ``None`` of the default, and of Triton's."""
    layout = getattr(descriptor, "layout", None)
    if layout is None:
        return None
    from irlens.compiler.triton_compat.layouts import default_layout

    usual = default_layout(tensor.dtype.language, descriptor.block_shape)
    return None if layout == usual else str(layout)


def _tensor(value: Any) -> Tensor | None:
    """Return what a tensor is; ``None`` of one with a dtype that Triton has no name for."""
    dtype = DTYPES.get(str(getattr(value, "dtype", None)).removeprefix("torch."))
    shape = getattr(value, "shape", None)
    if dtype is None or shape is None:
        return None
    return Tensor(dtype, tuple(int(extent) for extent in shape))
