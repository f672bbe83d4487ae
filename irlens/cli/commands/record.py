"""``irlens record``: capture every kernel that a program compiles."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from irlens.cli import Exit, output
from irlens.cli.options import target_option
from irlens.model.errors import IrlensError
from irlens.model.text import plural

if TYPE_CHECKING:
    from irlens.gpus import Gpu
    from irlens.record import Recording

_HELP = """Run PROGRAM, a Python script, and capture every Triton kernel that it compiles.

With a GPU present, the program runs on it as usual. Without one, or with --target, kernels
are compiled and launches are no-ops: tensors on "cuda" have a shape and no values. A program
that reads a value stops there; the kernels compiled so far are kept.

The result is a directory of captures for `irlens tui`, `irlens inspect` and `irlens diff`.

\b
irlens record train.py --epochs 1
irlens record -t h100,mi300x bench.py
irlens record -m pytest tests/test_kernels.py
"""


@click.command(
    help=_HELP,
    short_help="Run a program and capture the kernels it compiles.",
    # Everything after PROGRAM belongs to the program.
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@target_option
@click.option("-m", "is_module", is_flag=True, help="Run PROGRAM as a module.")
@click.option(
    "-o",
    "--output",
    "destination",
    metavar="DIRECTORY",
    type=click.Path(path_type=Path),
    help="Write the captures to this directory.  [default: irlens-PROGRAM]",
)
@click.option("--force", is_flag=True, help="Replace an earlier recording.")
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    program: str,
    arguments: tuple[str, ...],
    target: tuple[str, ...],
    is_module: bool,
    destination: Path | None,
    force: bool,
) -> Exit:
    """Record one program."""
    from irlens.record import Program, record

    if not is_module and not Path(program).is_file():
        raise IrlensError(
            f"{program} is not a file", hint="name a Python script, or -m and a module"
        )
    directory = destination or Path(f"irlens-{_short_name(program)}")
    _check_destination(directory, force=force)
    gpus, is_fake = _gpus(target)
    request = Program(name=program, is_module=is_module, arguments=arguments)
    recording = record(request, directory, gpus, fake=is_fake)
    return _summarize(recording, directory, is_fake=is_fake)


def _check_destination(directory: Path, *, force: bool) -> None:
    """Raise ``IrlensError`` before the program runs if its captures could not be written."""
    from irlens.artifacts.store import holds_captures

    if directory.exists() and not force:
        raise IrlensError(f"{directory} exists", hint="replace it with --force, or use -o")
    if directory.exists() and not holds_captures(directory):
        raise IrlensError(
            f"{directory} is not a recording, so --force does not replace it",
            hint="name another directory with -o",
        )
    parent = next(folder for folder in directory.absolute().parents if folder.exists())
    if not (parent.is_dir() and os.access(parent, os.W_OK)):
        raise IrlensError(f"cannot write {directory}", hint="name another directory with -o")


def _gpus(names: tuple[str, ...]) -> "tuple[list[Gpu], bool]":
    """Return the GPUs to compile for, and whether to fake them: all but the one present."""
    from irlens import gpus
    from irlens.compiler import find_device
    from irlens.session.reports import Session

    if names:
        return [gpus.find(name) for name in names], True
    device = find_device()
    return [Session(output.note).default_gpu(device)], device is None


def _summarize(recording: "Recording", directory: Path, *, is_fake: bool) -> Exit:
    """Report the captures and how the program ended."""
    if is_fake:
        output.note(f"nothing was computed: {', '.join(_simplifications(recording))}")
    if recording.variants:
        kernels = "  ".join(f"{name} {number}" for name, number in recording.variants.items())
        number = sum(recording.variants.values())
        output.note(f"captured {plural(number, 'variant')} in {directory}:  {kernels}")
        output.note(f"browse {'it' if number == 1 else 'them'} with  irlens tui {directory}")
    hint = None if recording.variants else "it had compiled no Triton kernel by then"
    for run in recording.runs:
        if run.stopped:
            raise IrlensError(f"the program could not continue at {run.stopped}", hint=hint)
        if run.code != 0:
            how = f"exited with code {run.code}" if run.code > 0 else f"died of signal {-run.code}"
            raise IrlensError(f"the program {how}", hint=hint)
    if not recording.variants:
        raise IrlensError("the program compiled no Triton kernel")
    return Exit.OK


def _simplifications(recording: "Recording") -> Iterator[str]:
    """Yield the differences from a run on a GPU."""
    counts = [run.deviations for run in recording.runs]
    yield "launches were no-ops"
    if compared := sum(each.compared for each in counts):
        yield f"{plural(compared, 'tensor comparison')} assumed true"
    if uncompiled := sum(each.uncompiled for each in counts):
        yield f"torch.compile left {plural(uncompiled, 'function')} uncompiled"
    if untimed := sum(each.untimed for each in counts):
        yield f"{plural(untimed, 'measurement')} of torch.compile assumed equal"
    if any(each.attention for each in counts):
        yield "attention assumed to use a flash or memory-efficient kernel"
    if untracked := sum(each.blind for each in counts):
        yield f"{untracked} Python process{'es' if untracked > 1 else ''} of the program untracked"


def _short_name(program: str) -> str:
    """Return a program's name for a directory: "train" for "scripts/train.py"."""
    name = Path(program).name.removesuffix(".py")
    return re.sub(r"[^\w.-]", "_", name)
