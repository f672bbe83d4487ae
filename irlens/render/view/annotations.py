"""Annotations of lines of code: the same for every format that code hosts read."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from irlens.model.check import Check, CheckedKernel
from irlens.model.comparison import Comparisons, Side, side_of
from irlens.model.label import labels
from irlens.model.limits import Limits
from irlens.model.report import SEVERITIES, Finding, Report, Rule, Severity
from irlens.model.results import Kind
from irlens.model.source import SourceLocation
from irlens.model.sweep import Sweep
from irlens.model.text import count, first_of
from irlens.render.options import Options
from irlens.render.view import check_verdicts
from irlens.render.view.changes import describe, finding_state, full_title
from irlens.render.view.check_lines import moved_lines
from irlens.render.view.comparison_verdict import verdict

#: A finding against the other side of a comparison, in SARIF's words.
State: TypeAlias = Literal["new", "absent", "updated"]

#: Configurations that a message names.
_NAMED = 3


class Annotation(msgspec.Struct, frozen=True, kw_only=True):
    """A message about a line.

    Attributes:
        rule: Its kind: a finding's code, or "baseline", "budget", "check", "compile",
            "difference", "limit".
        hint: What to do; may be empty.
        kernel: The kernel's name; empty where it is about none.
        where: The configurations it holds for: "softmax_kernel on sm_90, num_stages=2".
        file: Base name of a Python file, or a path relative to the project; ``None`` if unknown.
        line: 1-based line there; ``None`` where it is about the whole file.
        code: Python's text on that line; empty where it is unknown.
        stage: The compiler's stage that it was seen in.
        stage_line: 1-based line there.
        state: How it compares with the other side; ``None`` where nothing is compared.
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
        """The message after the configurations it holds for, the first few of them."""
        named = first_of(self.where, _NAMED, "; ")
        return f"{named}: {self.message}" if named else self.message


def annotations(kind: Kind, subject: Any) -> list[Annotation]:
    """Return the findings, movements, broken budgets and failures of a result."""
    match kind:
        case "comparisons":
            found = _of_comparisons(subject)
        case "check":
            found = _of_check(subject)
        case "sweep":
            found = _of_sweep(subject)
        case "limits":
            found = _of_limits(subject)
        case _:
            found = _of_reports(subject)
    return _merged(found)


def in_lines(check: Check) -> list[Annotation]:
    """Return the annotations of a check with one for each kernel that moved, not each figure."""
    found = [each for each in annotations("check", check) if each.rule != "baseline"]
    moved = moved_lines(
        [(kernel, check_verdicts.verdicts(kernel)) for kernel in check.kernels if kernel.movements]
    )
    code = {place: text for kernel in check.kernels for place, text in kernel.code.items()}
    for line in reversed(moved):
        if line.level in ("error", "warning"):
            place = next(iter(line.places), None)
            each = Annotation(
                rule="baseline",
                level="error" if line.level == "error" else "warning",
                message=line.words,
                kernel=line.kernels[0],
                file=place.name if place is not None else None,
                line=place.line if place is not None else None,
                code=code.get(str(place), ""),
            )
            found.insert(0, each)
    return sorted(found, key=lambda each: SEVERITIES.index(each.level))


def _of_reports(reports: Sequence[Report]) -> Iterator[Annotation]:
    for report, label in zip(reports, labels(reports), strict=True):
        side = side_of(report, label.removeprefix(report.kernel).strip())
        for finding in report.findings:
            yield _finding(finding, side, report.code, _own_file(report))


def _own_file(report: Report) -> str | None:
    """The file of the kernel itself: the outermost function's, by which pressure is listed."""
    for _, stage in report.pressure.stages():
        if stage.lines:
            return stage.lines[0].source.file
    return None


def _of_comparisons(comparisons: Comparisons) -> Iterator[Annotation]:
    """Yield the findings that appeared, disappeared or changed."""
    states: dict[str, State] = {"new": "new", "gone": "absent", "changed": "updated"}
    for pair in comparisons.pairs:
        for delta in pair.findings:
            finding = delta.after or delta.before
            if finding is not None:
                is_gone = delta.after is None
                side = pair.before if is_gone else pair.after
                code = pair.code | pair.code_before if is_gone else pair.code
                annotation = _finding(finding, side, code)
                yield msgspec.structs.replace(annotation, state=states[finding_state(delta)])


