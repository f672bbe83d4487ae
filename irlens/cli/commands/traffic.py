"""``irlens traffic``: what a PyTorch program moves, and what fusing saves."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from irlens.cli import Exit, output
from irlens.cli.options import complete_kernels, count_option, named_values, refuse
from irlens.cli.settings import received_as
from irlens.cli.writing import Writing, every_row_option, shown_rows, write, writing_options
from irlens.model.errors import IrlensError
from irlens.session import Axis

if TYPE_CHECKING:  # help needs no record
    from irlens.model.ledger import Ledgers

_HELP = """List what a PyTorch program moves, and what fusing saves.

KERNEL is a sample, or a file that describes its kernels: its PyTorch reference runs with
its real sizes. PROGRAM is a Python script that describes no kernel, or a module with -m: it
runs unmodified, with the arguments after `--`; launches of Triton kernels and what
torch.compile makes of a function are listed too. Either runs on a fake GPU: no GPU is
needed, and what is printed to stdout goes to stderr.

Each operation is listed with the distinct bytes that it reads and writes, with the group of
operations that one kernel could do, and with the rule that decides. Views move nothing.

\b
irlens traffic rms_norm
irlens traffic softmax_naive:row_max_kernel --reference softmax_reference
irlens traffic layer_norm --arg n_cols=65536 -f json
irlens traffic train.py -- --steps 1
"""
#: Table rows on a terminal without --all.
_ROWS = 40


def _values(
    _ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> tuple[Axis, ...]:
    """Return the sizes that ``M=4096,N=1024`` and the like set, one value for each name."""
    axes: list[Axis] = []
    for name, value in named_values(texts):
        if not value.strip():
            raise click.BadParameter(f"'{name}=' is not NAME=VALUE")
        axes.append((name, (value.strip(),)))
    return tuple(axes)


class _Settings(msgspec.Struct, frozen=True):
    name: str
    words: tuple[str, ...]
    arguments: tuple[Axis, ...]
    constexprs: tuple[Axis, ...]
    reference: str | None
    is_module: bool
    is_run: bool
    assumed: float | None
    target: str
    row_limit: int | None
    everything: bool
    writing: Writing


@click.command(help=_HELP)
@click.argument("name", metavar="KERNEL|PROGRAM", shell_complete=complete_kernels)
@click.argument("words", metavar="[-- ARGUMENTS]", nargs=-1, type=click.UNPROCESSED)
@click.option("-a", "--arg", "arguments", metavar="NAME=VALUE", multiple=True, callback=_values,
              help="Set an argument or a size of the kernel: 781, fp16[1024,1024].")  # fmt: skip
@click.option("-s", "--set", "constexprs", metavar="NAME=VALUE", multiple=True, callback=_values,
              help="Set a constexpr that the reference takes.")  # fmt: skip
@click.option("--reference", metavar="FUNCTION",
              help="Run this function of the file in place of the reference.")  # fmt: skip
@click.option("-m", "is_module", is_flag=True, help="Run PROGRAM as a module.")
@click.option("--program", "is_run", is_flag=True, help="Run a file that describes kernels.")
@click.option("--assume", "assumed", metavar="NUMBER", type=float,
              help="Assume this number where PROGRAM reads what only a kernel "
              "computes.")  # fmt: skip
@click.option("-t", "--target", metavar="GPU", default="h100", show_default=True,
              help="Run on this fake GPU.")  # fmt: skip
@count_option("--row-limit", "Keep rows of up to N elements on chip.  [default: 32768]")
@every_row_option
@writing_options("ledgers")
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Write the ledgers of a kernel's reference, or of a program."""
    from irlens.session.ledgers import is_program

    failure = None
    if settings.is_module or settings.is_run or is_program(settings.name):
        unusable = {
            "--arg": bool(settings.arguments),
            "--set": bool(settings.constexprs),
            "--reference": settings.reference is not None,
        }
        refuse(unusable, "of a kernel has no effect on a program: remove it")
        ledgers, failure = _of_program(settings)
    else:
        unusable = {"--assume": settings.assumed is not None, "--": bool(settings.words)}
        refuse(unusable, "of a program has no effect on a kernel: remove it")
        ledgers = _of_kernel(settings)
    rows = shown_rows(None if settings.everything else _ROWS, settings.writing)
    write(ledgers, "ledgers", settings.writing, rows=rows, named=shlex.quote(settings.name))
    if failure is not None:
        raise IrlensError(failure, hint="the ledger ends there")
    return Exit.OK


def _of_program(settings: _Settings) -> "tuple[Ledgers, str | None]":
    from irlens.programs import Options, Program
    from irlens.session.ledgers import program_ledgers

    name = settings.name
    if not settings.is_module and not Path(name).is_file():
        raise IrlensError(f"{name} is not a file", hint="name a Python script, or -m and a module")
    program = Program(name=name, is_module=settings.is_module, arguments=settings.words)
    options = Options(assumed=settings.assumed)
    return program_ledgers(program, settings.target, options, _row_limit(settings))


def _of_kernel(settings: _Settings) -> "Ledgers":
    from irlens.compiler.calls.argument_values import parse_value
    from irlens.session import is_compiled
    from irlens.session.ledgers import LedgerRequest, reference_ledgers

    name = settings.name
    if is_compiled(name):
        raise IrlensError(
            f"{name} is already compiled, and has no reference",
            hint="name a sample, or the kernel's source",
        )
    wanted = LedgerRequest(
        kernel=name,
        target=settings.target,
        settings={key: parse_value(values[0]) for key, values in settings.constexprs},
        args={key: values[0] for key, values in settings.arguments},
        function=settings.reference,
        row_limit=_row_limit(settings),
    )
    with output.status() as update:
        update(f"running the reference of {name}")
        return reference_ledgers(wanted)


def _row_limit(settings: _Settings) -> int:
    from irlens.analyze.fusion import ROW_LIMIT

    return settings.row_limit or ROW_LIMIT
