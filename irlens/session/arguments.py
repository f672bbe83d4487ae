"""Run-time arguments that can be changed before a recompile, and the values derived from them.

A kernel's description relates arguments and constexprs to sizes: ``fp32[n_rows, n_cols]``,
``next_power_of_2(n_cols)``. A capture holds the values alone. Where they equal what the description
computes from some sizes, a changed size changes all of them, as on the command line; the other
values stay.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from irlens import gpus
from irlens.compiler.calls.argument_values import (
    Argument,
    format_value,
    manifest_value,
    parse_argument,
    parse_value,
)
from irlens.compiler.calls.binding import Call, evaluate_grid
from irlens.compiler.calls.dtypes import DTYPES, Dtype, dtype_of
from irlens.compiler.calls.expressions import evaluate
from irlens.compiler.calls.strides import strides_of
from irlens.compiler.sources.description import Description
from irlens.model.capture import Capture
from irlens.model.config import LAUNCH_OPTIONS, ConstexprValue
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.text import split_list
from irlens.session.exchange import Setting

_NAME = re.compile(r"[A-Za-z_]\w*")
#: A tensor; the block of a tensor descriptor follows it.
_TENSOR = re.compile(r"\s*(?P<dtype>\w+)\s*\[(?P<shape>[^\[\]]*)\](?P<block>.*)")


class Derivation(msgspec.Struct, frozen=True):
    """How a capture's arguments derive from sizes.

    Attributes:
        sizes: Names in the description's expressions, with the values that they had.
        expressions: Arguments and constexprs whose values equal the description's expression, by
            name, with the expression.
        grid: Whether the grid equals the description's expression.
    """

    sizes: dict[str, ConstexprValue] = {}
    expressions: dict[str, str] = {}
    grid: bool = False


def find_derivation(capture: Capture, description: Description | None) -> Derivation:
    """Return how a capture's arguments derive from the sizes of its kernel's description."""
    args, constexprs = capture.config.args, capture.config.constexprs
    strides = _strides(args)
    if description is None:
        return Derivation(expressions=strides)
    sizes: dict[str, ConstexprValue] = dict(description.sizes)
    for name, expression in description.args.items():
        sizes |= {
            size: value
            for size, value in _bind(expression, args.get(name))
            if size in description.sizes
        }
    names = {**sizes, **_gpu_names(capture), **_options(capture), **constexprs}
    expressions = {
        name: expression
        for name, expression in (*description.args.items(), *description.constexprs.items())
        if isinstance(expression, str)
        and expression != name
        and names.keys() & set(_NAME.findall(expression))
        and _is_derived(name, expression, names, args if name in description.args else constexprs)
    }
    # What the description leaves out is computed from the shapes.
    expressions = {n: e for n, e in strides.items() if n not in description.args} | expressions
    return Derivation(sizes, expressions, _is_grid_derived(capture, description, names))


def _strides(args: Mapping[str, float | str]) -> dict[str, str]:
    """Return the arguments that equal a stride of a contiguous tensor, with that stride's name."""
    tensors: dict[str, Argument] = {}
    for name, value in args.items():
        with suppress(CaptureError):  # a type that irlens cannot make
            tensors[name] = parse_argument(value, {}, name)
    strides = strides_of(list(args), tensors)
    return {name: str(each) for name, each in strides.items() if args.get(name) == each.value}


def argument_settings(capture: Capture, derivation: Derivation) -> Iterator[Setting]:
    """Yield the sizes and arguments that can be changed."""
    for name, value in {**derivation.sizes, **capture.config.args}.items():
        text = str(value)
        choices = tuple(_other_dtypes(text)) if isinstance(value, str) else ()
        yield Setting(
            name=name,
            value=text if isinstance(value, str) else format_value(value),
            choices=(text, *choices) if choices else (),
            follows=derivation.expressions.get(name, ""),
            is_argument=True,
        )


def requested_arguments(
    capture: Capture, derivation: Derivation, changes: Mapping[str, str]
) -> dict[str, ConstexprValue]:
    """Return the sizes and arguments of a request.

    Args:
        changes: Changed values by name, as written.
    """
    args = capture.config.args
    independent = {n: value for n, value in args.items() if n not in derivation.expressions}
    requested: dict[str, ConstexprValue] = {**derivation.sizes, **independent}
    for name, text in changes.items():
        if name in requested or name in args:
            requested[name] = _parse(text, independent.get(name))
    return requested


