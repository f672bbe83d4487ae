"""``irlens suggest``: the fastest configurations near the current one, by estimated time."""

from typing import Unpack

import click

from irlens.cli import Exit, output
from irlens.cli.options import (
    ConfigOptions,
    complete_kernels,
    config_options,
    jobs_option,
    selected_configs,
)
from irlens.cli.output import interruptible
from irlens.cli.writing import WritingOptions, write, writing_options

_HELP = """Suggest a faster configuration near the current one of KERNEL, without a GPU.

Compiles the neighbours of the configuration that the options select: num_warps halved and
doubled, num_stages one fewer and one more, each block size (a constexpr that is a power of two
of at least 8, and no formula) halved and doubled; then pairs of these changes. Shows the three
with the least estimated time and what moved, or that nothing near is better: differences within
3 % are noise of the estimate. A neighbour that accesses other bytes solves another problem and
is left out.

Of an autotuned kernel the current configuration is the one with the least estimated time.

\b
irlens suggest vector_add --target h200
irlens suggest matmul -t h200 --set BLOCK_SIZE_M=64 --set BLOCK_SIZE_N=64 --format json
"""


class _Options(ConfigOptions, WritingOptions):
    """Options shared with other commands."""


@click.command(help=_HELP)
@click.argument("kernel", shell_complete=complete_kernels)
@config_options
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    metavar="N",
    help="Compile at most N neighbours.",
)
@jobs_option
@writing_options("suggestion")
def command(kernel: str, most: int, jobs: int | None, **options: Unpack[_Options]) -> Exit:
    """Suggest a configuration of one kernel."""
    configurations = selected_configs(options)
    from irlens.session.session import Session
    from irlens.session.suggest import suggest_near

    session = Session(output.note)
    requests = list(session.requests(kernel, configurations))
    with interruptible("compiling", "done") as update:
        suggestion = suggest_near(requests, session, most=most, jobs=jobs, progress=update)
    write(suggestion, "suggestion", options)
    return Exit.OK
