"""What moved between two entries: the whole in a line, then every figure, loop and finding."""

from collections.abc import Iterator, Sequence

from textual.content import Content

from irlens.model.comparison import Comparison, FindingDelta
from irlens.model.moved import (
    UNCHANGED,
    Row,
    about_registers,
    finding_state,
    load_rows,
    main_rows,
    minor_rows,
    one_sided,
    verdict,
)
from irlens.model.text import plural, printable_line
from irlens.tui.drawing import (
    BOLD,
    DIM,
    GOOD,
    MAIN,
    SEVERITY_SIGN,
    SEVERITY_STYLE,
    WARN,
    hanging,
    lines,
)

#: Cells between two columns of the table.
_GAP = 4
_LABEL = 12
_STYLE_OF_STATE = {"new": WARN, "gone": GOOD, "changed": MAIN}
_WEIGHT_STYLE = {"much": BOLD, "some": "", "little": DIM}


def draw(comparison: Comparison, width: int) -> Content:
    """List everything that moved, what matters most first."""
    return lines([headline(comparison, width), *_details(comparison, width)])


def headline(comparison: Comparison, width: int) -> Content:
    """Return the whole in a line, wrapped where it has to be."""
    style = BOLD if comparison.different else DIM
    return hanging(Content(""), phrases(comparison), style, width)


def phrases(comparison: Comparison) -> str:
    """Return the whole in a line."""
    return " · ".join(map(printable_line, verdict(comparison)))


def sides(comparison: Comparison) -> Content:
    """Return what sets the sides apart: "num_stages=2 → num_stages=4"."""
    before, after = (printable_line(side.label) for side in (comparison.before, comparison.after))
    return Content.assemble((before, "$error"), (" → ", DIM), (after, "$success"))


def _details(comparison: Comparison, width: int) -> Iterator[Content]:
    yield from _table([row for row in main_rows(comparison) if row.moved], width)
    for place, rows in load_rows(comparison):
        found = " · ".join(row.arrow for row in rows if row.moved)
        if found:
            yield hanging(_label("load"), printable_line(f"{place}  {found}"), "", width)
    for told in one_sided(comparison):
        yield hanging(_label("pipeline"), printable_line(told), "", width)
    if told := about_registers(comparison):
        yield hanging(_label("registers"), told, "", width)
    for step in comparison.regain:
        yield hanging(_label("to regain"), printable_line(step), "", width)
    for finding in comparison.findings:
        yield _finding(finding, width)
    same = [f"{row.name} {row.after}" for row in main_rows(comparison) if not row.moved]
    minor = [row.arrow for row in minor_rows(comparison)]
    if comparison.lines:
        minor.append(f"{plural(len(comparison.lines), 'line')} of Python with other instructions")
    for label, phrases_of in (("unchanged", same), ("also moved", minor)):
        if phrases_of:
            yield hanging(_label(label), printable_line(" · ".join(phrases_of)), DIM, width)


def _label(text: str) -> Content:
    return Content.styled(f"{text:<{_LABEL}}", DIM)


def _finding(found: FindingDelta, width: int) -> Content:
    state, finding = finding_state(found), found.after or found.before
    if finding is None:
        return Content("")
    first = Content.assemble(
        (f"{state:<{_LABEL}}", _STYLE_OF_STATE[state]),
        (f"{SEVERITY_SIGN[finding.severity]} {finding.code} ", SEVERITY_STYLE[finding.severity]),
    )
    return hanging(first, printable_line(finding.message), "", width)


def _table(rows: Sequence[Row], width: int) -> Iterator[Content]:
    """Yield rows in as many columns as there is room for, filled from above."""
    if not rows:
        return
    sizes = [
        max(len(printable_line(cell)) for cell in column)
        for column in zip(
            *((row.name, row.before, row.after, row.change) for row in rows), strict=True
        )
    ]
    cells = [_cells(row, sizes) for row in rows]
    across = max((width + _GAP) // (cells[0].cell_length + _GAP), 1)
    height = -(-len(rows) // across)
    for top in range(height):
        yield Content(" " * _GAP).join(cells[top::height])


def _cells(row: Row, sizes: Sequence[int]) -> Content:
    name, before, after, change = sizes
    shown = "" if row.change == UNCHANGED else row.change
    return Content.assemble(
        (f"{printable_line(row.name):<{name}}  ", _WEIGHT_STYLE[row.weight]),
        (f"{printable_line(row.before):>{before}}", DIM),
        (" → ", DIM),
        (f"{printable_line(row.after):<{after}}", _WEIGHT_STYLE[row.weight]),
        (f"  {shown:<{change}}", MAIN),
    )
