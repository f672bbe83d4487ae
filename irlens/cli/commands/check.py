"""``irlens check``: a checked-in baseline and budgets, held against what is compiled now."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click
import msgspec

from irlens.cli import completing, output
from irlens.cli.exits import Exit
from irlens.cli.options import Asked, KernelOptions, asked, kernel_options
from irlens.cli.writing import WritingOptions, write, writing_options
from irlens.model.errors import IrlensError, UnknownNameError

if TYPE_CHECKING:  # help needs none of it
    from irlens.check.baseline import Baseline, Recipe
    from irlens.check.pairing import RecipeResult
    from irlens.check.project import Project
    from irlens.cli.recipes import Spellings

_HELP = """Fail where a kernel lost occupancy, launchability or pipeline stages, or breaks a budget.

Compares with irlens.baseline.json, which --update writes and you check in, and with the
budgets of pyproject.toml. Without KERNEL it makes everything again that these name; no GPU
is needed. KERNEL is anything `irlens inspect` takes; alone it means its entries in the
baseline, with options what they ask for. Nothing is launched without --run.

\b
[tool.irlens.check]
kernels = ["softmax", "kernels/mine.py:attention"]
targets = ["a100", "h100"]

\b
[tool.irlens.budgets]
"*" = ["launchable", "local_bytes == 0"]
softmax = "pipeline.achieved >= requested"
"matmul*".h100 = ["occupancy >= 0.125", "registers <= 168"]

A key is a pattern for kernels, then one for targets; every budget that matches has to
hold. Figures have their names in the JSON report. A figure that is unknown fails its budget,
and so does a budget that matches nothing.

More registers, spills and findings are told and fail nothing; with --strict whatever moved
against the baseline fails. Exits with 0 if nothing fails, 1 if something does.

\b
irlens check softmax matmul --target h100,mi300x --update
irlens check
irlens check ~/.triton/cache --format markdown
"""


class _Options(KernelOptions, WritingOptions):
    """Those that this command shares with others."""


@click.command(help=_HELP, short_help="Fail on regressions and broken budgets.")
@click.argument("kernels", metavar="[KERNEL]...", nargs=-1, shell_complete=completing.kernels)
@kernel_options
@click.option("--update", is_flag=True, help="Write the baseline anew, and tell what changed.")
@click.option(
    "--baseline",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The baseline; default irlens.baseline.json beside pyproject.toml.",
)
@click.option("--strict", is_flag=True, help="Fail on whatever moved against the baseline.")
@writing_options("check")  # fmt: skip
def command(
    kernels: tuple[str, ...],
    update: bool,
    file: Path | None,
    strict: bool,
    **options: Unpack[_Options],
) -> Exit:
    """Check what the command line or the project names."""
    from irlens.check import check
    from irlens.check import project as projects
    from irlens.check.baseline import NAME, read, written
    from irlens.check.project import Requirements
    from irlens.cli.recipes import Spellings, with_one_name

    project = projects.find(Path.cwd())
    path = file.absolute() if file is not None else project.baseline
    baseline = read(path)
    if baseline is None and not update and path != project.root / NAME:
        raise IrlensError(
            f"there is no {os.path.relpath(path)}", hint="`irlens check KERNEL --update` makes it"
        )
    spellings = Spellings(project.root)
    if baseline is not None:
        baseline = _named_once(baseline, with_one_name(baseline, spellings))
    made = _make(kernels, asked(options), baseline, project, spellings, update=update)
    result, renewed = check(
        made,
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


def _make(
    kernels: Sequence[str],
    wanted: Asked,
    baseline: "Baseline | None",
    project: "Project",
    spellings: "Spellings",
    *,
    update: bool,
) -> "list[RecipeResult]":
    """Make everything that is to be checked."""
    from irlens.cli.recipes import from_root, recipes, to_here
    from irlens.cli.subject import is_compiled, require_triton

    if len(wanted.tritons) > 1:
        raise click.UsageError("a check is made with one Triton: name one")
    chooses = msgspec.structs.replace(wanted, tritons=(), run=None) != Asked()
    kept = [entry.recipe for entry in baseline.entries] if baseline is not None else []
    chosen: list[Recipe] = []
    if not kernels:
        if chooses:
            raise click.UsageError("options choose among the configurations of a KERNEL: name one")
        chosen += kept
        targeted = Asked(targets=project.targets)
        for named in project.kernels:
            kernel = to_here(named, project.root)
            chosen += recipes(kernel, Asked() if is_compiled(kernel) else targeted, spellings)
    for kernel in kernels:
        name = spellings.first(from_root(kernel, project.root))
        known = [one for one in kept if one.kernel == name]
        again = known and not chooses
        chosen += known if again else recipes(kernel, wanted, spellings)
    if not chosen:
        raise IrlensError(
            "nothing names a kernel to check",
            hint="`irlens check KERNEL --update` makes a baseline; see `irlens check --help`",
        )
    if baseline is None and not project.budgets and not update:
        raise IrlensError(
            f"there is nothing to check against: no {project.baseline.name} and no "
            "[tool.irlens.budgets]",
            hint="`irlens check KERNEL --update` makes a baseline",
        )
    if any(one.target is not None for one in chosen):
        require_triton(wanted.tritons[0] if wanted.tritons else None)
    made: list[RecipeResult] = []
    for recipe in chosen:
        if all(recipe != one.recipe for one in made):
            one = _made(recipe, kept, spellings, wanted, update=update)
            # A recipe learns its target when it is made, and may be one of the others then.
            made += [one] if all(one.recipe != other.recipe for other in made) else []
    return made


def _made(
    recipe: "Recipe",
    kept: "Sequence[Recipe]",
    spellings: "Spellings",
    wanted: Asked,
    *,
    update: bool,
) -> "RecipeResult":
    """Make one recipe.

    That the baseline has one that makes nothing any more is a result. ``--update`` may take what is
    gone out of it, but not what is broken.
    """
    from irlens.check.pairing import RecipeResult
    from irlens.cli.recipes import is_gone, make

    try:
        return make(recipe, spellings, wanted)
    except IrlensError as error:
        gone = isinstance(error, UnknownNameError) or is_gone(recipe, spellings.root)
        if recipe not in kept or (update and not gone):
            raise
        return RecipeResult(recipe=recipe, failure=error.message)


def _named_once(before: "Baseline", after: "Baseline") -> "Baseline":
    """Tell that entries of a baseline are of one kernel, and return it with one name for each."""
    dropped = len(before.entries) - len(after.entries)
    if dropped:
        names = {one.recipe.kernel for one in before.entries}
        twice = sorted(names - {one.recipe.kernel for one in after.entries})
        told = f"under {', '.join(twice)} the baseline has kernels that it has under another name"
        output.note(f"irlens: {told}, too: each counts once")
    return after


def _replace(path: Path, content: bytes) -> None:
    """Write the baseline, unless it says the same already."""
    if not path.is_file() or path.read_bytes() != content:
        output.write(content, path)
