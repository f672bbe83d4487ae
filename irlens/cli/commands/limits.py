"""``irlens limits``: the sizes at which a kernel breaks."""

import re

import click
import msgspec

from irlens.cli import Exit, new_session, output
from irlens.cli.options import complete_kernels, config_options, jobs_option
from irlens.cli.settings import received_as
from irlens.cli.writing import Writing, write, writing_options
from irlens.session import Configurations

_HELP = """Find the smallest sizes at which KERNEL breaks, without a GPU.

For each size: from which value on an offset, a mask or a loop overflows its integers, an access
leaves its tensor, the grid exceeds the GPU's, a CTA does not fit, or the kernel does not compile;
with the program, the line and the value. The launch is evaluated twice, in the integers of the
kernel and in 64 bits: what is masked off may overflow. Powers of two are tried first, then the
interval in which something begins to break is bisected to one element.

\b
irlens limits vector_add -t h100
irlens limits mine.py:attention -t h100 --along tokens --along batch=1..4096
irlens limits vector_add -t h100 --along n_elements --at-least n_elements=1000000
"""


class _Settings(msgspec.Struct, frozen=True):
    kernel: str
    selection: Configurations
    along: dict[str, range | None]
    at_least: dict[str, int]
    jobs: int | None
    writing: Writing


def _along(
    _ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, range | None]:
    from irlens.session.limits import read_along

    return read_along(texts)


def _least(_ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> dict[str, int]:
    """Return the sizes of ``NAME=1000000``."""
    sizes = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not name.strip().isidentifier() or not re.fullmatch(
            r"[1-9](?:_?[0-9]){0,17}", number.strip()
        ):
            raise click.BadParameter(f"'{text}' is not NAME=NUMBER")
        sizes[name.strip()] = int(number)
    return sizes


@click.command(help=_HELP)
@click.argument("kernel", shell_complete=complete_kernels)
@config_options()
@click.option(
    "--along",
    metavar="NAME[=FIRST..LAST]",
    multiple=True,
    callback=_along,
    help="Vary this size.  [default: each, from 1 to 2^32]",
)
@click.option(
    "--at-least",
    metavar="NAME=N",
    multiple=True,
    callback=_least,
    help="Exit with 1 unless nothing breaks up to this size.",
)
@jobs_option
@writing_options("limits")
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Find limits."""
    from irlens.model.limits import LimitSearch
    from irlens.session.limits import holds_up_to, limits_of

    sizes = settings.along or dict.fromkeys(settings.at_least)
    with output.status() as update:
        search = LimitSearch(
            jobs=settings.jobs, progress=lambda name, size: update(f"trying {name} = {size:,}")
        )
        limits = limits_of(new_session(), settings.kernel, settings.selection, sizes, search)
    write(limits, "limits", settings.writing)
    held = [holds_up_to(limits, name, size) for name, size in settings.at_least.items()]
    return Exit.OK if all(held) else Exit.DIFFERENCE
