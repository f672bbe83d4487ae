"""Arguments of the library's functions: what they may be, and a ``TypeError`` for others."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue
from irlens.model.errors import IrlensError, UnknownKeywordError, UnknownNameError
from irlens.model.report import Report
from irlens.model.text import split_list
from irlens.session import Axis
from irlens.session.limits import read_along
from irlens.session.values import split_values

#: A heuristic and an autotuner hold what they decorate.
_MOST_DECORATORS = 20
_KEYWORD = "constexpr or option"


def kernel_name(kernel: object) -> str:
    """Return KERNEL: a name, or the file and the name of a function that Triton decorated.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(kernel, str | Path):
        return str(kernel)
    if isinstance(kernel, Capture):
        if kernel.directory is not None:
            return str(kernel.directory)
        raise TypeError("this capture is not on disk: name the kernel's source")
    function: Any = kernel
    for _ in range(_MOST_DECORATORS):
        code = getattr(function, "__code__", None)
        if code is not None:
            return f"{code.co_filename}:{function.__name__}"
        function = getattr(function, "fn", None)
    raise TypeError(
        f"a kernel is named: 'softmax', 'path/file.py:kernel', 'package.module:kernel', "
        f"or given as a function of triton.jit, and not as {_kind(kernel)}"
    )


def check_capture(capture: object, function: str) -> None:
    """Raise ``TypeError`` for what is no capture."""
    if isinstance(capture, Capture):
        return
    fix = "irlens.capture compiles a kernel, irlens.load reads captures"
    if isinstance(capture, str | Path):
        path = Path(capture).expanduser()
        word = "load" if path.exists() and path.suffix != ".py" else "capture"
        call = f"irlens.{word}({str(capture)!r})"
        fix = f"write irlens.{function}({call if word == 'capture' else f'next({call})'})"
    elif isinstance(capture, Report):
        fix = "this is already its report"
    elif isinstance(capture, Sequence) or hasattr(capture, "__next__"):
        fix = f"write [irlens.{function}(each) for each in ...]"
    raise TypeError(f"{function} takes a capture, and not {_kind(capture)}: {fix}")


def check_report(report: object, function: str) -> None:
    """Raise ``TypeError`` for what is no report."""
    if isinstance(report, Report):
        return
    fix = "irlens.inspect(capture) returns a report"
    if isinstance(report, Capture):
        fix = f"write irlens.{function}(irlens.inspect(before), irlens.inspect(after))"
    raise TypeError(f"{function} takes two reports, and not {_kind(report)}: {fix}")


