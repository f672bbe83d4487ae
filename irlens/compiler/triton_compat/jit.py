"""Jit functions, their compile options, and what their autotuners and heuristics choose."""

import os
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction, KernelInterface

from irlens.artifacts.compile_options import changed_options, digest_now, left_out_variables
from irlens.compiler.calls.binding import Parameter
from irlens.compiler.calls.dtypes import DTYPE_PREFIX, dtype_of
from irlens.compiler.calls.expressions import is_layout
from irlens.compiler.sources.inductor import Specialization
from irlens.compiler.sources.stand_ins import StandInError, refuse_stand_in
from irlens.model.config import ConstexprValue, Target, finite_or_text, from_finite_or_text
from irlens.model.errors import CaptureError, IrlensError, UnknownNameError

#: Values of a kernel's parameters and options by name: Triton takes any Python object.
Values: TypeAlias = dict[str, Any]


class Kernel(msgspec.Struct, frozen=True):
    """A jit function with its autotuners and heuristics.

    Attributes:
        wrappers: From the outermost to the innermost.
        specialization: What the arguments are compiled for; ``None`` derives it from their values,
            as Triton does at a call.
        unconfigured: Why a generated kernel's configurations are unknown, if they are.
    """

    wrappers: tuple[Autotuner | Heuristics, ...]
    function: JITFunction
    specialization: Specialization | None = None
    unconfigured: str | None = None

    @property
    def name(self) -> str:
        """The function's name."""
        return str(self.function.fn.__name__)

    @property
    def source(self) -> str:
        """The function's source, from ``def`` on."""
        return str(getattr(self.function, "src", ""))

    def constant(self, name: str) -> int | None:
        """Return the integer that a name of the function's module has, if it has one."""
        value = self.function.fn.__globals__.get(name)
        value = getattr(value, "value", value)  # tl.constexpr(3)
        return value if isinstance(value, int) else None

    @property
    def gluon(self) -> bool:
        """Whether it is written in Gluon, ``triton.experimental.gluon``."""
        is_gluon = getattr(self.function, "is_gluon", None)  # Triton 3.4 and newer
        return bool(is_gluon and is_gluon())

    def parameters(self) -> list[Parameter]:
        """Return the function's parameters in order."""
        optional = self.specialization is not None  # its run-time arguments need no values
        return [
            Parameter(
                p.name, p.is_constexpr, not p.has_default and (p.is_constexpr or not optional)
            )
            for p in self.function.params
        ]

    def defaults(self) -> Values:
        """Return the default values of the constexprs that have one."""
        params = self.function.params
        return {p.name: p.default for p in params if p.is_constexpr and p.has_default}

    def configurations(self) -> list[Values]:
        """Return what each configuration of the autotuners sets."""
        tuners = [wrapper for wrapper in self.wrappers if isinstance(wrapper, Autotuner)]
        return [config.all_kwargs() for tuner in tuners for config in tuner.configs]

    def tuned(self) -> list[str]:
        """Return the names that the autotuners' configurations set, in order."""
        return list(dict.fromkeys(name for config in self.configurations() for name in config))

    def decided(self) -> set[str]:
        """Return the names whose values functions choose that may look at the arguments."""
        names: set[str] = set()
        for wrapper in self.wrappers:
            if isinstance(wrapper, Heuristics):
                names |= {*wrapper.values}
            elif wrapper.perf_model or wrapper.early_config_prune:
                names |= {name for config in wrapper.configs for name in config.all_kwargs()}
        return names

    def chosen(self) -> set[str]:
        """Return the names that autotuners and heuristics set."""
        heuristics = [each for each in self.wrappers if isinstance(each, Heuristics)]
        return {*self.tuned(), *(name for each in heuristics for name in each.values)}


#: Triton compiles the loop's beginning once for each stage, and more take minutes.
_MOST_STAGES = 256


