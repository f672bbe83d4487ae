"""``irlens sweep``: which configurations of a kernel fit, and what each comes to."""

import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click
import msgspec

from irlens.cli import completing, output
from irlens.cli.exits import Exit
from irlens.cli.options import Asked, ConfigOptions, asked_configs, config_options
from irlens.cli.progress import Tell, progress
from irlens.cli.records import write_json
from irlens.cli.writing import WritingOptions, write, writing_options
from irlens.model.errors import IrlensError
from irlens.model.text import count

if TYPE_CHECKING:  # they load what compiles
    from irlens.compiler import Device, Request
    from irlens.model.sweep import Trial
    from irlens.sweep.crew import Crew
    from irlens.sweep.run import Tried, Wishes

_HELP = """Compile a grid of configurations of KERNEL and show which fit.

KERNEL is what `irlens inspect` compiles: a sample's name, path/file.py:kernel or
package.module:kernel. Every option with several values is an axis; of an autotuned kernel
what they leave open is taken from its own configurations. Ranges: 1..5, 0..64..16,
16..256..x2. With --triton 3.6.0,3.9.0 each is compiled by both.

--where chooses what to compile. It may use every constexpr, compile option, size and
argument, and what is known of the target: arch, sm_count, registers_per_sm, shared_per_sm,
shared_per_block_optin, ... (`irlens targets --format json` has all).

--filter chooses among the results and --sort orders them. They use: occupancy (0..1),
blocks_per_sm, registers, local_bytes, shared_bytes, stages_achieved, stages_at_most,
stages_requested, bytes_in_flight_per_sm, live_registers, instructions, code_bytes, and after
--measure time_ms. What is unknown meets no condition. Without --sort: what fits first, then
the fastest, the least local memory, the highest occupancy, the deepest pipeline.

What is compiled is stored. A sweep that is interrupted goes on where it was when the same
command is given again; times go on only on the same GPU under the same driver.

Exits with 0 if some configuration fits, 1 if none does.

\b
irlens sweep matmul --target a100,h100
irlens sweep matmul --num-stages 1..5 --num-warps 4,8 --set BLOCK_SIZE_M=64,128 \\
    --set BLOCK_SIZE_K=32..128..x2 --where "BLOCK_SIZE_M * BLOCK_SIZE_K <= 16384"
irlens sweep matmul --num-stages 1..5 --filter "occupancy >= 0.25 and local_bytes == 0" \\
    --sort=-stages_achieved,registers --prune-list configs.json
irlens sweep my_kernels.py:attention --num-warps 4,8 --measure --format csv
"""
#: Even to plan so many takes minutes.
_MOST = 100_000
#: Rows of a table that are shown on a terminal without --all.
_ROWS = 30


class _Options(ConfigOptions, WritingOptions):
    """Those that this command shares with others."""


def _keys(_ctx: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...]:
    return tuple(key.strip() for key in text.split(",") if key.strip()) if text else ()


