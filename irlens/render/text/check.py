"""What a check found, for a terminal: the verdict, what fails, and how the rest passed."""

from collections.abc import Sequence

from irlens.model.check import Check, CheckedKernel, Outcome
from irlens.model.text import plural, printable_line
from irlens.render import View
from irlens.render._gate import (
    MARKS,
    Level,
    Row,
    advice,
    budgets_told,
    problem_level,
    problem_place,
    rows,
    silent,
    title,
    updated,
    verdict,
)
from irlens.render.text._page import Cell, Page, Style, prose

_SHOWN = 20
_OUTCOME_STYLES: dict[Outcome, Style] = {"failed": "bad", "warned": "warn", "passed": "good"}
_LEVEL_STYLES: dict[Level, Style] = {
    "error": "bad", "warning": "warn", "note": "plain", "good": "good",
}  # fmt: skip


def render(check: Check, view: View) -> str:
    """Return the verdict, each kernel of which there is something to tell, and the others."""
    page = Page(width=view.width, color=view.color)
    page.headline([Cell(verdict(check), _OUTCOME_STYLES[check.outcome])])
    if check.update is not None:
        page.headline([f"wrote {check.baseline}: {updated(check.update)}"])
    quiet = []
    for kernel in check.kernels:
        found = rows(kernel)
        if not found:
            quiet.append(kernel)
            continue
        page.blank()
        _kernel(page, kernel, found)
    _problems(page, check)
    _quiet(page, check, quiet)
    _unchecked(page, check)
    for told in advice(check):
        page.blank()
        page.headline([Cell(told, "dim")])
    return page.text()


def _kernel(page: Page, kernel: CheckedKernel, found: Sequence[Row]) -> None:
    budgets = budgets_told(kernel)
    page.row(
        Cell(kernel.outcome, _OUTCOME_STYLES[kernel.outcome]),
        [Cell(title(kernel), "bold"), *([Cell(f" {budgets}", "dim")] if budgets else [])],
    )
    aligned = _aligned([[row.named, row.before, row.after, row.change] for row in found])
    told: set[str] = set()
    for row, text in zip(found, aligned, strict=True):
        code = "" if row.place in told else kernel.code.get(row.place, "")
        told.add(row.place)
        place = [Cell(row.place, "code")] if row.place else []
        beside = [] if code or row.why else place
        page.row(Cell(f"  {MARKS[row.level]} {text}", _LEVEL_STYLES[row.level]), beside)
        if row.why:
            page.row(Cell("  "), prose(row.why))
        if place and not beside:
            shown = page.shortened(code, beside=row.place)
            page.row(Cell("  "), [*place, Cell(f" {shown}", "dim")] if code else place)


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """Return rows with their cells under each other: names to the left, values to the right.

    A name without values may be long, and is left alone.
    """
    safe = [[printable_line(cell) for cell in row] for row in cells]
    valued = [row for row in safe if any(row[1:])]
    widths = [max(map(len, column)) for column in zip(*valued, strict=True)]
    return [
        "   ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        if row in valued
        else row[0]
        for row in safe
    ]


def _problems(page: Page, check: Check) -> None:
    if check.problems:
        page.blank()
    for problem in check.problems:
        level = problem_level(problem)
        place = problem_place(problem)
        page.row(
            Cell(MARKS[level], _LEVEL_STYLES[level]),
            [*([Cell(f"{place}:", "code")] if place else []), *prose(problem.message)],
        )
        if problem.hint:
            page.row(Cell(" "), prose(problem.hint, "dim"))


def _quiet(page: Page, check: Check, kernels: Sequence[CheckedKernel]) -> None:
    if kernels:
        page.blank()
    for kernel in kernels[:_SHOWN]:
        page.row(Cell("passed", "good"), [f"{title(kernel)}:", Cell(silent(kernel, check), "dim")])
    if len(kernels) > _SHOWN:
        page.headline([Cell(f"and {len(kernels) - _SHOWN:,} more that passed", "dim")])


def _unchecked(page: Page, check: Check) -> None:
    if check.unchecked:
        page.blank()
        left = plural(len(check.unchecked), "configuration")
        page.headline([Cell(f"not asked for: {left} of the baseline", "dim")])
