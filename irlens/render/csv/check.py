"""A check: a line for each verdict."""

from collections.abc import Iterator

from irlens.model.check import Check, CheckedKernel
from irlens.render import View
from irlens.render.csv import Field, joined, written

_TITLES = ("kernel", "arch", "configuration", "what", "fails", "verdict", "figure", "before", "now",
           "place", "reason")  # fmt: skip


def render(check: Check, view: View) -> str:
    """Return what moved, every budget, and what is wrong beside the kernels."""
    rows = [row for kernel in check.kernels for row in _kernel(kernel)]
    rows += [
        {
            "what": "problem",
            "fails": problem.fails,
            "verdict": problem.kind,
            "place": f"{problem.file or ''}:{problem.line}" if problem.line else problem.file,
            "reason": problem.message,
        }
        for problem in check.problems
    ]
    return written(rows, titles=_TITLES)


def _kernel(kernel: CheckedKernel) -> Iterator[dict[str, Field]]:
    target = kernel.side.target
    named: dict[str, Field] = {
        "kernel": kernel.side.kernel,
        "arch": target.arch if target is not None else None,
        "configuration": kernel.side.label,
    }
    for moved in kernel.movements:
        yield {
            **named,
            "what": "movement",
            "fails": moved.fails,
            "verdict": moved.judgement,
            "figure": moved.delta.path,
            "before": moved.delta.before,
            "now": moved.delta.after,
            "place": str(moved.source or ""),
            "reason": moved.reason,
        }
    for budget in kernel.budgets:
        figures = {each.path: each for each in budget.figures}
        yield {
            **named,
            "what": f"budget {budget.expression}",
            "fails": budget.fails,
            "verdict": budget.state,
            "figure": "; ".join(figures),
            "before": joined(each.before for each in figures.values()),
            "now": joined(each.value for each in figures.values()),
            "place": budget.place,
            "reason": budget.reason,
        }
    for finding in kernel.findings:
        yield {
            **named,
            "what": f"finding {finding.code}",
            "fails": False,
            "verdict": finding.severity,
            "place": str(finding.source or ""),
            "reason": finding.message,
        }
