"""``irlens check``: compare current figures with a checked-in baseline and budgets."""

from pathlib import Path

import click
import msgspec

from irlens.cli import Exit, load_inspection, new_session, output
from irlens.cli.options import complete_kernels, config_options, file_option
from irlens.cli.settings import received_as
from irlens.cli.writing import Writing, write, writing_options
from irlens.session import Configurations

_HELP = """Fail if a kernel lost occupancy, launchability or pipeline stages, or breaks a budget.

Compares with irlens.baseline.json, which --update writes and you check in, and with the
budgets in pyproject.toml. Without KERNEL, checks every kernel that these name; no GPU is
needed. KERNEL is anything `irlens inspect` accepts; without options it selects its entries
in the baseline. Nothing is launched without --run.

\b
[tool.irlens.check]
kernels = ["softmax", "kernels/mine.py:attention"]
targets = ["a100", "h100"]

\b
[tool.irlens.budgets]
"*" = ["launchable", "local_bytes == 0"]
softmax = "pipeline.achieved >= requested"
"matmul*".h100 = ["occupancy >= 0.125", "time.estimate_us <= 1.05 * baseline"]

The first key is a pattern for kernels, the second one for targets; every matching budget
must hold. Figures have the names of the JSON report; `baseline` is the baseline's value.
An unknown figure fails its budget, and so does a budget that matches nothing.

"variants <= 3" counts what the launches of [tool.irlens.launches] need: attention =
{tokens = "1..131072"}; of a cache or a recording, what is there. [tool.irlens.limits] has
sizes up to which nothing may break, as `irlens limits` finds it: attention =
{tokens = 1_000_000}.

New errors fail the check, such as an access outside of a tensor. More registers, spills and
new warnings are reported but do not; with --strict any figure that differs from the baseline
does. Exits with 0 if the check passes, 1 if it fails.

\b
irlens check softmax matmul --target h100,mi300x --update
irlens check
irlens check ~/.triton/cache --format markdown
"""


class _Settings(msgspec.Struct, frozen=True):
    kernels: tuple[str, ...]
    selection: Configurations
    update: bool
    file: Path | None
    strict: bool
    writing: Writing


@click.command(help=_HELP)
@click.argument("kernels", metavar="[KERNEL]...", nargs=-1, shell_complete=complete_kernels)
@config_options(run=True)
@click.option("--update", is_flag=True, help="Rewrite the baseline and list the changes.")
@file_option(
    "--baseline",
    "file",
    tells="Use this baseline.  [default: irlens.baseline.json next to pyproject.toml]",
)
@click.option("--strict", is_flag=True, help="Fail if any figure differs from the baseline.")
@writing_options("check")
@received_as(_Settings)
def command(settings: _Settings) -> Exit:
    """Check the kernels of the command line or the project."""
    from irlens.session.baselines import CheckRequest, run_check

    request = CheckRequest(
        kernels=settings.kernels,
        configurations=settings.selection,
        file=settings.file,
        update=settings.update,
        strict=settings.strict,
    )
    checked = run_check(request, new_session(load_inspection))
    if settings.update:
        _replace(checked.path, checked.baseline)
    write(checked.check, "check", settings.writing)
    return Exit.DIFFERENCE if checked.check.outcome == "failed" else Exit.OK


def _replace(path: Path, content: bytes) -> None:
    """Write the baseline unless its content is unchanged."""
    if not path.is_file() or path.read_bytes() != content:
        output.write(content, path)
