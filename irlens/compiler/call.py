"""How a kernel is called: a description, the user's overrides, and the kernel's own parameters."""

from collections.abc import Collection, Sequence

import msgspec

from irlens.compiler.describe import Description
from irlens.compiler.expressions import UnknownSizeError, evaluate
from irlens.compiler.request import Request
from irlens.compiler.values import Argument, Descriptor, parse_argument
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
    """A call of a kernel, before any autotuner has had its say.

    Attributes:
        args: Run-time arguments; the block of a descriptor is still to be evaluated.
        defaults: Constexprs and options of the description: a configuration may replace them.
        overrides: Constexprs and options of the user: nothing may.
        sizes: Names that the grid may use.
        grid: Its expressions.
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
    """Work out the values of a call.

    Args:
        request: The user's overrides.
        description: The file's, if it has one.
        parameters: The kernel's.
        options: Compile options that the target's compiler knows.

    Raises:
        UnknownNameError: An override names nothing that the kernel has.
        CaptureError: A value cannot be evaluated, or a run-time argument has none.
    """
    described = description or Description(args={})
    constexprs = {p.name for p in parameters if p.constexpr}
    runtime = {p.name for p in parameters if not p.constexpr}
    _check_names(request, described, constexprs, runtime, options)

    given = {name: _number(value) for name, value in request.args.items()}
    sizes: dict[str, ConstexprValue] = {
        **described.sizes,
        **{name: value for name, value in given.items() if not isinstance(value, str)},
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
    args = {name: _partly_bound(value, sizes, name) for name, value in args.items()}
    grid = request.grid or described.grid
    return Call(args, defaults, dict(request.settings), sizes, grid)


def require(
    kernel: str, parameters: Sequence[Parameter], call: Call, settings: Collection[str]
) -> None:
    """Check that every parameter has a value.

    Raises:
        CaptureError: Some have none; the hint has the options to write.
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
    """Return the arguments of one variant, which its settings may have a say in.

    Raises:
        CaptureError: A descriptor's block cannot be evaluated.
    """
    names = {**call.sizes, **settings}
    return {
        name: value.bound(names, name) if isinstance(value, Descriptor) else value
        for name, value in call.args.items()
    }


def evaluate_grid(call: Call, settings: dict[str, ConstexprValue]) -> tuple[int, int, int] | None:
    """Return CTAs in x, y and z.

    Returns:
        ``None`` where the description gives no grid, or one that needs the unknown number of SMs.

    Raises:
        CaptureError: An expression cannot be evaluated or is not a positive whole number.
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
    """Reject overrides of what does not exist."""
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


def _partly_bound(value: Argument, sizes: dict[str, ConstexprValue], where: str) -> Argument:
    """Evaluate a descriptor's block, if no configuration has a say in it."""
    try:
        return value.bound(sizes, where) if isinstance(value, Descriptor) else value
    except UnknownSizeError:
        return value


def _number(value: ConstexprValue) -> ConstexprValue:
    """Return the number that an ``--arg`` value is, or its text where it is something else."""
    if not isinstance(value, str):
        return value
    try:
        parsed = parse_argument(value, {}, "")
    except CaptureError:
        return value
    return parsed if isinstance(parsed, int | float) else value


def _example(parameter: Parameter) -> str:
    """Return an option that would give the parameter a value."""
    if parameter.constexpr:
        return f"--set {parameter.name}=128"
    examples = {"ptr": "fp32[1024]", "desc": "fp16[1024,1024]:block[128,64]"}
    lowered = parameter.name.lower()
    value = next((text for part, text in examples.items() if part in lowered), "1024")
    return f"--arg {parameter.name}={value}"
