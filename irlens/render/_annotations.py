"""What is to be said at lines of code: the same for every format that code hosts read."""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from irlens.model.check import BudgetVerdict, Check, CheckedKernel, Movement, Problem
from irlens.model.comparison import Comparisons, Side
from irlens.model.label import labels
from irlens.model.moved import verdict
from irlens.model.report import SEVERITIES, Finding, Report, Severity
from irlens.model.source import SourceLocation
from irlens.model.sweep import Sweep
from irlens.model.text import count
from irlens.render import _gate
from irlens.render._changes import describe, sides, title

#: Against what stood there before, in SARIF's words.
State: TypeAlias = Literal["new", "absent", "updated"]

#: Configurations that a message names.
_TOLD = 3


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """Something to be said at a line.

    Attributes:
        rule: Its kind: a finding's code, or "baseline", "budget", "check", "compile",
            "difference".
        level: How bad it is.
        message: One sentence: what is the case.
        hint: What to do; may be empty.
        kernel: The kernel's name; empty where it is about none.
        where: The configurations it is the case in: "softmax_kernel on sm_90, num_stages=2".
        file: Base name of a Python file, or a path relative to the project; ``None`` if unknown.
        line: 1-based line there; ``None`` where it is about the whole.
        code: Python's text on that line; empty where it is not known.
        stage: The compiler's stage that it was seen in.
        stage_line: 1-based line there.
        state: Against what it is compared with; ``None`` where nothing is.
    """

    rule: str
    level: Severity
    message: str
    hint: str = ""
    kernel: str = ""
    where: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None
    code: str = ""
    stage: str | None = None
    stage_line: int | None = None
    state: State | None = None

    @property
    def text(self) -> str:
        """The message with the configurations it is meant of, the first few of them."""
        told = "; ".join(self.where[:_TOLD])
        if len(self.where) > _TOLD:
            told += f" and {count(len(self.where) - _TOLD)} more"
        return f"{told}: {self.message}" if told else self.message


def of_reports(reports: Sequence[Report]) -> list[Annotation]:
    """Return the findings of reports."""
    return _merged(
        _finding(each, _side(report, label), report.code, _own_file(report))
        for report, label in zip(reports, labels(reports), strict=True)
        for each in report.findings
    )


def of_comparisons(comparisons: Comparisons) -> list[Annotation]:
    """Return the findings that appeared, went, or say something else now."""
    found = []
    for pair in comparisons.pairs:
        for each in pair.findings:
            if each.after is not None:
                state: State = "new" if each.before is None else "updated"
                annotation = _finding(each.after, pair.after, pair.code)
            elif each.before is not None:
                state, annotation = "absent", _finding(each.before, pair.before, pair.code)
            else:
                continue
            found.append(msgspec.structs.replace(annotation, state=state))
    return _merged(found)


def of_differences(comparisons: Comparisons) -> list[Annotation]:
    """Return what moved, a sentence for each pair that differs; these have no place."""
    return [
        Annotation(
            rule="difference",
            level="note",
            message=", ".join(verdict(pair)),
            kernel=pair.after.kernel,
            where=(", ".join(filter(None, (title(pair), sides(pair)))),),
        )
        for pair in comparisons.pairs
        if pair.different
    ]


def of_check(check: Check) -> list[Annotation]:
    """Return what a check found: what moved, budgets that do not hold, findings, problems."""
    found: list[Annotation] = []
    for kernel in check.kernels:
        found += [_movement(each, kernel) for each in kernel.movements if _is_bad(each)]
        found += [
            _budget(each, kernel) for each in kernel.budgets if each.state in ("broken", "unknown")
        ]
        found += [_finding(each, kernel.side, kernel.code) for each in kernel.findings]
    return _merged([*found, *map(_problem, check.problems)])


