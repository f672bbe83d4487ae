"""What is wrong beside the kernels: entries and budgets that meet nothing, another compiler."""

from collections.abc import Iterator, Sequence

import msgspec

from irlens.comparison import side
from irlens.gate.baseline import Baseline, Entry, figures
from irlens.gate.matching import Made, Matched
from irlens.gate.project import Budget
from irlens.model.check import CheckedKernel, Problem
from irlens.model.comparison import Side
from irlens.model.label import labels
from irlens.model.text import plural


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a check is to hold against what.

    Attributes:
        baseline: The checked-in figures; ``None`` where there are none.
        baseline_file: Where they are, relative to the project.
        project_file: Where the budgets are, relative to the project.
        budgets: The project's.
        everything: Whether all that the project names is checked, so that an entry or a budget
            that meets nothing is out of date.
        strict: Whether every movement fails.
        update: Whether the baseline is about to be made anew, so that no movement fails.
    """

    baseline: Baseline | None
    baseline_file: str
    project_file: str = "pyproject.toml"
    budgets: Sequence[Budget] = ()
    everything: bool = True
    strict: bool = False
    update: bool = False


def find_problems(
    matched: Matched,
    gone: Sequence[Entry],
    made: Sequence[Made],
    kernels: Sequence[CheckedKernel],
    asked: Asked,
) -> list[Problem]:
    """Return what is wrong, what fails the check first.

    Args:
        matched: Which entry is which report.
        gone: Entries whose recipe did not make them.
        made: What came of each recipe.
        kernels: What was checked.
        asked: What was to be held against what.
    """
    found = [*_missing(gone, made, asked)]
    if asked.everything:
        found += _stale(asked, kernels)
    found += [*_new(matched, asked), *_other_compilers(matched, asked)]
    return sorted(found, key=lambda one: not one.fails)


def entry_sides(entries: Sequence[Entry]) -> list[Side]:
    """Return entries as sides, in their order, told apart from each other."""
    reports = [figures(one) for one in entries]
    named = zip(reports, labels(reports), strict=True)
    return [side(report, label.removeprefix(report.kernel).strip()) for report, label in named]


def _missing(gone: Sequence[Entry], made: Sequence[Made], asked: Asked) -> Iterator[Problem]:
    for entry, named in zip(gone, entry_sides(gone), strict=True):
        failures = (one.failure for one in made if one.recipe == entry.recipe)
        why = next(filter(None, failures), f"{entry.recipe.kernel} makes no such configuration now")
        yield Problem(
            kind="missing",
            fails=not asked.update,
            message=f"{_title(named)} cannot be checked: {why}",
            hint="mend it, or `irlens check --update` to take it out of the baseline",
            file=asked.baseline_file,
            line=None,
        )


def _stale(asked: Asked, kernels: Sequence[CheckedKernel]) -> Iterator[Problem]:
    """Yield the budgets that protect nothing."""
    verdicts = [verdict for kernel in kernels for verdict in kernel.budgets]
    matched = {(one.place, one.expression) for one in verdicts}
    applied = {(one.place, one.expression) for one in verdicts if one.state != "does not apply"}
    for budget in asked.budgets:
        key = budget.place, budget.condition.text
        if key not in applied:
            fault = "applies to none of its kernels" if key in matched else "matches no kernel"
            yield Problem(
                kind="stale budget",
                fails=True,
                message=f"the budget {budget.condition.text} {fault}",
                hint=f"mend its pattern, or take it out: {budget.place}",
                file=asked.project_file,
                line=budget.line,
            )


def _new(matched: Matched, asked: Asked) -> Iterator[Problem]:
    if asked.baseline is None or asked.update or not matched.alone:
        return
    kernels = ", ".join(sorted({one.report.kernel for one in matched.alone}))
    number = len(matched.alone)
    yield Problem(
        kind="not in baseline",
        fails=asked.strict,
        message=f"not in the baseline: {plural(number, 'configuration')} of {kernels}",
        hint="the same command with --update adds them",
        file=asked.baseline_file,
        line=None,
    )


def _other_compilers(matched: Matched, asked: Asked) -> Iterator[Problem]:
    compilers = {(old.triton_version, new.entry.triton_version) for old, new in matched.pairs}
    for old, new in sorted(compilers, key=repr):
        if old != new:
            yield Problem(
                kind="other compiler",
                fails=False,
                message=f"the baseline is of Triton {old or '?'}, this is Triton {new or '?'}",
                hint="what moved may be the compiler's doing",
                file=asked.baseline_file,
                line=None,
            )


def _title(named: Side) -> str:
    arch = named.target.arch if named.target else "unknown"
    label = named.label.removeprefix(arch).strip()
    return f"{named.kernel} on {arch}" + (f" {label}" if label else "")
