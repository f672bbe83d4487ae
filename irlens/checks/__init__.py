"""``irlens check``: holds reports against a checked-in baseline and a project's budgets.

Exact figures fail a check, unless the launch takes less time. ``check`` does all of it, problems
outside the kernels included: entries and budgets that match nothing, another compiler. ``baseline``
reads and writes the checked-in file, ``project`` the requirements of ``pyproject.toml``.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from irlens.checks.baseline import BASELINE_SCHEMA, Baseline, Entry, figures, finding_counts, sort
from irlens.checks.budgets import BaselineFigures, applies_to, hold, worst_first
from irlens.checks.launch_budgets import LaunchBudget
from irlens.checks.movements import movements
from irlens.checks.pairing import Candidate, Pairing, RecipeResult, pair
from irlens.checks.project import Budget, Requirements
from irlens.diff import kernel_and_target
from irlens.diff.report import compare, side
from irlens.model.check import (
    CHECK_SCHEMA,
    OUTCOMES,
    BudgetVerdict,
    Check,
    CheckedKernel,
    Movement,
    Outcome,
    Problem,
    Update,
)
from irlens.model.comparison import Side
from irlens.model.label import labels_among
from irlens.model.report import Finding, Report
from irlens.model.text import plural

__all__ = ["check"]


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
    """
    problems = [*_missing(pairing, gone, results, requirements)]
    if requirements.whole_project:
        problems += _stale(requirements, kernels)
    problems += [*_new(pairing, requirements), *_other_compilers(pairing, requirements)]
    problems += [*_other_recordings(pairing), *_stale_captures(results)]
    return sorted(problems, key=lambda one: not one.fails)


def entry_sides(entries: Sequence[Entry]) -> list[Side]:
    """Return entries as sides, in their order, labelled by what tells them apart on a GPU."""
    return _labelled([figures(one) for one in entries])


