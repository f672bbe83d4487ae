"""Options that ask for one or several configurations of a kernel."""

import itertools
import re
from collections.abc import Callable, Iterator
from typing import TypeAlias, TypedDict, TypeVar

import click
import msgspec

from irlens.cli import completing
from irlens.model.config import ConstexprValue
from irlens.model.lists import split_list

F = TypeVar("F", bound=Callable[..., object])
Axis: TypeAlias = tuple[str, tuple[str, ...]]

#: ``1..5``, in steps ``0..64..16``, by a factor ``16..256..x2`` (an asterisk is the shell's).
_RANGE = re.compile(r"(?P<first>-?\d+)\.\.(?P<last>-?\d+)(?:\.\.(?P<factor>x)?(?P<step>\d+))?")
_LONGEST_RANGE = 1000


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the options of one command line ask for: every combination of its values.

    Attributes:
        targets: GPUs; empty for the default.
        settings: Values of each option and constexpr, as written.
        args: Values of each run-time argument or size, as written.
        tritons: What compiles, versions or interpreters; empty for what is installed.
        run: Launch the kernel (``True``), only compile (``False``), or launch if that is
            possible (``None``).
    """

    targets: tuple[str, ...] = ()
    settings: tuple[Axis, ...] = ()
    args: tuple[Axis, ...] = ()
    tritons: tuple[str, ...] = ()
    run: bool | None = None

    def combinations(
        self,
    ) -> Iterator[tuple[str | None, dict[str, ConstexprValue], dict[str, ConstexprValue]]]:
        """Yield target, settings and arguments of every combination, the last option fastest."""
        from irlens.compiler.values import parse_value

        for target, settings, args in self.as_written():
            yield target, {name: parse_value(value) for name, value in settings.items()}, dict(args)

    def as_written(self) -> Iterator[tuple[str | None, dict[str, str], dict[str, str]]]:
        """Yield the same combinations with every value as its text."""
        for target in self.targets or (None,):
            for settings in _product(self.settings):
                for args in _product(self.args):
                    yield target, settings, args

    def by_triton(self) -> "list[Asked]":
        """Return what is asked of each Triton."""
        return [msgspec.structs.replace(self, tritons=(triton,)) for triton in self.tritons]


def _product(axes: tuple[Axis, ...]) -> Iterator[dict[str, str]]:
    names = [name for name, _ in axes]
    for values in itertools.product(*(values for _, values in axes)):
        yield dict(zip(names, values, strict=True))


def _values(_ctx: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Split comma-separated values; commas inside brackets belong to a value."""
    return _split(text) if text is not None else ()


def _integers(low: int) -> Callable[[click.Context, click.Parameter, str | None], tuple[str, ...]]:
    """Return a callback that splits whole numbers from ``low`` on."""

    def split(_ctx: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...]:
        values = _split(text) if text is not None else ()
        for value in values:
            if not (value.isascii() and value.isdigit() and int(value) >= low):
                raise click.BadParameter(f"'{value}' is not a whole number of at least {low}")
        return values

    return split


