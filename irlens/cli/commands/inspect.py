"""``irlens inspect``: what the compiler made of a kernel."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar, Unpack

import click

from irlens.cli import Exit, output
from irlens.cli.options import (
    as_typed,
    complete_kernels,
    complete_stages,
    kernel_options,
    refuse,
    sass_option,
    selected,
)
from irlens.cli.writing import (
    ReportOptions,
    is_lasting,
    page_facts,
    shows_code,
    write,
    writing_options,
)
from irlens.render import DETAILS, Detail

if TYPE_CHECKING:
    from irlens.cli.watch import Show
    from irlens.model.capture import Capture
    from irlens.model.code import CodeComparisons
    from irlens.model.listing import Listing
    from irlens.model.report import Report
    from irlens.session.session import Session  # running the command loads them
    from irlens.session.subject import Configurations

F = TypeVar("F", bound=Callable[..., object])

#: Kernels with code on one page: half a megabyte each, near the limit of a browser.
_MAX_LISTINGS = 32

_HELP = """Show what the compiler made of KERNEL.

KERNEL is a sample's name (see `irlens kernels`), path/file.py:kernel,
package.module:kernel, a capture, a Triton cache or one entry of it, a single artifact
(x.ptx, x.cubin, x.ttgir, ...), a saved JSON report, or - for an artifact or a report
on stdin.

An option with several comma-separated values selects one configuration for each.

