"""Evaluates budgets against a report. An unknown figure never satisfies its budget."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from irlens.checks.launch_budgets import LaunchBudget
from irlens.checks.movements import cause, occupancy_reason
from irlens.checks.project import Budget
from irlens.diff.report.left_out import why_unknown
from irlens.figures import Figure
from irlens.figures.conditions import Condition, baseline_key
from irlens.model.check import BUDGET_STATES, BudgetFigure, BudgetState, BudgetVerdict
from irlens.model.comparison import Comparison, Value
from irlens.model.report import Pipeline, Report
from irlens.model.source import SourceLocation

#: Figures that the limit of occupancy explains.
_FIT = frozenset({
    "occupancy.launchable", "occupancy.theoretical", "occupancy.blocks_per_sm",
    "occupancy.active_warps",
})  # fmt: skip


_NO_BASELINE: tuple[BudgetState, str] = "does not apply", "this kernel is not in the baseline"


class BaselineFigures(NamedTuple):
    """The figures of a baseline's entry, and how they differ from today's."""

    figures: Report
    comparison: Comparison


def applies_to(budget: Budget | LaunchBudget, report: Report, names: Sequence[str]) -> bool:
    """Return whether a budget's patterns match a kernel and its target."""
    target = report.target
    targets = [target.arch, target.product] if target else [""]
    return any(fnmatchcase(name, budget.kernel) for name in (report.kernel, *names)) and any(
        fnmatchcase(name.lower(), budget.target.lower()) for name in targets if name is not None
    )


def hold(budget: Budget, report: Report, known: BaselineFigures | None) -> list[BudgetVerdict]:
    """Return the verdict on a kernel, or one for each pipeline if the budget is about these.

    Args:
        known: The baseline's figures of the kernel, if it has an entry.
    """
    if not budget.condition.of_pipelines:
        return [_verdict(budget, report, known, None)]
    if report.pipelines:
        return [_verdict(budget, report, known, one) for one in report.pipelines]
    unknown = report.unknown.get("pipelines")
    no_loops = "no loop of this kernel reads global memory"
    return [
        BudgetVerdict(
            expression=budget.condition.text,
            place=budget.place,
            state="unknown" if unknown else "does not apply",
            fails=unknown is not None,
            figures=[],
            pipeline=None,
            source=None,
            reason=unknown or no_loops,
        )
    ]


def worst_first(verdicts: list[BudgetVerdict]) -> list[BudgetVerdict]:
    """Sort by state, then in the order of the file."""
    return sorted(verdicts, key=lambda one: BUDGET_STATES.index(one.state))


def _verdict(
    budget: Budget, report: Report, known: BaselineFigures | None, pipeline: Pipeline | None
) -> BudgetVerdict:
    figures, baselines = budget.condition.figures, budget.condition.baselines
    values = {
        figure.budget_path: _value(figure, report, pipeline) for figure in (*figures, *baselines)
    }
    before = {
        path: _before(figure, values[path], known, pipeline)
        for figure in (*figures, *baselines)
        if (path := figure.budget_path)
    }
    for figure in baselines:
        value = before[figure.budget_path]
        values[baseline_key(figure)] = before[baseline_key(figure)] = value
    if known is None and baselines:
        state, reason = _NO_BASELINE
    else:
        state, reason = _state(budget.condition, values, report, pipeline)
    source = next(filter(None, _sources(figures, report, pipeline)), None)
    return BudgetVerdict(
        expression=budget.condition.text,
        place=budget.place,
        state=state,
        fails=state in ("broken", "unknown"),
        figures=[
            BudgetFigure(
                path=figure.budget_path,
                value=values[figure.budget_path],
                before=before[figure.budget_path],
            )
            for figure in figures
        ],
        pipeline=(pipeline.kind or "loop") if pipeline is not None else None,
        source=source,
        reason=reason,
        broken_before=_is_broken(budget.condition, before) if state == "broken" else None,
    )


def _is_broken(condition: Condition, values: dict[str, Value]) -> bool | None:
    """Return whether figures break a condition; ``None`` where one is unknown."""
    if None in values.values():
        return None
    try:
        return not condition.holds(values)
    except ArithmeticError:
        return None


def _state(
    condition: Condition, values: dict[str, Value], report: Report, pipeline: Pipeline | None
) -> tuple[BudgetState, str]:
    """Return the state of a condition, and the reason."""
    for figure in condition.figures:
        if values[figure.budget_path] is None:
            return _without(figure, report, pipeline)
    for figure in condition.baselines:
        if values[baseline_key(figure)] is None:
            reason = f"the baseline has no {figure.budget_path}: irlens check --update writes it"
            return "unknown", reason
    try:
        held = condition.holds(values)
    except ZeroDivisionError:
        return "unknown", "it divides by 0"
    except ArithmeticError as error:
        return "unknown", str(error)
    if held:
        return "held", ""
    if pipeline is not None:
        return "broken", pipeline.reason
    return "broken", occupancy_reason(report) if _FIT & values.keys() else ""


def _without(figure: Figure, report: Report, pipeline: Pipeline | None) -> tuple[BudgetState, str]:
    """Return the state of a condition on a figure that the report lacks, and the reason."""
    name = figure.path.rpartition(".")[2]
    if pipeline is not None and figure.scope == "pipeline":
        if name == "requested_stages" and "ttir" in report.stages:
            return "does not apply", "no stages were requested"
        return "unknown", f"{name}: {pipeline.reason or 'no artifact says'}"
    if figure.vendor is not None and report.target and report.target.vendor != figure.vendor:
        vendor = {"amd": "AMD", "nvidia": "NVIDIA"}[figure.vendor]
        return "does not apply", f"only {vendor} GPUs have {name}"
    reason = why_unknown(figure.path, report)
    if figure.path.startswith("occupancy.limits.") and report.occupancy is not None:
        return "does not apply", f"{name} do not limit this kernel"
    return "unknown", f"{name}: {reason or 'no artifact says'}"


def _value(figure: Figure, report: Report, pipeline: Pipeline | None) -> Value:
    if pipeline is None or figure.scope == "report":
        return figure.read(report)
    if figure.field == "achieved_stages" and pipeline.verdict == "not pipelined":
        return 1  # no iteration ahead, whichever mechanism
    return figure.read(pipeline)


def _sources(
    figures: Sequence[Figure], report: Report, pipeline: Pipeline | None
) -> Iterator[SourceLocation | None]:
    if pipeline is not None:
        yield pipeline.source
    for figure in figures:
        yield cause(figure.path, report)


def _before(
    figure: Figure, value: Value, known: BaselineFigures | None, pipeline: Pipeline | None
) -> Value:
    """Return the baseline's value of a figure."""
    if known is None:
        return None
    if pipeline is None or figure.scope == "report":
        return figure.read(known.figures)
    for loop in known.comparison.loops:
        same = (
            loop.kind == pipeline.kind
            and str(loop.source) == str(pipeline.source)
            and str(loop.product) == str(pipeline.product_source)
        )
        if same and loop.presence == "both" and figure.in_baseline:
            # Comparisons may leave out figures that did not change.
            before = (delta.before for delta in loop.deltas if delta.path == figure.field)
            return next(before, value)
    return None
