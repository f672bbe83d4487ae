"""``irlens check``: compare current figures with a checked-in baseline and budgets."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click
import msgspec

from irlens.cli import Exit, output
from irlens.cli.options import complete_kernels, kernel_options, selected
from irlens.cli.writing import ReportOptions, write, writing_options
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.session.subject import Configurations, is_compiled

if TYPE_CHECKING:  # help needs none of it
    from irlens.check.baseline import Baseline, Recipe
    from irlens.check.pairing import RecipeResult
    from irlens.check.project import Project
    from irlens.cli.recipes import KernelNames

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

More registers, spills and new findings are reported but do not fail the check; with
--strict any difference from the baseline does. Exits with 0 if the check passes, 1 if it
fails.

\b
irlens check softmax matmul --target h100,mi300x --update
irlens check
irlens check ~/.triton/cache --format markdown
"""


@click.command(help=_HELP)
@click.argument("kernels", metavar="[KERNEL]...", nargs=-1, shell_complete=complete_kernels)
@kernel_options
@click.option("--update", is_flag=True, help="Rewrite the baseline and list the changes.")
@click.option(
    "--baseline",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Use this baseline.  [default: irlens.baseline.json next to pyproject.toml]",
)
@click.option("--strict", is_flag=True, help="Fail on any difference from the baseline.")
@writing_options("check")
def command(
    kernels: tuple[str, ...],
    update: bool,
    file: Path | None,
    strict: bool,
    **options: Unpack[ReportOptions],
) -> Exit:
    """Check the kernels of the command line or the project."""
    from irlens.check import check
    from irlens.check import project as projects
    from irlens.check.baseline import NAME, read, written
    from irlens.check.project import Requirements
    from irlens.cli.recipes import KernelNames, canonicalize

    project = projects.find(Path.cwd())
    path = file.absolute() if file is not None else project.baseline
    baseline = read(path)
    if baseline is None and not update and path != project.root / NAME:
        raise IrlensError(
            f"there is no {os.path.relpath(path)}",
            hint="create it with `irlens check KERNEL --update`",
        )
    names = KernelNames(project.root)
    if baseline is not None:
        baseline = _note_duplicates(baseline, canonicalize(baseline, names))
    chosen = _choose(kernels, selected(options), baseline, project, names, update=update)
    result, renewed = check(
        _make_all(chosen, baseline, names, selected(options), update=update),
        Requirements(
            baseline=baseline,
            baseline_file=os.path.relpath(path, project.root),
            budgets=project.budgets,
            whole_project=not kernels,
            strict=strict or project.strict,
            update=update,
        ),
    )
    if update:
        _replace(path, written(renewed))
    write(result, "check", options)
    return Exit.DIFFERENCE if result.outcome == "failed" else Exit.OK


def _choose(
    kernels: Sequence[str],
    configurations: Configurations,
    baseline: "Baseline | None",
    project: "Project",
    names: "KernelNames",
    *,
    update: bool,
) -> "list[Recipe]":
    """Return the recipes to check: those of the command line, or of the baseline and project."""
    from irlens.cli.recipes import from_root, recipes, to_cwd

    if len(configurations.tritons) > 1:
        raise click.UsageError("a check uses one Triton: name one")
    has_options = msgspec.structs.replace(configurations, tritons=(), run=None) != Configurations()
    known = _recipes_of(baseline)
    chosen: list[Recipe] = []
    if not kernels:
        if has_options:
            raise click.UsageError("options select configurations of a KERNEL: name one")
        chosen += known
        targeted = Configurations(targets=project.targets)
        for named in project.kernels:
            kernel = to_cwd(named, project.root)
            chosen += recipes(kernel, Configurations() if is_compiled(kernel) else targeted, names)
    for kernel in kernels:
        name = names.canonical(from_root(kernel, project.root))
        own = [recipe for recipe in known if recipe.kernel == name]
        chosen += own if own and not has_options else recipes(kernel, configurations, names)
    if not chosen:
        raise IrlensError(
            "no kernel to check",
            hint="create a baseline with `irlens check KERNEL --update`; see `irlens check --help`",
        )
    if baseline is None and not project.budgets and not update:
        raise IrlensError(
            f"nothing to check against: no {project.baseline.name} and no [tool.irlens.budgets]",
            hint="create a baseline with `irlens check KERNEL --update`",
        )
    return chosen


def _make_all(
    chosen: "Sequence[Recipe]",
    baseline: "Baseline | None",
    names: "KernelNames",
    configurations: Configurations,
    *,
    update: bool,
) -> "list[RecipeResult]":
    """Return the reports of each distinct recipe.

    A recipe of the baseline that fails is a result. ``--update`` removes recipes whose source is
    gone from the baseline, but raises the error of a broken one.
    """
    from irlens.check.pairing import RecipeResult
    from irlens.cli.recipes import is_gone, make
    from irlens.session.session import Session

    session = Session(output.note)
    known = _recipes_of(baseline)
    if any(recipe.target is not None for recipe in chosen):
        session.require_triton(configurations.tritons[0] if configurations.tritons else None)
    results: list[RecipeResult] = []
    for recipe in chosen:
        if any(recipe == result.recipe for result in results):
            continue
        try:
            made = make(recipe, names, configurations, session)
        except IrlensError as error:
            gone = isinstance(error, UnknownNameError) or is_gone(recipe, names.root)
            if recipe not in known or (update and not gone):
                raise
            made = RecipeResult(recipe=recipe, failure=error.message)
        # A recipe without a target has one now, and may equal an earlier one.
        if all(made.recipe != result.recipe for result in results):
            results.append(made)
    return results


def _recipes_of(baseline: "Baseline | None") -> "list[Recipe]":
    return [entry.recipe for entry in baseline.entries] if baseline is not None else []


def _note_duplicates(before: "Baseline", after: "Baseline") -> "Baseline":
    """Return the canonicalized baseline, and report the names that it no longer has."""
    if len(after.entries) < len(before.entries):
        aliases = {entry.recipe.kernel for entry in before.entries}
        aliases -= {entry.recipe.kernel for entry in after.entries}
        output.note(
            f"the baseline lists the same kernels under several names; "
            f"entries under {', '.join(sorted(aliases))} count once"
        )
    return after


def _replace(path: Path, content: bytes) -> None:
    """Write the baseline unless its content is unchanged."""
    if not path.is_file() or path.read_bytes() != content:
        output.write(content, path)
