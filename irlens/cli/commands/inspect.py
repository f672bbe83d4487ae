"""``irlens inspect``: what the compiler made of a kernel."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click
import msgspec

from irlens.cli import Exit, load_inspection, new_session, options, output
from irlens.cli.settings import F, received_as
from irlens.cli.writing import Writing, is_lasting, page_facts, shows_code, write, writing_options
from irlens.model.capture import Disassembly
from irlens.render import DETAILS, Detail, check_format
from irlens.session import Configurations, refuse_options

if TYPE_CHECKING:
    from irlens.cli.watch import Show
    from irlens.model.capture import Capture
    from irlens.model.code import CodeComparisons
    from irlens.model.listing import Listing
    from irlens.model.report import Report
    from irlens.session.session import Session  # running the command loads them

#: Kernels with code on one page: half a megabyte each, near the limit of a browser.
_MAX_LISTINGS = 32

_HELP = """Show what the compiler made of KERNEL.

KERNEL is a sample's name (see `irlens kernels`), path/file.py:kernel,
package.module:kernel, a capture, a recording, a Triton cache or one entry of it (FOLDER:kernel
for one of its kernels), a single artifact (x.ptx, x.cubin, x.ttgir, ...), a JSON report, sweep,
scan, comparison or check that irlens wrote, or - for an artifact or one of these on stdin.

An option with several comma-separated values selects one configuration for each. A range of
--arg draws the estimated time over that size instead, and which configuration is best where.

\b
irlens inspect softmax --num-stages 2,4 --target a100,h100
irlens inspect softmax --arg n_cols=781
irlens inspect softmax --arg n_cols=256..16384
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
    "memory": "Show each access to global memory, layout conversions, and shared memory.",
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


class _Settings(msgspec.Struct, frozen=True):
    kernel: str
    selection: Configurations
    stage: str | None
    interleave: bool
    annotate: bool
    place: str | None
    details: tuple[Detail, ...]
    everything: bool
    disassembly: Disassembly
    watch: bool
    interpret: bool
    program: str | None
    why: bool
    layout: str | None
    writing: Writing

    @property
    def shown(self) -> frozenset[Detail]:
        """The sections to show in full."""
        return frozenset(DETAILS if self.everything else self.details)

    @property
    def draws_sizes(self) -> bool:
        """Whether a range of sizes is drawn, and not inspected one by one."""
        others = (self.stage, self.place, self.program, self.layout)
        return not (any(others) or self.watch or self.interpret or self.why)

    @property
    def needs(self) -> Disassembly:
        """Whether the sections that are shown in full need the machine code."""
        asked = self.disassembly is Disassembly.TRY and "pressure" in self.shown
        return Disassembly.REQUIRE if asked else self.disassembly


