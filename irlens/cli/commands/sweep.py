"""``irlens sweep``: compile a grid of configurations and show which fit."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from irlens.cli import Exit, new_session, options, output
from irlens.cli.output import interruptible, write_json
from irlens.cli.settings import received_as
from irlens.cli.writing import Writing, every_row_option, shown_rows, write, writing_options
from irlens.model.errors import IrlensError
from irlens.session import Configurations

if TYPE_CHECKING:  # they load the compiler layer
    from irlens.compiler import Device, Request
    from irlens.model.sweep import ProviderName, Sweep, Trial
    from irlens.session.session import Session
    from irlens.sweeps.run import CompiledGrid
    from irlens.sweeps.selection import Selection
    from irlens.sweeps.worker_pool import WorkerPool

_HELP = """Compile a grid of configurations of KERNEL and show which is the fastest, and which fit.

KERNEL is anything that `irlens inspect` compiles: a sample's name, path/file.py:kernel or
package.module:kernel. Every option with several values is an axis; the configurations of an
autotuned kernel provide the values of the other options. Ranges: 1..5, 0..64..16,
16..256..x2, 2^12..2^27. --triton 3.6.0,3.9.0 compiles each configuration with both.

--where selects the configurations to compile. It may use every constexpr, compile option,
size and argument, and the limits of the target: arch, sm_count, registers_per_sm,
shared_per_sm, shared_per_block_optin, ... (`irlens targets --format json` lists all).

--filter selects results and --sort orders them. They use: occupancy (0..1), blocks_per_sm,
registers, local_bytes, shared_bytes, stages_achieved, stages_at_most, stages_requested,
bytes_in_flight_per_sm, live_registers, instructions, code_bytes, flops, floor_us,
distinct_read_bytes, distinct_written_bytes, ..., and with --measure time_ms, gb_per_s,
tflop_per_s, roofline_share. Unknown values never match. Default order: configurations that
fit, the fastest first, by the measured time if there is one and else by the estimate; without
times the least local memory, the highest occupancy, the deepest pipeline. Where a size varies
(--arg n_cols=256..12672..128), sizes come first; --arg N=M gives one size the value of another.

--rank FIGURE puts the best values of one figure first: `--rank time` the estimated time, which
needs no GPU. --top N keeps the first N on each target, sums up why the others lost, and has
--measure time only these.

More than 64 sizes are not compiled one by one: irlens evaluates those at which the time bends,
unless --all or an option that needs each is given. --emit FILE.py writes the fastest
configurations as a list for @triton.autotune, and over a size as a function of it.

--measure launches what fits, checks its results against the kernel's reference, and times it.
--against times the reference on the same inputs: in PyTorch's eager mode, compiled by
torch.compile, and the naive form that the kernel's description names. GB/s are the kernel's
distinct bytes over the time, TFLOP/s its operations, and the roofline share is its floor.

Compiled kernels are stored. The same command resumes an interrupted sweep; times are reused
only on the same GPU with the same driver.

Exits with 0 if some configuration fits, 1 if none does.

\b
irlens sweep matmul --target a100,h100
irlens sweep matmul --num-stages 1..5 --num-warps 4,8 --set BLOCK_SIZE_M=64,128 \\
    --set BLOCK_SIZE_K=32..128..x2 --where "BLOCK_SIZE_M * BLOCK_SIZE_K <= 16384"
irlens sweep matmul --num-stages 1..5 --filter "occupancy >= 0.25 and local_bytes == 0" \\
    --sort=-stages_achieved,registers --prune-list configs.json
