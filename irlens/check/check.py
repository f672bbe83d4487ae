"""Reports x baseline x budgets -> Check."""

from collections.abc import Iterable, Sequence

import msgspec

from irlens.check.baseline import BASELINE_SCHEMA, Baseline, Entry, figures, finding_counts, sort
from irlens.check.budgets import Known, hold, speaks_of, worst_first
from irlens.check.judging import movements
from irlens.check.matching import Candidate, Made, Matched, match
from irlens.check.problems import entry_sides, find_problems
from irlens.check.rules import Rules
from irlens.diff.report import compare, side
from irlens.model.check import (
    CHECK_SCHEMA,
    OUTCOMES,
    BudgetVerdict,
    Check,
    CheckedKernel,
    Movement,
    Outcome,
    Update,
)
from irlens.model.comparison import Side
from irlens.model.label import labels
from irlens.model.report import Finding, Report


def check(made: Sequence[Made], rules: Rules) -> tuple[Check, Baseline]:
    """Hold what was made against a baseline and budgets.

    Returns:
        What came of it, and the baseline as ``--update`` would write it.
    """
    before = rules.baseline.entries if rules.baseline is not None else []
    matched = match(before, made)
    sides = _sides([*(one for _, one in matched.pairs), *matched.alone])
    found = [_checked(one, old, sides[id(one.report)], rules) for old, one in matched.pairs]
    found += [_checked(one, None, sides[id(one.report)], rules) for one in matched.alone]
    kernels = sorted(found, key=_order)
    recipes = [one.recipe for one in made]
    gone = [one for one in matched.missing if one.recipe in recipes]
    rest = [one for one in matched.missing if one.recipe not in recipes]
    problems = find_problems(matched, gone, made, kernels, rules)
    after = _renewed(matched, rest)
    outcomes: list[Outcome] = [one.outcome for one in kernels]
    outcomes += ["failed" if one.fails else "warned" for one in problems]
    return (
        Check(
            schema=CHECK_SCHEMA,
            outcome=min(outcomes, key=OUTCOMES.index, default="passed"),
            strict=rules.strict,
            baseline=rules.baseline_file if rules.baseline is not None or rules.update else None,
            update=_update(matched, gone) if rules.update else None,
            kernels=kernels,
            problems=problems,
            unchecked=entry_sides(rest),
        ),
        after,
    )


def _checked(candidate: Candidate, entry: Entry | None, named: Side, rules: Rules) -> CheckedKernel:
    report = candidate.report
    known, moved = None, list[Movement]()
    if entry is not None:
        old = figures(entry)
        now = figures(candidate.entry)
        # Their code is the lines of the loops, all of them.
        comparison = compare(old, now, names=("baseline", "now"), all_lines=True)
        known = Known(old, comparison)
        moved = movements(comparison, entry, report, strict=rules.strict)
        if rules.update:
            moved = [msgspec.structs.replace(one, fails=False) for one in moved]
    verdicts = [
        verdict
        for budget in rules.budgets
        if speaks_of(budget, report, candidate.names)
        for verdict in hold(budget, report, known)
    ]
    findings = _new_findings(report, entry)
    sources = [*(one.source for one in moved), *(one.source for one in verdicts)]
    told = {str(source) for source in [*sources, *(one.source for one in findings)]}
    return CheckedKernel(
        side=named,
        asked=candidate.entry.recipe.kernel,
        outcome=_outcome(moved, verdicts, findings),
        in_baseline=entry is not None,
        movements=moved,
        budgets=worst_first(verdicts),
        findings=findings,
        comparison=known.comparison if known else None,
        code={place: text for place, text in report.code.items() if place in told},
    )


def _new_findings(report: Report, entry: Entry | None) -> list[Finding]:
    """Return findings of the codes that there are more of than in the baseline, notes excluded."""
    before = entry.findings if entry is not None else {}
    more = {code for code, count in finding_counts(report).items() if count > before.get(code, 0)}
    return [one for one in report.findings if one.code in more and one.severity != "note"]


def _outcome(
    moved: Sequence[Movement], verdicts: Sequence[BudgetVerdict], findings: Sequence[Finding]
) -> Outcome:
    if any(one.fails for one in moved) or any(one.fails for one in verdicts):
        return "failed"
    worse = any(one.judgement in ("lost", "unknown", "worse") for one in moved)
    return "warned" if worse or findings else "passed"


def _renewed(matched: Matched, rest: Iterable[Entry]) -> Baseline:
    now = [*(one.entry for _, one in matched.pairs), *(one.entry for one in matched.alone)]
    return Baseline(schema=BASELINE_SCHEMA, entries=sort([*now, *rest]))


def _update(matched: Matched, gone: Sequence[Entry]) -> Update:
    changed = sum(old != new.entry for old, new in matched.pairs)
    return Update(
        added=len(matched.alone),
        changed=changed,
        removed=len(gone),
        unchanged=len(matched.pairs) - changed,
    )


def _sides(candidates: Sequence[Candidate]) -> dict[int, Side]:
    """Return each report as a side, told apart from the kernel's other configurations."""
    kernels: dict[str, list[Report]] = {}
    for one in candidates:
        kernels.setdefault(one.report.kernel, []).append(one.report)
    return {
        id(report): side(report, label)
        for same in kernels.values()
        for report, label in zip(same, labels(same), strict=True)
    }


def _order(kernel: CheckedKernel) -> tuple[object, ...]:
    target = kernel.side.target
    arch = target.arch if target else ""
    return OUTCOMES.index(kernel.outcome), kernel.side.kernel, arch, kernel.side.label
