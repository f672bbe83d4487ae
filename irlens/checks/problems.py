"""Problems outside the kernels: entries and budgets that match nothing, another compiler."""

from collections.abc import Iterator, Sequence

from irlens.checks.baseline import Entry, figures
from irlens.checks.launch_budgets import LaunchBudget
from irlens.checks.pairing import Pairing, RecipeResult
from irlens.checks.project import Budget, Requirements
from irlens.diff.report import side
from irlens.model.check import CheckedKernel, Problem
from irlens.model.comparison import Side
from irlens.model.label import labels
from irlens.model.text import plural


def find_problems(
    pairing: Pairing,
    gone: Sequence[Entry],
    results: Sequence[RecipeResult],
    kernels: Sequence[CheckedKernel],
    requirements: Requirements,
) -> list[Problem]:
    """Return the problems, those that fail the check first.

    Args:
        pairing: Entries of the baseline and the reports of today.
        gone: Entries that their recipe no longer makes.
        requirements: What they are checked against.
    """
    problems = [*_missing(pairing, gone, results, requirements)]
    if requirements.whole_project:
        problems += _stale(requirements, kernels)
    problems += [*_new(pairing, requirements), *_other_compilers(pairing, requirements)]
    return sorted(problems, key=lambda one: not one.fails)


def entry_sides(entries: Sequence[Entry]) -> list[Side]:
    """Return entries as sides, in their order, labelled by what tells them apart."""
    reports = [figures(one) for one in entries]
    named = zip(reports, labels(reports), strict=True)
    return [side(report, label.removeprefix(report.kernel).strip()) for report, label in named]


def _missing(
    pairing: Pairing,
    gone: Sequence[Entry],
    results: Sequence[RecipeResult],
    requirements: Requirements,
) -> Iterator[Problem]:
    """Yield the entries that can no longer be checked."""
    now = [*(new.entry for _, new in pairing.pairs), *(one.entry for one in pairing.new)]
    update = requirements.update
    for entry, named in zip(gone, entry_sides(gone), strict=True):
        failures = (one.failure for one in results if one.recipe == entry.recipe)
        why = next(filter(None, failures), None) or _fewer(entry, requirements, now)
        state = "removed from the baseline" if update else "cannot be checked"
        yield Problem(
            kind="missing",
            fails=not update,
            message=f"{_title(named)} {state}: {why}",
            hint="" if update else "to remove it from the baseline: irlens check --update",
            file=requirements.baseline_file,
            line=None,
        )


def _fewer(entry: Entry, requirements: Requirements, now: Sequence[Entry]) -> str:
    """Return why an entry has no counterpart; a careless merge may have duplicated it."""
    before = requirements.baseline.entries if requirements.baseline is not None else []
    number = sum(_alike(entry, one) for one in before)
    made = sum(_alike(entry, one) for one in now)
    if made:
        return f"the baseline has {number} of it, {entry.recipe.kernel} makes {made}"
    return f"{entry.recipe.kernel} no longer makes this configuration"


def _alike(one: Entry, other: Entry) -> bool:
    """Return whether two entries are of the same configuration and recipe."""
    return (one.kernel, one.target, one.config, one.recipe) == (
        other.kernel, other.target, other.config, other.recipe,
    )  # fmt: skip


def _stale(requirements: Requirements, kernels: Sequence[CheckedKernel]) -> Iterator[Problem]:
    """Yield the budgets that protect nothing."""
    verdicts = [verdict for kernel in kernels for verdict in kernel.budgets]
    matched = {(one.place, one.expression) for one in verdicts}
    applied = {(one.place, one.expression) for one in verdicts if one.state != "does not apply"}
    budgets: list[Budget | LaunchBudget] = [*requirements.budgets, *requirements.launch_budgets]
    for budget in budgets:
        key = budget.place, budget.text
        if key in matched and isinstance(budget, Budget) and budget.condition.baselines:
            continue  # it applies once its kernels are in the baseline
        if key not in applied:
            fault = "applies to none of its kernels" if key in matched else "matches no kernel"
            yield Problem(
                kind="stale budget",
                fails=True,
                message=f"the budget {budget.text} {fault}",
                hint=f"fix or remove the pattern: {budget.place}",
                file=requirements.project_file,
                line=budget.line,
            )


def _new(pairing: Pairing, requirements: Requirements) -> Iterator[Problem]:
    """Yield the reports that the baseline has no entry for, as one problem."""
    if requirements.baseline is None or requirements.update or not pairing.new:
        return
    kernels = ", ".join(sorted({one.report.kernel for one in pairing.new}))
    yield Problem(
        kind="not in baseline",
        fails=requirements.strict,
        message=f"not in the baseline: {plural(len(pairing.new), 'configuration')} of {kernels}",
        hint="run the same command with --update to add them",
        file=requirements.baseline_file,
        line=None,
    )


def _other_compilers(pairing: Pairing, requirements: Requirements) -> Iterator[Problem]:
    """Yield the compilers that differ from the baseline's."""
    compilers = {(old.triton_version, new.entry.triton_version) for old, new in pairing.pairs}
    for old, new in sorted(compilers, key=repr):
        if old != new:
            yield Problem(
                kind="other compiler",
                fails=False,
                message=f"the baseline is of Triton {old or '?'}, this is Triton {new or '?'}",
                hint="the compiler may be the cause of what moved",
                file=requirements.baseline_file,
                line=None,
            )


def _title(named: Side) -> str:
    arch = named.target.arch if named.target else "unknown"
    label = named.label.removeprefix(arch).strip()
    return f"{named.kernel} on {arch}" + (f" {label}" if label else "")
