"""``irlens diff``: what moved between two captures, or between configurations of a kernel."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Unpack

import click

from irlens.cli import completing
from irlens.cli.exits import Exit
from irlens.cli.options import Asked, KernelOptions, asked, kernel_options
from irlens.cli.writing import WritingOptions, shows_code, write, writing_options
from irlens.model.errors import IrlensError
from irlens.render import check_format

if TYPE_CHECKING:  # running the command loads it
    from irlens.model.code import CodeComparison, CodeComparisons
    from irlens.model.comparison import Comparisons

_HELP = """Show what moved between two captures, by what it means.

BEFORE and AFTER are anything `irlens inspect` takes. Of caches with many kernels those are
compared that have the same name, target and config.

Options choose among what is still to be compiled: beside a compiled side they are for the
other one. With BEFORE alone an option with several values makes the sides: each is
compared with the first. Several Tritons are compared kernel by kernel and config by config.

With --stage the code itself is compared, by what it does: other names of values and
registers, labels, source lines and offsets are no difference. Stages are source, ttir,
ttgir, llir, ptx, sass, amdgcn and metadata.

Exits with 0 if nothing moved, 1 if something did.

\b
irlens diff softmax --num-stages 2,4
irlens diff softmax --target a100,h100
irlens diff layer_norm --target b200 --triton 3.6.0,3.7.1
irlens diff before/ after/ --format markdown
irlens diff report.json softmax --target h100
irlens diff softmax --num-stages 2,4 --stage ttgir,ptx
"""


#: What a page of one comparison shows of the code.
_SHOWN = "ttir,ttgir,llir,ptx,amdgcn"
#: What is disassembled for live registers anyway.
_SHOWN_WITH_PRESSURE = f"{_SHOWN},sass"


class _Options(KernelOptions, WritingOptions):
    """Those that this command shares with others."""


@click.command(help=_HELP, short_help="Show what moved between two captures.")
@click.argument("before", shell_complete=completing.kernels)
@click.argument("after", required=False, shell_complete=completing.kernels)
@kernel_options
@click.option("--pressure", is_flag=True, help="Compare live registers in the machine code, too.")
@click.option("--stage", metavar="NAME,...", help="Compare the code of these stages instead.")
@click.option("-y", "--side-by-side", is_flag=True, help="With --stage: show the sides in columns.")
@click.option(
    "-U",
    "--context",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    metavar="N",
    help="With --stage: lines to show around what moved.",
)
@writing_options("comparisons")
def command(
    before: str,
    after: str | None,
    pressure: bool,
    stage: str | None,
    side_by_side: bool,
    context: int,
    **options: Unpack[_Options],
) -> Exit:
    """Compare two sides, or several with the first."""
    if stage is not None:
        if pressure:
            raise click.UsageError("--pressure has no effect beside --stage: leave one of them out")
        check_format(options["form"], "code")
        code = _code(before, after, asked(options), stage, context)
        write(code, "code", options, side_by_side=side_by_side)
        return Exit.DIFFERENCE if code.different else Exit.OK
    if side_by_side:
        raise click.UsageError("--side-by-side needs --stage: which code is to be shown?")
    if after is None:
        comparisons = _configurations(before, asked(options), sass=pressure)
    else:
        comparisons = _two(before, after, asked(options), sass=pressure)
    moved: Sequence[CodeComparison] = ()
    if len(comparisons.pairs) == 1 and shows_code("comparisons", options):
        # Saved reports hold no code, and that of one side alone is no comparison.
        with suppress(IrlensError):
            shown = _SHOWN_WITH_PRESSURE if pressure else _SHOWN
            moved = _code(before, after, asked(options), shown, context).pairs
    write(comparisons, "comparisons", options, code=moved)
    return Exit.DIFFERENCE if comparisons.different else Exit.OK


def _configurations(kernel: str, asked: Asked, *, sass: bool) -> "Comparisons":
    """Compare what the options' several values make of one kernel."""
    from irlens.cli.subject import find_reports
    from irlens.diff.report.comparisons import across, against_first

    if len(asked.tritons) > 1:
        return across([find_reports(kernel, one, sass=sass) for one in asked.by_triton()])
    reports = find_reports(kernel, asked, sass=sass)
    if len(reports) == 1:
        raise _one_side(kernel)
    return against_first(reports)


def _two(before: str, after: str, asked: Asked, *, sass: bool) -> "Comparisons":
    from irlens.cli.subject import find_reports
    from irlens.diff.report.comparisons import match

    asked_before, asked_after = _for_each(before, after, asked)
    comparisons = match(
        find_reports(before, asked_before, sass=sass), find_reports(after, asked_after, sass=sass)
    )
    if not comparisons.pairs:
        raise _nothing_in_common(before, after)
    return comparisons


def _code(
    before: str, after: str | None, asked: Asked, stages: str, context: int
) -> "CodeComparisons":
    """Compare the code of two sides, or of what the options' several values make of one."""
    from irlens.cli.subject import find_captures
    from irlens.diff.code import check_stages
    from irlens.diff.code.captures import compare_across, compare_sets

    names = check_stages(stages.split(","))
    if after is None:
        tritons = list(asked.by_triton()) if asked.tritons else [asked]
        sides = [find_captures(before, one) for one in tritons]
        if len(sides) == len(sides[0]) == 1:
            raise _one_side(before)
        return compare_across(sides, names, context=context)
    asked_before, asked_after = _for_each(before, after, asked)
    found = compare_sets(
        find_captures(before, asked_before),
        find_captures(after, asked_after),
        names,
        context=context,
    )
    if not found.pairs:
        raise _nothing_in_common(before, after)
    return found


def _for_each(before: str, after: str, asked: Asked) -> tuple[Asked, Asked]:
    """Return the options for each side: they are for the one that is still to be compiled."""
    from irlens.cli.subject import is_compiled

    if is_compiled(before) == is_compiled(after):
        return asked, asked
    return (Asked(), asked) if is_compiled(before) else (asked, Asked())


def _one_side(kernel: str) -> IrlensError:
    return IrlensError(
        f"{kernel} alone is one side of a comparison",
        hint="name a second, or give an option several values: --num-stages 2,4",
    )


def _nothing_in_common(before: str, after: str) -> IrlensError:
    return IrlensError(
        f"{before} and {after} have no kernel in common",
        hint="`irlens inspect` shows what each holds",
    )
