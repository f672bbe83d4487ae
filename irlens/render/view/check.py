"""Checks as nodes: the verdict, what fails first in each kernel, problems, and what passed."""

from collections import Counter
from collections.abc import Iterator, Sequence

from irlens.model.check import Check, CheckedKernel, Outcome, Update
from irlens.model.text import count, plural
from irlens.render.view import nodes
from irlens.render.view.changes import describe, not_compared
from irlens.render.view.check_lines import MovedLine, is_news, moved_lines
from irlens.render.view.check_verdicts import (
    LEVELS,
    Level,
    Since,
    Verdict,
    problem_severity,
    verdicts,
)
from irlens.render.view.comparison_verdict import counted
from irlens.render.view.nodes import Cells, Column, Node, Run, Tone, row, table, text

#: What stands before a row, so that colour is never the only sign.
_MARKS: dict[Level, str] = {"error": "✗", "warning": "!", "note": "·", "good": "+"}
_LEVEL_TONES: dict[Level, Tone] = {
    "error": "bad", "warning": "warn", "note": "neutral", "good": "better",
}  # fmt: skip
_OUTCOME_TONES: dict[Outcome, Tone] = {"failed": "bad", "warned": "warn", "passed": "good"}
_BUDGET_TONES: dict[str, Tone] = {
    "broken": "bad", "unknown": "unknown", "held": "good", "does not apply": "dim",
}  # fmt: skip
_BROKEN: dict[Since, str] = {
    "this change": "by this change", "before": "broken before", "unknown": "since when is unknown",
}  # fmt: skip
_SINCE_WORDS: dict[Since, str] = {
    "this change": "differs from the baseline",
    "before": "the baseline's figures break it, too",
    "unknown": "the baseline does not say",
}
_MARK_WORDS: dict[Level, str] = {
    "error": "fails the check", "warning": "worse, fails nothing", "good": "better",
    "note": "changed, neither better nor worse",
}  # fmt: skip
_PASSED_SHOWN = 20
#: Findings that the next steps explain at most.
_EXPLAINED = 2


def check_view(check: Check) -> nodes.Section:
    """Return a check: what fails or changed in each kernel, and in a line each what passed."""
    return nodes.Section("", tuple(_check(check)), key="check")


def _check(check: Check) -> Iterator[Node]:
    found = [(kernel, verdicts(kernel)) for kernel in check.kernels]
    tone = _OUTCOME_TONES[check.outcome]
    every = [each for _, all_of_it in found for each in all_of_it]
    moved = [each for each in found if is_news(each[1])]
    yield nodes.Headline(
        (Run(check_verdict(check), tone), *_causes(every), *_compared(check, moved)), tone
    )
    if check.update is not None:
        yield nodes.Sentence(f"wrote {check.baseline}: {_updated(check.update)}")
    if lines := moved_lines(moved):
        yield nodes.Items(tuple(tuple(_told(each)) for each in lines))
    yield from (_kernel(kernel, all_of_it) for kernel, all_of_it in found if all_of_it)
    if every:
        yield nodes.Sentence(_legend(every), "dim", "Legend")
    quiet = [kernel for kernel, all_of_it in found if not all_of_it]
    if check.problems:
        yield _problems(check)
    if quiet:
        rows = tuple(
            row(Run("passed", "good"), describe(kernel.side), Run(_passed(kernel, check), "dim"))
            for kernel in quiet
        )
        columns = nodes.titled("", "", "")
        passed = nodes.Table(
            columns, rows, "passed", shown=_PASSED_SHOWN, noun="passed configuration"
        )
        title = f"Passed: {plural(len(quiet), 'configuration')}"
        yield nodes.Section(title, (passed,), key="passed", wide=True, folded=True)
    compared = (kernel.comparison for kernel in check.kernels if kernel.comparison is not None)
    left_out = dict.fromkeys(each for comparison in compared for each in not_compared(comparison))
    if left_out:
        yield nodes.Facts(tuple(left_out))
    if check.unchecked:
        left = f"{plural(len(check.unchecked), 'configuration')} of the baseline"
        yield nodes.Sentence(f"not requested: {left}", "dim")
        sides = nodes.Items(tuple(text(describe(side)) for side in check.unchecked))
        yield nodes.Section("In the baseline, not requested", (sides,), key="unchecked",
                            detail="unchecked", folded=True)  # fmt: skip
    if steps := _next_steps(check):
        yield nodes.NextSteps(steps)


