"""Bind a kernel's parameters: description, user overrides, then the autotuner's settings."""

from collections.abc import Collection, Sequence

import msgspec

from irlens.compiler.calls.argument_values import Argument, Descriptor, parse_argument
from irlens.compiler.calls.expressions import UnknownSizeError, evaluate
from irlens.compiler.request import Request
from irlens.compiler.sources.description import Description
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError, UnknownNameError


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a kernel function.

    Attributes:
        name: Its name.
        constexpr: Whether it is a ``tl.constexpr``.
        required: Whether it has no default.
    """

    name: str
    constexpr: bool
    required: bool


class Call(msgspec.Struct, frozen=True):
    """A kernel call before autotuning.

    Attributes:
        args: Run-time arguments; the block of a descriptor may still be an expression.
        defaults: Constexprs and options of the description; a configuration may override them.
        overrides: Constexprs and options of the user; they override every configuration.
        sizes: Names that the grid may use.
        grid: Expressions of the grid.
    """

    args: dict[str, Argument]
    defaults: dict[str, ConstexprValue]
    overrides: dict[str, ConstexprValue]
    sizes: dict[str, ConstexprValue]
    grid: tuple[int | str, ...]


def resolve(
    request: Request,
    description: Description | None,
    parameters: Sequence[Parameter],
    options: Collection[str],
) -> Call:
    """Return the call that a request and a description specify.

    Raises:
        UnknownNameError: An override names no parameter or option of the kernel.
        CaptureError: A value is invalid.
    """
    described = description or Description(args={})
    constexprs = {p.name for p in parameters if p.constexpr}
    runtime = {p.name for p in parameters if not p.constexpr}
    _check_names(request, described, constexprs, runtime, options)

    overrides = {name: _as_number(value) for name, value in request.args.items()}
    sizes: dict[str, ConstexprValue] = {
        **described.sizes,
        **{name: value for name, value in overrides.items() if not isinstance(value, str)},
    }
    if request.sm_count is not None:
        sizes["sm_count"] = request.sm_count
    defaults: dict[str, ConstexprValue] = dict(described.options)
    for name, expression in described.constexprs.items():
        if name not in request.settings:
            names = {**sizes, **defaults, **request.settings}
            defaults[name] = evaluate(expression, names, name)

    names = {**sizes, **defaults, **request.settings}
    args = {n: parse_argument(v, names, n) for n, v in described.args.items()}
    for name, value in request.args.items():
        if name in runtime:
            shape_of = args.get(name)
            args[name] = parse_argument(value, names, f"--arg {name}", shape_of=shape_of)
    args = {name: _evaluate_block(value, sizes, name) for name, value in args.items()}
    grid = request.grid or described.grid
    return Call(args, defaults, dict(request.settings), sizes, grid)


def require_values(
    kernel: str, parameters: Sequence[Parameter], call: Call, settings: Collection[str]
) -> None:
    """Check that every required parameter has a value.

    Raises:
        CaptureError: Some have none; the hint lists the options to add.
    """
    missing = [
        p
        for p in parameters
        if p.required and p.name not in (settings if p.constexpr else call.args)
    ]
    if missing:
        raise CaptureError(
            f"{kernel} needs a value for {', '.join(p.name for p in missing)}",
            hint="for example " + " ".join(map(_example, missing)),
        )


def bind(call: Call, settings: dict[str, ConstexprValue]) -> dict[str, Argument]:
    """Return the arguments of one variant; a descriptor's block may depend on its settings.

    Raises:
        CaptureError: A descriptor's block is invalid.
    """
    names = {**call.sizes, **settings}
    return {
        name: value.evaluated(names, name) if isinstance(value, Descriptor) else value
        for name, value in call.args.items()
    }


def evaluate_grid(call: Call, settings: dict[str, ConstexprValue]) -> tuple[int, int, int] | None:
    """Return the CTAs in x, y and z.

    Returns:
        ``None`` if there is no grid, or if it depends on an unknown number of SMs.

    Raises:
        CaptureError: An expression is invalid or its value is not a positive whole number.
    """
    if not call.grid:
        return None
    extents = [1, 1, 1]
    for axis, expression in enumerate(call.grid[:3]):
        try:
            extent = evaluate(expression, {**call.sizes, **settings}, "grid")
        except UnknownSizeError as error:
            if error.name == "sm_count":
                return None
            raise
        if not isinstance(extent, int) or extent < 1:
            raise CaptureError(f"grid: '{expression}' is {extent}, not a number of CTAs")
        extents[axis] = extent
    return extents[0], extents[1], extents[2]


def _check_names(
    request: Request,
    described: Description,
    constexprs: set[str],
    runtime: set[str],
    options: Collection[str],
) -> None:
    """Reject overrides of unknown names."""
    for name in request.settings:
        if name in runtime - constexprs and name not in options:
            raise CaptureError(f"'{name}' is a run-time argument", hint=f"write --arg {name}=...")
        if name not in constexprs and name not in options:
            raise UnknownNameError("constexpr or option", name, constexprs | set(options))
    for name in request.args:
        if name in constexprs and name not in described.sizes:
            raise CaptureError(f"'{name}' is a constexpr", hint=f"write --set {name}=...")
        if name not in runtime and name not in described.sizes:
            raise UnknownNameError("argument", name, runtime | set(described.sizes))


def _evaluate_block(value: Argument, sizes: dict[str, ConstexprValue], where: str) -> Argument:
    """Evaluate a descriptor's block unless it depends on a configuration."""
    try:
        return value.evaluated(sizes, where) if isinstance(value, Descriptor) else value
    except UnknownSizeError:
        return value


def _as_number(value: ConstexprValue) -> ConstexprValue:
    """Return an ``--arg`` value as a number if its text is one, otherwise unchanged."""
    if not isinstance(value, str):
        return value
    try:
        parsed = parse_argument(value, {}, "")
    except CaptureError:
        return value
    return parsed if isinstance(parsed, int | float) else value


def _example(parameter: Parameter) -> str:
    """Return an example of the option that sets a parameter."""
    if parameter.constexpr:
        return f"--set {parameter.name}=128"
    examples = {"ptr": "fp32[1024]", "desc": "fp16[1024,1024]:block[128,64]"}
    lowered = parameter.name.lower()
    value = next((text for part, text in examples.items() if part in lowered), "1024")
    return f"--arg {parameter.name}={value}"
