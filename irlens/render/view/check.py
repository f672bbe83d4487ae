"""Checks as nodes: the verdict, what fails first in each kernel, problems, and what passed."""

from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from irlens import figures
from irlens.model.check import (
    BudgetFigure,
    BudgetVerdict,
    Check,
    CheckedKernel,
    Movement,
    Outcome,
    Problem,
    Update,
)
from irlens.model.comparison import Side
from irlens.model.report import Finding, Severity
from irlens.model.text import count, plural
from irlens.render.view.changes import change_of, describe, figure_title
from irlens.render.view.drawings import place_of
from irlens.render.view.nodes import (
    Cells,
    Column,
    FindingItem,
    Findings,
    Headline,
    Items,
    Node,
    Place,
    Row,
    Run,
    Section,
    Sentence,
    Table,
    Text,
    Tone,
    table,
    text,
)

Level: TypeAlias = Literal["error", "warning", "note", "good"]
_LEVELS: tuple[Level, ...] = ("error", "warning", "good", "note")
#: What stands before a row, so that colour is never the only sign.
_MARKS: dict[Level, str] = {"error": "✗", "warning": "!", "note": "·", "good": "+"}
_LEVEL_TONES: dict[Level, Tone] = {
    "error": "bad", "warning": "warn", "note": "neutral", "good": "better",
}  # fmt: skip
_OUTCOME_TONES: dict[Outcome, Tone] = {"failed": "bad", "warned": "warn", "passed": "good"}
_BUDGET_TONES: dict[str, Tone] = {
    "broken": "bad", "unknown": "unknown", "held": "good", "does not apply": "dim",
}  # fmt: skip
_PASSED_SHOWN = 20


class Verdict(NamedTuple):
    """One result of a check, in words and units.

    Attributes:
        level: "error" fails the check, "good" is an improvement.
        name: The figure, the budget's condition, or the finding's code.
        of: The mechanism of the pipeline it is about; empty where it is about the kernel.
        before: The baseline's value; empty where there is none.
        after: Today's.
        change: With sign and unit; may be empty.
        place: The line of Python to look at; ``None`` if unknown.
        why: What else is known; may be empty.
        is_budget: Whether the name is a budget's condition.
    """

    level: Level
    name: str
    of: str
    before: str
    after: str
    change: str
    place: Place | None
    why: str
    is_budget: bool = False

    @property
    def full_name(self) -> str:
        """The name with its pipeline: "stages achieved of cp.async"."""
        return f"{self.name} of {self.of}" if self.of else self.name

    @property
    def sentence(self) -> str:
        """The whole: "occupancy 50 % → 25 % (−25 points): limited by registers".

        Of a budget "occupancy >= 0.5: 50 % → 25 %: ...", as its condition may end in a number.
        """
        values = " → ".join(filter(None, (self.before, self.after)))
        head = f"{self.full_name}{':' if self.is_budget and values else ''} {values}".strip()
        change = f" ({self.change})" if self.change else ""
        return f"{head}{change}" + (f": {self.why}" if self.why else "")


def check_view(check: Check) -> Section:
    """Return a check: what fails or changed in each kernel, and in a line each what passed."""
    return Section("", tuple(_check(check)), key="check")


def _check(check: Check) -> Iterator[Node]:
    yield Headline((check_verdict(check),), _OUTCOME_TONES[check.outcome])
    if check.update is not None:
        yield Sentence(f"wrote {check.baseline}: {_updated(check.update)}")
    if advice := _advice(check):
        yield Sentence(advice, "dim")
    found = [(kernel, verdicts(kernel)) for kernel in check.kernels]
    yield _overview([(kernel, each) for kernel, all_of_it in found for each in all_of_it])
    yield from (_kernel(kernel, all_of_it) for kernel, all_of_it in found if all_of_it)
    quiet = [kernel for kernel, all_of_it in found if not all_of_it]
    if check.problems:
        yield _problems(check)
    if quiet:
        rows = tuple(
            Row((text(Run("passed", "good")), text(describe(kernel.side)),
                 text(Run(_passed(kernel, check), "dim"))))
            for kernel in quiet
        )  # fmt: skip
        columns = (Column(), Column(), Column())
        passed = Table(columns, rows, "passed", shown=_PASSED_SHOWN, noun="passed configuration")
        yield Section("Passed", (passed,), key="passed", wide=True)
    if check.unchecked:
        left = f"{plural(len(check.unchecked), 'configuration')} of the baseline"
        yield Sentence(f"not requested: {left}", "dim")
        sides = Items(tuple(text(describe(side)) for side in check.unchecked))
        yield Section("In the baseline, not requested", (sides,), key="unchecked",
                      detail="unchecked", folded=True)  # fmt: skip


