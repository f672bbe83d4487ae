"""``irlens scan``: a row of figures for each capture of a cache, whatever its size."""

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from irlens.cli import Exit, new_session, output
from irlens.cli.options import JOBS, refuse, split_names
from irlens.cli.settings import received_as
from irlens.cli.writing import (
    Writing,
    every_row_option,
    is_on_terminal,
    shown_rows,
    write,
    writing_options,
)
from irlens.model.text import count
from irlens.render import check_format, is_streamed, stream

if TYPE_CHECKING:  # running the command loads them
    from irlens.artifacts.entries import Broken
    from irlens.session.scan import Request, Scanner

_HELP = """List the captures in DIRs with their figures, and sum them up.

DIR is a Triton cache, TorchInductor's tree of caches, irlens's store, a directory of
captures, or a trace of tritonparse (NAME.ndjson); by default it is Triton's own cache,
$TRITON_CACHE_DIR or ~/.triton/cache. Nothing is compiled, and only what the selected
columns need is read: registers and occupancy need Triton's metadata and the binary;
pipelines and findings parse the code.

--columns takes path, kernel, target, triton, findings, sha256, and every figure by a name
that budgets and sweeps use (`irlens explain FIGURE`). --where takes conditions as budgets
have them; a condition on pipelines selects captures where any pipeline meets it. Unknown
values never match.

csv and jsonl write each row as soon as it is known, in the order of the paths unless
--sort is given; jsonl without --columns writes full reports. parquet has the rows of csv,
with types. The other formats sum up; there, the kernel that is estimated to take longest
comes first, and within a kernel the fastest configuration, unless --sort is given.

--group kernel lists the captures of each kernel that there are several of instead, and what
they differ by: an argument that is divisible by 16 in one alone, a constexpr, num_warps. DIRs
may be two entries of a cache.

An entry that cannot be read is reported on stderr and skipped; a link to a directory is
not followed. Exits with 0, or with 2 if anything was skipped.

\b
irlens scan
irlens scan ~/.triton/cache --where "local_bytes > 0" --sort=-local_bytes
irlens scan ~/.triton/cache -f csv --columns kernel,target,registers,occupancy
irlens scan ci/before ci/after -o reports.jsonl
irlens scan ~/.triton/cache --group kernel
"""
#: Table rows on a terminal without --all.
_ROWS = 30
_MAX_SHOWN = 20


class _Settings(msgspec.Struct, frozen=True):
    directories: tuple[Path, ...]
    where: tuple[str, ...]
    sort: tuple[str, ...]
    columns: tuple[str, ...]
    jobs: int | None
    cluster: str | None
    everything: bool
    group: str | None
    writing: Writing


def _triton_cache() -> Path:
    """Return where Triton keeps what it compiles."""
    home = Path(os.environ.get("TRITON_HOME") or "~").expanduser()
    return Path(os.environ.get("TRITON_CACHE_DIR") or home / ".triton" / "cache")


