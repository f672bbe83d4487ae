"""``irlens inspect``: what the compiler made of a kernel."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Unpack

import click

from irlens.cli import completing, output
from irlens.cli.exits import Exit
from irlens.cli.options import KernelOptions, asked, kernel_options
from irlens.cli.writing import WritingOptions, shows_code, write, writing_options
from irlens.render import DETAILS, Detail

if TYPE_CHECKING:  # running the command loads them
    from irlens.cli.watching import Show
    from irlens.model.capture import Capture
    from irlens.model.code import CodeComparisons
    from irlens.model.listing import Listing
    from irlens.model.report import Report

#: Half a megabyte each is as much as a browser likes to hold.
_MOST_LISTED = 32

_HELP = """Show what the compiler made of KERNEL.

KERNEL is a sample's name (see `irlens kernels`), path/file.py:kernel,
package.module:kernel, a capture, a Triton cache or one entry of it, a single artifact
(x.ptx, x.cubin, x.ttgir, ...), a saved JSON report, or - for an artifact or a report
on stdin.

An option with several comma-separated values asks for each of them.

\b
irlens inspect softmax --num-stages 2,4 --target a100,h100
irlens inspect softmax --arg n_cols=781
irlens inspect matmul --set BLOCK_SIZE_M=128 --format json
irlens inspect softmax --stage ptx
irlens inspect softmax --stage sass --interleave
irlens inspect softmax --stage ptx --annotate
irlens inspect softmax --line 51
irlens inspect softmax --watch
irlens inspect ~/.triton/cache
"""


class _Options(KernelOptions, WritingOptions):
    """Those that this command shares with others."""


@click.command(help=_HELP, short_help="Show what the compiler made of a kernel.")
@click.argument("kernel", shell_complete=completing.kernels)
@kernel_options
@click.option("--stage", metavar="NAME", help="Print one stage: ttir, ttgir, llir, ptx, sass, ...")
@click.option("--interleave", is_flag=True, help="With --stage: print the Python in between.")
@click.option(
    "--annotate",
    is_flag=True,
    help="With --stage: print line numbers, live registers, pipelines and loops beside it.",
)
@click.option(
    "--line",
    "place",
    metavar="N|FILE:N",
    help="Print what became of a line of Python at every stage.",
)
@click.option(
    "--pressure",
    "details",
    flag_value="pressure",
    multiple=True,
    help="Show live registers by line, in ptx and in the machine code.",
)
@click.option(
    "--pipelines",
    "details",
    flag_value="pipelines",
    multiple=True,
    help="Show all of every pipeline, and each load of the loops.",
)
@click.option(
    "--memory",
    "details",
    flag_value="memory",
    multiple=True,
    help="Show where the shared memory goes.",
)
@click.option(
    "--mix", "details", flag_value="mix", multiple=True, help="Show every class of instructions."
)
@click.option("--all", "everything", is_flag=True, help="Show all of these.")
@click.option("--watch", is_flag=True, help="Do it again whenever the kernel is saved.")
@writing_options("reports")
def command(
    kernel: str,
    stage: str | None,
    interleave: bool,
    annotate: bool,
    place: str | None,
    details: tuple[Detail, ...],
    everything: bool,
    watch: bool,
    **options: Unpack[_Options],
) -> Exit:
    """Inspect one kernel, in one or several configurations."""
    if stage is None:
        for name, is_given in (("--interleave", interleave), ("--annotate", annotate)):
            if is_given:
                raise click.UsageError(f"{name} needs --stage: which one is to be printed?")
    if stage is not None or place is not None:
        _refuse_report_options(stage, place, ("all",) if everything else details, options)
    if watch:
        options["pager"] = False  # it would wait for a key, and not for a save
    from irlens.cli.subject import find_captures, find_inspected, inspected

    show: Show
    if stage is not None:
        from irlens.cli.stage import check

        check(stage)
        show = partial(_show_stage, stage, interleave, annotate, options)
    elif place is not None:
        show = partial(_show_line, place, options)
    else:
        shown = frozenset(DETAILS if everything else details)
        # Machine code is disassembled only for whoever wants to see it: that takes a moment.
        sass = "pressure" in shown
        if not watch:
            _show_reports(find_inspected(kernel, asked(options), sass=sass), shown, options)
            return Exit.OK
        show = lambda _, captures: _show_reports(  # noqa: E731
            inspected(kernel, captures, sass=sass), shown, options
        )
    if watch:
        from irlens.cli.watching import watch as watch_saves

        return watch_saves(kernel, asked(options), show)
    show([], find_captures(kernel, asked(options)))
    return Exit.OK


def _show_stage(
    name: str,
    interleave: bool,
    annotate: bool,
    options: _Options,
    before: "Sequence[Capture]",
    captures: "Sequence[Capture]",
) -> "CodeComparisons | None":
    """Print a stage; where it has been printed before, print and return what moved in it since."""
    from irlens.cli.stage import show
    from irlens.model.capture import BINARY_STAGES

    if before and options["destination"] is None and name not in BINARY_STAGES:
        from irlens.diff.code.captures import compare_sets

        moved = compare_sets(before, captures, [name])
        write(moved, "code", options)
        return moved
    show(
        captures,
        name,
        options["destination"],
        paged=options["pager"],
        interleave=interleave,
        annotate=annotate,
    )
    return None


def _show_line(
    place: str, options: _Options, _: "Sequence[Capture]", captures: "Sequence[Capture]"
) -> None:
    from irlens.cli.lines import line_report

    color = options["destination"] is None and output.use_color()
    told = [line_report(capture, place, color=color) for capture in captures]
    output.write("\n".join(told), options["destination"], paged=options["pager"])


def _show_reports(
    inspected: "Sequence[tuple[Capture | None, Report]]",
    details: frozenset[Detail],
    options: _Options,
) -> None:
    listings = _listings(inspected) if shows_code("reports", options) else []
    reports = [report for _, report in inspected]
    write(reports, "reports", options, details=details, listings=listings)


def _listings(inspected: "Sequence[tuple[Capture | None, Report]]") -> "list[Listing]":
    """Return the text of everything, for a page of it; none of more than a page can hold."""
    captures = [(capture, report) for capture, report in inspected if capture is not None]
    if len(captures) > _MOST_LISTED:
        output.note(
            f"irlens: the code of {len(captures)} kernels is too much for a page, and left out; "
            "inspect one of them to see it"
        )
        return []
    from irlens.report.annotations import list_capture

    return [list_capture(capture, report) for capture, report in captures]


def _refuse_report_options(
    stage: str | None, place: str | None, details: Sequence[str], options: _Options
) -> None:
    """Complain about what has no effect where text is printed as it is."""
    one = "--stage" if stage is not None else "--line"
    given = {
        "--line": stage is not None and place is not None,
        **{f"--{name}": True for name in details},
        f"--format {options['form']}": options["form"] != "text",
        "--summary": options["summary"],
    }
    for name, is_given in given.items():
        if is_given:
            raise click.UsageError(f"{name} has no effect beside {one}: leave one of them out")