def derive_constexprs(
    derivation: Derivation,
    description: Description | None,
    args: Mapping[str, ConstexprValue],
    settings: Mapping[str, ConstexprValue],
    changed: Mapping[str, str],
) -> dict[str, ConstexprValue]:
    """Return the constexprs that derive from a request.

    They are evaluated here because an autotuner's values override those of a description.

    Args:
        changed: Settings that the user changed, which therefore do not derive.

    Raises:
        CaptureError: An expression cannot be evaluated.
    """
    numbers = {name: value for name, value in args.items() if not isinstance(value, str)}
    derived: dict[str, ConstexprValue] = {}
    for name in description.constexprs if description is not None else ():
        if name in derivation.expressions and name not in changed:
            names = {**numbers, **settings, **derived}
            derived[name] = evaluate(derivation.expressions[name], names, name)
    return derived


def require_extents(
    recorded: Mapping[str, ConstexprValue], args: Mapping[str, ConstexprValue]
) -> None:
    """Raise ``CaptureError`` where a number that was an extent of a tensor becomes negative."""
    tensors = filter(None, (_TENSOR.fullmatch(str(each)) for each in recorded.values()))
    extents = {extent for each in tensors for extent in split_list(each["shape"])}
    for name, value in args.items():
        if isinstance(value, int) and value < 0 and str(recorded.get(name)) in extents:
            raise CaptureError(
                f"{name} is the extent of a tensor: {value} is not a whole number ≥ 0"
            )


def _parse(text: str, previous: ConstexprValue) -> ConstexprValue:
    """Return an argument in the form of a request; a dtype alone keeps the previous shape."""
    value = parse_value(text)
    dtype, tensor = dtype_of(value), _TENSOR.fullmatch(str(previous))
    if dtype is not None and tensor is not None:
        return f"{dtype.name}[{tensor['shape']}]{tensor['block']}"
    return text.strip() if isinstance(value, str) else value


def _bind(
    expression: ConstexprValue, value: float | str | None
) -> Iterator[tuple[str, ConstexprValue]]:
    """Yield the names that are an argument or an extent of its shape, with their values."""
    if not isinstance(expression, str) or value is None:
        return
    declared, actual = _TENSOR.fullmatch(expression), _TENSOR.fullmatch(str(value))
    if declared is None or actual is None:
        yield expression, value
        return
    shapes = zip(split_list(declared["shape"]), split_list(actual["shape"]), strict=False)
    for name, extent in shapes:
        yield name, parse_value(extent)


def _is_derived(
    name: str,
    expression: str,
    names: Mapping[str, ConstexprValue],
    actual: Mapping[str, ConstexprValue],
) -> bool:
    """Whether a value equals an expression over the other values."""
    others = {each: value for each, value in names.items() if each != name}
    try:
        expected = parse_argument(expression, others, name)
    except CaptureError:
        return False
    return name in actual and manifest_value(expected) == _as_recorded(actual[name])


def _as_recorded(value: ConstexprValue) -> ConstexprValue:
    """Return a constexpr's value in the form of ``manifest_value``."""
    return str(value) if value is None or isinstance(value, bool) else value


def _is_grid_derived(
    capture: Capture, description: Description, names: Mapping[str, ConstexprValue]
) -> bool:
    call = Call({}, {}, {}, dict(names), description.grid)
    try:
        return evaluate_grid(call, {}) == capture.config.grid
    except CaptureError:
        return False


def _options(capture: Capture) -> dict[str, ConstexprValue]:
    options = {name: getattr(capture.config, name) for name in LAUNCH_OPTIONS}
    return {name: value for name, value in options.items() if value is not None}


def _gpu_names(capture: Capture) -> dict[str, ConstexprValue]:
    """Return the names of GPU properties that expressions may use."""
    if capture.target is None:
        return {}
    try:
        count = gpus.find(capture.target.name).sm_count
    except IrlensError:
        return {}
    return {"sm_count": count} if count is not None else {}


def _other_dtypes(tensor: str) -> Iterator[str]:
    """Yield the dtypes that could replace a tensor's: floats for floats, integers for integers."""
    match = _TENSOR.fullmatch(tensor)
    current = DTYPES.get(match["dtype"]) if match is not None else None
    if current is None:
        return
    for dtype in dict.fromkeys(DTYPES.values()):
        if dtype != current and _is_float(dtype) == _is_float(current):
            yield dtype.name


def _is_float(dtype: Dtype) -> bool:
    return "float" in dtype.language
