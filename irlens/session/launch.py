"""A launch that the user gives for a kernel compiled elsewhere: arguments, grid and product.

A cache entry of Triton says neither what a kernel was called with nor on which product. Completed
with that, a capture has everything that depends on a launch: waves, traffic, roofline.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.capture_code import CaptureCode
from irlens.compiler.calls.argument_values import (
    Argument,
    Tensor,
    contents_of,
    describe_contents,
    has_contents,
    manifest_value,
    parse_argument,
    parse_value,
    tensor_in_file,
    tensor_of,
    with_numbers,
)
from irlens.compiler.calls.binding import evaluate_formula
from irlens.compiler.calls.dtypes import find_dtype
from irlens.isa import mlir
from irlens.isa.mlir.types import Pointer, TensorDesc
from irlens.model import files
from irlens.model.capture import Capture, Stage
from irlens.model.config import Config, ConstexprValue, GridFormula, Target
from irlens.model.errors import CaptureError, UnknownNameError

Parameters: TypeAlias = dict[str, mlir.Argument]
#: An argument, or the text of a constexpr.
_Given: TypeAlias = Argument | str


class Launch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one launch gives.

    Attributes:
        args: Arguments and constexprs by name: a number, "fp32[4096, 1024]", or, with its
            contents, "int32[2]:values[7]" or "@FILE.npy".
        grid: CTAs in x, y and z, numbers or expressions over the arguments; empty where unknown.
    """

    args: dict[str, ConstexprValue] = {}
    grid: tuple[int | str, ...] = ()


def read_launch(launch: Mapping[str, Any]) -> Launch:
    """Return the launch of a mapping with "args" and "grid", as the library takes it.

    Raises:
        CaptureError: It is something else.
    """
    try:
        return msgspec.convert(launch, Launch)
    except msgspec.ValidationError as error:
        raise CaptureError(
            f"invalid launch: {error}",
            hint='write {"args": {"x_ptr": "fp32[4096]", "n": 4096}, "grid": [4, 1, 1]}',
        ) from error


def with_launch(capture: Capture, launch: Launch, target: str | None = None) -> Capture:
    """Return a capture with its launch and its product completed.

    Args:
        capture: Any capture. What it says of its launch itself is replaced where ``launch`` says
            otherwise.
        target: The GPU to take the capture for, one of the architecture it was compiled for.

    Raises:
        UnknownNameError: An argument or the target does not exist.
        CaptureError: The kernel cannot be launched so.
        ArtifactError: A file of contents, or the ttir, cannot be read.
    """
    if target is not None:
        capture = replace(capture, target=_retargeted(capture, target))
    if not launch.args and not launch.grid:
        return capture
    parameters = _parameters(capture)
    launch = replace(launch, args=_with_numbers(launch.args))
    args, contents = _read_arguments(launch.args, parameters)
    config = capture.config
    for name, value in args.items():
        _check(capture, parameters, name, value)
    constexprs = {
        name: _constexpr(value)
        for name, value in args.items()
        if _is_constexpr(config, parameters, name)
    }
    given = {n: _recorded(value) for n, value in args.items() if n not in constexprs}
    names = {**config.constexprs, **config.args, **constexprs, **given}
    config = replace(
        config,
        constexprs={**config.constexprs, **constexprs},
        args=_ordered({**config.args, **given}, parameters),
        grid=_grid(launch.grid, names) if launch.grid else config.grid,
        contents={n: each for n, each in config.contents.items() if n not in given}
        | describe_contents(launch.args),
    )
    kept = {n: stage for n, stage in capture.contents.items() if n not in given}
    listed = capture.listed | files.states(each.path for each in contents.values() if each.path)
    return replace(capture, config=config, contents={**kept, **contents}, listed=listed)


def launches(
    captures: Sequence[Capture],
    combinations: Sequence[tuple[str | None, Mapping[str, str]]],
    grid: tuple[str, ...],
) -> Iterator[Capture | CaptureError | UnknownNameError]:
    """Yield each capture with each launch, or the reason why it cannot be launched so.

    Args:
        combinations: Targets and arguments, as written on the command line.
    """
    for target, args in combinations:
        for capture in captures:
            try:
                yield with_launch(capture, Launch(args=dict(args), grid=grid), target)
            except (CaptureError, UnknownNameError) as error:
                yield error


def _retargeted(capture: Capture, name: str) -> Target:
    """Return a capture's target with another product of its architecture."""
    gpu, compiled = gpus.find(name), capture.target
    if compiled is None:
        raise CaptureError(
            f"no artifact says what {capture.kernel} was compiled for, so it cannot be {name}"
        )
    if gpu.arch.name != compiled.arch:
        raise CaptureError(
            f"{capture.kernel} was compiled for {compiled.arch}, and {name} is {gpu.arch.name}",
            hint="name a GPU of the same architecture, or compile the kernel for this one",
        )
    return replace(compiled, product=gpu.product.name if gpu.product else None)


