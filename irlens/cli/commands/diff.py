"""``irlens diff``: the differences between two captures, or between configurations of a kernel."""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click
import msgspec

from irlens.cli import Exit, load_inspection, new_session, options
from irlens.cli.settings import received_as
from irlens.cli.writing import Writing, shows_code, write, writing_options
from irlens.model.capture import Disassembly
from irlens.model.errors import IrlensError
from irlens.render import check_format
from irlens.session import Configurations
from irlens.session.reports import Needs

if TYPE_CHECKING:  # running the command loads them
    from irlens.model.code import CodeComparison
    from irlens.session.passes import Printed
    from irlens.session.sides import Sides

_HELP = """Show what changed between two captures, figure by figure.

BEFORE and AFTER are anything `irlens inspect` accepts. In caches with many kernels, captures
with the same name, target and config are compared.

The options apply to the side that is not compiled yet. With BEFORE alone, an option with
several values makes the sides: each is compared with the first. Several Tritons are
compared kernel by kernel and config by config.

With --git or --last-save, BEFORE is a kernel's source, and its versions are the sides: what did
my edit do?

With --stage, compares the code itself, by its effect: renamed values and registers, labels,
source lines and offsets are no difference. Stages are source, ttir, ttgir, llir, ptx, sass,
amdgcn and metadata.

With --passes, names the first pass of the compiler after which two configurations, two
Tritons, two versions of a file or two kernels differ.

Exits with 0 if nothing changed, 1 if something did.

\b
irlens diff softmax --num-stages 2,4
irlens diff softmax --target a100,h100
irlens diff layer_norm --target b200 --triton 3.6.0,3.7.1
irlens diff my_kernels.py:attention --git
irlens diff my_kernels.py:attention --git main
irlens diff before/ after/ --format markdown
irlens diff report.json softmax --target h100
irlens diff softmax --num-stages 2,4 --stage ttgir,ptx
irlens diff layer_norm --target b200 --triton 3.6.0,3.7.1 --passes
"""

#: Stages that a page with one comparison shows.
_PAGE_STAGES = "ttir,ttgir,llir,ptx,amdgcn"


class _Settings(msgspec.Struct, frozen=True):
    before: str | None
    after: str | None
    selection: Configurations
    revisions: str | None
    last_save: bool
    disassembly: Disassembly
    pressure: bool
    stage: str | None
    passes: bool
    llvm: bool
    side_by_side: bool
    context: int
    writing: Writing

    @property
    def asked(self) -> Disassembly:
        """What ``--sass`` says, also by its old name."""
        return Disassembly.REQUIRE if self.pressure else self.disassembly


@click.command(help=_HELP)
@click.argument("before", required=False, shell_complete=options.complete_kernels)
@click.argument("after", required=False, shell_complete=options.complete_kernels)
@options.config_options(run=True)
@click.option(
    "--git",
    "revisions",
    metavar="[REV|A..B]",
    is_flag=False,
    flag_value="HEAD",
    help="Compare a revision, or HEAD, with the working tree; or two revisions.",
)
@click.option(
    "--last-save", is_flag=True, help="Compare with the version of the file inspected before this."
)
@options.sass_option
@click.option("--pressure", is_flag=True, hidden=True)  # what --sass was called
@click.option(
    "--stage",
    metavar="NAME,...",
    shell_complete=options.complete_stages,
    help="Compare the code of these stages instead.",
)
@click.option(
    "--passes", is_flag=True, help="Compare after each pass, and show where they differ first."
)
@click.option("--llvm", is_flag=True, help="With --passes: also after each pass of LLVM.")
@click.option(
    "-y",
    "--side-by-side",
    is_flag=True,
    help="With --stage or --passes: show the sides in columns.",
)
@options.context_option("--stage or --passes")
@writing_options("comparisons")
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Compare two sides, or several with the first."""
    before, revisions = settings.before, settings.revisions
    if before is None:
        before, revisions = _kernel_after_git(revisions)
    if settings.passes:
        last_save = {"--last-save": settings.last_save}
        options.refuse(last_save, "cannot be used with --passes: compare a revision, --git HEAD")
        others = {
            "--stage": settings.stage is not None,
            "--sass": settings.asked is not Disassembly.TRY,
        }
        options.refuse(others, "cannot be used with --passes: remove one of them")
    sides, writing = _sides(before, revisions, settings), settings.writing
    if settings.passes:
        check_format(writing.form, "passes-diff")
        printed: Printed = "llvm" if settings.llvm else "mlir"
        diff = sides.compare_passes(settings.context, printed)
        write(diff, "passes-diff", writing, side_by_side=settings.side_by_side)
        return Exit.DIFFERENCE if diff.different else Exit.OK
    if settings.stage is not None:
        if settings.asked is not Disassembly.TRY:
            raise click.UsageError("--sass has no effect with --stage: remove one of them")
        check_format(writing.form, "code")
        code = sides.compare_code(settings.stage, settings.context)
        write(code, "code", writing, side_by_side=settings.side_by_side)
        return Exit.DIFFERENCE if code.different else Exit.OK
    if settings.llvm:
        raise click.UsageError("--llvm needs --passes")
    if settings.side_by_side:
        raise click.UsageError("--side-by-side needs --stage: name the stages to show")
    # JSON has the figures of pairs without a difference, too, and a page their details.
    comparisons = sides.compare(Needs(settings.asked, writing.form not in ("json", "html")))
    shown: Sequence[CodeComparison] = ()
    if len(comparisons.pairs) == 1 and shows_code("comparisons", writing):
        # A saved report holds no code, so there may be nothing to compare.
        with suppress(IrlensError):
            stages = (
                f"{_PAGE_STAGES},sass" if settings.asked is Disassembly.REQUIRE else _PAGE_STAGES
            )
            shown = sides.compare_code(stages, settings.context).pairs
    named = options.as_typed(
        [before, *([settings.after] if settings.after else [])], settings.selection
    )
    drawn = sides.drawn if shows_code("comparisons", writing) else ()
    write(comparisons, "comparisons", writing, code=shown, sides=drawn, named=named)
    return Exit.DIFFERENCE if comparisons.different else Exit.OK


def _kernel_after_git(word: str | None) -> tuple[str, str]:
    """Return kernel and revision of ``--git KERNEL``, which click takes for a revision."""
    if word is None or not re.search(r"\.py\b|:", word):
        raise click.MissingParameter(param_hint="'BEFORE'", param_type="argument")
    return word, "HEAD"


def _sides(before: str, revisions: str | None, settings: _Settings) -> "Sides":
    """Return what the arguments name."""
    from irlens.session.sides import Sides, SinceLastSave, between_revisions

    meanwhile = load_inspection if settings.stage is None else None
    session, selection = new_session(meanwhile), settings.selection
    given = (settings.after is not None, revisions is not None, settings.last_save)
    if sum(given) > 1:
        raise click.UsageError("AFTER, --git and --last-save each name the other side: give one")
    if revisions is not None:
        return between_revisions(before, revisions, selection, session)
    if settings.last_save:
        return SinceLastSave(before, selection, session)
    return Sides(before, settings.after, selection, session)
