"""Holding budgets against a report. What is unknown never counts as held."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from irlens.check import places
from irlens.check.baseline import KeptPipeline
from irlens.check.expressions import Condition
from irlens.check.fields import PIPELINE, Field
from irlens.check.project import Budget
from irlens.figures import read_path
from irlens.model.check import BUDGET_STATES, BudgetFigure, BudgetState, BudgetVerdict
from irlens.model.comparison import Comparison, Value
from irlens.model.report import Pipeline, Report
from irlens.model.source import SourceLocation

#: Figures that follow from what limits occupancy.
_FITTING = frozenset({
    "occupancy.launchable", "occupancy.theoretical", "occupancy.blocks_per_sm",
    "occupancy.active_warps",
})  # fmt: skip


class Known(NamedTuple):
    """What a baseline has of a kernel, as ``baseline.figures``, and how far it moved."""

    figures: Report
    comparison: Comparison


def speaks_of(budget: Budget, report: Report, names: Sequence[str]) -> bool:
    """Whether a budget's patterns match a kernel and its target.

    Args:
        budget: The budget.
        report: The kernel's report.
        names: KERNEL in every way that it may be asked for.
    """
    target = report.target
    targets = [target.arch, target.product] if target else [""]
    return any(fnmatchcase(name, budget.kernel) for name in (report.kernel, *names)) and any(
        fnmatchcase(name.lower(), budget.target.lower()) for name in targets if name is not None
    )


def hold(budget: Budget, report: Report, known: Known | None) -> list[BudgetVerdict]:
    """Return what became of a budget, for each pipeline if it speaks of these.

    Args:
        budget: The budget.
        report: What it is held against.
        known: What the baseline has of it, if there is one.
    """
    if not budget.condition.of_pipelines:
        return [_verdict(budget, report, known, None)]
    if report.pipelines:
        return [_verdict(budget, report, known, one) for one in report.pipelines]
    unknown = report.unknown.get("pipelines")
    nothing = "no loop of this kernel reads global memory"
    return [
        BudgetVerdict(
            expression=budget.condition.text,
            place=budget.place,
            state="unknown" if unknown else "does not apply",
            fails=unknown is not None,
            figures=[],
            pipeline=None,
            source=None,
            reason=unknown or nothing,
        )
    ]


def worst_first(verdicts: list[BudgetVerdict]) -> list[BudgetVerdict]:
    """Sort by state; what is written first comes first."""
    return sorted(verdicts, key=lambda one: BUDGET_STATES.index(one.state))


def _verdict(
    budget: Budget, report: Report, known: Known | None, pipeline: Pipeline | None
) -> BudgetVerdict:
    values = {field.path: _value(field, report, pipeline) for field in budget.condition.fields}
    state, reason = _state(budget.condition, values, report, pipeline)
    source = next(filter(None, _sources(values, report, pipeline)), None)
    return BudgetVerdict(
        expression=budget.condition.text,
        place=budget.place,
        state=state,
        fails=state in ("broken", "unknown"),
        figures=[
            BudgetFigure(path=path, value=value, before=_before(path, value, known, pipeline))
            for path, value in values.items()
        ],
        pipeline=(pipeline.kind or "loop") if pipeline is not None else None,
        source=source,
        reason=reason,
    )


def _state(
    condition: Condition, values: dict[str, Value], report: Report, pipeline: Pipeline | None
) -> tuple[BudgetState, str]:
    """Return what became of a condition, and why."""
    for field in condition.fields:
        if values[field.path] is None:
            return _without(field, report, pipeline)
    try:
        held = condition.holds(values)
    except ZeroDivisionError:
        return "unknown", "it divides by 0"
    if held:
        return "held", ""
    if pipeline is not None:
        return "broken", pipeline.reason
    return "broken", places.occupancy_reason(report) if _FITTING & values.keys() else ""


def _without(field: Field, report: Report, pipeline: Pipeline | None) -> tuple[BudgetState, str]:
    """Return what becomes of a condition on a figure that is not there."""
    name = field.path.rpartition(".")[2]
    if pipeline is not None and field.path.startswith(PIPELINE):
        if name == "requested_stages" and "ttir" in report.stages:
            return "does not apply", "no stages were asked for"
        return "unknown", f"{name}: {pipeline.reason or 'nothing tells it'}"
    if field.vendor is not None and report.target and report.target.vendor != field.vendor:
        vendor = {"amd": "AMD", "nvidia": "NVIDIA"}[field.vendor]
        return "does not apply", f"only {vendor} GPUs have {name}"
    reason = places.why_unknown(field.path, report)
    if field.path.startswith("occupancy.limits.") and report.occupancy is not None:
        return "does not apply", f"{name} limit nothing here"
    return "unknown", f"{name}: {reason or 'nothing tells it'}"


def _value(field: Field, report: Report, pipeline: Pipeline | None) -> Value:
    if pipeline is None or not field.path.startswith(PIPELINE):
        return read_path(report, field.path)
    value = read_path(pipeline, field.path.removeprefix(PIPELINE))
    if field.path == "pipeline.achieved_stages" and pipeline.verdict == "not pipelined":
        return 1  # no iteration ahead, whatever the mechanism would have been
    return value


def _sources(
    values: dict[str, Value], report: Report, pipeline: Pipeline | None
) -> Iterator[SourceLocation | None]:
    if pipeline is not None:
        yield pipeline.source
    for path in values:
        yield places.source(path, report)


def _before(path: str, value: Value, known: Known | None, pipeline: Pipeline | None) -> Value:
    """Return the baseline's value of a figure."""
    if known is None:
        return None
    if pipeline is None or not path.startswith(PIPELINE):
        return read_path(known.figures, path)
    name = path.removeprefix(PIPELINE)
    for loop in known.comparison.loops:
        same = loop.kind == pipeline.kind and str(loop.source) == str(pipeline.source)
        if same and loop.presence == "both" and name in KeptPipeline.__struct_fields__:
            # What did not move is not always told.
            moved = (delta.before for delta in loop.deltas if delta.path == name)
            return next(moved, value)
    return None