def _missing(
    pairing: Pairing,
    gone: Sequence[Entry],
    results: Sequence[RecipeResult],
    requirements: Requirements,
) -> Iterator[Problem]:
    """Yield the entries that can no longer be checked."""
    now = [*(new.entry for _, new in pairing.pairs), *(one.entry for one in pairing.new)]
    update = requirements.update
    alike: dict[tuple[str, str], list[Side]] = {}
    for entry, named in zip(gone, entry_sides(gone), strict=True):
        failures = (one.failure for one in results if one.recipe == entry.recipe)
        why = next(filter(None, failures), None) or _fewer(entry, requirements, now)
        alike.setdefault((_kernel_and_arch(named), why), []).append(named)
    for (kernel, why), sides in alike.items():
        several = len(sides) > 1
        state = "removed from the baseline" if update else "cannot be checked"
        what = f"{kernel}: {plural(len(sides), 'configuration')}" if several else _title(sides[0])
        it = "them" if several else "it"
        yield Problem(
            kind="missing",
            fails=not update,
            message=f"{what} {state}: {why}",
            hint="" if update else f"to remove {it} from the baseline: irlens check --update",
            file=requirements.baseline_file,
            line=None,
            configurations=len(sides),
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


def _stale_captures(results: Sequence[RecipeResult]) -> Iterator[Problem]:
    """Yield the files of which older captures were checked."""
    edited = {(result.recipe.kernel, file): None for result in results for file in result.edited}
    for kernel, file in edited:
        yield Problem(
            kind="stale capture",
            fails=False,
            message=f"{kernel} was made before {file} changed, and says nothing of the change",
            hint="record or compile it again",
            file=file,
            line=None,
        )


def _other_recordings(pairing: Pairing) -> Iterator[Problem]:
    """Yield the recordings that are compared with those of another name, or place."""
    names = {(old.recipe.kernel, new.entry.recipe.kernel): None for old, new in pairing.pairs}
    for old, new in names:
        if old != new:
            yield Problem(
                kind="other recording",
                fails=False,
                message=f"{new} is compared with the baseline's entries of {old}",
                hint="the same kernels and GPUs are taken to be the same program",
                file=None,
                line=None,
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
    label = named.label.removeprefix(_arch(named)).strip()
    return _kernel_and_arch(named) + (f" {label}" if label else "")


def _kernel_and_arch(named: Side) -> str:
    return f"{named.kernel} on {_arch(named)}"


def _arch(named: Side) -> str:
    return named.target.arch if named.target else "unknown"


def check(results: Sequence[RecipeResult], requirements: Requirements) -> tuple[Check, Baseline]:
    """Check the outcome of recipes against a baseline and budgets.

    Returns:
        The check, and the baseline as ``--update`` would write it.
    """
    before = requirements.baseline.entries if requirements.baseline is not None else []
    pairing = pair(before, results)
    sides = _sides([*(one for _, one in pairing.pairs), *pairing.new])
    kernels = [_check(one, old, sides[id(one.report)], requirements) for old, one in pairing.pairs]
    kernels += [_check(one, None, sides[id(one.report)], requirements) for one in pairing.new]
    kernels.sort(key=_worst_first)
    recipes = [one.recipe for one in results]
    gone = [one for one in pairing.missing if one.recipe in recipes]
    unchecked = [one for one in pairing.missing if one.recipe not in recipes]
    problems = find_problems(pairing, gone, results, kernels, requirements)
    outcomes: list[Outcome] = [one.outcome for one in kernels]
    counted = (one for one in problems if one.kind != "other recording")
    outcomes += ["failed" if one.fails else "warned" for one in counted]
    has_baseline = requirements.baseline is not None or requirements.update
    return (
        Check(
            schema=CHECK_SCHEMA,
            outcome=min(outcomes, key=OUTCOMES.index, default="passed"),
            strict=requirements.strict,
            baseline=requirements.baseline_file if has_baseline else None,
            update=_update(pairing, gone) if requirements.update else None,
            kernels=kernels,
            problems=problems,
            unchecked=entry_sides(unchecked),
        ),
        _renewed(pairing, unchecked),
    )


def _check(
    candidate: Candidate, entry: Entry | None, named: Side, requirements: Requirements
) -> CheckedKernel:
    """Check one report against its entry of the baseline and the budgets that match it."""
    report = candidate.report
    known, moved = None, list[Movement]()
    now = _with_refusals(figures(candidate.entry), report)
    if entry is not None:
        old = figures(entry)
        if old.time is not None and old.time.bound is None and now.time is not None:
            # Baselines of older versions have no bound, which is no news.
            now = msgspec.structs.replace(now, time=msgspec.structs.replace(now.time, bound=None))
        # Both hold the lines of their loops, and no others.
        comparison = compare(old, now, names=("baseline", "now"), lines_held="all")
        known = BaselineFigures(old, comparison)
        moved = movements(comparison, entry, report)
        if requirements.update or requirements.strict:
            fails = not requirements.update
            moved = [msgspec.structs.replace(one, fails=fails) for one in moved]
    # Budgets that compare with the baseline compare with the one that is being written.
    written = BaselineFigures(now, compare(now, now)) if requirements.update else known
    verdicts = [
        verdict
        for budget in requirements.budgets
        if applies_to(budget, report, candidate.names)
        for verdict in hold(budget, report, written if budget.condition.baselines else known)
    ]
    verdicts += candidate.verdicts
    findings = _new_findings(report, entry)
    failing = _failing(findings, requirements)
    sources = [*(one.source for one in moved), *(one.source for one in verdicts)]
    mentioned = {str(source) for source in [*sources, *(one.source for one in findings)]}
    return CheckedKernel(
        side=named,
        asked=candidate.entry.recipe.kernel,
        outcome=_outcome(moved, verdicts, findings, failing),
        in_baseline=entry is not None,
        movements=moved,
        budgets=worst_first(verdicts),
        findings=findings,
        comparison=known.comparison if known else None,
        code={place: text for place, text in report.code.items() if place in mentioned},
        failing=failing,
    )


def _with_refusals(kept: Report, report: Report) -> Report:
    """Return an entry's figures with why it cannot launch, which a baseline does not keep."""
    if kept.occupancy is None or report.occupancy is None:
        return kept
    occupancy = msgspec.structs.replace(kept.occupancy, refusals=report.occupancy.refusals)
    return msgspec.structs.replace(kept, occupancy=occupancy)


def _new_findings(report: Report, entry: Entry | None) -> list[Finding]:
    """Return findings of each code that the baseline has fewer of, notes excluded.

    One that could not be looked for when the baseline was written is not new.
    """
    before = entry.findings if entry is not None else {}
    unlooked = entry.unlooked if entry is not None else []
    counts = finding_counts(report).items()
    more = {code for code, count in counts if count > before.get(code, 0)}.difference(unlooked)
    return [one for one in report.findings if one.code in more and one.severity != "note"]


def _failing(findings: Sequence[Finding], requirements: Requirements) -> list[str]:
    """Return the codes of the new findings that fail the check, which ``--update`` accepts.

    Errors, such as an access outside of a tensor, are no heuristics: they are wrong whatever the
    figures do.
    """
    if requirements.update or requirements.baseline is None:
        return []
    return sorted({one.code for one in findings if one.severity == "error"})


def _outcome(
    moved: Sequence[Movement],
    verdicts: Sequence[BudgetVerdict],
    findings: Sequence[Finding],
    failing: Sequence[str],
) -> Outcome:
    if failing or any(one.fails for one in moved) or any(one.fails for one in verdicts):
        return "failed"
    worse = any(one.judgement in ("lost", "unknown", "worse") for one in moved)
    return "warned" if worse or findings else "passed"


def _renewed(pairing: Pairing, unchecked: Iterable[Entry]) -> Baseline:
    now = [*(one.entry for _, one in pairing.pairs), *(one.entry for one in pairing.new)]
    return Baseline(schema=BASELINE_SCHEMA, entries=sort([*now, *unchecked]))


def _update(pairing: Pairing, gone: Sequence[Entry]) -> Update:
    changed = sum(old != new.entry for old, new in pairing.pairs)
    return Update(
        added=len(pairing.new),
        changed=changed,
        removed=len(gone),
        unchanged=len(pairing.pairs) - changed,
    )


def _sides(candidates: Sequence[Candidate]) -> dict[int, Side]:
    """Return each report as a side, see ``entry_sides``."""
    reports = [one.report for one in candidates]
    return {id(one): named for one, named in zip(reports, _labelled(reports), strict=True)}


def _labelled(reports: Sequence[Report]) -> list[Side]:
    """Return reports as sides; each GPU has defaults of its own, which tell nothing apart."""
    return [*map(side, reports, labels_among(reports, kernel_and_target))]


def _worst_first(kernel: CheckedKernel) -> tuple[object, ...]:
    target = kernel.side.target
    arch = target.arch if target else ""
    return OUTCOMES.index(kernel.outcome), kernel.side.kernel, arch, kernel.side.label