def _overview(found: list[tuple[CheckedKernel, Verdict]]) -> Table:
    """What fails in any kernel, then the rest: for media without a section for each kernel."""
    columns = (
        Column(), Column("kernel"), Column("what"), Column("baseline", numbers=True),
        Column("now", numbers=True), Column(numbers=True), Column("where"),
    )  # fmt: skip
    rows = []
    for kernel, verdict in sorted(found, key=lambda each: each[1].level != "error"):
        mark, *cells = _cells(verdict)
        name = text(describe(kernel.side))
        rows.append(Row((mark, name, *cells), note=verdict.why))
    return Table(columns, tuple(rows), "verdicts", stands_for="kernel")


def _kernel(kernel: CheckedKernel, found: list[Verdict]) -> Section:
    columns = (
        Column(), Column(), Column("baseline", numbers=True), Column("now", numbers=True),
        Column(numbers=True), Column("where"), Column(code=True),
    )  # fmt: skip
    seen: set[Place | None] = set()
    rows = []
    for each in found:
        code = "" if each.place in seen else kernel.code.get(str(each.place), "")
        seen.add(each.place)
        rows.append(Row((*_cells(each), text(Run(code, "code"))), note=each.why))
    children: list[Node] = [Table(columns, tuple(rows), describe(kernel.side))]
    if kernel.budgets:
        children.append(_budgets(kernel))
    outcome = Run(kernel.outcome, _OUTCOME_TONES[kernel.outcome])
    budgets = _budgets_counted(kernel)
    return Section(
        describe(kernel.side), tuple(children), key="kernel",
        aside=text(outcome, f" · {budgets}" if budgets else ""), full=True, wide=True,
    )  # fmt: skip


def _cells(verdict: Verdict) -> list[Text]:
    tone = _LEVEL_TONES[verdict.level]
    return [
        text(Run(_MARKS[verdict.level], tone)),
        text(
            Run(verdict.name, "code" if verdict.is_budget else tone),
            f" of {verdict.of}" if verdict.of else "",
        ),
        text(verdict.before),
        text(Run(verdict.after, tone)),
        text(Run(verdict.change, tone)),
        text(Run(str(verdict.place or ""), place=verdict.place)),
    ]


def _budgets(kernel: CheckedKernel) -> Section:
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
    columns = (Column(), Column("budget"), Column("of"), Column("defined in"), Column())
    return Section(
        "all budgets", (table(columns, rows, "budgets"),), key="budgets", detail="budgets",
        folded=True,
    )  # fmt: skip


def _problems(check: Check) -> Findings:
    items = []
    for problem in check.problems:
        place = Place(problem.file, problem.line) if problem.file else None
        items.append(
            FindingItem(
                severity=problem_severity(problem), code=problem.kind, place=place, line="",
                message=problem.message, hint=problem.hint,
            )
        )  # fmt: skip
    return Findings(tuple(items), text(plural(len(items), "problem")), title="Problems")


def problem_severity(problem: Problem) -> Severity:
    """Return how bad a problem is."""
    if problem.fails:
        return "error"
    return "note" if problem.kind == "other compiler" else "warning"


