"""What a check found, in words and units: the rows that every format for people shows."""

from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from irlens.model.check import (
    BudgetFigure,
    BudgetVerdict,
    Check,
    CheckedKernel,
    Movement,
    Problem,
    Update,
)
from irlens.model.comparison import Side, Unit
from irlens.model.moved import change_text, figure_title, value_text
from irlens.model.report import Finding
from irlens.model.text import count, plural
from irlens.render._changes import describe

Level: TypeAlias = Literal["error", "warning", "note", "good"]
LEVELS: tuple[Level, ...] = ("error", "warning", "good", "note")

#: What stands before a row, so that colour is never the only sign.
MARKS: dict[Level, str] = {"error": "✗", "warning": "!", "note": "·", "good": "+"}


class Row(NamedTuple):
    """Something to be told of a kernel.

    Attributes:
        level: "error" fails the check, "good" is an improvement.
        name: The figure, the budget's condition, or the finding's code.
        of: The mechanism of the pipeline it is about; empty where it is about the kernel.
        before: The baseline's value; empty where there is none to tell.
        after: Today's.
        change: With sign and unit; may be empty.
        place: The line of Python to look at, "file:line"; may be empty.
        why: What else is known; may be empty.
        budget: Whether the name is a budget's condition.
    """

    level: Level
    name: str
    of: str
    before: str
    after: str
    change: str
    place: str
    why: str
    budget: bool = False

    @property
    def named(self) -> str:
        """Return "stages achieved of cp.async"."""
        return f"{self.name} of {self.of}" if self.of else self.name

    @property
    def sentence(self) -> str:
        """Return "occupancy 50 % → 25 % (−25 points): limited by registers".

        Of a budget "occupancy >= 0.5: 50 % → 25 %: ...", since its condition may end in a number.
        """
        values = " → ".join(filter(None, (self.before, self.after)))
        told = f"{self.named}{':' if self.budget and values else ''} {values}".strip()
        change = f" ({self.change})" if self.change else ""
        return f"{told}{change}" + (f": {self.why}" if self.why else "")


def title(kernel: CheckedKernel) -> str:
    """Return the kernel and what sets it apart: "softmax_kernel on sm_90, num_stages=4"."""
    return describe(kernel.side)


def rows(kernel: CheckedKernel) -> list[Row]:
    """Return what is to be told of a kernel, what matters most first; budgets that hold are not."""
    found = [movement_row(one, kernel.side) for one in kernel.movements]
    found += [budget_row(one) for one in kernel.budgets if one.state in ("broken", "unknown")]
    found += [_finding(one) for one in kernel.findings]
    return _once(sorted(found, key=lambda row: LEVELS.index(row.level)))


def budgets_told(kernel: CheckedKernel) -> str:
    """Return how many budgets hold: "3 budgets held, 1 does not apply"; "" without any."""
    states = Counter(one.state for one in kernel.budgets)
    told = [
        f"{plural(states[state], 'budget')} {state}"
        for state in ("broken", "unknown", "held")
        if states[state]
    ]
    if states["does not apply"]:
        told.append(f"{count(states['does not apply'])} not applicable")
    return ", ".join(told)


def silent(kernel: CheckedKernel, check: Check) -> str:
    """Return how a kernel passed of which there is nothing else to tell."""
    if kernel.in_baseline:
        known = "as in the baseline"
    elif check.update is not None:
        known = "new in the baseline"
    else:
        known = "not in the baseline" if check.baseline is not None else ""
    return ", ".join(filter(None, (known, budgets_told(kernel)))) or "nothing to hold it against"


def verdict(check: Check) -> str:
    """Return the whole in a line: "check failed: 1 of 3 kernels, 1 stale budget"."""
    total = plural(len(check.kernels), "configuration")
    failed = sum(one.outcome == "failed" for one in check.kernels)
    warned = sum(one.outcome == "warned" for one in check.kernels)
    kinds = Counter(one.kind for one in check.problems if one.fails)
    told = [f"{count(failed)} of {total} failed"] if failed else []
    told += [_problems_told(kind, number) for kind, number in sorted(kinds.items())]
    if check.outcome == "failed":
        return f"check failed: {', '.join(told)}"
    with_warnings = f", {count(warned)} with warnings" if warned else ""
    return f"check passed: {total}{with_warnings}"