def differences(comparisons: Comparisons) -> list[Annotation]:
    """Return what changed, a sentence for each pair that differs; these have no place."""
    return [
        Annotation(
            rule="difference",
            level="note",
            message=verdict(pair).words,
            kernel=pair.after.kernel,
            where=(full_title(pair),),
        )
        for pair in comparisons.pairs
        if pair.different
    ]


def _of_check(check: Check) -> Iterator[Annotation]:
    """Yield what got worse, budgets that do not hold, findings, problems."""
    for kernel in check.kernels:
        for moved in kernel.movements:
            if moved.fails or moved.judgement in ("lost", "unknown", "worse"):
                found = check_verdicts.movement_verdict(moved, kernel.side)
                yield _verdict(found, "baseline", moved.source, kernel)
        for budget in kernel.budgets:
            if budget.state in ("broken", "unknown"):
                yield _verdict(
                    check_verdicts.budget_verdict(budget), "budget", budget.source, kernel
                )
        for finding in kernel.findings:
            yield _finding(finding, kernel.side, kernel.code)
    for problem in check.problems:
        yield Annotation(
            rule="check",
            level=check_verdicts.problem_severity(problem),
            message=problem.message,
            hint=problem.hint,
            file=problem.file,
            line=problem.line,
        )


def _of_sweep(sweep: Sweep) -> Iterator[Annotation]:
    """Yield the configurations that failed, and the findings of those that fit.

    A finding appears once for each line, with the words and figures of the first configuration.
    """
    alike: dict[tuple[str, SourceLocation | None], list[tuple[Finding, str]]] = {}
    compiled = 0
    for trial in sweep.trials:
        where = " ".join(filter(None, (trial.target.arch, trial.label)))
        if trial.outcome in ("failed", "died", "timed out"):
            yield Annotation(
                rule="compile",
                level="warning",
                message=trial.reason,
                hint=trial.hint,
                kernel=sweep.kernel,
                where=(f"{sweep.kernel} on {where}",),
                file=_swept_file(sweep),
            )
        elif trial.outcome != "does not fit":
            compiled += 1
            for each in trial.findings:
                alike.setdefault((each.code, each.source), []).append((each, where))
    for same in alike.values():
        finding, where = same[0]
        often = f"{count(len(same))} of {count(compiled)} configurations"
        named = f"{sweep.kernel} in {often}, such as {where}"
        yield _of_kernel(finding, sweep.kernel, named, {}, _swept_file(sweep))


def _of_limits(limits: Limits) -> Iterator[Annotation]:
    """Yield the smallest size at which each thing breaks, and why more is not known."""
    where = f"{limits.kernel} on {limits.target.arch}"
    for size in limits.sizes:
        for limit in size.limits:
            cause = limit.cause
            place = cause.at or cause.source
            first = f"{'' if limit.is_exact else 'at most '}{count(limit.size)}"
            told = (f"{limit.breaks} from {size.name} = {first} on", cause.where, limit.why)
            fix = limit.fix.words(place.file) if limit.fix is not None and place is not None else ""
            yield _placed(
                Annotation(
                    rule="limit", level="warning", message=": ".join(filter(None, told)), hint=fix,
                    kernel=limits.kernel, where=(where,),
                ),
                place, {},
            )  # fmt: skip
        if size.unknown:
            message = f"more of {size.name} is unknown: {size.unknown}"
            yield Annotation(
                rule="limit", level="note", message=message, kernel=limits.kernel, where=(where,)
            )


def _swept_file(sweep: Sweep) -> str | None:
    """The kernel's file, where a loop's place names it."""
    places = (loop.place.rpartition(":")[0] for trial in sweep.trials for loop in trial.pipelines)
    return next((file for file in places if file), None)


def _finding(
    finding: Finding, side: Side, code: dict[str, str], file: str | None = None
) -> Annotation:
    return _of_kernel(finding, side.kernel, describe(side), code, file)


