"""Options that select configurations of a kernel, and shell completion of their values."""

import itertools
import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from irlens.cli.settings import F, Values, with_options
from irlens.model.capture import Disassembly
from irlens.model.errors import IrlensError
from irlens.model.text import split_list
from irlens.session import Axis, Configurations

#: Settings that have an option of their own.
_NUMBERS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_DURATION = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>s|m|min|h|)")
#: The line of a hint that names what to add to a command, see ``require_values``.
_EXAMPLE = re.compile(r"(?m)^(?P<before>for example  )irlens [a-z]+ (?P<rest>.*)$")
#: Its line that names a recording of the kernel, see ``how_to_run``.
_RECORDED = re.compile(r"(?m)^(?P<before>its launches are recorded:  irlens )inspect (?P<name>.*)$")
#: Begins a setting, as a comparison does not.
_NAMED = re.compile(r"[^\W\d]\w*\s*=(?!=)")
#: The command that creates a baseline of named kernels.
_BASELINE = re.compile(r"`irlens check (?!KERNEL )[^`]*--update`")
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


def file_option(*names: str, tells: str) -> Callable[[F], F]:
    """Return the decorator that adds an option for a file."""
    path = click.Path(path_type=Path, dir_okay=False)
    return click.option(*names, type=path, metavar="FILE", help=tells)


def count_option(name: str, tells: str, *, default: int | None = None) -> Callable[[F], F]:
    """Return the decorator that adds an option for a number of at least 1."""
    count = click.IntRange(min=1)
    return click.option(
        name, type=count, default=default, show_default=True, metavar="N", help=tells
    )


def duration(_ctx: click.Context, _option: click.Parameter, text: str | None) -> float:
    """Return the seconds of "60s", "2m" or "90"."""
    if text is None:
        return math.inf
    found = _DURATION.fullmatch(text.strip())
    seconds = float(found["number"]) * _SECONDS[found["unit"]] if found else 0.0
    if seconds <= 0:
        raise click.BadParameter(f"'{text}' is not a time: write 60s or 2m")
    return seconds


