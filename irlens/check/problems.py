"""What is wrong beside the kernels: entries and budgets that meet nothing, another compiler."""

from collections.abc import Iterator, Sequence

from irlens.check.baseline import Entry, figures
from irlens.check.matching import Made, Matched
from irlens.check.rules import Rules
from irlens.diff.report import side
from irlens.model.check import CheckedKernel, Problem
from irlens.model.comparison import Side
from irlens.model.label import labels
from irlens.model.text import plural


def find_problems(
    matched: Matched,
    gone: Sequence[Entry],
    made: Sequence[Made],
    kernels: Sequence[CheckedKernel],
    rules: Rules,
) -> list[Problem]:
    """Return what is wrong, what fails the check first.

    Args:
        matched: Which entry is which report.
        gone: Entries whose recipe did not make them.
        made: What came of each recipe.
        kernels: What was checked.
        rules: What was to be held against what.
    """
    found = [*_missing(matched, gone, made, rules)]
    if rules.everything:
        found += _stale(rules, kernels)
    found += [*_new(matched, rules), *_other_compilers(matched, rules)]
    return sorted(found, key=lambda one: not one.fails)


def entry_sides(entries: Sequence[Entry]) -> list[Side]:
    """Return entries as sides, in their order, told apart from each other."""
    reports = [figures(one) for one in entries]
    named = zip(reports, labels(reports), strict=True)
    return [side(report, label.removeprefix(report.kernel).strip()) for report, label in named]


def _missing(
    matched: Matched, gone: Sequence[Entry], made: Sequence[Made], rules: Rules
) -> Iterator[Problem]:
    now = [*(new.entry for _, new in matched.pairs), *(one.entry for one in matched.alone)]
    for entry, named in zip(gone, entry_sides(gone), strict=True):
        failures = (one.failure for one in made if one.recipe == entry.recipe)
        why = next(filter(None, failures), None) or _fewer(entry, rules, now)
        state = "is taken out of the baseline" if rules.update else "cannot be checked"
        yield Problem(
            kind="missing",
            fails=not rules.update,
            message=f"{_title(named)} {state}: {why}",
            hint="" if rules.update else "if it is to go: irlens check --update",
            file=rules.baseline_file,
            line=None,
        )


def _fewer(entry: Entry, rules: Rules, now: Sequence[Entry]) -> str:
    """Say how an entry has no counterpart; a careless merge may have left it there twice."""
    before = rules.baseline.entries if rules.baseline is not None else []
    number = sum(_alike(entry, one) for one in before)
    made = sum(_alike(entry, one) for one in now)
    if made:
        return f"the baseline has it {number} times, {entry.recipe.kernel} makes {made} of it"
    return f"{entry.recipe.kernel} makes no such configuration now"


def _alike(one: Entry, other: Entry) -> bool:
    """Whether two entries are of the same configuration, asked for in the same way."""
    return (one.kernel, one.target, one.config, one.recipe) == (
        other.kernel, other.target, other.config, other.recipe,
    )  # fmt: skip


def _stale(rules: Rules, kernels: Sequence[CheckedKernel]) -> Iterator[Problem]:
    """Yield the budgets that protect nothing."""
    verdicts = [verdict for kernel in kernels for verdict in kernel.budgets]
    matched = {(one.place, one.expression) for one in verdicts}
    applied = {(one.place, one.expression) for one in verdicts if one.state != "does not apply"}
    for budget in rules.budgets:
        key = budget.place, budget.condition.text
        if key not in applied:
            fault = "applies to none of its kernels" if key in matched else "matches no kernel"
            yield Problem(
                kind="stale budget",
                fails=True,
                message=f"the budget {budget.condition.text} {fault}",
                hint=f"mend its pattern, or take it out: {budget.place}",
                file=rules.project_file,
                line=budget.line,
            )


def _new(matched: Matched, rules: Rules) -> Iterator[Problem]:
    if rules.baseline is None or rules.update or not matched.alone:
        return
    kernels = ", ".join(sorted({one.report.kernel for one in matched.alone}))
    number = len(matched.alone)
    yield Problem(
        kind="not in baseline",
        fails=rules.strict,
        message=f"not in the baseline: {plural(number, 'configuration')} of {kernels}",
        hint="the same command with --update adds them",
        file=rules.baseline_file,
        line=None,
    )


def _other_compilers(matched: Matched, rules: Rules) -> Iterator[Problem]:
    compilers = {(old.triton_version, new.entry.triton_version) for old, new in matched.pairs}
    for old, new in sorted(compilers, key=repr):
        if old != new:
            yield Problem(
                kind="other compiler",
                fails=False,
                message=f"the baseline is of Triton {old or '?'}, this is Triton {new or '?'}",
                hint="what moved may be the compiler's doing",
                file=rules.baseline_file,
                line=None,
            )


def _title(named: Side) -> str:
    arch = named.target.arch if named.target else "unknown"
    label = named.label.removeprefix(arch).strip()
    return f"{named.kernel} on {arch}" + (f" {label}" if label else "")