def verdicts(kernel: CheckedKernel) -> list[Verdict]:
    """Return a kernel's results, what matters most first; budgets that hold are left out."""
    found = [movement_verdict(one, kernel.side) for one in kernel.movements]
    found += [budget_verdict(one) for one in kernel.budgets if one.state in ("broken", "unknown")]
    found += [_finding_verdict(one) for one in kernel.findings]
    found.sort(key=lambda each: _LEVELS.index(each.level))
    reasons: set[str] = set()
    once = []
    for each in found:
        once.append(each._replace(why="") if each.why in reasons else each)
        reasons.add(each.why)
    return once


def movement_verdict(one: Movement, side: Side) -> Verdict:
    """Return the verdict on a figure that is not the baseline's."""
    worse = one.judgement in ("lost", "unknown", "worse")
    level: Level = "warning" if worse else "good" if one.judgement == "better" else "note"
    change = change_of(one.delta, [side], "report" if one.pipeline is None else "pipeline")
    return Verdict(
        level="error" if one.fails else level,
        name=change.name,
        of=one.pipeline or "",
        before=change.before,
        after=change.after,
        change=change.change,
        place=place_of(one.source),
        why=f"unknown, because {one.reason}" if one.judgement == "unknown" else one.reason,
    )


def budget_verdict(one: BudgetVerdict) -> Verdict:
    """Return the verdict on a budget."""
    known = [figure for figure in one.figures if figure.before is not None]
    several = len(one.figures) > 1
    # The reason of a pipeline has its figures in words.
    listed = several and not (one.pipeline and one.reason)
    named = ", ".join(f"{_title(each)} {_value(each)}" for each in one.figures) if listed else ""
    because = f"unknown, because {one.reason}" if one.state == "unknown" else one.reason
    before = ""
    if known and not several:
        before = figures.format_value(known[0].before, _figure_unit(known[0]))
    return Verdict(
        level="error" if one.fails else "warning",
        name=one.expression,
        of=one.pipeline or "",
        before=before,
        after=_value(one.figures[0]) if len(one.figures) == 1 else "",
        change="",
        place=place_of(one.source),
        why="; ".join(filter(None, (named, because))),
        is_budget=True,
    )


def _finding_verdict(one: Finding) -> Verdict:
    level: Level = "note" if one.severity == "note" else "warning"
    place = place_of(one.source)
    return Verdict(level, f"finding {one.code}", "", "", "", "", place, one.message)


def _title(figure: BudgetFigure) -> str:
    return figure_title(figure.path)


def _value(figure: BudgetFigure) -> str:
    return figures.format_value(figure.value, _figure_unit(figure))


def _figure_unit(figure: BudgetFigure) -> Literal["count", "bytes", "ratio", "factor", "word"]:
    row = figures.get(figure.path)
    return "count" if row is None else row.unit


def check_verdict(check: Check) -> str:
    """Return the whole in a line: "check failed: 1 of 3 kernels, 1 stale budget"."""
    total = plural(len(check.kernels), "configuration")
    failed = sum(one.outcome == "failed" for one in check.kernels)
    warned = sum(one.outcome == "warned" for one in check.kernels)
    kinds = Counter(one.kind for one in check.problems if one.fails)
    phrases = [f"{count(failed)} of {total} failed"] if failed else []
    phrases += [_problems_counted(kind, number) for kind, number in sorted(kinds.items())]
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


def _advice(check: Check) -> str:
    """Return what to do next about the baseline; "" for nothing."""
    if check.update is not None:
        return ""
    movements = [one for kernel in check.kernels for one in kernel.movements]
    if any(one.fails for one in movements):
        return "if this is intended: irlens check --update"
    if any(one.judgement == "better" for one in movements):
        return "to keep the improvements: irlens check --update"
    return ""


def _updated(update: Update) -> str:
    """Return what became of a baseline: "1 added, 2 changed, 3 unchanged"."""
    numbers = {
        "added": update.added,
        "changed": update.changed,
        "removed": update.removed,
        "unchanged": update.unchanged,
    }
    return ", ".join(f"{count(n)} {what}" for what, n in numbers.items() if n) or "empty"
