"""What a check found, in Markdown: the verdict, a table sorted by importance, the rest folded."""

from collections.abc import Iterator

from irlens.model.check import Check, CheckedKernel, Problem
from irlens.render import View
from irlens.render._gate import (
    MARKS,
    Row,
    advice,
    problem_level,
    problem_place,
    rows,
    title,
    updated,
    verdict,
)
from irlens.render.markdown import FOLDED_WIDTH
from irlens.render.markdown._document import Document, code, words
from irlens.render.text import check as text

_HEADER = ["", "kernel", "what", "baseline", "now", "", "where"]


def render(check: Check, view: View) -> str:
    """Return the verdict, a table of what moved or broke, and the whole of it folded below."""
    document = Document("check")
    document.paragraph(f"**{words(verdict(check))}**")
    if check.update is not None:
        document.paragraph(f"{code(check.baseline or '')}: {words(updated(check.update))}")
    document.table(_HEADER, list(_table(check)), right=(3, 4, 5))
    document.bullets(_problem(problem) for problem in check.problems)
    document.bullets(words(told) for told in advice(check))
    document.folded("all of it", text.render(check, View(width=FOLDED_WIDTH)))
    return document.text()


def _table(check: Check) -> Iterator[list[str]]:
    """Yield a row of cells for all that is to be told: what fails first, whatever the kernel."""
    told = [(row, kernel) for kernel in check.kernels for row in rows(kernel)]
    failing = [pair for pair in told if pair[0].level == "error"]
    others = [pair for pair in told if pair[0].level != "error"]
    for row, kernel in [*failing, *others]:
        yield _cells(row, kernel)


def _cells(row: Row, kernel: CheckedKernel) -> list[str]:
    name = (code(row.name) if row.budget else words(row.name)) + (
        f" of {words(row.of)}" if row.of else ""
    )
    return [
        MARKS[row.level],
        words(title(kernel)),
        ": ".join(filter(None, (name, words(row.why)))),
        words(row.before),
        words(row.after),
        words(row.change),
        code(row.place) if row.place else "",
    ]


def _problem(problem: Problem) -> str:
    place = problem_place(problem)
    told = f"{code(place)}: " if place else ""
    hint = f" ({words(problem.hint)})" if problem.hint else ""
    return f"{MARKS[problem_level(problem)]} {told}{words(problem.message)}{hint}"