def problem_level(problem: Problem) -> Level:
    """Return how bad a problem is."""
    if problem.fails:
        return "error"
    return "note" if problem.kind == "other compiler" else "warning"


def problem_place(problem: Problem) -> str:
    """Return "pyproject.toml:12"; "" where it is about no file."""
    line = f":{problem.line}" if problem.line is not None else ""
    return f"{problem.file}{line}" if problem.file else ""


def advice(check: Check) -> Iterator[str]:
    """Yield what to do next about the baseline."""
    if check.update is not None:
        return
    judged = {one.judgement for kernel in check.kernels for one in kernel.movements}
    if any(one.fails for kernel in check.kernels for one in kernel.movements):
        yield "if that is meant: irlens check --update"
    elif "better" in judged:
        yield "to keep what is better: irlens check --update"


def updated(update: Update) -> str:
    """Return what became of a baseline: "1 added, 2 changed, 3 unchanged"."""
    numbers = {
        "added": update.added,
        "changed": update.changed,
        "removed": update.removed,
        "unchanged": update.unchanged,
    }
    return ", ".join(f"{count(n)} {what}" for what, n in numbers.items() if n) or "empty"


def unchecked(side: Side) -> str:
    """Return an entry of the baseline that was not asked for."""
    return describe(side)


def _problems_told(kind: str, number: int) -> str:
    if kind == "missing":
        return f"{count(number)} not checked"
    return plural(number, "stale budget") if kind == "stale budget" else kind


def _once(found: list[Row]) -> list[Row]:
    """Return rows without the reasons that a row above has already given."""
    told: set[str] = set()
    left = []
    for row in found:
        left.append(row._replace(why="") if row.why in told else row)
        told.add(row.why)
    return left


def movement_row(one: Movement, side: Side) -> Row:
    """Return what is to be told of a figure that moved."""
    worse = one.judgement in ("lost", "unknown", "worse")
    level: Level = "warning" if worse else "good" if one.judgement == "better" else "note"
    why = f"unknown, because {one.reason}" if one.judgement == "unknown" else one.reason
    return Row(
        level="error" if one.fails else level,
        name=figure_title(one.delta.path, [side]),
        of=one.pipeline or "",
        before=value_text(one.delta.before, one.delta.unit),
        after=value_text(one.delta.after, one.delta.unit),
        change=change_text(one.delta),
        place=str(one.source or ""),
        why=why,
    )


def budget_row(one: BudgetVerdict) -> Row:
    """Return what is to be told of a budget."""
    figures = one.figures
    known = [figure for figure in figures if figure.before is not None]
    several = len(figures) > 1
    # The reason of a pipeline tells its figures in words.
    tell = several and not (one.pipeline and one.reason)
    named = ", ".join(f"{_title(each)} {_text(each)}" for each in figures) if tell else ""
    because = f"unknown, because {one.reason}" if one.state == "unknown" else one.reason
    return Row(
        level="error" if one.fails else "warning",
        name=one.expression,
        of=one.pipeline or "",
        before=value_text(known[0].before, _unit(known[0].path)) if known and not several else "",
        after=_text(figures[0]) if len(figures) == 1 else "",
        change="",
        place=str(one.source or ""),
        why="; ".join(filter(None, (named, because))),
        budget=True,
    )


def _finding(one: Finding) -> Row:
    level: Level = "note" if one.severity == "note" else "warning"
    place = str(one.source or "")
    return Row(level, f"finding {one.code}", "", "", "", "", place, one.message)


def _title(figure: BudgetFigure) -> str:
    return figure_title(figure.path.removeprefix("pipeline."))


def _text(figure: BudgetFigure) -> str:
    return value_text(figure.value, _unit(figure.path))


def _unit(path: str) -> Unit:
    """Return what a figure counts in, as its name says."""
    name = path.rpartition(".")[2]
    if name.endswith("_bytes") or name.startswith("bytes_"):
        return "bytes"
    if path in ("occupancy.theoretical", "occupancy.tail"):
        return "ratio"
    return "factor" if name == "waves" else "count"