def _parameters(capture: Capture) -> Parameters | None:
    """Return the parameters in the ttir, or Gluon's ttgir, without "%"; ``None`` if unknown."""
    source = CaptureCode(capture).source
    kernel = source.named.kernel if source is not None else None
    if kernel is None:
        return None
    entry = kernel.regions[0].blocks[0]
    return {each.name.removeprefix("%"): each for each in entry.arguments}


def _read_arguments(
    args: Mapping[str, ConstexprValue], parameters: Parameters | None
) -> tuple[dict[str, _Given], dict[str, Stage]]:
    """Return arguments as values, and the files with contents of tensors."""
    numbers = _numbers(args)
    read: dict[str, _Given] = {}
    contents: dict[str, Stage] = {}
    for name, value in args.items():
        if has_contents(value):
            contents[name] = contents_of(value)
            read[name] = tensor_in_file(contents[name])
        elif parameters is not None and name not in parameters and "[" not in str(value):
            read[name] = parse_value(value) if isinstance(value, str) else value
        else:
            read[name] = parse_argument(value, numbers, name)
    return read, contents


def _numbers(args: Mapping[str, ConstexprValue]) -> dict[str, ConstexprValue]:
    parsed = {n: parse_value(v) if isinstance(v, str) else v for n, v in args.items()}
    return {name: value for name, value in parsed.items() if isinstance(value, int | float)}


def _with_numbers(args: Mapping[str, ConstexprValue]) -> dict[str, ConstexprValue]:
    """Return arguments with numbers in place of the sizes in what says their contents."""
    numbers = _numbers(args)
    return {n: with_numbers(v, numbers, n) if has_contents(v) else v for n, v in args.items()}


def _check(capture: Capture, parameters: Parameters | None, name: str, value: _Given) -> None:
    """Raise ``CaptureError`` or ``UnknownNameError`` for what the kernel cannot take."""
    config = capture.config
    recorded = {**config.constexprs, **config.args}
    parameter = parameters.get(name) if parameters is not None else None
    if parameter is not None:
        _check_type(capture.kernel, parameter, name, value)
    elif name in recorded:
        if parameters is not None and _recorded(value) != _recorded(recorded[name]):
            raise CaptureError(
                f"{capture.kernel} was compiled for {name} = {recorded[name]}",
                hint="compile it again for another value",
            )
    elif capture.manifest is not None or (parameters is not None and _tensor(value) is not None):
        known = [*recorded, *(parameters or ())]
        raise UnknownNameError(f"argument of {capture.kernel}", name, known)


def _check_type(kernel: str, parameter: mlir.Argument, name: str, value: _Given) -> None:
    kind, tensor = parameter.type, _tensor(value)
    if isinstance(kind, Pointer | TensorDesc):
        if tensor is None:
            raise CaptureError(
                f"{name} of {kernel} is a tensor, not {value}",
                hint=f"write a dtype and a shape: {name}=fp32[4096]",
            )
        written = str(kind.pointee)
        element = find_dtype(written)
        if isinstance(kind, Pointer) and element and element.size != tensor.dtype.size:
            raise CaptureError(f"{name} of {kernel} is {element.name}, not {tensor.dtype.name}")
        return
    if tensor is not None:
        raise CaptureError(f"{name} of {kernel} is a number, not a tensor")
    divisor = parameter.integer("tt.divisibility") or 1
    if isinstance(value, int) and value % divisor:
        raise CaptureError(
            f"{kernel} was compiled for {name} divisible by {divisor}, which {value} is not",
            hint="Triton compiles another variant for this value: name that one",
        )


def _is_constexpr(config: Config, parameters: Parameters | None, name: str) -> bool:
    if name in config.constexprs or name in config.args or parameters is None:
        return name in config.constexprs
    return name not in parameters


def _recorded(value: _Given) -> int | float | str:
    """Return a value as manifests store it."""
    return value if isinstance(value, str) else manifest_value(value)


def _tensor(value: _Given) -> Tensor | None:
    return None if isinstance(value, str) else tensor_of(value)


def _constexpr(value: _Given) -> ConstexprValue:
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _ordered(
    args: Mapping[str, int | float | str], parameters: Parameters | None
) -> dict[str, int | float | str]:
    """Return arguments in the order of the kernel's parameters, others last."""
    order = [*(name for name in parameters or () if name in args), *args]
    return {name: args[name] for name in order}


def _grid(
    extents: tuple[int | str, ...], names: Mapping[str, ConstexprValue]
) -> tuple[int, int, int]:
    """Return the CTAs of a grid in x, y and z."""
    grid = evaluate_formula(GridFormula(extents, dict(names)))
    if grid is None:
        raise CaptureError(f"the grid {','.join(map(str, extents))} is not a number of CTAs")
    return grid
