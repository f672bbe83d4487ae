"""Options that ask for one or several configurations of a kernel."""

import itertools
from collections.abc import Callable, Iterator
from typing import TypeAlias, TypedDict, TypeVar

import click
import msgspec

from irlens.model.config import ConstexprValue
from irlens.model.lists import split_list

F = TypeVar("F", bound=Callable[..., object])
Axis: TypeAlias = tuple[str, tuple[str, ...]]


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
        from irlens.capturing.values import parse_value

        for target in self.targets or (None,):
            for settings in _product(self.settings):
                for args in _product(self.args):
                    parsed = {name: parse_value(value) for name, value in settings.items()}
                    yield target, parsed, dict(args)


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
    axes = []
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise click.BadParameter(f"'{text}' is not NAME=VALUE")
        axes.append((name.strip(), _split(values)))
    return tuple(axes)


def _split(text: str) -> tuple[str, ...]:
    values = tuple(filter(None, split_list(text)))
    if not values:
        raise click.BadParameter("a value is missing")
    return values


_OPTIONS = (
    click.option("-t", "--target", metavar="GPU,...", callback=_values,
                 help="GPUs: sm_90, gfx942, h100, mi300x, ... (see `irlens targets`)."),
    click.option("--num-warps", metavar="N,...", callback=_integers(1), help="Warps per CTA."),
    click.option("--num-stages", metavar="N,...", callback=_integers(0),
                 help="Stages of the software pipeline."),
    click.option("--num-ctas", metavar="N,...", callback=_integers(1), help="CTAs per cluster."),
    click.option("--maxnreg", metavar="N,...", callback=_integers(1),
                 help="Most registers per thread."),
    click.option("-s", "--set", "constexprs", metavar="NAME=VALUE,...", multiple=True,
                 callback=_axes, help="Value of a constexpr or a compile option."),
    click.option("-a", "--arg", "arguments", metavar="NAME=VALUE,...", multiple=True,
                 callback=_axes, help="Value of an argument or size: 781, fp16[1024,1024]."),
    click.option("--triton", "tritons", metavar="VERSION,...", multiple=True, callback=_either,
                 help="Compile with these versions; each is installed apart, once."),
    click.option("--python", "tritons", metavar="PATH,...", multiple=True, callback=_either,
                 help="Compile with the Triton of these interpreters."),
    click.option("--run/--no-run", "run", default=None,
                 help="Launch the kernel and check it; the default where its GPU is present."),
)  # fmt: skip


class KernelOptions(TypedDict):
    """What a command under ``kernel_options`` receives from click."""

    target: tuple[str, ...]
    num_warps: tuple[str, ...]
    num_stages: tuple[str, ...]
    num_ctas: tuple[str, ...]
    maxnreg: tuple[str, ...]
    constexprs: tuple[Axis, ...]
    arguments: tuple[Axis, ...]
    tritons: tuple[str, ...]
    run: bool | None


def kernel_options(command: F) -> F:
    """Give a command the options that choose configurations; it receives ``KernelOptions``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def asked(options: KernelOptions) -> Asked:
    """Return what the options of one command line ask for."""
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
        run=options["run"],
    )