def of_sweep(sweep: Sweep) -> list[Annotation]:
    """Return the findings of configurations that fit, and the configurations that failed.

    A finding is told once for each line, with the words and figures of the first configuration.
    """
    found: list[Annotation] = []
    alike: dict[tuple[str, SourceLocation | None], list[tuple[Finding, str]]] = {}
    compiled = 0
    for trial in sweep.trials:
        where = " ".join(filter(None, (trial.target.arch, trial.label)))
        if trial.outcome in ("failed", "died"):
            found.append(
                Annotation(
                    rule="compile",
                    level="warning",
                    message=trial.reason,
                    hint=trial.hint,
                    kernel=sweep.kernel,
                    where=(f"{sweep.kernel} on {where}",),
                    file=_swept_file(sweep),
                )
            )
        elif trial.outcome != "does not fit":
            compiled += 1
            for each in trial.findings:
                alike.setdefault((each.code, each.source), []).append((each, where))
    for same in alike.values():
        finding, where = same[0]
        often = f"{count(len(same))} of {count(compiled)} configurations"
        told = f"{sweep.kernel} in {often}, such as {where}"
        found.append(_of_kernel(finding, sweep.kernel, told, {}, _swept_file(sweep)))
    return _merged(found)


def _swept_file(sweep: Sweep) -> str | None:
    """The file of the kernel itself, where a loop's place tells it."""
    places = (loop.place.rpartition(":")[0] for trial in sweep.trials for loop in trial.pipelines)
    return next((file for file in places if file), None)


def _side(report: Report, label: str) -> Side:
    return Side(
        kernel=report.kernel,
        target=report.target,
        triton_version=report.triton_version,
        config=report.config,
        label=label.removeprefix(report.kernel).strip(),
    )


def _own_file(report: Report) -> str | None:
    """The file of the kernel itself: the outermost function's, as the pressure is told by."""
    pressure = report.pressure
    for stage in (pressure.ptx, pressure.amdgcn, pressure.sass):
        if stage is not None and stage.lines:
            return stage.lines[0].source.file
    return None


def _finding(
    finding: Finding, side: Side, code: dict[str, str], file: str | None = None
) -> Annotation:
    return _of_kernel(finding, side.kernel, describe(side), code, file)


def _of_kernel(
    finding: Finding, kernel: str, where: str, code: dict[str, str], file: str | None
) -> Annotation:
    return _placed(
        Annotation(
            rule=finding.code,
            level=finding.severity,
            message=finding.message,
            hint=finding.hint,
            kernel=kernel,
            where=(where,),
            file=file,
            stage=finding.stage,
            stage_line=finding.line,
        ),
        finding.source,
        code,
    )


def _placed(
    annotation: Annotation, source: SourceLocation | None, code: dict[str, str]
) -> Annotation:
    if source is None:
        return annotation
    return msgspec.structs.replace(
        annotation, file=source.file, line=source.line, code=code.get(str(source), "")
    )


def _is_bad(movement: Movement) -> bool:
    return movement.fails or movement.judgement in ("lost", "unknown", "worse")


def _movement(one: Movement, kernel: CheckedKernel) -> Annotation:
    return _told(_gate.movement_row(one, kernel.side), "baseline", one.source, kernel)


def _budget(one: BudgetVerdict, kernel: CheckedKernel) -> Annotation:
    return _told(_gate.budget_row(one), "budget", one.source, kernel)


def _told(
    row: _gate.Row, rule: str, source: SourceLocation | None, kernel: CheckedKernel
) -> Annotation:
    annotation = Annotation(
        rule=rule,
        level="error" if row.level == "error" else "warning",
        message=row.sentence,
        kernel=kernel.side.kernel,
        where=(describe(kernel.side),),
    )
    return _placed(annotation, source, kernel.code)


def _problem(problem: Problem) -> Annotation:
    level = _gate.problem_level(problem)
    return Annotation(
        rule="check",
        level="note" if level == "good" else level,
        message=problem.message,
        hint=problem.hint,
        file=problem.file,
        line=problem.line,
    )


def _merged(found: Iterable[Annotation]) -> list[Annotation]:
    """Say once what is the same in several configurations; the most severe first."""
    alike: dict[Annotation, dict[str, None]] = {}
    for each in found:
        # Where Python's line is known, nobody needs the configurations' own lines of the stage.
        stage_line = each.stage_line if each.line is None else None
        key = msgspec.structs.replace(each, where=(), stage_line=stage_line)
        alike.setdefault(key, {}).update(dict.fromkeys(each.where))
    merged = [msgspec.structs.replace(each, where=tuple(where)) for each, where in alike.items()]
    return sorted(merged, key=lambda each: SEVERITIES.index(each.level))
