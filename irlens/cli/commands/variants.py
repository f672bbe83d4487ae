"""``irlens variants``: what a kernel is compiled for, and what tells its variants apart."""

from pathlib import Path

import click
import msgspec

from irlens.cli import Exit, new_session, options, output
from irlens.cli.settings import received_as
from irlens.cli.writing import Writing, every_row_option, shown_rows, write, writing_options
from irlens.model.variants import Variants
from irlens.session import Configurations

_HELP = """List the variants that Triton compiles of KERNEL, and what tells them apart.

Triton compiles a kernel again for each type of an argument, for integers that are 1 and for those
that are divisible by 16, for the alignment of pointers, and for each value of a constexpr and a
compile option. With ranges of arguments, as in --arg n=1..131072, every variant that their launches
need is compiled: Triton's own binder decides, so the count is Triton's. Variants with the same
machine code, but for names, are needless.

Of captures, recordings and Triton's own cache, several of which may be given, the variants are
those that are there; of two entries, the reason why they are two.

\b
irlens variants vector_add --arg n_elements=1..131072
irlens variants mine.py:kernel --arg x=fp16[4096,4096] --arg n=1,16,4096,4097 -t h100,mi300x
irlens variants mine.py:kernel --arg n=1..131072 --emit warmup.py
irlens variants ~/.triton/cache
irlens variants irlens-train --json
"""
_MOST_ROWS = 20


class _Settings(msgspec.Struct, frozen=True):
    kernels: tuple[str, ...]
    selection: Configurations
    most: int
    budget: float
    emit: Path | None
    at_most: int | None
    jobs: int | None
    everything: bool
    writing: Writing


@click.command(help=_HELP)
@click.argument(
    "kernels", metavar="KERNEL...", nargs=-1, required=True, shell_complete=options.complete_kernels
)
@options.config_options(ranges=True)
@options.count_option(
    "--most", "Compile at most N variants for each GPU, and count the others.", default=64
)
@click.option(
    "--budget",
    metavar="TIME",
    default="60s",
    show_default=True,
    callback=options.duration,
    help="Stop compiling after this time, such as 60s or 2m, and count the others.",
)
@options.file_option(
    "--emit", tells="Also write a script (.py) or a list (.json) that compiles all of them ahead."
)
@options.count_option("--at-most", "Exit with 1 if a kernel has more than N variants for a GPU.")
@options.jobs_option
@every_row_option
@writing_options("variants")
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """List variants."""
    from irlens.session.variants import variants_of

    if settings.emit is not None:
        from irlens.session.warmup import require_warmup

        require_warmup(settings.kernels, settings.emit)
        output.require_writable(settings.emit)
    with output.progress("compiling") as show:
        variants = variants_of(
            new_session(), settings.kernels, settings.selection,
            most=settings.most, seconds=settings.budget, jobs=settings.jobs, progress=show,
        )  # fmt: skip
    if settings.emit is not None:
        _emit(variants, settings.kernels[0], settings.emit)
    rows = shown_rows(None if settings.everything else _MOST_ROWS, settings.writing)
    named = options.as_typed(settings.kernels, settings.selection)
    write(variants, "variants", settings.writing, rows=rows, named=named)
    most = max(each.number for each in variants.kernels)
    exceeds = settings.at_most is not None and most > settings.at_most
    return Exit.DIFFERENCE if exceeds else Exit.OK


def _emit(variants: Variants, kernel: str, destination: Path) -> None:
    from irlens.session.warmup import left_out, warmup_of, warmup_text

    warmup = warmup_of(variants, kernel, destination)
    output.write(warmup_text(warmup, destination), destination)
    if missing := left_out(variants):
        output.note(f"{destination} leaves out {missing}")
