"""Run-time arguments that can be chosen anew, and what follows from them.

A kernel's description relates arguments and constexprs to sizes: ``fp32[n_rows, n_cols]``,
``next_power_of_2(n_cols)``. A capture keeps the values alone. Where those are what the description
makes of some sizes, another size changes all of them, as it does on the command line; the rest
stays as it was.
"""

import re
from collections.abc import Iterator, Mapping

import msgspec

from irlens import gpus as arch
from irlens.compiler.call import Call, evaluate_grid
from irlens.compiler.describe import Description
from irlens.compiler.dtypes import DTYPES, Dtype, dtype_of
from irlens.compiler.expressions import evaluate
from irlens.compiler.values import Argument, parse_argument, parse_value, recorded, written
from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.lists import split_list
from irlens.session.workbench import Setting

_NAME = re.compile(r"[A-Za-z_]\w*")
#: A tensor; a descriptor of one has its block behind it.
_TENSOR = re.compile(r"\s*(?P<dtype>\w+)\s*\[(?P<shape>[^\[\]]*)\](?P<block>.*)")


class Recipe(msgspec.Struct, frozen=True):
    """How a capture's arguments came about.

    Attributes:
        sizes: Names that the description's expressions use, with the values that they had.
        follows: Arguments and constexprs that are what the description says of other values, by
            name, with the expression.
        grid: Whether the grid is, too.
    """

    sizes: dict[str, ConstexprValue] = {}
    follows: dict[str, str] = {}
    grid: bool = False


def recipe_of(capture: Capture, description: Description | None) -> Recipe:
    """Return how a capture's arguments came about, as far as its kernel's description tells."""
    if description is None:
        return Recipe()
    args, constexprs = capture.config.args, capture.config.constexprs
    sizes: dict[str, ConstexprValue] = dict(description.sizes)
    for name, expression in description.args.items():
        sizes |= {
            size: value
            for size, value in _bound(expression, args.get(name))
            if size in description.sizes
        }
    values = {**_options(capture), **constexprs}
    names = {**sizes, **_machine(capture), **values}
    follows = {
        name: expression
        for name, expression in (*description.args.items(), *description.constexprs.items())
        if isinstance(expression, str)
        and expression != name
        and names.keys() & set(_NAME.findall(expression))
        and _is_made(name, expression, names, args if name in description.args else constexprs)
    }
    return Recipe(sizes, follows, _is_grid_made(capture, description, names))


def argument_settings(capture: Capture, recipe: Recipe) -> Iterator[Setting]:
    """Yield the sizes and arguments that can be chosen anew."""
    given = {**recipe.sizes, **capture.config.args}
    for name, value in given.items():
        text = str(value)
        choices = tuple(_other_dtypes(text)) if isinstance(value, str) else ()
        yield Setting(
            name=name,
            value=text if isinstance(value, str) else written(value),
            choices=(text, *choices) if choices else (),
            follows=recipe.follows.get(name, ""),
            is_argument=True,
        )


def arguments_of(
    capture: Capture, recipe: Recipe, changes: Mapping[str, str]
) -> dict[str, ConstexprValue]:
    """Return the sizes and arguments to ask for.

    Args:
        capture: What is compiled again.
        recipe: How its arguments came about.
        changes: Other values by name, as written.
    """
    args = capture.config.args
    asked: dict[str, ConstexprValue] = {
        **recipe.sizes,
        **{name: value for name, value in args.items() if name not in recipe.follows},
    }
    for name, text in changes.items():
        if name in asked or name in args:
            asked[name] = _read(text, args.get(name) if name not in recipe.follows else None)
    return asked


def following(
    recipe: Recipe,
    description: Description | None,
    args: Mapping[str, ConstexprValue],
    settings: Mapping[str, ConstexprValue],
    changed: Mapping[str, str],
) -> dict[str, ConstexprValue]:
    """Return the constexprs that follow from what is asked for.

    They are worked out here, because those of a description give way to an autotuner's.

    Args:
        recipe: How they came about.
        description: The kernel's.
        args: The sizes and arguments to ask for.
        settings: The other constexprs and options.
        changed: What is chosen anew, and so does not follow.

    Raises:
        CaptureError: One cannot be evaluated.
    """
    numbers = {name: value for name, value in args.items() if not isinstance(value, str)}
    found: dict[str, ConstexprValue] = {}
    for name in description.constexprs if description is not None else ():
        if name in recipe.follows and name not in changed:
            names = {**numbers, **settings, **found}
            found[name] = evaluate(recipe.follows[name], names, name)
    return found


def _read(text: str, was: float | str | None) -> ConstexprValue:
    """Return an argument as a request has it; a dtype alone keeps the shape."""
    value = parse_value(text)
    dtype, tensor = dtype_of(value), _TENSOR.fullmatch(str(was))
    if dtype is not None and tensor is not None:
        return f"{dtype.name}[{tensor['shape']}]{tensor['block']}"
    return text.strip() if isinstance(value, str) else value


def _bound(
    expression: ConstexprValue, value: float | str | None
) -> Iterator[tuple[str, ConstexprValue]]:
    """Yield the names that are an argument or an extent of it, with the values they have there."""
    if not isinstance(expression, str) or value is None:
        return
    said, had = _TENSOR.fullmatch(expression), _TENSOR.fullmatch(str(value))
    if said is None or had is None:
        yield expression, value
        return
    for name, extent in zip(split_list(said["shape"]), split_list(had["shape"]), strict=False):
        yield name, parse_value(extent)


def _is_made(
    name: str,
    expression: str,
    names: Mapping[str, ConstexprValue],
    had: Mapping[str, ConstexprValue],
) -> bool:
    """Whether a value is what an expression makes of others."""
    others = {each: value for each, value in names.items() if each != name}
    try:
        made: Argument = parse_argument(expression, others, name)
    except CaptureError:
        return False
    return name in had and recorded(made) == _as_recorded(had[name])


def _as_recorded(value: ConstexprValue) -> ConstexprValue:
    """Return a constexpr's value as ``recorded`` has an argument's."""
    return str(value) if value is None or isinstance(value, bool) else value


def _is_grid_made(
    capture: Capture, description: Description, names: Mapping[str, ConstexprValue]
) -> bool:
    call = Call({}, {}, {}, dict(names), description.grid)
    try:
        return evaluate_grid(call, {}) == capture.config.grid
    except CaptureError:
        return False


def _options(capture: Capture) -> dict[str, ConstexprValue]:
    config = capture.config
    told = {
        "num_warps": config.num_warps, "num_stages": config.num_stages,
        "num_ctas": config.num_ctas, "maxnreg": config.maxnreg,
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}


def _machine(capture: Capture) -> dict[str, ConstexprValue]:
    """Return what expressions may ask of the GPU."""
    target = capture.target
    if target is None:
        return {}
    try:
        count = arch.find(target.name).sm_count
    except IrlensError:
        return {}
    return {"sm_count": count} if count is not None else {}


def _other_dtypes(tensor: str) -> Iterator[str]:
    """Yield the dtypes that a tensor could have instead: floats for floats, integers for these."""
    match = _TENSOR.fullmatch(tensor)
    mine = DTYPES.get(match["dtype"]) if match is not None else None
    if mine is None:
        return
    for dtype in dict.fromkeys(DTYPES.values()):
        if dtype != mine and _is_float(dtype) == _is_float(mine):
            yield dtype.name


def _is_float(dtype: Dtype) -> bool:
    return "float" in dtype.language
