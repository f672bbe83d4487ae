"""``irlens diff``: what moved between two captures, or between configurations of a kernel."""

from typing import TYPE_CHECKING, Unpack

import click

from irlens.cli.exits import Exit
from irlens.cli.options import Asked, KernelOptions, asked, kernel_options
from irlens.cli.writing import WritingOptions, write, writing_options
from irlens.model.errors import IrlensError

if TYPE_CHECKING:  # running the command loads it
    from irlens.model.comparison import Comparisons

_HELP = """Show what moved between two captures, by what it means.

BEFORE and AFTER are anything `irlens inspect` takes. Of caches with many kernels those are
compared that have the same name, target and config.

Options choose among what is still to be compiled: beside a compiled side they are for the
other one. With BEFORE alone an option with several values makes the sides: each is
compared with the first. Several Tritons are compared kernel by kernel and config by config.

Exits with 0 if nothing moved, 1 if something did.

\b
irlens diff softmax --num-stages 2,4
irlens diff softmax --target a100,h100
irlens diff layer_norm --target b200 --triton 3.6.0,3.7.1
irlens diff before/ after/ --format markdown
irlens diff report.json softmax --target h100
"""


class _Options(KernelOptions, WritingOptions):
    """Those that this command shares with others."""


@click.command(help=_HELP, short_help="Show what moved between two captures.")
@click.argument("before")
@click.argument("after", required=False)
@kernel_options
@click.option("--pressure", is_flag=True, help="Compare live registers in the machine code, too.")
@writing_options("comparisons")
def command(
    before: str,
    after: str | None,
    pressure: bool,
    **options: Unpack[_Options],
) -> Exit:
    """Compare two sides, or several with the first."""
    if after is None:
        comparisons = _configurations(before, asked(options), sass=pressure)
    else:
        comparisons = _two(before, after, asked(options), sass=pressure)
    write(comparisons, "comparisons", options)
    return Exit.DIFFERENCE if comparisons.different else Exit.OK


def _configurations(kernel: str, asked: Asked, *, sass: bool) -> "Comparisons":
    """Compare what the options' several values make of one kernel."""
    from irlens.cli.subject import find_reports
    from irlens.comparison.sets import across, against_first

    if len(asked.tritons) > 1:
        return across([find_reports(kernel, one, sass=sass) for one in asked.by_triton()])
    reports = find_reports(kernel, asked, sass=sass)
    if len(reports) == 1:
        raise IrlensError(
            f"{kernel} alone is one side of a comparison",
            hint="name a second, or give an option several values: --num-stages 2,4",
        )
    return against_first(reports)


def _two(before: str, after: str, asked: Asked, *, sass: bool) -> "Comparisons":
    from irlens.cli.subject import find_reports, is_compiled
    from irlens.comparison.sets import match

    asked_before = asked_after = asked
    if is_compiled(before) != is_compiled(after):
        # The options are for the side that is still to be compiled.
        asked_before, asked_after = (Asked(), asked) if is_compiled(before) else (asked, Asked())
    comparisons = match(
        find_reports(before, asked_before, sass=sass), find_reports(after, asked_after, sass=sass)
    )
    if not comparisons.pairs:
        raise IrlensError(
            f"{before} and {after} have no kernel in common",
            hint="`irlens inspect` shows what each holds",
        )
    return comparisons
