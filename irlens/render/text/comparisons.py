"""What moved, for a terminal."""

from collections.abc import Sequence

from irlens.model.comparison import Comparison, Comparisons, FindingDelta, MixDelta
from irlens.model.moved import (
    Row,
    about_registers,
    change_text,
    figure_title,
    load_rows,
    main_rows,
    minor_rows,
    one_sided,
    value_text,
    verdict,
)
from irlens.model.report import Finding
from irlens.model.text import printable_line
from irlens.render import View
from irlens.render._changes import describe, left_out, side_table, sides, summary, title, unpaired
from irlens.render.text._page import Cell, Page, Style, prose

_MIX_SHOWN = 8
_LINES_SHOWN = 12


def render(comparisons: Comparisons, view: View) -> str:
    """Return what moved between each pair, a table first if all are held against one."""
    page = Page(width=view.width, color=view.color)
    if len(comparisons.pairs) != 1 or any(alone for _, alone in unpaired(comparisons)):
        page.headline([Cell(summary(comparisons), "bold")])
    if comparisons.against_first:
        page.blank()
        _against_first(page, comparisons.pairs)
    for pair in comparisons.pairs:
        if pair.different or len(comparisons.pairs) == 1:
            page.blank()
            _pair(page, pair, view.width)
    for what, alone in unpaired(comparisons):
        for index, side in enumerate(alone):
            if index == 0:
                page.blank()
                page.headline([Cell(what, "bold")])
            page.line("", [describe(side)])
    return page.text()


def _pair(page: Page, pair: Comparison, width: int) -> None:
    page.row(Cell(printable_line(title(pair)) + " ", "bold"), prose(sides(pair)))
    page.row(Cell(""), _enumerated(verdict(pair)))
    if not pair.different:
        _not_compared(page, pair)
        return
    page.blank()
    _table(page, pair, main_rows(pair), width)
    _explanation(page, pair)
    _minor(page, minor_rows(pair))
    _loads(page, pair)
    _findings(page, pair.findings)
    for mix in pair.mix:
        _mix(page, mix)
    _lines(page, pair)
    _not_compared(page, pair)


def _enumerated(phrases: Sequence[str]) -> list[str]:
    return [f"{phrase}," for phrase in phrases[:-1]] + list(phrases[-1:])


def _table(page: Page, pair: Comparison, rows: Sequence[Row], width: int) -> None:
    cells = [[row.name, row.before, row.after] for row in rows]
    aligned = _aligned([["", pair.before.label, pair.after.label], *cells], right=(1, 2))
    if len(aligned[0]) > width:  # the headline has the labels
        aligned = _aligned([["", "before", "after"], *cells], right=(1, 2))
    page.row(Cell(aligned[0], "dim"), [])
    for text, row in zip(aligned[1:], rows, strict=True):
        style: Style = "bold" if row.moved and row.weight == "much" else "plain"
        page.row(Cell(f"{text} ", style), [row.change])
    for told in one_sided(pair):
        page.row(Cell(printable_line(told), "bold"), [])


def _aligned(
    cells: Sequence[Sequence[str]], *, right: Sequence[int], gap: str = "   "
) -> list[str]:
    safe = [[printable_line(cell) for cell in row] for row in cells]
    widths = [max(map(len, column)) for column in zip(*safe, strict=True)]
    return [
        gap.join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in safe
    ]


def _against_first(page: Page, pairs: Sequence[Comparison]) -> None:
    """One row per side: the figures one always wants to see, and how far they moved."""
    titles, rows, labels = side_table(pairs)
    aligned = _aligned([titles, *rows], right=())
    for text, label in zip(aligned, ["", *labels], strict=True):
        page.row(Cell(f"{text} ", "plain" if label else "dim"), prose(label))


def _explanation(page: Page, pair: Comparison) -> None:
    registers = about_registers(pair)
    if registers or pair.regain:
        page.blank()
    if registers:
        page.text_line("Registers", registers)
    for index, step in enumerate(pair.regain):
        page.line("" if index else "To regain", [step])


def _minor(page: Page, rows: Sequence[Row]) -> None:
    if rows:
        page.blank()
        page.line("Also", [Cell(row.arrow, "dim") for row in rows])


def _loads(page: Page, pair: Comparison) -> None:
    found = load_rows(pair)
    if found:
        page.blank()
    for index, (place, rows) in enumerate(found):
        page.line("" if index else "Loads", [place, *(row.arrow for row in rows)])


def _findings(page: Page, findings: Sequence[FindingDelta]) -> None:
    if not findings:
        return
    page.blank()
    for index, found in enumerate(findings):
        label = "" if index else "Findings"
        if found.after is None:
            _finding(page, label, "gone", found.before, "good")
        elif found.before is None:
            _finding(page, label, "new", found.after, "warn")
        else:
            _finding(page, label, "was", found.before, "dim")
            _finding(page, "", "now", found.after, "warn")


def _finding(page: Page, label: str, state: str, found: Finding | None, style: Style) -> None:
    if found is None:
        return
    named = found.source is not None and str(found.source) not in found.message
    place = [f"{found.source}:"] if named else []
    page.line(label, [Cell(state, style), found.code, *place, *prose(found.message)], gap=" ")


def _mix(page: Page, mix: MixDelta) -> None:
    page.blank()
    total = mix.total
    cells: list[Cell | str] = [
        f"{mix.stage} {value_text(total.before, 'count')} → {value_text(total.after, 'count')} "
        f"instructions ({change_text(total)}):"
    ]
    cells += [f"{figure_title(each.path)} {change_text(each)}" for each in mix.classes[:_MIX_SHOWN]]
    if len(mix.classes) > _MIX_SHOWN:
        cells.append(f"and {len(mix.classes) - _MIX_SHOWN} more")
    page.line("Mix", cells, gap="  ")


def _lines(page: Page, pair: Comparison) -> None:
    if not pair.lines:
        return
    page.blank()
    shown = pair.lines[:_LINES_SHOWN]
    cells = [["", "line", "instr.", "", "live", ""]]
    cells += [
        [
            line.stage,
            str(line.source),
            value_text(line.instructions.after, "count"),
            change_text(line.instructions),
            value_text(line.peak.after, "count"),
            change_text(line.peak),
        ]
        for line in shown
    ]
    aligned = _aligned(cells, right=(2, 4), gap="  ")
    page.line("Lines", [Cell(aligned[0].rstrip(), "dim")])
    for text, line in zip(aligned[1:], shown, strict=True):
        code = page.shortened(pair.code.get(str(line.source), ""), beside=text)
        page.line("", [text, Cell(code, "code")], gap="  ")
    if len(pair.lines) > _LINES_SHOWN:
        page.line("", [Cell(f"and {len(pair.lines) - _LINES_SHOWN} more", "dim")])


def _not_compared(page: Page, pair: Comparison) -> None:
    told = left_out(pair)
    if told:
        page.blank()
        page.text_line("Left out", told, "dim")
