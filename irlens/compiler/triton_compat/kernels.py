"""Kernels as Triton has them, and the variants that their autotuners and heuristics choose."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
import triton.language as tl
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction

from irlens.compiler.call import Parameter
from irlens.compiler.dtypes import dtype_of
from irlens.compiler.expressions import is_layout
from irlens.model.config import ConstexprValue
from irlens.model.errors import UnknownNameError

#: What a kernel's parameter or option may be given: Triton takes any Python object.
Values: TypeAlias = dict[str, Any]


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

    @property
    def gluon(self) -> bool:
        """Whether it is written in Gluon, ``triton.experimental.gluon``."""
        return bool(self.function.is_gluon())

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
    """Turn "tl.float16" into the dtype, a layout's text into the layout, and nothing else."""
    if is_layout(value):
        from irlens.compiler.triton_compat.layouts import parse_layout

        return parse_layout(value)
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
