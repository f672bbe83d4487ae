"""The records of a check: today's reports against a baseline's figures and budgets.

``None`` is always "unknown" or "does not apply". Only exact figures fail a check; findings are
heuristics and only warn.
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
ProblemKind: TypeAlias = Literal[
    "missing",
    "stale budget",
    "stale capture",
    "not in baseline",
    "other compiler",
    "other recording",
]

#: Worst first.
OUTCOMES: tuple[Outcome, ...] = ("failed", "warned", "passed")
JUDGEMENTS: tuple[Judgement, ...] = ("lost", "unknown", "worse", "other", "better")
BUDGET_STATES: tuple[BudgetState, ...] = ("broken", "unknown", "held", "does not apply")


class Movement(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of the baseline that has another value now.

    Attributes:
        delta: The figure on both sides; for a figure of a pipeline, the path is the field's name.
        judgement: "lost": a figure that checks protect got worse (occupancy, launching, stages of
            a pipeline). "unknown": such a figure is no longer known. "worse", "better": a change
            without effect on those (registers without occupancy). "other": neither.
        fails: Whether it fails the check.
        pipeline: The mechanism of the figure's pipeline ("cp.async"), "loop" where it has none;
            ``None`` for a figure of the whole kernel.
        source: The line of Python to look at: the loop, or the line that uses most of the limiting
            resource.
        reason: What limits the occupancy now, or why a figure is unknown; may be empty.
    """

    delta: Delta
    judgement: Judgement
    fails: bool
    pipeline: str | None
    source: SourceLocation | None
    reason: str


class BudgetFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that a budget uses.

    Attributes:
        path: Dotted path in the report; "pipeline." and the field's name within a loop.
        before: Its value in the baseline; ``None`` where the baseline lacks it.
        value: Its value now.
    """

    path: str
    before: Value
    value: Value


class BudgetVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of one budget on one kernel, or on one pipeline of it.

    Attributes:
        expression: The condition as written: "occupancy >= 0.5".
        place: Its key in ``pyproject.toml``, dotted: "tool.irlens.budgets.softmax.sm_90".
        state: The result. "unknown" never counts as held.
        fails: Whether it fails the check.
        figures: The figures it uses, in the order of their first use.
        pipeline: The mechanism of the pipeline it applies to; ``None`` for the kernel.
        source: The line of Python to look at.
        reason: Why it is unknown, does not apply, or is broken; may be empty.
        broken_before: Whether a broken budget was broken with the baseline's figures, too;
            ``None`` where these do not say, and for budgets that are not broken.
    """

    expression: str
    place: str
    state: BudgetState
    fails: bool
    figures: list[BudgetFigure]
    pipeline: str | None
    source: SourceLocation | None
    reason: str
    broken_before: bool | None = None


class CheckedKernel(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel, compiled for one target in one configuration.

    Attributes:
        side: The kernel; its label tells it apart from the kernel's other configurations.
        asked: KERNEL as the baseline or the command line names it: "softmax",
            "kernels/mine.py:add".
        outcome: "failed" if anything below fails, "warned" if anything got worse or is new.
        in_baseline: Whether the baseline has an entry for it.
        movements: Figures that moved against the baseline, worst first.
        budgets: Every budget that matches this kernel, broken ones first.
        findings: Findings that the baseline lacks, notes excluded; all of them without an entry.
        failing: The codes of those that fail the check.
        comparison: The baseline's figures against today's, limited to the figures that a baseline
            keeps; ``None`` without an entry.
        code: Text of the lines of Python that are mentioned, by "file:line", where the capture
            holds the source.
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
    failing: list[str] = []


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem of the baseline or the budgets as a whole.

    Attributes:
        kind: "missing": entries of the baseline that can no longer be made; "stale budget": a
            budget whose patterns match no kernel; "stale capture": captures that were made before
            their file changed; "not in baseline": a kernel without an entry;
            "other compiler": another Triton than the baseline's; "other recording": captures
            that are compared with those of another folder, which warns of nothing.
        fails: Whether it fails the check.
        message: What is wrong, in one sentence.
        hint: What to do, in one sentence.
        file: The file with the problem, relative to the project: "pyproject.toml".
        line: 1-based line there, where it is known.
        configurations: Number of configurations that it is about, where it is about some.
    """

    kind: ProblemKind
    fails: bool
    message: str
    hint: str
    file: str | None
    line: int | None
    configurations: int = 1


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """Number of entries of the baseline that ``--update`` added, changed, removed and kept."""

    added: int
    changed: int
    removed: int
    unchanged: int


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A whole check.

    Attributes:
        schema: Version of this interface.
        outcome: The worst outcome of kernels and problems.
        strict: Whether any movement fails.
        baseline: The baseline's file, relative to the project; ``None`` without a baseline.
        update: Changes that ``--update`` wrote to it; ``None`` without ``--update``.
        kernels: The checked kernels, failed ones first.
        problems: Problems outside the kernels, failing ones first.
        unchecked: Entries of the baseline that were not requested.
    """

    schema: int
    outcome: Outcome
    strict: bool
    baseline: str | None
    update: Update | None
    kernels: list[CheckedKernel]
    problems: list[Problem]
    unchecked: list[Side]