class TuningError(Exception):
    """A function of the user's that chooses a kernel's settings raised an exception.

    Attributes:
        file: The file of the line that raised it; empty if unknown.
        lacks: The argument that it looked up and did not find; empty if it failed otherwise.
    """

    def __init__(self, what: str, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if not each.filename.startswith(_NOT_THE_USERS)]
        self.file = own[-1].filename if own else ""
        self.line = own[-1].lineno or 0 if own else 0
        self.text = own[-1].line or "" if own else ""
        self.lacks = str(error.args[0]) if isinstance(error, KeyError) and error.args else ""
        said = str(error).partition("\n")[0]
        super().__init__(f"{what} raised {type(error).__name__}{f': {said}' if said else ''}")


#: Files of Triton and of irlens.
_NOT_THE_USERS = (f"{Path(triton.__file__).parent}/", f"{Path(__file__).parents[2]}/", "<")


@contextmanager
def _of_user(what: str) -> Iterator[None]:
    """Name the function of the user's that raises an exception in this context."""
    try:
        yield
    except (IrlensError, StandInError):
        raise
    except Exception as error:  # it may raise anything
        raise TuningError(what, error) from error


def find_kernel(namespace: Mapping[str, object], name: str) -> Kernel:
    """Return the kernel that a module's variable ``name`` holds, or its class: "Class.method".

    Raises:
        CaptureError: Several classes have a kernel of that name.
        UnknownNameError: The module has no jit function of that name.
        StandInError: Only a module that is not installed could tell.
    """
    wrappers = []
    jitted = _jitted(namespace)
    # A recorded kernel is known by its function's name, and a variable may have another.
    named = {key: each for key, each in jitted.items() if _function_name(each) == name}
    own = {key: each for key, each in named.items() if "." not in key} or named
    inner: Any = namespace.get(name, jitted.get(name))
    if inner is None:
        if len({id(each) for each in own.values()}) > 1 and own is named:
            raise CaptureError(f"several kernels are named '{name}': {', '.join(named)}")
        inner = next(iter(own.values()), None)
    while _wraps(inner):
        if isinstance(inner, Autotuner | Heuristics):
            wrappers.append(inner)
        inner = inner.fn
    refuse_stand_in(inner)
    if not isinstance(inner, JITFunction) and inner is not None and name not in jitted:
        kind = type(inner).__name__
        raise CaptureError(
            f"{name} is no Triton kernel but a {kind}, which may generate kernels from it",
            hint="capture what a program launches with  irlens record PROGRAM",
        )
    if not isinstance(inner, JITFunction):
        raise UnknownNameError("kernel", name, jitted)
    return Kernel(tuple(wrappers), inner)


def _jitted(namespace: Mapping[str, object], owner: str = "") -> dict[str, object]:
    """Return the jit functions of a module and of its own classes, by name."""
    found: dict[str, object] = {}
    for name, value in namespace.items():
        if isinstance(value, staticmethod):
            value = value.__func__
        if isinstance(value, KernelInterface):
            found[owner + name] = value
        elif isinstance(value, type) and value.__qualname__ == owner + name:
            found |= _jitted(vars(value), f"{owner}{name}.")
    return found


def _wraps(kernel: Any) -> bool:
    """Whether a kernel wraps another: Triton's own wrappers, or a library's, which caches, say."""
    return isinstance(kernel, KernelInterface) and not isinstance(kernel, JITFunction)


def _function_name(kernel: Any) -> str:
    """Return the name of the function below the autotuners and heuristics of a kernel."""
    while _wraps(kernel):
        kernel = kernel.fn
    return str(getattr(kernel, "__name__", ""))


def variants(
    kernel: Kernel,
    args: Values,
    defaults: Mapping[str, ConstexprValue],
    overrides: Mapping[str, ConstexprValue],
) -> list[Values]:
    """Return the constexprs and options of every distinct variant.

    An autotuner contributes each configuration that its ``prune_configs_by`` keeps. The overrides
    apply to all of them.

    Raises:
        TuningError: The file's own pruning or heuristic function failed.
        CaptureError: Too many stages are requested.
    """
    fixed = {name: _override(kernel, name, value) for name, value in overrides.items()}
    expanded: list[Values] = [{**{n: _to_triton(v) for n, v in defaults.items()}, **fixed}]
    for wrapper in kernel.wrappers:
        if isinstance(wrapper, Autotuner):
            expanded = [
                {**settings, **config.all_kwargs(), **fixed}
                for settings in expanded
                for config in _configs(wrapper, args, settings, fixed)
            ]
        else:
            expanded = [{**s, **_heuristic_values(wrapper, args, s, fixed)} for s in expanded]
    distinct: list[Values] = []
    for settings in expanded:
        stages = settings.get("num_stages")
        if isinstance(stages, int) and stages > _MOST_STAGES:
            raise CaptureError(
                f"num_stages is {stages:,}, but irlens compiles at most {_MOST_STAGES}"
            )
        if settings not in distinct:
            distinct.append(settings)
    return distinct


