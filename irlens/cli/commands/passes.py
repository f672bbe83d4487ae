"""``irlens passes``: what each pass of the compiler changed."""

import click
import msgspec

from irlens.cli import Exit, new_session
from irlens.cli.options import complete_kernels, config_options, context_option
from irlens.cli.settings import received_as
from irlens.cli.writing import Writing, write, writing_options
from irlens.session import Configurations

_HELP = """Show what each pass of the compiler changed in one compilation of KERNEL.

Compiles KERNEL once and catches the IR that MLIR prints before each pass, from ttir to LLVM IR;
the next time the answer comes from the store. Lists the passes that changed something, the
operations that came and went, and the time of each.

KERNEL may also be a file with the output of MLIR_ENABLE_DUMP=1. Of an autotuned kernel the
configuration with the least estimated time is compiled.

`irlens diff --passes` names the first pass after which two compilations differ.

\b
irlens passes softmax --num-stages 4
irlens passes softmax --pass pipeline
irlens passes softmax --pass 31
irlens passes softmax --first ttg.async_copy_global_to_local --last tt.load
irlens passes softmax --line 51
irlens passes matmul --conversions
irlens passes softmax --llvm --pass slsr
"""


class _Settings(msgspec.Struct, frozen=True):
    kernel: str
    selection: Configurations
    shown: tuple[str, ...]
    first: tuple[str, ...]
    last: tuple[str, ...]
    line: str | None
    conversions: bool
    changes: bool
    llvm: bool
    context: int
    writing: Writing


@click.command(help=_HELP)
@click.argument("kernel", shell_complete=complete_kernels)
@config_options()
@click.option(
    "--pass",
    "shown",
    metavar="NAME|N",
    multiple=True,
    help="Show the changes of the passes of this name, or of this number.",
)
@click.option(
    "--first",
    metavar="OP",
    multiple=True,
    help="Name the pass that brings an operation, a layout or an attribute: ttg.async_wait, or"
    " async_wait; nvidia_mma; allocation.offset.",
)
@click.option(
    "--last", metavar="OP", multiple=True, help="Name the pass that removes an operation's last."
)
@click.option("--line", metavar="N", help="Follow a line of Python: 51, or standard.py:170.")
@click.option(
    "--conversions",
    is_flag=True,
    help="Name the pass that inserts each layout conversion, and both layouts.",
)
@click.option(
    "--changes",
    is_flag=True,
    help="With --format json: list the lines that each pass replaces, and the first IR.",
)
@click.option("--llvm", is_flag=True, help="Also the passes of LLVM, behind those of MLIR.")
@context_option("--pass")
@writing_options("passes")
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Show the passes of one compilation."""
    if settings.changes and settings.writing.form != "json":
        raise click.UsageError("--changes has no effect without --format json")
    if settings.changes and settings.llvm:
        raise click.UsageError("--changes lists what MLIR's passes change: leave --llvm out")
    from irlens.session.passes import Asked, passes_of

    asked = Asked(
        passes=settings.shown,
        first=settings.first,
        last=settings.last,
        line=settings.line,
        conversions=settings.conversions,
        changes=settings.changes,
        context=settings.context,
        printed="llvm" if settings.llvm else "mlir",
    )
    passes = passes_of(settings.kernel, settings.selection, new_session(), asked)
    write(passes, "passes", settings.writing)
    return Exit.OK
