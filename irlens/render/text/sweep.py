"""A sweep, for a terminal: a table for each target, then what is not in it and why."""

from collections.abc import Sequence

from irlens.model.sweep import Sweep, Trial
from irlens.model.text import plural, printable_line
from irlens.render import View
from irlens.render._sweep import (
    TITLES,
    by_reason,
    cells,
    columns,
    common,
    described,
    differing,
    in_table,
    left_out,
    measured,
    remark,
    target_name,
    told_correlations,
    values,
    verdict,
)
from irlens.render.text._page import Cell, Page, prose

#: Where a title may be broken, in a table that is as narrow as its numbers.
_BROKEN = {"occupancy": "occu-_pancy", "registers": "regis-_ters"}


def render(sweep: Sweep, view: View) -> str:
    """Return the sweep: at most ``view.rows`` configurations of each table and list."""
    page = Page(width=view.width, color=view.color)
    page.headline(
        [Cell(sweep.kernel, "bold"), verdict(sweep.trials), *left_out(sweep), *remark(sweep)]
    )
    if shared := common(sweep):
        page.row(Cell("all with ", "dim"), prose(shared))
    for target in sweep.targets:
        trials = sweep.on(target)
        page.blank()
        page.headline([Cell(target_name(target), "bold"), verdict(trials)])
        _table(page, sweep, [trial for trial in trials if in_table(trial)], view)
        for outcome, title in TITLES.items():
            _list(page, sweep, title, [t for t in trials if t.outcome == outcome], view)
    if sweep.device is not None:
        page.blank()
        page.text_line("Times", measured(sweep))
        page.line("", told_correlations(sweep))
    return page.text()


def _table(page: Page, sweep: Sweep, trials: Sequence[Trial], view: View) -> None:
    if not trials:
        return
    shown = trials[: view.rows]
    names = differing(sweep)
    *titles, last = [*names, *columns(sweep)]
    rows = [[*values(trial, names), *cells(trial, sweep)] for trial in shown]
    head = _stacked(titles)
    figures = [[printable_line(cell) for cell in row[:-1]] for row in rows]
    widths = [max(map(len, column)) for column in zip(*head, *figures, strict=True)]
    for line in head[:-1]:
        page.row(Cell(_aligned(line, widths), "dim"), [])
    page.row(Cell(_aligned(head[-1], widths), "dim"), [Cell(""), Cell(last, "dim")])
    for cells_, row, trial in zip(figures, rows, shown, strict=True):
        page.row(Cell(_aligned(cells_, widths), "plain"), [Cell(""), *prose(row[-1])])
        if trial.reason:
            page.text_line("", printable_line(trial.reason), "warn")
    _more(page, len(trials) - len(shown))


def _stacked(titles: Sequence[str]) -> list[list[str]]:
    """Return titles over several lines, broken where their words end."""
    pieces = [_BROKEN.get(title, title).replace(" ", "_").split("_") for title in titles]
    height = max(map(len, pieces))
    padded = [[""] * (height - len(each)) + each for each in pieces]
    return [[printable_line(each[line]) for each in padded] for line in range(height)]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def _list(page: Page, sweep: Sweep, title: str, trials: Sequence[Trial], view: View) -> None:
    if not trials:
        return
    page.blank()
    shown = by_reason(trials[: view.rows])
    for index, group in enumerate(shown):
        page.text_line("" if index else title, printable_line(group[0].reason), "warn")
        if group[0].outcome != "does not fit":  # there the hint is always the same
            for line in group[0].hint.splitlines():
                page.line("", [Cell(line, "dim")])
        for told in described(group, sweep):
            page.text_line("", told)
    _more(page, len(trials) - sum(map(len, shown)))


def _more(page: Page, left: int) -> None:
    if left > 0:
        page.text_line("", f"… and {plural(left, 'more configuration')}; --all shows them", "dim")
