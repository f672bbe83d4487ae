"""``irlens record``: capture every kernel that a program compiles."""

import ast
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from irlens.cli import Exit, new_session, output
from irlens.cli.options import is_number, target_option
from irlens.cli.settings import received_as
from irlens.model import files
from irlens.model.capture import MANIFEST_NAME
from irlens.model.errors import IrlensError
from irlens.model.text import plural

if TYPE_CHECKING:
    from irlens.compiler.fake_cuda import Deviations
    from irlens.gpus import Gpu
    from irlens.programs import Recording

#: Reported kernels that did not compile.
_MOST_FAILURES = 10

#: Listed kernels of a recording.
_MOST_LISTED = 20

#: Kernels of several variants, and names of what tells these apart, to report.
_MOST_RECOMPILED = 5
_MOST_NAMES = 4

#: Kernels of an earlier recording to name.
_MOST_KERNELS = 6
_HELP = """Run PROGRAM, a Python script, and capture every Triton kernel that it compiles.

With a GPU present, the program runs on it as usual. Without one, or with --target, kernels
are compiled and launches are no-ops. A value that the program reads is computed on the CPU.
A number that only a kernel computes can be printed, averaged and stored; where it decides
something the program stops, unless --assume gives a number, and the kernels compiled so far
are kept.

The result is a directory of captures for `irlens tui`, `irlens inspect` and `irlens diff`.

\b
irlens record train.py --epochs 1
irlens record -t h100,mi300x bench.py
irlens record -m pytest tests/test_kernels.py
"""


class _Settings(msgspec.Struct, frozen=True):
    program: str
    arguments: tuple[str, ...]
    target: tuple[str, ...]
    is_module: bool
    destination: Path | None
    force: bool
    assumed: float | None
    configurations: int | None
    contents: bool
    triton: str | None
    python: str | None

    def line(self, **changed: object) -> str:
        """Return the command line with other options, which stand before the program.

        One of them that came after the program, which got it then, moves.
        """
        asked = msgspec.structs.replace(self, **changed)
        values = {
            "-t": ",".join(asked.target),
            "-o": str(asked.destination or ""),
            "--assume": "" if asked.assumed is None else f"{asked.assumed:g}",
            "--configs": str(asked.configurations or ""),
            "--triton": asked.triton or "",
            "--python": asked.python or "",
        }
        words = [word for name, value in values.items() if value for word in (name, value)]
        words += [
            name
            for name, given in (
                ("--force", asked.force),
                ("--no-contents", not asked.contents),
                ("-m", asked.is_module),
            )
            if given
        ]
        arguments = list(asked.arguments)
        for name, taken in (("--assume", 2), ("--force", 1)):
            if name in words and name in arguments:
                at = arguments.index(name)
                del arguments[at : at + taken]
        return shlex.join(["irlens", "record", *words, asked.program, *arguments])


