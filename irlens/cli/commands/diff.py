"""``irlens diff``: what moved between two captures, or between configurations of a kernel."""

from typing import Unpack

import click

from irlens.cli.exits import Exit
from irlens.cli.options import Asked, KernelOptions, asked, kernel_options
from irlens.cli.writing import WritingOptions, write, writing_options
from irlens.model.errors import IrlensError

_HELP = """Show what moved between two captures, by what it means.

BEFORE and AFTER are anything `irlens inspect` takes. Of caches with many kernels those are
compared that have the same name, target and config.

Options choose among what is still to be compiled: beside a compiled side they are for the
other one. With BEFORE alone an option with several values makes the sides: each is
compared with the first.

Exits with 0 if nothing moved, 1 if something did.

\b
irlens diff softmax --num-stages 2,4
irlens diff softmax --target a100,h100
irlens diff before/ after/ --format markdown
irlens diff report.json softmax --target h100
"""


class _Options(KernelOptions, WritingOptions):
    """Those that this command shares with others."""


@click.command(help=_HELP, short_help="Show what moved between two captures.")
@click.argument("before")
@click.argument("after", required=False)
@kernel_options
@writing_options("comparisons")
def command(
    before: str,
    after: str | None,
    **options: Unpack[_Options],
) -> Exit:
    """Compare two sides, or several with the first."""
    from irlens.cli.subject import find_reports, is_compiled
    from irlens.comparison.sets import against_first, match

    asked_before = asked_after = asked(options)
    if after is not None and is_compiled(before) != is_compiled(after):
        # The options are for the side that is still to be compiled.
        asked_before, asked_after = (
            (Asked(), asked_after) if is_compiled(before) else (asked_before, Asked())
        )
    reports = find_reports(before, asked_before)
    if after is not None:
        comparisons = match(reports, find_reports(after, asked_after))
        if not comparisons.pairs:
            raise IrlensError(
                f"{before} and {after} have no kernel in common",
                hint="`irlens inspect` shows what each holds",
            )
    elif len(reports) == 1:
        raise IrlensError(
            f"{before} alone is one side of a comparison",
            hint="name a second, or give an option several values: --num-stages 2,4",
        )
    else:
        comparisons = against_first(reports)
    write(comparisons, "comparisons", options)
    return Exit.DIFFERENCE if comparisons.different else Exit.OK
