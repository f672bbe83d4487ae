"""``irlens suggest``: the fastest configurations near the current one, by estimated time."""

import click
import msgspec

from irlens.cli import Exit, new_session, options, output
from irlens.cli.settings import received_as
from irlens.cli.writing import Writing, write, writing_options
from irlens.session import Configurations

_HELP = """Suggest a faster configuration near the current one of KERNEL, without a GPU.

Compiles the neighbours of the configuration that the options select: num_warps halved and
doubled, num_stages one fewer and one more, each block size (a constexpr that is a power of two
of at least 8, and no formula) halved and doubled; then further steps in the same direction, as
long as one may be faster, and pairs of these changes, the most promising first. Shows the
three with the least estimated time and what moved, or that nothing near is better: differences
within 3 % are noise of the estimate. A neighbour that accesses other bytes solves another problem
and is left out.

Of an autotuned kernel the current configuration is the one with the least estimated time.

The search ends after --most neighbours, when --budget is spent, or when the fastest takes no
longer than the launch's floor, so that nothing faster can come. Ctrl+C ends it, too, and shows
the fastest so far; the exit code is then 130.

\b
irlens suggest vector_add --target h200
irlens suggest flash_attention --target h200 --budget 60s
irlens suggest matmul -t h200 --set BLOCK_SIZE_M=64 --set BLOCK_SIZE_N=64 --format json
"""


class _Settings(msgspec.Struct, frozen=True):
    kernel: str
    selection: Configurations
    most: int
    budget: float
    jobs: int | None
    writing: Writing


@click.command(help=_HELP)
@click.argument("kernel", shell_complete=options.complete_kernels)
@options.config_options()
@options.count_option("--most", "Compile at most N neighbours.", default=40)
@click.option(
    "--budget",
    metavar="TIME",
    callback=options.duration,
    help="End the search after this time, such as 60s or 2m, with the fastest so far.",
)
@options.jobs_option
@writing_options("suggestion")
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Suggest a configuration of one kernel."""
    from irlens.session.suggest import requests_near, suggest_near

    session = new_session()
    requests = requests_near(settings.kernel, settings.selection, session)
    with output.progress("compiling") as show:
        suggestion = suggest_near(
            requests, session, most=settings.most, jobs=settings.jobs, seconds=settings.budget,
            progress=lambda each: show(
                each.done, each.total, f"best so far {each.best}" if each.best else ""
            ),
        )  # fmt: skip
    named = options.as_typed([settings.kernel], settings.selection)
    write(suggestion, "suggestion", settings.writing, named=named)
    return Exit.INTERRUPTED if suggestion.stopped == "interrupted" else Exit.OK