\b
irlens inspect softmax --num-stages 2,4 --target a100,h100
irlens inspect softmax --arg n_cols=781
irlens inspect matmul --set BLOCK_SIZE_M=128 --format json
irlens inspect softmax --stage ptx
irlens inspect softmax --stage sass --interleave
irlens inspect softmax --stage ptx --annotate
irlens inspect softmax --line 51
irlens inspect softmax --watch
irlens inspect softmax --interpret --arg n_rows=20
irlens inspect matmul_tiled --program 3,1
irlens inspect ~/.triton/cache
"""
_DETAIL_HELP: dict[Detail, str] = {
    "pressure": "Show live registers by line, in PTX and in the machine code.",
    "pipelines": "Show every pipeline in full, and each load of the loops.",
    "memory": "Show each access to global memory, and what shared memory holds.",
    "time": "Show what each unit alone would take of the estimated time.",
    "mix": "Show every instruction class.",
    "figures": "List every figure of the report, with its path in the JSON.",
}


def _detail_options(function: F) -> F:
    """Add a flag for each detail: the parameter ``details``."""
    for name, text in reversed(_DETAIL_HELP.items()):
        option = click.option(f"--{name}", "details", flag_value=name, multiple=True, help=text)
        function = option(function)
    return function


@click.command(help=_HELP)
@click.argument("kernel", shell_complete=complete_kernels)
@kernel_options
@click.option(
    "--stage",
    metavar="NAME",
    shell_complete=complete_stages,
    help="Print one stage: ttir, ttgir, llir, ptx, sass, ...",
)
@click.option("--interleave", is_flag=True, help="With --stage: insert the Python source.")
@click.option(
    "--annotate",
    is_flag=True,
    help="With --stage: print line numbers, live registers, pipelines and loops in a gutter.",
)
@click.option(
    "--line", "place", metavar="N|FILE:N", help="Print the code of a Python line at every stage."
)
@_detail_options
@click.option("--all", "everything", is_flag=True, help="Show all of these details.")
@sass_option
@click.option("--watch", is_flag=True, help="Re-run on every save.")
@click.option(
    "--interpret",
    is_flag=True,
    help="Run the kernel on the CPU with Triton's interpreter, and check its results.",
)
@click.option(
    "--program",
    metavar="N",
    help="Show the offsets and masks of one program's accesses: 3, or x,y,z.",
)
@writing_options("reports", plain=("stage", "place"))  # fmt: skip
def command(
    kernel: str,
    stage: str | None,
    interleave: bool,
    annotate: bool,
    place: str | None,
    details: tuple[Detail, ...],
    everything: bool,
    sass: bool | None,
    watch: bool,
    interpret: bool,
    program: str | None,
    **options: Unpack[ReportOptions],
) -> Exit:
    """Inspect one kernel, in one or several configurations."""
    if program is not None or interpret:
        others = stage or place or details or everything or watch
        return _show_other(program, interpret, kernel, options, others=bool(others))
    if stage is None:
        unusable = {"--interleave": interleave, "--annotate": annotate}
        refuse(unusable, "needs --stage: name the stage to print")
    if stage is not None or place is not None:
        _refuse_report_options(stage, place, ("all",) if everything else details, options)
    if watch:
        options["pager"] = False  # a pager waits for a key, not for a save
    from irlens.cli import sessions

    session, configurations = sessions.session(), selected(options)
    shown = frozenset(DETAILS if everything else details)
    if sass is None and "pressure" in shown:
        sass = True
    show: Show
    if stage is not None:
        from irlens.session.stages import check_stage

        check_stage(stage)
        show = partial(_show_stage, stage, interleave, annotate, options)
    elif place is not None:
        show = partial(_show_line, place, options)
    elif not watch:
        _show_page(session, kernel, configurations, sass, shown, options)
        return Exit.OK
    else:
        show = partial(_show_saved, session, kernel, sass, shown, options)
    if watch:
        from irlens.cli.watch import watch as watch_saves

        return watch_saves(kernel, configurations, show)
    _, write_shown = show([], session.captures(kernel, configurations))
    write_shown()
    return Exit.OK


def _show_other(
    program: str | None, interpret: bool, kernel: str, options: ReportOptions, *, others: bool
) -> Exit:
    """Show one program or interpret the kernel; ``others``: options ask for code or details."""
    if program is None:
        return _interpret(kernel, options, wants_code=others)
    if others or interpret:
        raise click.UsageError("--program shows one program alone: remove the other options")
    from irlens.cli import one_program, sessions

    place = one_program.parse_program(program)
    session = sessions.session()
    inspected = session.inspect(kernel, session.select(kernel, selected(options)))
    return one_program.show(inspected, place, options)


def _interpret(kernel: str, options: ReportOptions, *, wants_code: bool) -> Exit:
    """Run the kernel on the CPU; ``wants_code``: options ask for what only compiling gives."""
    if wants_code:
        raise click.UsageError("--interpret compiles nothing: remove the options that show code")
    from irlens.cli import interpretation

    return interpretation.show(kernel, options)


def _show_stage(
    name: str,
    interleave: bool,
    annotate: bool,
    options: ReportOptions,
    before: "Sequence[Capture]",
    captures: "Sequence[Capture]",
) -> "tuple[CodeComparisons | None, Callable[[], object]]":
    """Prepare a stage; after a save, its comparison with the version before."""
    from irlens.cli.stage import show
    from irlens.model.capture import BINARY_STAGES

    if before and options["destination"] is None and name not in BINARY_STAGES:
        from irlens.diff.code.captures import compare_sets

        comparisons = compare_sets(before, captures, [name])
        return comparisons, partial(write, comparisons, "code", options)
    return None, partial(
        show,
        captures,
        name,
        options["destination"],
        paged=options["pager"],
        interleave=interleave,
        annotate=annotate,
    )


def _show_line(
    place: str, options: ReportOptions, _: "Sequence[Capture]", captures: "Sequence[Capture]"
) -> "tuple[None, Callable[[], object]]":
    from irlens.session.source_lines import line_report

    color = options["destination"] is None and output.use_color()
    texts = [line_report(capture, place, color=color) for capture in captures]
    text, destination = "\n".join(texts), options["destination"]
    return None, partial(output.write, text, destination, paged=options["pager"])


def _show_page(
    session: "Session",
    kernel: str,
    configurations: "Configurations",
    sass: bool | None,
    details: frozenset[Detail],
    options: ReportOptions,
) -> None:
    """Show the page of reports as it was shown before, if nothing changed since."""
    from irlens.artifacts import report_cache
    from irlens.session.reports import report_keys

    selected = session.select(kernel, configurations)
    keys = report_keys(selected, sass)
    if keys is None or not is_lasting("reports", options):
        inspected = session.inspect(kernel, selected, sass=sass)
        _show_reports(inspected, details, kernel, options)
        return
    facts = page_facts(as_typed([kernel], options), options)
    key = report_cache.page_key(keys, [*facts, sorted(details)])
    page = report_cache.recall_page(key, keys)
    if page is not None:
        output.write(page, options["destination"], paged=options["pager"])
        return
    inspected = session.inspect(kernel, selected, sass=sass)
    page = _show_reports(inspected, details, kernel, options)
    report_cache.remember_page(key, page, keys)


def _show_saved(
    session: "Session",
    kernel: str,
    sass: bool | None,
    details: frozenset[Detail],
    options: ReportOptions,
    _: "Sequence[Capture]",
    captures: "Sequence[Capture]",
) -> "tuple[None, Callable[[], object]]":
    """Prepare the reports of what was compiled after a save."""
    inspected = session.inspect(kernel, captures, sass=sass)
    return None, partial(_show_reports, inspected, details, kernel, options)


def _show_reports(
    inspected: "Sequence[tuple[Capture | None, Report]]",
    details: frozenset[Detail],
    kernel: str,
    options: ReportOptions,
) -> str:
    listings = _listings(inspected) if shows_code("reports", options) else []
    reports = [report for _, report in inspected]
    named = as_typed([kernel], options) if kernel != "-" else ""
    return write(reports, "reports", options, details=details, listings=listings, named=named)


def _listings(inspected: "Sequence[tuple[Capture | None, Report]]") -> "list[Listing]":
    """Return the code of every capture, or none if it is too much for one page."""
    captures = [(capture, report) for capture, report in inspected if capture is not None]
    if len(captures) > _MAX_LISTINGS:
        output.note(
            f"the page omits the code of {len(captures)} kernels, which is too large; inspect a "
            "single kernel to see its code"
        )
        return []
    from irlens.report.annotations import list_capture

    return [list_capture(capture, report) for capture, report in captures]


def _refuse_report_options(
    stage: str | None, place: str | None, details: Sequence[str], options: ReportOptions
) -> None:
    """Raise ``UsageError`` for options that have no effect on plain text."""
    option = "--stage" if stage is not None else "--line"
    others = {
        "--line": stage is not None and place is not None,
        **{f"--{name}": True for name in details},
        f"--format {options['form']}": options["form"] != "text",
        "--summary": options["summary"],
    }
    refuse(others, f"has no effect with {option}: remove one of them")