@click.command(help=_HELP, short_help="Compile a grid of configurations and show which fit.")
@click.argument("kernel", shell_complete=completing.kernels)
@config_options
@click.option("--where", metavar="EXPR", multiple=True, help="Compile only what meets this.")
@click.option(
    "--filter", "filters", metavar="EXPR", multiple=True, help="Show only results that meet this."
)
@click.option(
    "--sort",
    metavar="[-]FIGURE,...",
    callback=_keys,
    help="Order within a target; a minus is for the largest first.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Worker processes.  [default: as many as there are cores]",
)
@click.option(
    "--cluster", metavar="ADDRESS", help="Let a Dask cluster do the work: tcp://scheduler:8786."
)
@click.option("--measure", is_flag=True, help="Also time what fits, on the GPU of this machine.")
@click.option(
    "--prune-list",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write what fits, on every target, as JSON for triton.Config.",
)
@click.option("--all", "everything", is_flag=True, help="Show every row on a terminal, too.")
@writing_options("sweep")
def command(
    kernel: str,
    where: tuple[str, ...],
    filters: tuple[str, ...],
    sort: tuple[str, ...],
    jobs: int | None,
    cluster: str | None,
    measure: bool,
    prune_list: Path | None,
    everything: bool,
    **options: Unpack[_Options],
) -> Exit:
    """Sweep one kernel."""
    from irlens.cli.subject import find_requests, is_compiled, require_triton
    from irlens.sweep.measuring import require_device
    from irlens.sweep.pruning import prune_list as fitting
    from irlens.sweep.run import Wishes, assemble

    if is_compiled(kernel):
        raise IrlensError(
            f"{kernel} is compiled already: there is nothing to choose",
            hint="name the kernel's source, or look at it with `irlens inspect`",
        )
    if cluster is not None and jobs is not None:
        raise click.UsageError("--jobs has no effect beside --cluster, which has its own workers")
    if str(prune_list) == "-" and str(options["destination"] or "-") == "-":
        raise click.UsageError(
            "--prune-list - and the report would both go to stdout: give one of them a file"
        )
    asked = asked_configs(options)
    if cluster is not None and asked.tritons:
        raise click.UsageError(
            "--triton and --python have no effect beside --cluster: its workers compile with theirs"
        )
    wishes = Wishes(where=where, filters=filters, sort=sort)
    _check_number(asked)
    requests = list(find_requests(kernel, asked))
    device = require_device(requests) if measure else None
    for triton in asked.tritons:
        require_triton(triton)
    tried = _try_all(requests, wishes, cluster, jobs)
    with tried.journal:
        if device is not None:
            trials = _measure_all(tried, filters, kernel, device)
            tried = msgspec.structs.replace(tried, trials=trials)
        tried.journal.forget()
    found = assemble(tried, wishes, device.called if device else None)
    if prune_list is not None:
        write_json(fitting(tried.trials, found.trials), prune_list)
    on_terminal = options["destination"] is None and sys.stdout.isatty()
    write(found, "sweep", options, rows=_ROWS if on_terminal and not everything else None)
    return Exit.OK if any(each.outcome == "fits" for each in found.trials) else Exit.DIFFERENCE


def _check_number(asked: Asked) -> None:
    compilers = [asked.targets or (None,), asked.tritons or (None,)]
    axes = [*compilers, *(values for _, values in (*asked.settings, *asked.args))]
    number = math.prod(len(values) for values in axes)
    if number > _MOST:
        raise IrlensError(
            f"that makes {count(number)} configurations, and a sweep takes up to {count(_MOST)}",
            hint="name fewer values: --where, too, looks at every combination",
        )


def _try_all(
    requests: "list[Request]", wishes: "Wishes", cluster: str | None, jobs: int | None
) -> "Tried":
    from irlens.sweep.run import try_all

    crew = _crew(cluster, jobs)
    try:
        with _interruptible("compiling", "done") as tell:
            return try_all(requests, crew, wishes, tell)
    finally:
        crew.stop()


def _measure_all(
    tried: "Tried", filters: Sequence[str], kernel: str, device: "Device"
) -> "list[Trial]":
    from irlens.sweep.measuring import Known, measured

    known = Known(tried.journal, device)
    if known.elsewhere:
        others = "; ".join(known.elsewhere)
        output.note(f"irlens: timing again what was timed on another GPU or driver: {others}")
    try:
        with _interruptible("measuring", "timed", resumes=known.lasting) as tell:
            return measured(tried.trials, filters, kernel, device, known, tell)
    except IrlensError:
        tried.journal.forget()  # it came to its end, if to no time
        raise


@contextmanager
def _interruptible(label: str, word: str, *, resumes: bool = True) -> Iterator[Tell]:
    """Show progress, and say how far it came if it is interrupted.

    Args:
        label: What goes on: "compiling".
        word: What is said of those that are done: "timed".
        resumes: Whether the same command goes on from there.
    """
    reached = (0, 0)
    try:
        with progress(label) as show:

            def tell(done: int, total: int) -> None:
                nonlocal reached
                reached = done, total
                show(done, total)

            yield tell
    except KeyboardInterrupt:
        number, total = reached
        if total:
            goes_on = "; the same command goes on from there" if resumes else ""
            output.note(f"irlens: {number} of {total} are {word}{goes_on}")
        raise


def _crew(cluster: str | None, jobs: int | None) -> "Crew":
    if cluster is not None:
        from irlens.sweep.cluster import ClusterCrew

        return ClusterCrew(cluster)
    from irlens.sweep.crew import LocalCrew

    return LocalCrew(jobs or len(os.sched_getaffinity(0)))
