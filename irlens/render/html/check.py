"""What a check found, as a page: the verdict, what fails, and every budget."""

from collections.abc import Iterator

from irlens.model.check import BudgetVerdict, Check, CheckedKernel, Outcome, Problem
from irlens.render import View
from irlens.render._changes import describe
from irlens.render._gate import (
    Level,
    Row,
    advice,
    problem_level,
    problem_place,
    rows,
    silent,
    title,
    updated,
    verdict,
)
from irlens.render.html._markup import Content, Markup, join, tag
from irlens.render.html._page import document
from irlens.render.html._parts import State, badge, card, folded, stated, table

OUTCOME_STATES: dict[Outcome, State] = {"failed": "bad", "warned": "warn", "passed": "good"}
_LEVEL_STATES: dict[Level, State] = {
    "error": "bad", "warning": "warn", "note": "dim", "good": "good",
}  # fmt: skip
_BUDGET_STATES: dict[str, State] = {
    "broken": "bad", "unknown": "warn", "held": "good", "does not apply": "dim",
}  # fmt: skip


def render(check: Check, view: View) -> str:
    """Return the page."""
    written = f"{check.baseline}: {updated(check.update)}" if check.update is not None else None
    told = [kernel for kernel in check.kernels if rows(kernel)]
    body = tag(
        "main",
        tag("h1", "irlens check"),
        tag("p", stated(OUTCOME_STATES[check.outcome], verdict(check)), class_="verdict"),
        tag("p", tag("code", written)) if written else None,
        *(tag("p", tag("code", each)) for each in advice(check)),
        _problems(check),
        *(_kernel(kernel) for kernel in told),
        _all(check),
        _unchecked(check),
    )
    return document(verdict(check), body)


def _problems(check: Check) -> Markup | None:
    if not check.problems:
        return None
    return tag("ul", *(_problem(problem) for problem in check.problems), class_="findings")


def _problem(problem: Problem) -> Markup:
    state, place = _LEVEL_STATES[problem_level(problem)], problem_place(problem)
    return tag(
        "li",
        tag("p", badge(state, problem.kind), " ", tag("code", place) if place else None),
        tag("p", problem.message),
        tag("p", problem.hint, class_="hint"),
        class_=state,
    )


def _kernel(kernel: CheckedKernel) -> Markup:
    outcome = badge(OUTCOME_STATES[kernel.outcome], kernel.outcome)
    found = [_cells(row, kernel) for row in rows(kernel)]
    header = ["", "", "baseline", "now", "", "where", ""]
    return card(
        title(kernel),
        table(header, found, right=(2, 3, 4), class_="figures", name=title(kernel)),
        _budgets(kernel),
        aside=outcome,
        wide=True,
    )


def _cells(row: Row, kernel: CheckedKernel) -> list[Content]:
    code = kernel.code.get(row.place)
    return [
        stated(_LEVEL_STATES[row.level], tag("span", row.level, class_="unseen")),
        join(
            [
                tag("code", row.name) if row.budget else row.name,
                tag("small", f" {row.why}") if row.why else None,
            ]
        ),
        row.before,
        row.after,
        row.change,
        tag("code", row.place) if row.place else None,
        tag("code", code, class_="line") if code else None,
    ]


def _budgets(kernel: CheckedKernel) -> Markup | None:
    if not kernel.budgets:
        return None
    found = [list(_budget(each)) for each in kernel.budgets]
    return folded("all budgets", table(["", "budget", "of", "written in", ""], found))


def _budget(one: BudgetVerdict) -> Iterator[Content]:
    yield stated(_BUDGET_STATES[one.state], one.state)
    yield tag("code", one.expression)
    yield one.pipeline or "the kernel"
    yield tag("code", one.place)
    yield one.reason


def _all(check: Check) -> Markup | None:
    """Everything that was checked, in a line each."""
    found: list[list[Content]] = [
        [
            title(kernel),
            stated(OUTCOME_STATES[kernel.outcome], kernel.outcome),
            "see above" if rows(kernel) else silent(kernel, check),
        ]
        for kernel in check.kernels
    ]
    if not found:
        return None
    return card("Everything checked", table(["kernel", "", ""], found), wide=True)


def _unchecked(check: Check) -> Markup | None:
    if not check.unchecked:
        return None
    told = (tag("li", describe(side)) for side in check.unchecked)
    return card("In the baseline, not asked for", tag("ul", *told))