def path_of(path: object, function: str) -> Path:
    """Return a path.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(path, str | Path):
        raise TypeError(f"{function} takes a path, and not {_kind(path)}")
    return Path(path)


def one_target(target: object, function: str) -> str | None:
    """Return the name of a GPU, or ``None``.

    Raises:
        TypeError: There are several.
    """
    if target is None or isinstance(target, str):
        return target
    raise TypeError(
        f"{function} takes one target, and not {_kind(target)}: write target='h100', or use "
        "irlens.sweep for several"
    )


def refuse_targets(others: Sequence[object], kernel: object, function: str) -> None:
    """Raise ``TypeError`` for a GPU where a function takes only kernels."""
    for each in others:
        names = each if isinstance(each, list | tuple) else (each,)
        if names and all(isinstance(n, str) and _is_gpu(n) for n in names):
            first = repr(str(kernel)) if isinstance(kernel, str | Path) else "kernel"
            fix = f"write irlens.{function}({first}, target={each!r})"
            raise TypeError(f"{function} takes the target by its name: {fix}")


def meant_parameter(
    error: IrlensError, function: Callable[..., object], given: Iterable[str]
) -> IrlensError:
    """Return a ``TypeError`` for a keyword of a function, with the parameter that it may mean."""
    parameters = set(inspect.signature(function).parameters) - {"settings"}
    for name in given:
        if error.message == f"unknown {_KEYWORD} '{name}'":
            meant = UnknownNameError("keyword", name, parameters)
            hint = f"did you mean {meant.nearest[0]}?" if meant.nearest else error.hint
            return UnknownKeywordError(_KEYWORD, name, (), hint=hint)
    return error


def _is_gpu(name: str) -> bool:
    from irlens import gpus

    try:
        gpus.find(name)
    except IrlensError:
        return False
    return not Path(name).exists()


def one_value(name: str, value: object) -> ConstexprValue:
    """Return the value of a constexpr or a compile option.

    Raises:
        TypeError: There are several, or it is no constexpr.
    """
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple | range):
        raise TypeError(
            f"{name} has several values here: irlens.sweep(..., {name}={list(value)!r}) takes them"
        )
    raise TypeError(
        f"{name} is {_kind(value)}: write a number, a bool, or a name as text ({name}='fp16')"
    )


def argument_texts(args: "Mapping[str, object] | None") -> dict[str, ConstexprValue]:
    """Return run-time arguments, a tensor as the text that describes it.

    Raises:
        TypeError: They are no mapping, or one is no argument.
    """
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        example = "args={'x_ptr': 'fp32[4096]', 'n': 4096}"
        raise TypeError(f"args is a mapping, and not {_kind(args)}: write {example}")
    return {name: _argument(name, value) for name, value in args.items()}


def argument_axes(args: "Mapping[str, object] | None") -> tuple[Axis, ...]:
    """Return run-time arguments, each with one or several values.

    Raises:
        TypeError: They are no mapping, or one is no argument.
    """
    if args is not None and not isinstance(args, Mapping):
        argument_texts(args)  # raises
    return tuple(
        (name, tuple(str(_argument(name, each)) for each in _several(value)))
        for name, value in (args or {}).items()
    )


def as_ranges(args: "Mapping[str, object] | None") -> "Mapping[str, object] | None":
    """Return run-time arguments with each range, and each list in a text, as it is written."""
    if not isinstance(args, Mapping):
        return args
    return {
        name: _range_text(value) if isinstance(value, range)
        else split_list(value) if isinstance(value, str) else value
        for name, value in args.items()
    }  # fmt: skip


def size_ranges(along: object) -> dict[str, range | None]:
    """Return the sizes to vary, each with its range, or ``None`` for the default one.

    Raises:
        IrlensError: A range is none.
        TypeError: They are neither names nor a mapping of them.
    """
    if not isinstance(along, Mapping):
        return read_along(texts(along))
    written = {n: _range_text(v) if isinstance(v, range) else v for n, v in along.items()}
    return read_along(texts([n if v is None else f"{n}={v}" for n, v in written.items()]))


def axes(settings: Mapping[str, object]) -> tuple[Axis, ...]:
    """Return settings, each with one or several values, as they are written.

    Raises:
        TypeError: A value is no constexpr.
    """
    return tuple(
        (name, tuple(text for each in _several(value) for text in _written(name, each)))
        for name, value in settings.items()
    )


def texts(value: object) -> tuple[str, ...]:
    """Return one text or several as a tuple.

    Raises:
        TypeError: One is no text.
    """
    found: list[str] = []
    for each in (value,) if isinstance(value, str) else _several(value):
        if not isinstance(each, str):
            raise TypeError(f"{_kind(each)} where a text is expected: write it in quotes")
        found.append(each)
    return tuple(found)


def _range_text(numbers: range) -> str:
    step = f"..{numbers.step}" if numbers.step != 1 else ""
    return f"{numbers.start}..{numbers[-1] if numbers else numbers.start - 1}{step}"


def _several(value: object) -> Sequence[object]:
    return tuple(value) if isinstance(value, list | tuple | range | set) else (value,)


def _written(name: str, value: object) -> tuple[str, ...]:
    value = one_value(name, value)
    return split_values(value) if isinstance(value, str) and value else (str(value),)


def _argument(name: str, value: object) -> ConstexprValue:
    if isinstance(value, str | int | float | bool):
        return value
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        raise TypeError(
            f"args: {name} is {_kind(value)}: write a number, or a tensor's data type and shape "
            "('fp16[1024, 1024]')"
        )
    return f"{dtype}[{', '.join(map(str, shape))}]"


def _kind(value: object) -> str:
    """Return "a list", "an int"."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
