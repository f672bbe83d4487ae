"""``irlens diff``: the differences between two captures, or between configurations of a kernel."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Unpack

import click

from irlens.cli import Exit, output
from irlens.cli.options import complete_kernels, kernel_options, selected
from irlens.cli.writing import ReportOptions, shows_code, write, writing_options
from irlens.model.errors import IrlensError
from irlens.render import check_format
from irlens.session.subject import Configurations, is_compiled

if TYPE_CHECKING:  # running the command loads them
    from irlens.model.code import CodeComparison, CodeComparisons
    from irlens.model.comparison import Comparisons
    from irlens.session.reports import Session

_HELP = """Show what changed between two captures, figure by figure.

BEFORE and AFTER are anything `irlens inspect` accepts. In caches with many kernels, captures
with the same name, target and config are compared.

The options apply to the side that is not compiled yet. With BEFORE alone, an option with
several values makes the sides: each is compared with the first. Several Tritons are
compared kernel by kernel and config by config.

With --stage, compares the code itself, by its effect: renamed values and registers, labels,
source lines and offsets are no difference. Stages are source, ttir, ttgir, llir, ptx, sass,
amdgcn and metadata.

Exits with 0 if nothing changed, 1 if something did.

\b
irlens diff softmax --num-stages 2,4
irlens diff softmax --target a100,h100
irlens diff layer_norm --target b200 --triton 3.6.0,3.7.1
irlens diff before/ after/ --format markdown
irlens diff report.json softmax --target h100
irlens diff softmax --num-stages 2,4 --stage ttgir,ptx
"""

#: Stages that a page with one comparison shows.
_PAGE_STAGES = "ttir,ttgir,llir,ptx,amdgcn"
#: With live registers, the machine code is disassembled anyway.
_PAGE_STAGES_WITH_PRESSURE = f"{_PAGE_STAGES},sass"


@click.command(help=_HELP, short_help="Show what changed between two captures.")
@click.argument("before", shell_complete=complete_kernels)
@click.argument("after", required=False, shell_complete=complete_kernels)
@kernel_options
@click.option("--pressure", is_flag=True, help="Also compare live registers in the machine code.")
@click.option("--stage", metavar="NAME,...", help="Compare the code of these stages instead.")
@click.option("-y", "--side-by-side", is_flag=True, help="With --stage: show the sides in columns.")
@click.option(
    "-U",
    "--context",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    metavar="N",
    help="With --stage: show this many lines around a change.",
)
@writing_options("comparisons")
def command(
    before: str,
    after: str | None,
    pressure: bool,
    stage: str | None,
    side_by_side: bool,
    context: int,
    **options: Unpack[ReportOptions],
) -> Exit:
    """Compare two sides, or several with the first."""
    from irlens.session.reports import Session

    sides = _Sides(before, after, selected(options), Session(output.note))
    if stage is not None:
        if pressure:
            raise click.UsageError("--pressure has no effect with --stage: remove one of them")
        check_format(options["form"], "code")
        code = sides.compare_code(stage, context)
        write(code, "code", options, side_by_side=side_by_side)
        return Exit.DIFFERENCE if code.different else Exit.OK
    if side_by_side:
        raise click.UsageError("--side-by-side needs --stage: name the stages to show")
    comparisons = sides.compare(sass=pressure)
    shown: Sequence[CodeComparison] = ()
    if len(comparisons.pairs) == 1 and shows_code("comparisons", options):
        # A saved report holds no code, so there may be nothing to compare.
        with suppress(IrlensError):
            stages = _PAGE_STAGES_WITH_PRESSURE if pressure else _PAGE_STAGES
            shown = sides.compare_code(stages, context).pairs
    write(comparisons, "comparisons", options, code=shown)
    return Exit.DIFFERENCE if comparisons.different else Exit.OK


class _Sides:
    """The two sides of a comparison, or several configurations of one kernel.

    Args:
        before: BEFORE.
        after: AFTER, ``None`` if the options' values make the sides.
        configurations: The configurations that the options select.
        session: Loads or compiles the sides.
    """

    def __init__(
        self, before: str, after: str | None, configurations: Configurations, session: "Session"
    ) -> None:
        self._before, self._after = before, after
        self._configurations = configurations
        self._session = session

    def compare(self, *, sass: bool) -> "Comparisons":
        """Return the comparison of the reports; ``sass`` includes the machine code."""
        from irlens.diff.report.comparisons import across, against_first, match

        read, configurations = self._session.reports, self._configurations
        if self._after is not None:
            before, after = self._split_options(self._after)
            comparisons = match(
                read(self._before, before, sass=sass), read(self._after, after, sass=sass)
            )
            if not comparisons.pairs:
                raise self._nothing_in_common()
            return comparisons
        if len(configurations.tritons) > 1:
            each_triton = configurations.by_triton()
            return across([read(self._before, one, sass=sass) for one in each_triton])
        reports = read(self._before, configurations, sass=sass)
        if len(reports) == 1:
            raise self._one_side()
        return against_first(reports)

    def compare_code(self, stages: str, context: int) -> "CodeComparisons":
        """Return the comparison of the code of some stages, with lines of context."""
        from irlens.diff.code import check_stages
        from irlens.diff.code.captures import compare_across, compare_sets

        names = check_stages(stages.split(","))
        read, configurations = self._session.captures, self._configurations
        if self._after is not None:
            before, after = self._split_options(self._after)
            captures = read(self._before, before), read(self._after, after)
            comparisons = compare_sets(*captures, names, context=context)
            if not comparisons.pairs:
                raise self._nothing_in_common()
            return comparisons
        each_triton = configurations.by_triton() if configurations.tritons else [configurations]
        sides = [read(self._before, one) for one in each_triton]
        if len(sides) == len(sides[0]) == 1:
            raise self._one_side()
        return compare_across(sides, names, context=context)

    def _split_options(self, after: str) -> tuple[Configurations, Configurations]:
        """Return the configurations of each side: options apply to the side not yet compiled."""
        compiled = is_compiled(self._before), is_compiled(after)
        if compiled == (True, False):
            return Configurations(), self._configurations
        if compiled == (False, True):
            return self._configurations, Configurations()
        return self._configurations, self._configurations

    def _one_side(self) -> IrlensError:
        return IrlensError(
            f"{self._before} alone is one side of a comparison",
            hint="name a second, or give an option several values: --num-stages 2,4",
        )

    def _nothing_in_common(self) -> IrlensError:
        return IrlensError(
            f"{self._before} and {self._after} have no kernel in common",
            hint="`irlens inspect` shows the kernels of each",
        )
