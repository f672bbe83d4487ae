"""Verdicts of budgets on launches: the number of variants, and sizes up to which nothing breaks."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from irlens.checks.budgets import applies_to
from irlens.checks.launch_budgets import LaunchBudget
from irlens.checks.pairing import RecipeResult
from irlens.checks.project import Project
from irlens.compiler.sources.description import find_kernel
from irlens.model.check import BudgetFigure, BudgetState, BudgetVerdict
from irlens.model.errors import IrlensError
from irlens.model.limits import LimitSearch
from irlens.model.report import Report
from irlens.model.source import SourceLocation
from irlens.model.text import count, first_of, plural, split_list
from irlens.model.variants import KernelVariants
from irlens.session import Configurations, is_compiled
from irlens.session.limits import limits_of
from irlens.session.recipes import configurations_of, to_cwd
from irlens.session.session import Session
from irlens.session.variants import variants_of

#: Parameters that a verdict names.
_MOST_NAMED = 3


class _Kernel(msgspec.Struct, frozen=True):
    """A kernel of a recipe: its report, its configuration, and the ranges of its launches."""

    name: str
    report: Report
    configurations: Configurations
    launches: dict[str, str]


class _Result(msgspec.Struct, frozen=True):
    """The state of a budget, the reason, its number if that is known, and the line to look at."""

    state: BudgetState
    reason: str = ""
    value: int | None = None
    source: SourceLocation | None = None


def with_launch_verdicts(
    made: RecipeResult, project: Project, options: Configurations, session: Session
) -> RecipeResult:
    """Return a recipe's result with the verdicts on its launches.

    They are of the first report of each kernel and target. What cannot be known fails.
    """
    verdicts: dict[int, list[BudgetVerdict]] = {}
    seen: set[tuple[object, ...]] = set()
    for index, report in enumerate(made.reports):
        names = (report.kernel, *(made.names or (made.recipe.kernel,)))
        budgets = [each for each in project.launch_budgets if applies_to(each, report, names)]
        key = report.kernel, report.target
        if budgets and key not in seen:
            seen.add(key)
            name = to_cwd(made.recipe.kernel, project.root)
            chosen = configurations_of(made.recipe, name, options)
            kernel = _Kernel(name, report, chosen, _launches(project, names))
            verdicts[index] = [_verdict(each, kernel, session) for each in budgets]
    return msgspec.structs.replace(made, verdicts=verdicts)


def _launches(project: Project, names: Sequence[str]) -> dict[str, str]:
    matching = (
        each.args
        for each in project.launches
        if any(fnmatchcase(name, each.kernel) for name in names)
    )
    return {name: values for args in matching for name, values in args.items()}


def _verdict(budget: LaunchBudget, kernel: _Kernel, session: Session) -> BudgetVerdict:
    try:
        result = (_limit if budget.size else _variants)(budget, kernel, session)
    except IrlensError as error:
        result = _Result("unknown", error.message)
    path = f"limits.{budget.size}" if budget.size else "variants"
    known = result.value is not None
    return BudgetVerdict(
        expression=budget.text,
        place=budget.place,
        state=result.state,
        fails=result.state in ("broken", "unknown"),
        figures=[BudgetFigure(path=path, before=None, value=result.value)] if known else [],
        pipeline=None,
        source=result.source,
        reason=result.reason,
    )


def _limit(budget: LaunchBudget, kernel: _Kernel, session: Session) -> _Result:
    """Return whether nothing breaks up to a size."""
    sizes = {budget.size: range(1, budget.number + 1)}
    limits = limits_of(
        session, kernel.name, kernel.configurations, sizes, LimitSearch(details=False)
    )
    (size,) = limits.sizes
    if size.uncovered:
        return _Result("unknown", size.uncovered)
    if size.limits:
        limit = size.limits[0]
        told = (limit.breaks, limit.cause.where, limit.why)
        source = limit.cause.at or limit.cause.source
        return _Result("broken", ": ".join(filter(None, told)), limit.size, source)
    if size.unknown or size.last < budget.number:
        return _Result("unknown", size.unknown or f"nothing above {count(size.last)} was tried")
    if size.alone:
        return _Result("unknown", f"the launch's grid and tensors do not follow {budget.size}")
    if limits.follows:
        follows = "; ".join(limits.follows)
        return _Result("unknown", f"the recorded launch does not say that it follows: {follows}")
    return _Result("held", "of many programs some were evaluated" if size.sampled else "")


def _variants(budget: LaunchBudget, kernel: _Kernel, session: Session) -> _Result:
    """Return whether launches need no more variants than a number."""
    chosen = kernel.configurations
    if not is_compiled(kernel.name):
        if not kernel.launches:
            return _Result(
                "unknown", f"[tool.irlens.launches] has no ranges of {kernel.report.kernel}"
            )
        ranges = {name: tuple(split_list(text)) for name, text in kernel.launches.items()}
        args = tuple({**dict(chosen.args), **ranges}.items())
        chosen = msgspec.structs.replace(chosen, args=args)
    found = [
        each
        for each in variants_of(session, [kernel.name], chosen, most=0).kernels
        if each.kernel == kernel.report.kernel and each.target == kernel.report.target
    ]
    if not found:
        return _Result("unknown", f"{kernel.name} says no variants of it")
    worst = max(found, key=lambda each: each.number)
    if worst.number > budget.number:
        return _Result("broken", _told_apart(worst), worst.number, _definition(kernel))
    if worst.bounded:
        return _Result("unknown", f"at least {worst.number}: {worst.bounded}")
    return _Result("held", value=worst.number)


def _definition(kernel: _Kernel) -> SourceLocation | None:
    """Return the line that defines a kernel; ``None`` for a compiled one."""
    if is_compiled(kernel.name):
        return None
    source = find_kernel(kernel.name)
    start = re.compile(rf"\s*def {re.escape(source.function)}\b")
    lines = enumerate(source.content.decode(errors="replace").splitlines(), 1)
    return next(
        (SourceLocation(source.path.name, n) for n, line in lines if start.match(line)), None
    )


def _told_apart(found: KernelVariants) -> str:
    """Return what tells variants apart, and what would leave the fewest."""
    if not found.splits:
        return "nothing recorded tells them apart"
    first = found.splits[0]
    names = [name for split in found.splits for name in split.names]
    named = first_of(names, _MOST_NAMED)
    quoted = ", ".join(f'"{name}"' for name in first.names)
    changes = {
        "argument": f"do_not_specialize=[{quoted}]",
        "constexpr": f"{', '.join(first.names)} without tl.constexpr",
        "option": f"one value of {', '.join(first.names)}",
    }
    told = f"told apart by {named}: {' | '.join(first.values)}"
    if first.without == found.number:  # each alone leaves as many
        return told
    return f"{told}; {changes[first.kind]} leaves {plural(first.without, 'variant')}"