def _only_directories(
    context: click.Context, parameter: click.Parameter, paths: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Return directories and traces, by default Triton's cache; refuse any other path."""
    from irlens.artifacts.entries import is_trace

    if not paths and not context.resilient_parsing:
        cache = _triton_cache()
        if not cache.is_dir():
            raise click.UsageError(
                f"missing argument 'DIR...': Triton has no cache here, {cache}", context
            )
        output.note(f"scanning {cache}")
        return (cache,)
    for path in paths:
        if not path.is_dir() and not is_trace(path.name):
            raise click.BadParameter(f"'{path}' is neither a directory nor a trace (NAME.ndjson)")
    return paths


@click.command(help=_HELP)
@click.argument(
    "directories",
    metavar="[DIR]...",
    nargs=-1,
    type=click.Path(path_type=Path, exists=True),
    callback=_only_directories,
)
@click.option("--where", metavar="EXPR", multiple=True, help="Show only matching captures.")
@click.option(
    "--sort",
    metavar="[-]COLUMN,...",
    callback=split_names,
    help="Sort by these columns; a minus sorts in descending order.",
)
@click.option(
    "--columns", metavar="NAME,...", callback=split_names, help="Show these columns, in this order."
)
@click.option(
    "-j",
    "--jobs",
    type=JOBS,
    metavar="N",
    help="Use N worker processes.  [default: number of cores, 1 if no code is parsed]",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Read on a Dask cluster that sees DIRs under the same paths: tcp://scheduler:8786.",
)
@click.option(
    "--group",
    type=click.Choice(["kernel"]),
    help="List what the captures of each kernel differ by.",
)
@every_row_option
@writing_options("scan")
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Scan directories."""
    if settings.group is not None:
        return _grouped(settings)
    form = settings.writing.form
    if settings.cluster is not None and settings.jobs is not None:
        raise click.UsageError("--jobs has no effect with --cluster, which has its own workers")
    if is_streamed(form, "scan") and settings.writing.summary:
        raise click.UsageError(f"--summary has no effect with --format {form}")
    if form == "parquet" and is_on_terminal(settings.writing):
        raise click.UsageError("parquet is not text: name a file with -o, or redirect stdout")
    return _scan(_request(settings), settings)


def _grouped(settings: _Settings) -> Exit:
    """Write what the captures of each kernel differ by."""
    from irlens.session import Configurations
    from irlens.session.variants import variants_of

    given = {
        "--where": bool(settings.where), "--sort": bool(settings.sort),
        "--columns": bool(settings.columns), "--jobs": settings.jobs is not None,
        "--cluster": settings.cluster is not None,
    }  # fmt: skip
    refuse(given, "has no effect with --group")
    check_format(settings.writing.form, "variants")
    named = [str(each) if each.is_absolute() else f"./{each}" for each in settings.directories]
    variants = variants_of(new_session(), named, Configurations())
    rows = shown_rows(None if settings.everything else _ROWS, settings.writing)
    write(variants, "variants", settings.writing, rows=rows)
    return Exit.OK


def _scan(request: "Request", settings: _Settings) -> Exit:
    """Scan, on a cluster if one is named; the first skipped entries are reported one by one."""
    from irlens.session.scan import Scanner

    writing = settings.writing
    streams = is_streamed(writing.form, "scan")

    def note(broken: "Broken") -> None:
        if scanner.skipped <= _MAX_SHOWN:
            output.note(f"skipped {broken.path}: {broken.reason}")

    with ExitStack() as stack:
        if settings.cluster is not None:
            from irlens.sweeps.cluster import ClusterPool

            pool = ClusterPool(settings.cluster)
            stack.callback(pool.stop)
            request = replace(request, cluster=pool)
        # Rows on the same terminal are progress enough.
        hidden = (streams and is_on_terminal(writing)) or not sys.stderr.isatty()
        show = None if hidden else stack.enter_context(output.progress("scanning"))
        scanner = Scanner(request, note, show)
        if streams:
            names = [column.name for column in request.columns]
            records = _reports(scanner) if request.reports else _rows(scanner, request)
            output.write_stream(stream(writing.form, names, records), writing.destination)
        else:
            document = scanner.document(settings.where)
    if not streams:
        rows = shown_rows(None if settings.everything else _ROWS, writing)
        named = shlex.join(map(str, request.roots))
        write(document, "scan", writing, rows=rows, named=named)
    if scanner.skipped:
        shown = f", {count(_MAX_SHOWN)} of them shown" if scanner.skipped > _MAX_SHOWN else ""
        output.note(f"{count(scanner.skipped)} skipped{shown}")
    return Exit.TROUBLE if scanner.skipped else Exit.OK


def _request(settings: _Settings) -> "Request":
    from irlens.session.scan import Request
    from irlens.session.scan.columns import DEFAULT, SUMMED_UP

    form, names = settings.writing.form, settings.columns
    sums_up = not is_streamed(form, "scan")
    reports = form == "jsonl" and not names
    default = SUMMED_UP if sums_up else () if reports else DEFAULT
    return Request.parse(
        settings.directories,
        names or default,
        settings.where,
        settings.sort,
        reports=reports,
        sums_up=sums_up,
        jobs=settings.jobs,
    )


def _rows(scanner: "Scanner", request: "Request") -> Iterator[Mapping[str, object]]:
    for values in scanner.rows():
        yield {column.name: values[column.key] for column in request.columns}


def _reports(scanner: "Scanner") -> Iterator[Mapping[str, object]]:
    for path, report in scanner.reports():
        yield {"path": path, "report": report}