@click.command(help=_HELP)
@click.argument("kernel", shell_complete=options.complete_kernels)
@options.config_options(run=True, ranges=True)
@click.option(
    "--stage",
    metavar="NAME",
    shell_complete=options.complete_stages,
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
@options.sass_option
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
@click.option(
    "--layout",
    metavar="%VALUE",
    help="Draw who holds each element of a value of the ttgir.",
)
@click.option(
    "--why",
    is_flag=True,
    help="Explain each finding: the pass that decides it, and a recompilation as the proof.",
)
@writing_options("reports", plain=("stage", "place"))  # fmt: skip
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Inspect one kernel, in one or several configurations."""
    from irlens.session.grids import varied_size, with_listed_values

    if settings.draws_sizes and varied_size(settings.selection) is not None:
        return _show_sizes(settings)
    selection = with_listed_values(settings.selection)
    settings = msgspec.structs.replace(settings, selection=selection)
    if settings.program is not None or settings.interpret:
        return _show_other(settings)
    if settings.layout is not None:
        return _show_layout(settings, settings.layout)
    if settings.why:
        if settings.stage or settings.place or settings.shown or settings.watch:
            raise click.UsageError("--why explains the findings alone: remove the other options")
        from irlens.cli.commands.explain import show_reasons

        return show_reasons(settings.kernel, settings.selection, settings.writing)
    _check(settings)
    if settings.watch:  # a pager waits for a key, not for a save
        writing = msgspec.structs.replace(settings.writing, pager=False)
        settings = msgspec.structs.replace(settings, writing=writing)

    if _show_document(settings):
        return Exit.OK
    is_page = settings.stage is None and settings.place is None
    session, selection = new_session(load_inspection if is_page else None), settings.selection
    show: Show
    if settings.stage is not None:
        from irlens.session.stages import check_stage

        check_stage(settings.stage)
        show = partial(_show_stage, settings.stage, settings)
    elif settings.place is not None:
        show = partial(_show_line, settings.place, settings.writing)
    elif not settings.watch:
        _show_page(session, settings)
        return Exit.OK
    else:
        show = partial(_show_saved, session, settings)
    if settings.watch:
        from irlens.cli.watch import watch as watch_saves

        return watch_saves(settings.kernel, selection, show)
    _, write_shown = show([], session.captures(settings.kernel, selection))
    write_shown()
    return Exit.OK


def _show_sizes(settings: _Settings) -> Exit:
    """Draw the estimated time over the size that ranges."""
    options.refuse(
        {f"--{name}": True for name in settings.details}, "has no effect over a range of sizes"
    )
    check_format(settings.writing.form, "sweep")
    from irlens.session.grids import time_over_sizes

    kernel, selection = settings.kernel, settings.selection
    with output.progress("evaluating") as show:
        sweep = time_over_sizes(new_session(), kernel, selection, progress=show)
    write(sweep, "sweep", settings.writing, named=options.as_typed([kernel], selection))
    return Exit.OK


def _show_document(settings: _Settings) -> bool:
    """Show KERNEL if it is a saved sweep, scan, comparison, ...; return whether it is."""
    from irlens.session.documents import saved_document, shown_document

    document = saved_document(settings.kernel)
    if document is None:
        return False
    refuse_options(settings.kernel, settings.selection)
    writing = settings.writing
    check_format(writing.form, document.kind)
    with shown_document(settings.kernel, document):
        write(document.record, document.kind, writing, details=settings.shown, named="")
    return True


def _show_layout(settings: _Settings, value: str) -> Exit:
    """Draw the layout of a value."""
    others = settings.stage or settings.place or settings.shown or settings.watch or settings.why
    if others:
        raise click.UsageError("--layout draws one value alone: remove the other options")
    check_format(settings.writing.form, "layout")
    from irlens.session.stages import layout_of

    drawing = layout_of(settings.kernel, settings.selection, new_session(), value)
    write(drawing, "layout", settings.writing)
    return Exit.OK


def _show_other(settings: _Settings) -> Exit:
    """Show one program, or interpret the kernel on the CPU."""
    code = settings.stage or settings.place or settings.shown or settings.watch
    if settings.program is None:
        if code:
            raise click.UsageError(
                "--interpret compiles nothing: remove the options that show code"
            )
        from irlens.cli import interpretation

        return interpretation.show(settings.kernel, settings.selection, settings.writing)
    if code or settings.interpret:
        raise click.UsageError("--program shows one program alone: remove the other options")
    from irlens.cli import one_program

    place = one_program.parse_program(settings.program)
    session = new_session()
    captures = session.select(settings.kernel, settings.selection)
    return one_program.show(session.inspect(settings.kernel, captures), place, settings.writing)


def _show_stage(
    name: str, settings: _Settings, before: "Sequence[Capture]", captures: "Sequence[Capture]"
) -> "tuple[CodeComparisons | None, Callable[[], object]]":
    """Prepare a stage; after a save, its comparison with the version before."""
    from irlens.cli.stage import Beside, show
    from irlens.model.capture import BINARY_STAGES

    writing = settings.writing
    if before and writing.destination is None and name not in BINARY_STAGES:
        from irlens.diff.code.captures import compare_sets

        comparisons = compare_sets(before, captures, [name])
        return comparisons, partial(write, comparisons, "code", writing)
    beside = Beside.PYTHON if settings.interleave else Beside.NOTHING
    beside |= Beside.ANNOTATIONS if settings.annotate else Beside.NOTHING
    return None, partial(show, captures, name, writing, beside)


def _show_line(
    place: str, writing: Writing, _: "Sequence[Capture]", captures: "Sequence[Capture]"
) -> "tuple[None, Callable[[], object]]":
    from irlens.analyze.capture_code import CaptureCode
    from irlens.render.text_listing import line_text
    from irlens.render.text_page import Page
    from irlens.session.stages import find_line

    color = writing.destination is None and output.use_color()
    texts = [
        line_text(find_line(CaptureCode(capture), place), Page(width=0, color=color))
        for capture in captures
    ]
    return None, partial(output.write, "\n".join(texts), writing.destination, paged=writing.pager)


def _show_page(session: "Session", settings: _Settings) -> None:
    """Show the page of reports as it was shown before, if nothing changed since."""
    from irlens.artifacts import report_cache
    from irlens.session.reports import report_keys

    kernel, needs, writing = settings.kernel, settings.needs, settings.writing
    selected = session.select(kernel, settings.selection)
    keys = report_keys(selected, needs)
    if keys is None or not is_lasting("reports", writing):
        _show_reports(session.inspect(kernel, selected, needs), settings)
        return
    facts = page_facts(options.as_typed([kernel], settings.selection), writing)
    key = report_cache.page_key(keys, [*facts, sorted(settings.shown)])
    page = report_cache.recall_page(key, keys)
    if page is not None:
        output.write(page, writing.destination, paged=writing.pager)
        return
    page = _show_reports(session.inspect(kernel, selected, needs), settings)
    report_cache.remember_page(key, page, keys)


def _show_saved(
    session: "Session", settings: _Settings, _: "Sequence[Capture]", captures: "Sequence[Capture]"
) -> "tuple[None, Callable[[], object]]":
    """Prepare the reports of what was compiled after a save."""
    inspected = session.inspect(settings.kernel, captures, settings.needs)
    return None, partial(_show_reports, inspected, settings)


def _show_reports(inspected: "Sequence[tuple[Capture | None, Report]]", settings: _Settings) -> str:
    kernel, writing = settings.kernel, settings.writing
    listings = _listings(inspected) if shows_code("reports", writing) else []
    reports = [report for _, report in inspected]
    named = options.as_typed([kernel], settings.selection) if kernel != "-" else ""
    return write(
        reports, "reports", writing, details=settings.shown, listings=listings, named=named
    )


def _listings(inspected: "Sequence[tuple[Capture | None, Report]]") -> "list[Listing]":
    """Return the code of every capture, or none if it is too much for one page."""
    captures = [(capture, report) for capture, report in inspected if capture is not None]
    if len(captures) > _MAX_LISTINGS:
        output.note(
            f"the page omits the code of {len(captures)} kernels, which is too large; inspect a "
            "single kernel to see its code"
        )
        return []
    from irlens.analyze.capture_code import CaptureCode
    from irlens.report.annotations import list_capture

    return [list_capture(CaptureCode(capture), report) for capture, report in captures]


def _check(settings: _Settings) -> None:
    """Raise ``UsageError`` for options that have no effect on plain text, or only on it."""
    if settings.stage is None:
        unusable = {"--interleave": settings.interleave, "--annotate": settings.annotate}
        options.refuse(unusable, "needs --stage: name the stage to print")
    if settings.stage is None and settings.place is None:
        return
    option = "--stage" if settings.stage is not None else "--line"
    details = ("all",) if settings.everything else settings.details
    form = settings.writing.form
    others = {
        "--line": settings.stage is not None and settings.place is not None,
        **{f"--{name}": True for name in details},
        f"--format {form}": form != "text",
        "--summary": settings.writing.summary,
    }
    options.refuse(others, f"has no effect with {option}: remove one of them")
