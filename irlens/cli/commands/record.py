"""``irlens record``: what a whole program compiles."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from irlens.cli import output
from irlens.cli.exits import Exit
from irlens.cli.options import target_option
from irlens.model.errors import IrlensError
from irlens.model.text import plural

if TYPE_CHECKING:
    from irlens.gpus import Gpu
    from irlens.record import Recording

_HELP = """Run PROGRAM, a Python script, and keep every Triton kernel that it compiles.

With a GPU here the program runs on it as always. Without one, or with --target, kernels are
compiled and their launches do nothing: tensors on "cuda" have a shape and no values. Where a
program asks for a value it cannot go on; what it has compiled until then is kept.

What is kept is a directory of captures: for `irlens tui`, `irlens inspect`, `irlens diff`.

\b
irlens record train.py --epochs 1
irlens record -t h100,mi300x bench.py
irlens record -m pytest tests/test_kernels.py
"""


@click.command(
    help=_HELP,
    short_help="Run a program and keep the kernels it compiles.",
    # What follows PROGRAM is the program's.
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@target_option
@click.option("-m", "is_module", is_flag=True, help="PROGRAM is a module's name.")
@click.option(
    "-o",
    "--output",
    "destination",
    metavar="DIRECTORY",
    type=click.Path(path_type=Path),
    help="Where to keep them.  [default: irlens-PROGRAM]",
)
@click.option("--force", is_flag=True, help="Replace an older recording there.")
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
    place = destination or Path(f"irlens-{_short(program)}")
    _check_place(place, force=force)
    gpus, pretend = _gpus(target)
    asked = Program(name=program, is_module=is_module, arguments=arguments)
    recording = record(asked, place, gpus, pretend=pretend)
    return _tell(recording, place, pretend=pretend)


def _check_place(place: Path, *, force: bool) -> None:
    """Complain before the program runs, and not when it has."""
    from irlens.artifacts.store import holds_captures

    if place.exists() and not force:
        raise IrlensError(f"{place} exists", hint="--force replaces it, -o names another place")
    if place.exists() and not holds_captures(place):
        raise IrlensError(
            f"{place} is not a recording, so it is not replaced", hint="-o names another place"
        )
    there = next(folder for folder in place.absolute().parents if folder.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise IrlensError(f"cannot write {place}", hint="-o names another place")


def _gpus(names: tuple[str, ...]) -> "tuple[list[Gpu], bool]":
    """Return what to compile for, and whether to pretend it: not where one is there unasked."""
    from irlens import gpus as arch
    from irlens.cli.subject import DEFAULT_TARGET, known_gpu, tell_default_target
    from irlens.compiler import find_device

    if names:
        return [arch.find(name) for name in names], True
    if (device := find_device()) is not None:
        return [known_gpu(device)], False
    tell_default_target()
    return [arch.find(DEFAULT_TARGET)], True


def _tell(recording: "Recording", place: Path, *, pretend: bool) -> Exit:
    """Say what has been kept, and how the program fared."""
    if pretend:
        output.note(f"irlens: nothing was computed: {', '.join(_liberties(recording))}")
    if recording.variants:
        kept = "  ".join(f"{name} {number}" for name, number in recording.variants.items())
        number = sum(recording.variants.values())
        output.note(f"irlens: kept {plural(number, 'variant')} in {place}:  {kept}")
        output.note(f"irlens: look at {'it' if number == 1 else 'them'} with  irlens tui {place}")
    nothing = None if recording.variants else "it had compiled no Triton kernel until then"
    for run in recording.runs:
        if run.stopped:
            raise IrlensError(f"the program could not go on at {run.stopped}", hint=nothing)
        if run.code != 0:
            how = f"with code {run.code}" if run.code > 0 else f"by signal {-run.code}"
            raise IrlensError(f"the program ended {how}", hint=nothing)
    if not recording.variants:
        raise IrlensError("the program compiled no Triton kernel")
    return Exit.OK


def _liberties(recording: "Recording") -> Iterator[str]:
    """Say what was done otherwise than on a GPU."""
    taken = [run.liberties for run in recording.runs]
    yield "launches did nothing"
    if compared := sum(each.compared for each in taken):
        yield f"{plural(compared, 'comparison')} of tensors taken to hold"
    if uncompiled := sum(each.uncompiled for each in taken):
        yield f"torch.compile left {plural(uncompiled, 'function')} uncompiled"
    if untimed := sum(each.untimed for each in taken):
        yield f"{plural(untimed, 'measurement')} of torch.compile's taken to be all the same"
    if any(each.attention for each in taken):
        yield "attention taken to be a flash or memory-efficient kernel's"
    if blind := sum(each.blind for each in taken):
        processes = f"{blind} Python process{'es' if blind > 1 else ''}"
        yield f"{processes} that the program started could not be followed"


def _short(program: str) -> str:
    """Return a program's name for a directory: "train" of "scripts/train.py"."""
    name = Path(program).name.removesuffix(".py")
    return re.sub(r"[^\w.-]", "_", name)