def _of_kernel(
    finding: Finding, kernel: str, where: str, code: dict[str, str], file: str | None
) -> Annotation:
    annotation = Annotation(
        rule=finding.code,
        level=finding.severity,
        message=finding.message,
        hint=finding.hint,
        kernel=kernel,
        where=(where,),
        file=file,
        stage=finding.stage,
        stage_line=finding.line,
    )
    return _placed(annotation, finding.source, code)


def _placed(
    annotation: Annotation, source: SourceLocation | None, code: dict[str, str]
) -> Annotation:
    if source is None:
        return annotation
    return msgspec.structs.replace(
        annotation, file=source.file, line=source.line, code=code.get(str(source), "")
    )


def _verdict(
    found: check_verdicts.Verdict, rule: str, source: SourceLocation | None, kernel: CheckedKernel
) -> Annotation:
    annotation = Annotation(
        rule=rule,
        level="error" if found.level == "error" else "warning",
        message=found.sentence,
        kernel=kernel.side.kernel,
        where=(describe(kernel.side),),
    )
    return _placed(annotation, source, kernel.code)


def _merged(found: Iterable[Annotation]) -> list[Annotation]:
    """Merge what is the same in several configurations; the most severe first."""
    alike: dict[Annotation, dict[str, None]] = {}
    for each in found:
        # Where Python's line is known, the configurations' own lines of the stage do not matter.
        stage_line = each.stage_line if each.line is None else None
        key = msgspec.structs.replace(each, where=(), stage_line=stage_line)
        alike.setdefault(key, {}).update(dict.fromkeys(each.where))
    merged = [msgspec.structs.replace(each, where=tuple(where)) for each, where in alike.items()]
    return sorted(merged, key=lambda each: SEVERITIES.index(each.level))


def file_paths(found: Sequence[Annotation], options: Options) -> dict[str, str]:
    """Return the path of each file that annotations name, relative to the sources' root."""
    lines: dict[str, dict[int, str]] = {}
    for each in found:
        if each.file is not None:
            known = lines.setdefault(each.file, {})
            if each.line is not None and each.code:
                known[each.line] = each.code
    return {file: options.locate(file, known) or file for file, known in lines.items()}


def rule_of(annotation: Annotation, options: Options) -> Rule | None:
    """Return the rule of an annotation's kind; ``None`` where there is none."""
    return _RULES.get(annotation.rule) or options.explain(annotation.rule)


def _rule(code: str, severity: Severity, summary: str, documentation: str) -> Rule:
    return Rule(
        code=code, name=code, severity=severity, summary=summary, documentation=documentation
    )


#: Rules of what is not a finding.
_RULES = {
    rule.code: rule
    for rule in (
        _rule(
            "baseline",
            "error",
            "A figure differs from the baseline.",
            "Occupancy, launching or the stages of a pipeline were lost against the checked-in "
            "baseline, or something that they come from got worse. If this is intended, "
            "`irlens check --update` rewrites the baseline.",
        ),
        _rule(
            "budget",
            "error",
            "A budget does not hold, or it is unknown whether it does.",
            "`[tool.irlens.budgets]` of pyproject.toml requires it. Unknown values never count "
            "as held.",
        ),
        _rule(
            "check",
            "error",
            "The baseline or the budgets do not match what was checked.",
            "An entry of the baseline cannot be built any more, a kernel has none, a budget "
            "matches no kernel, or the baseline is another compiler's.",
        ),
        _rule(
            "difference",
            "note",
            "Two compilations of a kernel differ.",
            "The message has the figures that decide whether and how fast the kernel runs; "
            "`irlens diff` has all.",
        ),
        _rule(
            "limit",
            "warning",
            "A kernel breaks from a size on.",
            "An offset or a mask overflows, an access leaves its tensor, or the launch exceeds the "
            "GPU. `irlens limits` finds the smallest such size; where nothing larger is launched, "
            "nothing has to be done.",
        ),
        _rule(
            "compile",
            "warning",
            "A configuration does not compile.",
            "The sweep requested it, and the compiler rejected it or its process died.",
        ),
    )
}
