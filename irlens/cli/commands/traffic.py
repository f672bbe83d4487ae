"""``irlens traffic``: what a PyTorch program moves, and what fusing saves."""

import shlex
import sys
from typing import Unpack

import click

from irlens.cli import Exit, output
from irlens.cli.options import complete_kernels
from irlens.cli.writing import WritingOptions, write, writing_options
from irlens.model.errors import IrlensError
from irlens.session.subject import Axis

_HELP = """List what KERNEL's PyTorch reference moves, and what fusing it saves.

KERNEL is a sample, or a file that describes its kernels with a reference. The reference
runs on a fake GPU with its real sizes: nothing is computed, and no GPU is needed.

Each operation is listed with the distinct bytes that it reads and writes, with the group of
operations that one kernel could do, and with the rule that decides. Views move nothing.

\b
irlens traffic rms_norm
irlens traffic softmax_naive:row_max_kernel --reference softmax_reference
irlens traffic layer_norm --arg n_cols=65536 -f json
"""
#: Table rows on a terminal without --all.
_ROWS = 40


def _values(
    _ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> tuple[Axis, ...]:
    """Split each ``NAME=VALUE``."""
    axes: list[Axis] = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier() or not value.strip():
            raise click.BadParameter(f"'{text}' is not NAME=VALUE")
        axes.append((name.strip(), (value.strip(),)))
    return tuple(axes)


@click.command(help=_HELP)
@click.argument("kernel", metavar="KERNEL", shell_complete=complete_kernels)
@click.option("-a", "--arg", "arguments", metavar="NAME=VALUE", multiple=True, callback=_values,
              help="Set an argument or a size: 781, fp16[1024,1024].")  # fmt: skip
@click.option("-s", "--set", "constexprs", metavar="NAME=VALUE", multiple=True, callback=_values,
              help="Set a constexpr that the reference takes.")  # fmt: skip
@click.option("--reference", metavar="FUNCTION",
              help="Run this function of the file in place of the reference.")  # fmt: skip
@click.option("-t", "--target", metavar="GPU", help="Run on this fake GPU.  [default: sm_90]")
@click.option("--row-limit", metavar="N", type=click.IntRange(min=1),
              help="Keep rows of up to N elements on chip.  [default: 32768]")  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Show every row, also on a terminal.")
@writing_options("ledgers")
def command(
    kernel: str,
    arguments: tuple[Axis, ...],
    constexprs: tuple[Axis, ...],
    reference: str | None,
    target: str | None,
    row_limit: int | None,
    everything: bool,
    **options: Unpack[WritingOptions],
) -> Exit:
    """Write the ledgers of a kernel's reference."""
    from irlens.analyze.fusion import ROW_LIMIT
    from irlens.compiler.calls.argument_values import parse_value
    from irlens.session.ledgers import LedgerRequest, reference_ledgers
    from irlens.session.subject import is_compiled

    if is_compiled(kernel):
        raise IrlensError(
            f"{kernel} is already compiled, and has no reference",
            hint="name a sample, or the kernel's source",
        )
    wanted = LedgerRequest(
        kernel=kernel,
        target=target or "sm_90",
        settings={name: parse_value(values[0]) for name, values in constexprs},
        args={name: values[0] for name, values in arguments},
        function=reference,
        row_limit=row_limit or ROW_LIMIT,
    )
    with output.status() as update:
        update(f"running the reference of {kernel}")
        ledgers = reference_ledgers(wanted)
    on_terminal = options["destination"] is None and sys.stdout.isatty()
    rows = _ROWS if on_terminal and not everything else None
    write(ledgers, "ledgers", options, rows=rows, named=shlex.quote(kernel))
    return Exit.OK