def completing(kind: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return what completes a value: the function of ``completions``, loaded when it is needed."""

    def complete(
        context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from irlens.cli import completions

        return completions.COMPLETERS[kind](context, incomplete)

    return complete


complete_kernels, complete_stages = completing("kernels"), completing("stages")


def split_names(_ctx: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Split comma-separated names."""
    return tuple(name.strip() for name in text.split(",") if name.strip()) if text else ()


def _values(_ctx: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Split comma-separated values; commas inside brackets belong to a value."""
    return _split(text) if text is not None else ()


def is_number(text: str) -> bool:
    """Whether text is a whole number that any option could mean: at most 18 digits."""
    return text.isascii() and text.isdigit() and len(text) < 19


def _integers(low: int) -> Callable[[click.Context, click.Parameter, str | None], tuple[str, ...]]:
    """Return a callback that splits comma-separated integers of at least ``low``."""

    def split(_ctx: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...]:
        values = _split(text) if text is not None else ()
        for value in values:
            number = int(value) if is_number(value) else -1
            if number < low:
                raise click.BadParameter(f"'{value[:60]}' is not an integer of at least {low}")
        return values

    return split


def _either(
    _ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    """Split the values of two options that form one axis: ``texts`` has those of both."""
    return tuple(value for text in texts for value in _split(text))


def _axes(
    _ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> tuple[Axis, ...]:
    """Split each ``NAME=VALUE,...``."""
    return tuple((name, _split(values)) for name, values in named_values(texts))


def _ranges(
    _ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> tuple[Axis, ...]:
    """Split each ``NAME=VALUE,...``; ranges stay as they are written."""
    return tuple(
        (name, tuple(filter(None, split_list(values)))) for name, values in named_values(texts)
    )


def named_values(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the values of each ``NAME=VALUE,...``.

    Raises:
        click.BadParameter: A text has no name, or two have the same.
    """
    seen = set()
    for text in itertools.chain.from_iterable(map(_each_named, texts)):
        name, equals, values = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise click.BadParameter(f"'{text}' is not NAME=VALUE")
        if name.strip() in seen:
            raise click.BadParameter(f"{name.strip()} is given twice: write its values as one list")
        seen.add(name.strip())
        yield name.strip(), values


def _each_named(text: str) -> list[str]:
    """Return "BLOCK_M=64,128" and "BLOCK_N=64" of "BLOCK_M=64,128,BLOCK_N=64"."""
    found: list[str] = []
    for item in split_list(text):
        if not found or _NAMED.match(item):
            found.append(item)
        else:
            found[-1] += f",{item}"
    return found


def _split(text: str) -> tuple[str, ...]:
    from irlens.session.values import split_values

    try:
        return split_values(text)
    except IrlensError as error:
        raise click.BadParameter(error.message) from error


target_option = click.option(
    "-t",
    "--target",
    metavar="GPU,...",
    callback=_values,
    shell_complete=completing("gpus"),
    help="Compile for these GPUs: sm_90, gfx942, h100, mi300x, ... (see `irlens targets`).",
)
_ARG_OPTION = click.option(
    "-a", "--arg", "arguments", metavar="NAME=VALUE,...", multiple=True,
    callback=_axes, help="Set an argument or a size: 781, fp16[1024,1024].",
)  # fmt: skip
_RANGE_OPTION = click.option(
    "-a", "--arg", "arguments", metavar="NAME=VALUE,...", multiple=True, callback=_ranges,
    help="Set an argument or a size, or what it ranges over: fp16[1024,1024], 781, 1..131072.",
)  # fmt: skip
_CONFIG_OPTIONS = (
    target_option,
    click.option("--num-warps", metavar="N,...", callback=_integers(1),
                 help="Set the warps per CTA."),
    click.option("--num-stages", metavar="N,...", callback=_integers(0),
                 help="Set the stages of the software pipeline: 3, or 2,4, or 1..5."),
    click.option("--num-ctas", metavar="N,...", callback=_integers(1),
                 help="Set the CTAs per cluster."),
    click.option("--maxnreg", metavar="N,...", callback=_integers(1),
                 help="Limit the registers per thread."),
    click.option("-s", "--set", "constexprs", metavar="NAME=VALUE,...", multiple=True,
                 callback=_axes, shell_complete=completing("constexprs"),
                 help="Set a constexpr or a compile option: 64, or 16..256..x2."),
    _ARG_OPTION,
    click.option("--grid", metavar="X[,Y[,Z]]", callback=_values, default=None,
                 help="Set the CTAs of the launch: 108, or 'cdiv(n, BLOCK),2'."),
    click.option("--triton", "tritons", metavar="VERSION,...", multiple=True, callback=_either,
                 help="Compile with these versions, each in its own environment."),
    click.option("--python", "tritons", metavar="PATH,...", multiple=True, callback=_either,
                 help="Compile with the Triton of these interpreters."),
)  # fmt: skip
_RUN_OPTION = click.option(
    "--run/--no-run",
    "run",
    default=None,
    help="Launch the kernel, check its results and time it; the default if its GPU is present.",
)


def context_option(options: str) -> Callable[[F], F]:
    """Return the decorator that adds ``--context``, which has an effect with other options."""
    return click.option(
        "-U",
        "--context",
        type=click.IntRange(0),
        default=3,
        show_default=True,
        metavar="N",
        help=f"With {options}: show this many lines around a change.",
    )


class Seconds(click.FloatRange):
    """A positive time, in seconds."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        seconds: float = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value} is not a number of seconds", param, ctx)
        return seconds


#: Numbers of worker processes.
JOBS = click.IntRange(1, 1024)
jobs_option = click.option(
    "-j",
    "--jobs",
    type=JOBS,
    metavar="N",
    help="Use N worker processes.  [default: number of cores]",
)

sass_option = click.option(
    "--sass/--no-sass",
    "disassembly",
    default=None,
    callback=lambda ctx, param, value: Disassembly(value),
    help="Disassemble the machine code, for its live registers; the default for a few captures.",
)


def config_options(*, run: bool = False, ranges: bool = False) -> Callable[[F], F]:
    """Return the decorator that adds the options that select configurations: ``selection``.

    Args:
        run: Whether ``--run`` is among them; else the configurations are compiled only.
        ranges: Whether ``--arg`` leaves ranges as they are written.
    """
    argument = _RANGE_OPTION if ranges else _ARG_OPTION
    options = [argument if each is _ARG_OPTION else each for each in _CONFIG_OPTIONS]
    return with_options((*options, _RUN_OPTION) if run else options, _selection)


def _selection(values: Values) -> Values:
    """Return the values with those that select configurations replaced by ``selection``."""
    others = dict(values)
    named = {name: others.pop(name) for name in _NUMBERS}
    selection = Configurations(
        targets=others.pop("target"),
        settings=(
            *((name, numbers) for name, numbers in named.items() if numbers),
            *others.pop("constexprs"),
        ),
        args=others.pop("arguments"),
        grid=others.pop("grid"),
        tritons=others.pop("tritons"),
        run=others.pop("run", False),
    )
    return {**others, "selection": selection}


def refuse(given: Mapping[str, bool], reason: str) -> None:
    """Raise ``UsageError`` for an option that is given although it cannot be used."""
    for option, is_given in given.items():
        if is_given:
            raise click.UsageError(f"{option} {reason}")


def as_typed(subjects: Sequence[str], selection: Configurations) -> str:
    """Return subjects and configurations as arguments of another command, quoted for a shell."""
    from irlens.render.view.commands import shortened

    numbers = [(f"--{name.replace('_', '-')}", values)
               for name, values in selection.settings if name in _NUMBERS]  # fmt: skip
    axes = [("--set", axis) for axis in selection.settings if axis[0] not in _NUMBERS]
    axes += [("--arg", axis) for axis in selection.args]
    lists = [
        ("--target", selection.targets),
        *numbers,
        ("--grid", selection.grid),
        ("--triton", selection.tritons),  # takes an interpreter's path, too
    ]
    given = [(option, ",".join(values)) for option, values in lists if values]
    given += [(option, f"{name}={','.join(values)}") for option, (name, values) in axes]
    typed = shlex.join([*subjects, *(word for each in given for word in each)])
    return shortened(typed)


def with_example_as_typed(error: IrlensError, arguments: Sequence[str]) -> IrlensError:
    """Return an error whose example is the command as typed, with the options that it lacks.

    Args:
        error: An error; others than those about missing values and baselines stay as they are.
        arguments: The words of the command line after ``irlens``.
    """
    match = _EXAMPLE.search(error.hint or "")
    if match is not None and error.hint is not None:
        with suppress(ValueError):  # the hint is cut within a quotation
            kernel, *words = shlex.split(match["rest"])
            command = _completed(arguments, kernel, words)
            if command:
                error.hint = _EXAMPLE.sub(lambda found: found["before"] + command, error.hint)
    named = match["rest"].split()[0] if match is not None else ""
    if arguments[:1] == ["check"]:
        renewed = f"`{shlex.join(['irlens', *arguments, '--update'])}`"
        error.hint = error.hint and _BASELINE.sub(lambda _: renewed, error.hint)
    error.hint = error.hint and _RECORDED.sub(
        lambda found: found["before"] + _of_recording(arguments, named, found["name"]), error.hint
    )
    return error


def _of_recording(arguments: Sequence[str], kernel: str, recording: str) -> str:
    """Return the command as typed, of a recording: "diff irlens-train --git"."""
    from irlens.compiler.sources.running import default_recording

    (name,) = shlex.split(recording)
    words = []
    for word in arguments:
        file, *function = word.partition(":")
        # Of several kernels of a file the error names none.
        same = file.endswith(".py") and str(default_recording(file)) == name
        is_kernel = same or _with_function(word, kernel) == kernel
        words.append(name + "".join(function) if is_kernel else word)
    return shlex.join(words) if words != list(arguments) else f"inspect {recording}"


def _completed(arguments: Sequence[str], kernel: str, words: Sequence[str]) -> str:
    """Return the command as typed, completed; empty where it names another kernel."""
    typed = [_with_function(word, kernel) for word in arguments]
    # "diff a.py..b.py" and the like: the kernel is one side of a word.
    if not any(kernel in word or _file_of(word) == kernel for word in typed):
        return ""
    pairs = itertools.pairwise(words)
    missing = [
        (option, value) for option, value in pairs
        if (option in ("--arg", "--set") and not _is_typed(value.partition("=")[0], typed))
        or (option == "--grid" and not any(re.match(r"--grid(=|$)", word) for word in typed))
    ]  # fmt: skip
    end = typed.index("--") if "--" in typed else len(typed)
    added = [word for pair in missing for word in pair]
    return shlex.join(["irlens", *typed[:end], *added, *typed[end:]])


def _file_of(word: str) -> str:
    """Return "/here/ops/gelu.py:f" for "ops/gelu.py:f", and for "ops.gelu:f" of that file."""
    module, colon, function = word.partition(":")
    path = f"{module.replace('.', '/')}.py"
    return str(Path.cwd() / (path + colon + function if Path(path).is_file() else word))


def _with_function(word: str, kernel: str) -> str:
    """Return a word with the kernel's function, if it names the kernel's file without."""
    for path in (word, str(Path.cwd() / word)):  # worker processes know files by whole paths
        if kernel.startswith(f"{path}:"):
            return word + kernel.removeprefix(path)
    return word


def _is_typed(name: str, arguments: Sequence[str]) -> bool:
    """Whether a setting or an argument has a value on a command line."""
    written = re.compile(rf"(?:^|,)(-[as]|--arg=|--set=)?{re.escape(name)}=")
    own = f"--{name.replace('_', '-')}"
    return any(written.search(word) or word.partition("=")[0] == own for word in arguments)
