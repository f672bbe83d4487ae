"""What a check found: a baseline's figures and the budgets, held against what is compiled now.

``None`` is always "unknown" or "does not apply". Only figures that are exact decide whether a
check fails; findings are heuristics and warn.
"""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.comparison import Comparison, Delta, Side, Value
from irlens.model.report import Finding
from irlens.model.source import SourceLocation

CHECK_SCHEMA = 1

Outcome: TypeAlias = Literal["failed", "warned", "passed"]
Judgement: TypeAlias = Literal["lost", "unknown", "worse", "other", "better"]
BudgetState: TypeAlias = Literal["broken", "unknown", "held", "does not apply"]
ProblemKind: TypeAlias = Literal["missing", "stale budget", "not in baseline", "other compiler"]

#: Worst first.
OUTCOMES: tuple[Outcome, ...] = ("failed", "warned", "passed")
JUDGEMENTS: tuple[Judgement, ...] = ("lost", "unknown", "worse", "other", "better")
BUDGET_STATES: tuple[BudgetState, ...] = ("broken", "unknown", "held", "does not apply")


class Movement(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of the baseline that is another one now.

    Attributes:
        delta: The figure on both sides. Of a pipeline the path is the field's name alone.
        judgement: "lost" is what the gate is for: occupancy, launching, stages of a pipeline.
            "unknown" is such a figure of which nothing is known any more. "worse" and "better"
            cost or give nothing yet (registers without occupancy); "other" is neither.
        fails: Whether it fails the check.
        pipeline: The mechanism of the pipeline that the figure belongs to ("cp.async"), "loop" of
            one without; ``None`` for a figure of the whole kernel.
        source: The line of Python to look at: the loop, or where the limiting resource is used
            most.
        reason: Why: what limits the occupancy now, why a figure is unknown; empty where the
            figures say it all.
    """

    delta: Delta
    judgement: Judgement
    fails: bool
    pipeline: str | None
    source: SourceLocation | None
    reason: str


class BudgetFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that a budget speaks of.

    Attributes:
        path: Where the report has it, dotted; "pipeline." and the field's name within a loop.
        before: Its value in the baseline; ``None`` where that does not have it.
        value: Its value now.
    """

    path: str
    before: Value
    value: Value


class BudgetVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One budget, held against one kernel, or against one pipeline of it.

    Attributes:
        expression: What is asked for, as written: "occupancy >= 0.5".
        place: Where it is written, dotted: "tool.irlens.budgets.softmax.sm_90".
        state: What came of it. "unknown" never counts as held.
        fails: Whether it fails the check.
        figures: The figures it speaks of, in the order of their names' first use.
        pipeline: The mechanism of the pipeline it was held against; ``None`` for the kernel.
        source: The line of Python to look at.
        reason: Why it is unknown or does not apply, or what else explains it; may be empty.
    """

    expression: str
    place: str
    state: BudgetState
    fails: bool
    figures: list[BudgetFigure]
    pipeline: str | None
    source: SourceLocation | None
    reason: str


class CheckedKernel(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel, compiled for one target in one configuration.

    Attributes:
        side: What it is; the label sets it apart from the kernel's other configurations.
        asked: KERNEL as the baseline or the command line has it: "softmax", "kernels/mine.py:add".
        outcome: "failed" if anything below fails, "warned" if anything is to be looked at.
        in_baseline: Whether there is something to compare with.
        movements: What moved against the baseline, worst first.
        budgets: Every budget that speaks of this kernel, broken ones first.
        findings: Findings that the baseline does not have, notes excluded; all where there is no
            baseline.
        comparison: The baseline's figures and today's, in full; ``None`` without a baseline. It
            has the figures that a baseline keeps and nothing else.
        code: The lines of Python that this speaks of, by "file:line", where the capture holds the
            source.
    """

    side: Side
    asked: str
    outcome: Outcome
    in_baseline: bool
    movements: list[Movement]
    budgets: list[BudgetVerdict]
    findings: list[Finding]
    comparison: Comparison | None
    code: dict[str, str]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something about the baseline or the budgets as a whole.

    Attributes:
        kind: "missing": an entry of the baseline that cannot be made any more; "stale budget":
            one whose patterns match no kernel; "not in baseline": a kernel that has no entry;
            "other compiler": another Triton than the baseline's.
        fails: Whether it fails the check.
        message: One sentence: what is the case.
        hint: One sentence: what to do.
        file: The file it is about, relative to the project: "pyproject.toml".
        line: 1-based line there, where it is known.
    """

    kind: ProblemKind
    fails: bool
    message: str
    hint: str
    file: str | None
    line: int | None


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--update`` did to the baseline: numbers of its entries."""

    added: int
    changed: int
    removed: int
    unchanged: int


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A whole check.

    Attributes:
        schema: Version of this interface.
        outcome: The worst of all.
        strict: Whether any movement fails.
        baseline: The baseline's file, relative to the project; ``None`` where there is none.
        update: What was written to it; ``None`` where nothing was asked to be.
        kernels: What was checked, what fails first.
        problems: What is wrong beside the kernels, what fails first.
        unchecked: Entries of the baseline that were not asked for.
    """

    schema: int
    outcome: Outcome
    strict: bool
    baseline: str | None
    update: Update | None
    kernels: list[CheckedKernel]
    problems: list[Problem]
    unchecked: list[Side]