irlens sweep matmul --num-stages 2..4 --num-warps 4,8 --rank time --top 8 --measure
irlens sweep softmax --arg n_cols=256..12672..128 --measure --against eager,compile,naive
irlens sweep vector_add --arg n_elements=2^12..2^27
irlens sweep matmul --arg M=256..8192..16 --arg N=M --arg K=M --emit choose.py
irlens sweep my_kernels.py:attention --num-warps 4,8 --measure --format csv
"""
#: Table rows on a terminal without --all.
_ROWS = 30


class _Settings(msgspec.Struct, frozen=True):
    kernel: str
    selection: Configurations
    where: tuple[str, ...]
    filters: tuple[str, ...]
    sort: tuple[str, ...]
    rank: str | None
    top: int | None
    jobs: int | None
    timeout: float | None
    cluster: str | None
    measure: bool
    against: "tuple[ProviderName, ...]"
    prune_list: Path | None
    emit: Path | None
    everything: bool
    writing: Writing

    @property
    def wants_each(self) -> bool:
        """Whether something is asked for that needs every configuration compiled in full."""
        selects = (*self.where, *self.filters, *self.sort, self.top, self.prune_list)
        other = self.rank not in (None, "time") or self.cluster is not None
        return self.measure or self.everything or other or any(selects)


def _providers(
    _ctx: click.Context, _option: click.Parameter, text: str | None
) -> "tuple[ProviderName, ...]":
    from irlens.model.sweep import PROVIDERS

    names = {name.strip() for name in (text or "").split(",")} - {""}
    if unknown := sorted(names - set(PROVIDERS)):
        raise click.BadParameter(f"'{unknown[0]}' is not one of {', '.join(PROVIDERS)}")
    return tuple(name for name in PROVIDERS if name in names)


@click.command(help=_HELP)
@click.argument("kernel", shell_complete=options.complete_kernels)
@options.config_options(ranges=True)
@click.option(
    "--where", metavar="EXPR", multiple=True, help="Compile only matching configurations."
)
@click.option(
    "--filter", "filters", metavar="EXPR", multiple=True, help="Show only matching results."
)
@click.option(
    "--sort",
    metavar="[-]FIGURE,...",
    shell_complete=options.completing("figures"),
    callback=options.split_names,
    help="Sort the results of each target; a minus sorts in descending order.",
)
@click.option(
    "--rank",
    metavar="FIGURE",
    shell_complete=options.completing("figures"),
    help="Rank the results by a figure, the best first: time, ...",
)
@options.count_option(
    "--top", "Keep the first N results that fit on each target, and time only these."
)
@options.jobs_option
@click.option(
    "--timeout",
    type=options.Seconds(),
    metavar="SECONDS",
    help="Abandon a configuration that takes longer to compile, and report it.",
)
@click.option(
    "--cluster", metavar="ADDRESS", help="Compile on a Dask cluster: tcp://scheduler:8786."
)
@click.option(
    "--measure", is_flag=True, help="Also time the configurations that fit, on this machine's GPU."
)
@click.option(
    "--against",
    metavar="NAME,...",
    callback=_providers,
    help="Also time PyTorch on the same inputs: eager, compile, naive. With --measure.",
)
@options.file_option(
    "--prune-list",
    tells="Write the configurations that fit on every target, as JSON for triton.Config.",
)
@options.file_option(
    "--emit",
    tells="Write the fastest configurations for a program to use (.py), or as a list (.json).",
)
@every_row_option
@writing_options("sweep")
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Sweep one kernel."""
    _check(settings)
    from irlens.session.grids import samples_sizes, time_over_sizes
    from irlens.session.size_choice import choice_text, require_choice

    if settings.emit is not None:
        require_choice(settings.emit)
        output.require_writable(settings.emit)
    session, kernel = new_session(), settings.kernel
    if not settings.wants_each and samples_sizes(settings.selection):
        with output.progress("evaluating") as show:
            result = time_over_sizes(
                session, kernel, settings.selection, jobs=settings.jobs, progress=show
            )
    else:
        result = _swept(session, settings)
    if settings.emit is not None:
        output.write(choice_text(result, settings.emit), settings.emit)
    rows = shown_rows(None if settings.everything else _ROWS, settings.writing)
    named = options.as_typed([kernel], settings.selection)
    write(result, "sweep", settings.writing, rows=rows, named=named)
    return Exit.OK if any(each.outcome == "fits" for each in result.trials) else Exit.DIFFERENCE


def _swept(session: "Session", settings: _Settings) -> "Sweep":
    """Compile every configuration, and time those that fit if asked to."""
    from irlens.session.grids import compile_sweep, requests_of, with_listed_values
    from irlens.sweeps.measuring import require_device
    from irlens.sweeps.run import build_sweep
    from irlens.sweeps.selection import Selection
    from irlens.sweeps.selection import prune_list as fitting

    kernel = settings.kernel
    selection = msgspec.convert(settings, Selection, from_attributes=True)
    requests = requests_of(session, kernel, with_listed_values(settings.selection))
    device = require_device(requests) if settings.measure else None
    with interruptible("compiling", "done") as update:
        workers, timeout = _workers(settings), settings.timeout
        grid = compile_sweep(session, requests, selection, workers, update, timeout=timeout)
    with grid.journal:
        if device is not None:
            trials = _measure_all(grid, selection, requests, device, settings.against)
            grid = msgspec.structs.replace(grid, trials=trials)
        grid.journal.remove()
    result = build_sweep(grid, selection, device.label if device else None)
    if settings.prune_list is not None:
        write_json(fitting(grid.trials, result.trials), settings.prune_list)
    return result


def _check(settings: _Settings) -> None:
    """Raise ``UsageError`` for options that exclude each other or have no effect."""
    if settings.cluster is not None:
        _check_cluster(settings)
    if settings.against and not settings.measure:
        raise click.UsageError("--against needs --measure")
    if settings.rank is not None and settings.sort:
        raise click.UsageError("--rank orders the results: it does not go with --sort")
    if str(settings.prune_list) == "-" and str(settings.writing.destination or "-") == "-":
        raise click.UsageError(
            "--prune-list - and the report would both go to stdout: give one of them a file"
        )


def _check_cluster(settings: _Settings) -> None:
    """Raise ``UsageError`` for options that have no effect on a cluster."""
    if settings.timeout is not None:
        raise click.UsageError("--timeout has no effect with --cluster: Dask stops no running task")
    if settings.jobs is not None:
        raise click.UsageError("--jobs has no effect with --cluster, which has its own workers")
    if settings.selection.tritons:
        raise click.UsageError(
            "--triton and --python have no effect with --cluster: its workers use their own Triton"
        )


def _measure_all(
    grid: "CompiledGrid",
    selection: "Selection",
    requests: "Sequence[Request]",
    device: "Device",
    against: "Sequence[ProviderName]",
) -> "list[Trial]":
    from irlens.sweeps.measuring import JournalTimes, measure_trials
    from irlens.sweeps.run import outranked_trials

    known = JournalTimes(grid.journal, device, against)
    if known.other_benches:
        others = "; ".join(known.other_benches)
        output.note(f"repeating times that were taken on another GPU or driver: {others}")
    try:
        with interruptible("measuring", "timed", resumes=known.resumable) as update:
            return measure_trials(
                grid.trials, selection.filters, requests[0].kernel, device, known, update,
                left_out=outranked_trials(grid, selection), requests=requests,
            )  # fmt: skip
    except IrlensError:
        grid.journal.remove()  # the sweep is complete, though without times
        raise


def _workers(settings: _Settings) -> "WorkerPool":
    if settings.cluster is not None:
        from irlens.sweeps.cluster import ClusterPool

        return ClusterPool(settings.cluster)
    from irlens.sweeps.worker_pool import LocalPool

    return LocalPool(settings.jobs)