def manifest_values(settings: Values) -> dict[str, ConstexprValue]:
    """Return settings as manifests store them: scalars, and dtypes as "tl.float16"."""
    return {name: _from_triton(value) for name, value in settings.items()}


def _configs(tuner: Autotuner, args: Values, settings: Values, fixed: Values) -> Sequence[Any]:
    """Return the configurations that the tuner would benchmark."""
    tuned = {name for config in tuner.configs for name in config.all_kwargs()}
    if tuned <= fixed.keys():
        return list(tuner.configs[:1])
    untuned = {name: value for name, value in settings.items() if name not in tuned}
    tuner.nargs = args
    try:
        with _of_user("prune_configs_by"):
            return list(tuner.prune_configs(untuned))
    finally:
        tuner.nargs = None


def _heuristic_values(
    heuristics: Heuristics, args: Values, settings: Values, fixed: Values
) -> Values:
    """Return the values of the heuristics, each seeing those before it, as in Triton."""
    values: Values = {}
    for name, decide in heuristics.values.items():
        with _of_user(f"the heuristic of {name}"):
            known = {**args, **settings, **values}
            values[name] = fixed[name] if name in fixed else decide(known)
    return values


def _override(kernel: Kernel, name: str, value: ConstexprValue) -> object:
    """Return the value of an override; manifests store a function of a configuration by name."""
    values = (config.get(name) for config in kernel.configurations())
    functions = (each for each in values if callable(each) and _from_triton(each) == value)
    return next(functions, _to_triton(value))


def _to_triton(value: ConstexprValue) -> object:
    """Return the dtype of "tl.float16", the layout of a layout's text, other values unchanged."""
    if is_layout(value):
        from irlens.compiler.triton_compat.gluon_layouts import parse_layout

        return parse_layout(value)
    dtype = dtype_of(value)
    return getattr(tl, dtype.language) if dtype else from_finite_or_text(value)


def _from_triton(value: object) -> ConstexprValue:
    """Return a constexpr's value as manifests store it."""
    if isinstance(value, tl.constexpr):
        value = value.value
    refuse_stand_in(value)
    if value is None or isinstance(value, bool | int | float | str):
        return finite_or_text(value)
    if isinstance(value, tl.dtype):
        names = (name for name, known in vars(tl).items() if known is value)
        return next((f"{DTYPE_PREFIX}{name}" for name in names), str(value))
    return str(getattr(value, "__name__", value))


def triton_target(target: Target) -> GPUTarget:
    """Return Triton's target: ("cuda", 90, 32), ("hip", "gfx942", 64)."""
    if target.vendor == "amd":
        return GPUTarget("hip", target.arch, target.warp_size)
    number = re.fullmatch(r"sm_(\d+)[af]?", target.arch)
    if number is None:
        raise UnknownNameError("target", target.arch, [])
    return GPUTarget("cuda", int(number[1]), target.warp_size)


def option_defaults(target: GPUTarget) -> Values:
    """Return the compile options that a target's compiler accepts, with their defaults."""
    return dict(make_backend(target).parse_options({}).__dict__)


def options_of(handle: Any) -> dict[str, ConstexprValue]:
    """Return the options of a compiled kernel as its configuration has them.

    Args:
        handle: Triton's ``CompiledKernel``, compiled by this process in its environment.
    """
    metadata = handle.metadata._asdict() | left_out_variables(os.environ)
    return changed_options(metadata, option_defaults(handle.metadata.target), digest_now)