def _compared(check: Check, moved: Sequence[tuple[CheckedKernel, list[Verdict]]]) -> Iterator[Run]:
    """Yield how many are slower and faster than the baseline, or that there is none."""
    if check.baseline is None:
        yield Run("no baseline to compare with: irlens check --update writes one", "unknown")
    yield from counted([one.comparison for one, _ in moved if one.comparison is not None])


def _told(line: MovedLine) -> Iterator[Run]:
    yield Run(f"{_MARKS[line.level]} ", _LEVEL_TONES[line.level])
    yield Run(", ".join(line.kernels), "strong")
    yield Run(f" on {line.where}" if line.where else "")
    if line.time:
        yield Run(": ")
        yield Run(line.time, line.tone)
    yield Run(f"{' · ' if line.time else ': '}{', '.join(line.causes)}" if line.causes else "")
    if len(line.places) == 1:
        yield Run(" at ")
        yield Run(str(line.places[0]), place=line.places[0])


def _kernel(kernel: CheckedKernel, found: list[Verdict]) -> nodes.Section:
    columns = nodes.titled(
        "", "", *nodes.numeric("baseline", "now", ""), "since", "where", Column(code=True)
    )
    seen: set[nodes.Place | None] = set()
    rows = []
    for each in found:
        code = "" if each.place in seen else kernel.code.get(str(each.place), "")
        seen.add(each.place)
        rows.append(row(*_cells(each), Run(code, "code"), note=each.why))
    children: list[Node] = [nodes.Table(columns, tuple(rows), describe(kernel.side))]
    if kernel.budgets:
        children.append(_budgets(kernel))
    outcome = Run(kernel.outcome, _OUTCOME_TONES[kernel.outcome])
    budgets = _budgets_counted(kernel)
    return nodes.Section(
        describe(kernel.side), tuple(children), key="kernel",
        aside=text(outcome, f" · {budgets}" if budgets else ""), full=True, wide=True,
    )  # fmt: skip


def _cells(verdict: Verdict) -> Cells:
    tone = _LEVEL_TONES[verdict.level]
    return [
        Run(_MARKS[verdict.level], tone),
        text(
            Run(verdict.name, "code" if verdict.is_budget else tone),
            f" of {verdict.of}" if verdict.of else "",
        ),
        verdict.before,
        Run(verdict.after, tone),
        Run(verdict.change, tone),
        verdict.since,
        Run(str(verdict.place or ""), place=verdict.place),
    ]


def _budgets(kernel: CheckedKernel) -> nodes.Section:
    rows: list[Cells] = [
        [
            Run(each.state, _BUDGET_TONES[each.state]),
            Run(each.expression, "code"),
            each.pipeline or "the kernel",
            Run(each.place, "code"),
            each.reason,
        ]
        for each in kernel.budgets
    ]
    columns = nodes.titled("", "budget", "of", "defined in", "")
    return nodes.Section(
        "all budgets", (table(columns, rows, "budgets"),), key="budgets", detail="budgets",
        folded=True,
    )  # fmt: skip


def _problems(check: Check) -> nodes.Findings:
    items = []
    for problem in check.problems:
        place = nodes.Place(problem.file, problem.line) if problem.file else None
        items.append(
            nodes.FindingItem(
                severity=problem_severity(problem), code=problem.kind, place=place, line="",
                message=problem.message, hint=problem.hint,
            )
        )  # fmt: skip
    return nodes.Findings(tuple(items), text(plural(len(items), "problem")), title="Problems")


