"""The results of a check in words and units: of its figures, its budgets and its findings."""

from collections.abc import Collection
from typing import Literal, NamedTuple, TypeAlias

from irlens import figures
from irlens.model.check import BudgetFigure, BudgetVerdict, CheckedKernel, Movement, Problem
from irlens.model.comparison import Side, Unit
from irlens.model.report import Finding, Severity
from irlens.render.view.changes import change_of, figure_title
from irlens.render.view.drawings import place_of
from irlens.render.view.nodes import Place

Level: TypeAlias = Literal["error", "warning", "note", "good"]
#: Since when a result holds: compared with the baseline, where that has the kernel.
Since: TypeAlias = Literal["this change", "before", "unknown"]
LEVELS: tuple[Level, ...] = ("error", "warning", "good", "note")
#: What the program states, and what else moved comes from.
_OF_PROGRAM = ("config.", "summary.writes")
_SINCE: dict[bool | None, Since] = {True: "before", False: "this change", None: "unknown"}


class Verdict(NamedTuple):
    """One result of a check, in words and units.

    Attributes:
        level: "error" fails the check, "good" is an improvement.
        name: The figure, the budget's condition, or the finding's code.
        of: The mechanism of the pipeline it is about; empty where it is about the kernel.
        before: The baseline's value; empty where there is none.
        change: With sign and unit; may be empty.
        place: The line of Python to look at; ``None`` if unknown.
        why: What else is known; may be empty.
        is_unknown: Whether a figure of the budget is unknown, so that it may hold.
        is_setting: Whether the program states it, and what else moved comes from it.
        since: Whether this change is what brought it.
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
    is_unknown: bool = False
    is_setting: bool = False
    since: Since = "this change"

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


def problem_severity(problem: Problem) -> Severity:
    """Return how bad a problem is."""
    if problem.fails:
        return "error"
    return "note" if problem.kind in ("other compiler", "other recording") else "warning"


def verdicts(kernel: CheckedKernel) -> list[Verdict]:
    """Return a kernel's results, what matters most first; budgets that hold are left out."""
    found = [movement_verdict(one, kernel.side) for one in kernel.movements]
    found += [budget_verdict(one) for one in kernel.budgets if one.state in ("broken", "unknown")]
    since: Since = "this change" if kernel.in_baseline else "unknown"
    found += [
        _finding_verdict(one, kernel.failing)._replace(since=since) for one in kernel.findings
    ]
    found.sort(key=lambda each: LEVELS.index(each.level))
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
        is_setting=one.pipeline is None and one.delta.path.startswith(_OF_PROGRAM),
    )


def budget_verdict(one: BudgetVerdict) -> Verdict:
    """Return the verdict on a budget."""
    known = [figure for figure in one.figures if figure.before is not None]
    several = len(one.figures) > 1
    # The reason of a pipeline has its figures in words.
    listed = several and not (one.pipeline and one.reason)
    named = (
        ", ".join(f"{figure_title(each.path)} {_value(each)}" for each in one.figures)
        if listed
        else ""
    )
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
        is_unknown=one.state == "unknown",
        since=_SINCE[one.broken_before],
    )


def _finding_verdict(one: Finding, failing: Collection[str]) -> Verdict:
    fails = one.code in failing
    level: Level = "note" if one.severity == "note" else "error" if fails else "warning"
    place = place_of(one.source)
    return Verdict(level, f"finding {one.code}", "", "", "", "", place, one.message)


def _value(figure: BudgetFigure) -> str:
    return figures.format_value(figure.value, _figure_unit(figure))


def _figure_unit(figure: BudgetFigure) -> Unit:
    row = figures.get(figure.path)
    return "count" if row is None else row.unit
