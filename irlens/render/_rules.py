"""What annotations mean: the checks document findings, and this what is said beside them."""

from irlens.model.report import Severity
from irlens.model.rule import Rule
from irlens.render import View
from irlens.render._annotations import Annotation


def rule_of(annotation: Annotation, view: View) -> Rule | None:
    """Return what an annotation's kind means; ``None`` where nobody knows."""
    return _OWN.get(annotation.rule) or view.explain(annotation.rule)


def _rule(code: str, severity: Severity, summary: str, documentation: str) -> Rule:
    return Rule(
        code=code, name=code, severity=severity, summary=summary, documentation=documentation
    )


_OWN = {
    rule.code: rule
    for rule in (
        _rule(
            "baseline",
            "error",
            "A figure is not what the baseline has.",
            "Occupancy, launching or the stages of a pipeline were lost against the checked-in "
            "baseline, or something that they come from got worse. If it is meant, "
            "`irlens check --update` writes the baseline anew.",
        ),
        _rule(
            "budget",
            "error",
            "A budget does not hold, or it is not known whether it does.",
            "`[tool.irlens.budgets]` of pyproject.toml asks for it. What is unknown does not "
            "count as held.",
        ),
        _rule(
            "check",
            "error",
            "The baseline or the budgets do not fit what was checked.",
            "An entry of the baseline cannot be made any more, a kernel has none, a budget "
            "matches no kernel, or the baseline is another compiler's.",
        ),
        _rule(
            "difference",
            "note",
            "Two compilations of a kernel are not the same.",
            "Told are the figures that decide whether and how fast it runs; `irlens diff` has all.",
        ),
        _rule(
            "compile",
            "warning",
            "A configuration does not compile.",
            "The sweep asked for it, and the compiler refused it or its process died.",
        ),
    )
}