@click.command(
    help=_HELP,
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
@click.option(
    "--assume",
    "assumed",
    metavar="NUMBER",
    type=float,
    help="Assume this number where the program reads what only a kernel computes.",
)
@click.option(
    "--configs",
    "configurations",
    metavar="first|N|all",
    default="all",
    callback=lambda context, parameter, value: _configurations(value),
    help="Configurations that autotuners try.  [default: all]",
)
@click.option(
    "--contents/--no-contents",
    default=True,
    help="Keep what small tensors of integers hold at a launch, which loops over data need for "
    "their time.  [default: --contents]",
)
@click.option("--triton", metavar="VERSION", help="Run the program with this version of Triton.")
@click.option(
    "--python",
    metavar="PATH",
    help="Run the program with this interpreter, its Triton and its PyTorch.",
)
@click.argument("program")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Record one program."""
    from irlens.compiler.sources.running import default_recording
    from irlens.programs import Options, Program, record

    name, arguments, is_module = settings.program, settings.arguments, settings.is_module
    if settings.triton is not None and settings.python is not None:
        raise IrlensError("--triton and --python exclude each other")
    if not is_module and not Path(name).is_file():
        raise IrlensError(f"{name} is not a file", hint="name a Python script, or -m and a module")
    directory = settings.destination or default_recording(name)
    _check_destination(directory, settings)
    gpus, is_fake = _gpus(settings.target)
    if (misplaced := _misplaced(settings)) is not None:
        option, value, own = misplaced
        output.note(f"{option} {value} goes to {name}; for irlens it comes before {name}:  {own}")
    program = Program(name=name, is_module=is_module, arguments=arguments)
    options = Options(
        assumed=settings.assumed,
        configurations=settings.configurations,
        contents=settings.contents,
    )
    toolchain = settings.triton or settings.python
    with output.status() as update:
        recording = record(
            program, directory, gpus, fake=is_fake, options=options, triton=toolchain,
            progress=lambda variants, seconds: update(
                f"recording: {plural(variants, 'variant') if variants else 'no kernel yet'}, "
                f"{seconds:.0f} s"
            ),
        )  # fmt: skip
    hint = None if is_module else _hint_at_tests(Path(name))
    if is_fake:
        given = settings.assumed is not None
        times = "assumed to be 1 ms" if given else "unknown, passed on as placeholders"
        output.note(", ".join(_simplifications(recording, times)))
    return _summarize(recording, directory, settings, is_fake=is_fake, hint_without_kernels=hint)


def _configurations(value: str) -> int | None:
    """Return the number of configurations of ``--configs``; ``None`` for all."""
    number = {"first": 1, "all": 0}.get(value)
    if number is None:
        number = int(value) if is_number(value) else 0
        if number == 0:
            raise click.BadParameter(f"'{value}' is not first, all, or a number of configurations")
    return number or None


def _check_destination(directory: Path, settings: _Settings) -> None:
    """Raise ``IrlensError`` before the program runs if its captures could not be written."""
    from irlens.artifacts.store import holds_captures

    if directory.exists() and not settings.force:
        steps = _next_steps(directory, settings)
        raise IrlensError(f"{directory} exists{_contents(directory)}", hint=steps)
    if directory.exists() and not holds_captures(directory):
        raise IrlensError(
            f"{directory} is not a recording, so --force does not replace it",
            hint="name another directory with -o",
        )
    parent = next(folder for folder in directory.absolute().parents if folder.exists())
    if not (parent.is_dir() and os.access(parent, os.W_OK)):
        raise IrlensError(f"cannot write {directory}", hint="name another directory with -o")


def _contents(directory: Path) -> str:
    """Return what an earlier recording holds: ": 3 variants (add 2, scale 1)"."""
    from irlens.programs.record import kernel_of

    kernels = Counter(kernel_of(entry) for entry in directory.iterdir() if entry.is_dir())
    shown = [f"{name} {number}" for name, number in kernels.most_common(_MOST_KERNELS)]
    if not kernels or "" in kernels:
        return ""
    more = f", and {len(kernels) - len(shown)} more kernels" if len(shown) < len(kernels) else ""
    return f": {plural(kernels.total(), 'variant')} ({', '.join(shown)}{more})"


def _next_steps(directory: Path, settings: _Settings) -> str:
    """Return how to go on with an earlier recording."""
    other = directory.with_name(f"{directory.name}-new")
    beside = settings.line(destination=other)
    if not any((entry / MANIFEST_NAME).exists() for entry in directory.iterdir()):
        return f"record beside it with  {beside}"
    shown = shlex.quote(str(directory))
    return (
        f"look at it with  irlens tui {shown}  or  irlens inspect {shown}\n"
        f"replace it with  {settings.line(force=True)}\n"
        f"record beside it with  {beside}  and compare with  "
        f"irlens diff {shown} {shlex.quote(str(other))}"
    )


def _gpus(names: tuple[str, ...]) -> "tuple[list[Gpu], bool]":
    """Return the GPUs to compile for, and whether to fake them: all but the one present."""
    from irlens import gpus
    from irlens.compiler import find_device

    if names:
        return [gpus.find(name) for name in names], True
    device = find_device()
    return [new_session().default_gpu(device)], device is None


def _misplaced(settings: _Settings) -> tuple[str, str, str] | None:
    """Return an option for irlens that the program gets, its value, and the line that irlens gets.

    Names of GPUs tell a target; -o may be the program's own, unless its file lacks one.
    """
    from irlens import gpus

    given = settings.arguments
    for at, (option, value) in enumerate(pairwise(given)):
        rest = (*given[:at], *given[at + 2 :])
        if option in ("-t", "--target"):
            with suppress(IrlensError):
                for name in value.split(","):
                    gpus.find(name)
                return option, value, settings.line(target=(value,), arguments=rest)
        if option in ("-o", "--output") and not settings.is_module:
            text = Path(settings.program).read_text(encoding="utf-8", errors="replace")
            if not {option, "argparse", "argv"} & set(re.findall(r"[\w-]+", text)):
                return option, value, settings.line(destination=value, arguments=rest)
    return None


def _summarize(
    recording: "Recording",
    directory: Path,
    settings: _Settings,
    *,
    is_fake: bool,
    hint_without_kernels: str | None,
) -> Exit:
    """Report the captures and how the program ended."""
    if recording.variants:
        number = sum(recording.variants.values())
        kernels = plural(len(recording.variants), "kernel")
        output.note(f"captured {plural(number, 'variant')} of {kernels} in {directory}")
        tuned = _show_program(directory)
        if tuned and is_fake:
            output.note(
                "autotuners timed nothing without a GPU; "
                f"rank all configurations with  irlens inspect {directory}"
            )
        _note_recompiled(directory)
        output.note(f"browse {'it' if number == 1 else 'them'} with  irlens tui {directory}")
    _report_failures(recording)
    hint = None if recording.variants else "it had compiled no Triton kernel by then"
    if hint is not None and any(run.helion for run in recording.runs):
        hint = hint_without_kernels = _HELION
    for run in recording.runs:
        if run.stopped:
            again = settings.line(assumed=0.0, force=settings.force or directory.exists())
            zeros = f"{again}  goes on with zeros for what only a kernel computes"
            hints = [hint, zeros if settings.assumed is None and hint != _HELION else None]
            raise IrlensError(
                f"the program could not continue at {run.stopped}",
                hint="\n".join(filter(None, hints)) or None,
            )
        if run.code != 0:
            how = f"exited with code {run.code}" if run.code > 0 else f"died of signal {-run.code}"
            raise IrlensError(f"the program {how}", hint=hint)
    if not recording.variants:
        if recording.failures:
            raise IrlensError("none of the program's Triton kernels compiled")
        raise IrlensError("the program compiled no Triton kernel", hint=hint_without_kernels)
    return Exit.OK


def _show_program(directory: Path) -> bool:
    """Print where the time of a recording's kernels goes; return whether autotuners tried any."""
    from irlens.render.options import Options as View
    from irlens.render.text import write
    from irlens.render.view.program import program_view
    from irlens.session.programs import program_runs

    with output.status() as update:
        update("estimating times")
        runs = program_runs(directory, output.note)
    view = View(width=output.width(), color=output.use_color(sys.stderr), rows=_MOST_LISTED)
    click.echo(write(program_view(runs, view), view), nl=False, err=True)
    return any(run.candidates for run in runs)


def _note_recompiled(directory: Path) -> None:
    """Report the kernels that were launched in several variants, and what tells these apart."""
    from irlens.session.variants import recompiled

    with suppress(IrlensError):  # what is broken is reported where it is inspected
        kernels = recompiled(directory)
        for each in kernels[:_MOST_RECOMPILED]:
            names = [name for split in each.splits for name in split.names]
            shown = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
            why = f", told apart by {shown}" if names else ""
            output.note(f"{each.kernel} has {each.number} variants{why}")
        if kernels:
            left_out = len(kernels) - _MOST_RECOMPILED
            more = f"{plural(left_out, 'more kernel')}; " if left_out > 0 else ""
            output.note(f"{more}see  irlens variants {directory}")


#: Where the fake GPU does not answer all that Helion asks of its tensors.
_HELION = (
    "irlens cannot answer all that Helion asks of a GPU: run the program on one with\n"
    "HELION_PRINT_OUTPUT_CODE=1, save the code that it prints, and inspect that:\n"
    "irlens inspect FILE.py:_helion_NAME --arg x=fp32[1024, 1024] ..."
)


def _report_failures(recording: "Recording") -> None:
    """Report the kernels that did not compile; the program may have caught the exceptions."""
    if not recording.failures:
        return
    kernels = len({failure.kernel for failure in recording.failures})
    output.note(f"{plural(kernels, 'kernel')} did not compile:")
    for each in recording.failures[:_MOST_FAILURES]:
        reason = each.message.removeprefix(f"{each.kernel}: ")
        output.note(f"  {each.kernel}: {reason}")
    if (more := len(recording.failures) - _MOST_FAILURES) > 0:
        output.note(f"  and {plural(more, 'more failure')}")


def _hint_at_tests(program: Path) -> str | None:
    """Return a hint at the tests that a script defines and pytest would run."""
    from irlens.compiler.sources.running import defines_tests

    try:
        tree = ast.parse(program.read_bytes())
    except (OSError, *files.PARSE_ERRORS):
        return None
    if defines_tests(tree):
        return f"it defines tests; run them with  irlens record -m pytest {program}"
    return None


def _simplifications(recording: "Recording", times: str) -> Iterator[str]:
    """Yield the differences from a run on a GPU."""
    counts = [run.deviations for run in recording.runs]
    yield "launches were no-ops"
    yield from _unknown_numbers(counts, times)
    if compared := sum(each.compared for each in counts):
        yield f"{plural(compared, 'tensor comparison')} assumed true"
    if uncompiled := sum(each.uncompiled for each in counts):
        yield f"torch.compile left {plural(uncompiled, 'function')} uncompiled"
    if untimed := sum(each.untimed for each in counts):
        yield f"{plural(untimed, 'measurement')} of torch.compile assumed equal"
    if unsaved := sum(each.unsaved for each in counts):
        yield f"{plural(unsaved, 'call')} of torch.save wrote nothing, without the GPU's values"
    if unread := sum(each.unread for each in counts):
        yield f"torch.compile left {plural(unread, 'unknown constant')} in memory"
    if any(each.attention for each in counts):
        yield "attention assumed to use a flash or memory-efficient kernel"
    if any(each.memory for each in counts):
        yield "the GPU's memory assumed to be its product's, all of it free"
    if untracked := sum(each.blind for each in counts):
        yield f"{plural(untracked, 'Python process')} of the program untracked"


def _unknown_numbers(counts: "Sequence[Deviations]", times: str) -> Iterator[str]:
    """Yield what the program got for numbers that only a GPU knows."""
    if computed := sum(each.computed for each in counts):
        drawn = ", some from its random numbers" if any(each.drawn for each in counts) else ""
        yield f"{plural(computed, 'value')} computed on the CPU{drawn}"
    if unknown := sum(each.unknown for each in counts):
        yield (
            f"{plural(unknown, 'number')} that only kernels compute passed on as placeholders "
            "(NaN in JSON, NumPy and float())"
        )
    if timed := sum(each.timed for each in counts):
        yield f"{plural(timed, 'measured time')} {times}"
    if finite := sum(each.finite for each in counts):
        yield f"{plural(finite, 'check')} for NaN or infinity assumed to pass"
    if assumed := sum(each.assumed for each in counts):
        yield f"{plural(assumed, 'tensor')} of kernels assumed to hold the number of --assume"
