"""Bind a kernel's parameters: description, user overrides, then the autotuner's settings."""

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from irlens.compiler.calls.argument_values import (
    Argument,
    Descriptor,
    evaluate_number,
    format_value,
    has_contents,
    parse_argument,
)
from irlens.compiler.calls.expressions import UnknownSizeError, evaluate
from irlens.compiler.calls.strides import strides_of
from irlens.compiler.request import Request
from irlens.compiler.sources.description import Description
from irlens.model.capture import MOST_CTAS
from irlens.model.config import ConstexprValue, GridFormula
from irlens.model.errors import CaptureError, UnknownNameError
from irlens.model.text import plural

#: Missing values that are named; a matrix product lacks fifteen.
_MOST_NAMES = 8
_GRID_AXES = 3
_NAME = re.compile(r"[^\W\d]\w*")
#: CTAs of the kernel that an SM holds, which are known once it is compiled.
BLOCKS_PER_SM = "blocks_per_sm"


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a kernel function.

    Attributes:
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

    sizes, defaults = named_values(request, described, runtime)
    names = {**sizes, **defaults, **request.settings}
    # What a file holds is read once, where its shape replaces its name.
    read = {n for n, v in request.args.items() if "[" in str(v)}
    args = {
        name: parse_argument(value, names, name)
        for name, value in described.args.items()
        if name not in read or not has_contents(value)
    }
    for name, value in request.args.items():
        if name in runtime:
            shape_of = args.get(name)
            args[name] = parse_argument(value, names, f"--arg {name}", shape_of=shape_of)
    named = [p.name for p in parameters if not p.constexpr]
    strides = strides_of(named, args)
    required = {p.name for p in parameters if p.required}
    args |= {n: each.value for n, each in strides.items() if n in required and n not in args}
    # In the order of the parameters; a description has its own.
    ordered = {p.name: args.pop(p.name) for p in parameters if p.name in args} | args
    args = {name: _evaluate_block(value, sizes, name) for name, value in ordered.items()}
    grid = request.grid or described.grid
    return Call(args, defaults, dict(request.settings), sizes, grid)


def named_values(
    request: Request, described: Description, runtime: Collection[str]
) -> tuple[dict[str, ConstexprValue], dict[str, ConstexprValue]]:
    """Return the sizes of a call, and the constexprs and options of its description.

    Args:
        runtime: The arguments that no size is named after.

    Raises:
        CaptureError: A value is invalid.
    """
    overrides = {name: _as_number(value) for name, value in request.args.items()}
    sizes: dict[str, ConstexprValue] = {
        **described.sizes,
        **{name: value for name, value in overrides.items() if not isinstance(value, str)},
    }
    for name, value in overrides.items():
        if isinstance(value, str) and (name in described.sizes or name not in runtime):  # N=M
            sizes[name] = evaluate_number(value, sizes, f"--arg {name}")
    if request.sm_count is not None:
        sizes["sm_count"] = request.sm_count
    defaults: dict[str, ConstexprValue] = dict(described.options)
    for name, expression in described.constexprs.items():
        if name not in request.settings:
            names = {**sizes, **defaults, **request.settings}
            defaults[name] = evaluate(expression, names, name)
    return sizes, defaults