def _either(
    _ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    """Split the values of two options that make one axis: ``texts`` has those of both."""
    return tuple(value for text in texts for value in _split(text))


def _axes(
    _ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> tuple[Axis, ...]:
    """Split each ``NAME=VALUE,...``."""
    axes: list[Axis] = []
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise click.BadParameter(f"'{text}' is not NAME=VALUE")
        if any(name.strip() == other for other, _ in axes):
            raise click.BadParameter(f"{name.strip()} is there twice: write its values as one list")
        axes.append((name.strip(), _split(values)))
    return tuple(axes)


def _split(text: str) -> tuple[str, ...]:
    values = tuple(value for item in split_list(text) if item for value in _spread(item))
    if not values:
        raise click.BadParameter("a value is missing")
    return values


def _spread(item: str) -> Iterator[str]:
    """Yield the numbers of a range, both ends included, or what is none as it is."""
    match = _RANGE.fullmatch(item)
    if match is None:
        yield item
        return
    value, last, step = int(match["first"]), int(match["last"]), int(match["step"] or 1)
    by_factor = match["factor"] is not None
    if last < value or step < 1 + by_factor or (by_factor and value < 1):
        raise click.BadParameter(f"'{item}' does not lead from its first number to its last")
    for _ in range(_LONGEST_RANGE):
        yield str(value)
        value = value * step if by_factor else value + step
        if value > last:
            return
    raise click.BadParameter(f"'{item}' has more than {_LONGEST_RANGE} numbers")


target_option = click.option(
    "-t",
    "--target",
    metavar="GPU,...",
    callback=_values,
    shell_complete=completing.gpus,
    help="GPUs: sm_90, gfx942, h100, mi300x, ... (see `irlens targets`).",
)
_CONFIG_OPTIONS = (
    target_option,
    click.option("--num-warps", metavar="N,...", callback=_integers(1), help="Warps per CTA."),
    click.option("--num-stages", metavar="N,...", callback=_integers(0),
                 help="Stages of the software pipeline: 3, or 2,4, or 1..5."),
    click.option("--num-ctas", metavar="N,...", callback=_integers(1), help="CTAs per cluster."),
    click.option("--maxnreg", metavar="N,...", callback=_integers(1),
                 help="Most registers per thread."),
    click.option("-s", "--set", "constexprs", metavar="NAME=VALUE,...", multiple=True,
                 callback=_axes,
                 help="Value of a constexpr or a compile option: 64, or 16..256..x2."),
    click.option("-a", "--arg", "arguments", metavar="NAME=VALUE,...", multiple=True,
                 callback=_axes, help="Value of an argument or size: 781, fp16[1024,1024]."),
    click.option("--triton", "tritons", metavar="VERSION,...", multiple=True, callback=_either,
                 help="Compile with these versions; each is installed apart, once."),
    click.option("--python", "tritons", metavar="PATH,...", multiple=True, callback=_either,
                 help="Compile with the Triton of these interpreters."),
)  # fmt: skip
_RUN_OPTION = click.option(
    "--run/--no-run",
    "run",
    default=None,
    help="Launch the kernel and check it; the default where its GPU is present.",
)


class ConfigOptions(TypedDict):
    """What a command under ``config_options`` receives from click."""

    target: tuple[str, ...]
    num_warps: tuple[str, ...]
    num_stages: tuple[str, ...]
    num_ctas: tuple[str, ...]
    maxnreg: tuple[str, ...]
    constexprs: tuple[Axis, ...]
    arguments: tuple[Axis, ...]
    tritons: tuple[str, ...]


class KernelOptions(ConfigOptions):
    """What a command under ``kernel_options`` receives from click."""

    run: bool | None


def config_options(command: F) -> F:
    """Give a command the options that choose configurations; it receives ``ConfigOptions``."""
    for option in reversed(_CONFIG_OPTIONS):
        command = option(command)
    return command


def kernel_options(command: F) -> F:
    """Add to ``config_options`` whether the kernel runs: ``KernelOptions``."""
    return config_options(_RUN_OPTION(command))


def asked_configs(options: ConfigOptions) -> Asked:
    """Return which configurations the options of one command line ask for, to be compiled only."""
    named = {
        "num_warps": options["num_warps"],
        "num_stages": options["num_stages"],
        "num_ctas": options["num_ctas"],
        "maxnreg": options["maxnreg"],
    }
    return Asked(
        targets=options["target"],
        settings=(
            *((name, values) for name, values in named.items() if values),
            *options["constexprs"],
        ),
        args=options["arguments"],
        tritons=options["tritons"],
        run=False,
    )


def asked(options: KernelOptions) -> Asked:
    """Return what the options of one command line ask for."""
    return msgspec.structs.replace(asked_configs(options), run=options["run"])