def _causes(found: Sequence[Verdict]) -> Iterator[Run]:
    """Yield how many failures this change brought, and how many were there before.

    Yields nothing where no baseline says.
    """
    numbers = Counter(each.since for each in found if each.level == "error")
    if numbers.keys() <= {"unknown"}:
        return
    for since, words in _BROKEN.items():
        if number := numbers[since]:
            yield Run(f"{count(number)} {words}", "warn" if since == "before" else "bad")


def _legend(found: Sequence[Verdict]) -> str:
    """Return what the marks and the words of the table mean, those that it has."""
    levels, since = {each.level for each in found}, {each.since for each in found}
    marks = [f"{_MARKS[each]} {_MARK_WORDS[each]}" for each in LEVELS if each in levels]
    words = [f"{each}: {meaning}" for each, meaning in _SINCE_WORDS.items() if each in since]
    return "; ".join([*marks, *(f"since {each}" for each in words)])


def check_verdict(check: Check) -> str:
    """Return the whole in a line: "check failed: 1 of 3 kernels, 1 stale budget"."""
    total = plural(len(check.kernels), "configuration")
    failed = sum(one.outcome == "failed" for one in check.kernels)
    warned = sum(one.outcome == "warned" for one in check.kernels)
    kinds = Counter[str]()
    for one in check.problems:
        kinds[one.kind] += one.configurations if one.fails else 0
    phrases = [f"{count(failed)} of {total} failed"] if failed else []
    phrases += [_problems_counted(kind, number) for kind, number in sorted(kinds.items()) if number]
    if check.outcome == "failed":
        return f"check failed: {', '.join(phrases)}"
    with_warnings = f", {count(warned)} with warnings" if warned else ""
    return f"check passed: {total}{with_warnings}"


def _problems_counted(kind: str, number: int) -> str:
    if kind == "missing":
        return f"{count(number)} not checked"
    return plural(number, "stale budget") if kind == "stale budget" else kind


def _budgets_counted(kernel: CheckedKernel) -> str:
    """Return how many budgets hold: "3 budgets held, 1 not applicable"; "" without any."""
    states = Counter(one.state for one in kernel.budgets)
    phrases = [
        f"{plural(states[state], 'budget')} {state}"
        for state in ("broken", "unknown", "held")
        if states[state]
    ]
    if states["does not apply"]:
        phrases.append(f"{count(states['does not apply'])} not applicable")
    return ", ".join(phrases)


def _passed(kernel: CheckedKernel, check: Check) -> str:
    """Return how a kernel passed that has nothing else to report."""
    if kernel.in_baseline:
        known = "as in the baseline"
    elif check.update is not None:
        known = "new in the baseline"
    else:
        known = "not in the baseline" if check.baseline is not None else ""
    return ", ".join(filter(None, (known, _budgets_counted(kernel)))) or "no baseline or budget"


def _next_steps(check: Check) -> tuple[nodes.Command, ...]:
    """Return what to do next, first about the baseline."""
    steps = []
    movements = [one for kernel in check.kernels for one in kernel.movements]
    fails = any(one.fails for one in movements) or any(one.failing for one in check.kernels)
    if check.update is None and fails:
        steps.append(nodes.Command("irlens check --update", "if the change is intended"))
    elif check.update is None and any(one.judgement == "better" for one in movements):
        steps.append(nodes.Command("irlens check --update", "to keep the improvements"))
    found = [finding for kernel in check.kernels for finding in kernel.findings]
    for code in list(dict.fromkeys(finding.code for finding in found))[:_EXPLAINED]:
        steps.append(
            nodes.Command(f"irlens explain {code}", "what the finding means, and what to do")
        )
    return tuple(steps)


def _updated(update: Update) -> str:
    """Return what became of a baseline: "1 added, 2 changed, 3 unchanged"."""
    numbers = {
        "added": update.added,
        "changed": update.changed,
        "removed": update.removed,
        "unchanged": update.unchanged,
    }
    return ", ".join(f"{count(n)} {what}" for what, n in numbers.items() if n) or "empty"