def require_values(
    kernel: str,
    parameters: Sequence[Parameter],
    call: Call,
    settings: Collection[str],
    source: str,
    request: Request,
    *,
    unconfigured: str | None = None,
    how_to_run: Callable[[], str | None] = lambda: None,
    launch_grid: Callable[[], list[str]] = list,
    constant: Callable[[str], int | None] = lambda _: None,
) -> None:
    """Check that every required parameter has a value.

    Args:
        settings: The names of constexprs and options that have values.
        unconfigured: Why the file leaves values open, for the hint.
        how_to_run: Returns how to have the file's own launches, for the hint.
        launch_grid: Returns the grid that the file launches the kernel with, for the hint.
        constant: Returns the integer that a name of the kernel's module has, for the hint.

    Raises:
        CaptureError: Some have none; the hint lists the options to add.
    """
    missing = [
        p
        for p in parameters
        if p.required and p.name not in (settings if p.constexpr else call.args)
    ]
    if missing:
        from irlens.compiler.calls.examples import example_options

        names = [each.name for each in missing]
        options = example_options(
            names,
            [p.name for p in parameters if not p.constexpr],
            [p.name for p in parameters if p.constexpr],
            source,
            request.grid or launch_grid(),
            constant,
            call.args,
        )
        line = " ".join(["irlens inspect", shlex.quote(request.kernel), *_given(request), *options])
        shown = names if len(names) <= _MOST_NAMES else [*names[: _MOST_NAMES - 1], "…"]
        number = (
            f"{plural(len(names), 'more value')}: " if len(names) > _MOST_NAMES else "a value for "
        )
        raise CaptureError(
            f"{kernel} needs {number}{', '.join(shown)}",
            hint="\n".join(filter(None, [how_to_run(), f"for example  {line}", unconfigured])),
        )


def _given(request: Request) -> Iterator[str]:
    """Yield the options of what a request gives already."""
    for name, value in request.args.items():
        yield f"--arg {shlex.quote(f'{name}={value}')}"
    for name, value in request.settings.items():
        yield f"--set {shlex.quote(f'{name}={format_value(value)}')}"


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


class GridTooLargeError(CaptureError):
    """A grid has more CTAs in a dimension than any GPU takes."""

    def __init__(self, expression: object, axis: int, extent: int) -> None:
        super().__init__(
            f"grid: '{expression}' is {extent}, but a launch has at most {MOST_CTAS:,} CTAs "
            "in a dimension"
        )
        self.axis, self.extent = axis, extent


def evaluate_grid(call: Call, settings: dict[str, ConstexprValue]) -> tuple[int, int, int] | None:
    """Return the CTAs in x, y and z.

    Returns:
        ``None`` if there is no grid, or if it depends on an unknown number of SMs or CTAs per SM.

    Raises:
        CaptureError: An expression is invalid or its value is not a positive whole number.
    """
    return evaluate_formula(GridFormula(call.grid, {**call.sizes, **settings}))


def grid_formula(call: Call, settings: dict[str, ConstexprValue]) -> GridFormula | None:
    """Return a grid that only lacks the number of CTAs that fit an SM; ``None`` for others."""
    formula = GridFormula(call.grid, {**call.sizes, **settings})
    if evaluate_formula(formula) is not None or evaluate_formula(formula, blocks_per_sm=1) is None:
        return None
    used = {name for extent in call.grid for name in _NAME.findall(str(extent))}
    names = {name: value for name, value in formula.names.items() if name in used}
    return GridFormula(call.grid, names)


def evaluate_formula(
    formula: GridFormula, blocks_per_sm: int | None = None
) -> tuple[int, int, int] | None:
    """Return the CTAs in x, y and z; see ``evaluate_grid``."""
    if not formula.extents:
        return None
    if len(formula.extents) > _GRID_AXES:
        raise CaptureError(
            f"a grid has at most {_GRID_AXES} dimensions, not {len(formula.extents)}"
        )
    names = dict(formula.names)
    if blocks_per_sm is not None:
        names[BLOCKS_PER_SM] = blocks_per_sm
    extents = [1, 1, 1]
    for axis, expression in enumerate(formula.extents):
        try:
            extent = evaluate(expression, names, "grid")
        except UnknownSizeError as error:
            if error.name in ("sm_count", BLOCKS_PER_SM):
                return None
            raise
        if not isinstance(extent, int) or extent < 1:
            raise CaptureError(f"grid: '{expression}' is {extent}, not a number of CTAs")
        if extent > MOST_CTAS:
            raise GridTooLargeError(expression, axis, extent)
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
        if name not in runtime and name not in described.sizes and name not in _used(request):
            raise UnknownNameError("argument", name, runtime | set(described.sizes))


def _used(request: Request) -> set[str]:
    """Return the names that expressions of a request's tensors and grid use: sizes of its own."""
    others = (*request.args.values(), *request.grid)
    return {name for each in others if isinstance(each, str) for name in _NAME.findall(each)}


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
