"""The differences between two entries, drawn: a summary, then every figure, loop and finding."""

from collections.abc import Iterator, Sequence

from textual.content import Content

from irlens.model.comparison import Comparison, FindingDelta
from irlens.model.text import plural, printable_line
from irlens.render.view.changes import (
    Change,
    about_registers,
    finding_state,
    load_changes,
    main_changes,
    minor_changes,
    one_sided,
    verdict,
)
from irlens.tui.drawing import (
    BOLD,
    DIM,
    GOOD,
    MAIN,
    SEVERITY_SIGN,
    SEVERITY_STYLE,
    STYLES,
    WARN,
    hanging,
    lines,
)

#: Cells between two columns of the table.
_GAP = 4
_LABEL = 12
_STYLE_OF_STATE = {"new": WARN, "gone": GOOD, "changed": MAIN}
#: As elsewhere, but a change that is neither better nor worse stands out as well.
_TONE_STYLE = STYLES | {"neutral": MAIN}
_WEIGHT_STYLE = {"much": BOLD, "some": "", "little": DIM}


def draw(comparison: Comparison, width: int) -> Content:
    """Return all differences, the most important first."""
    return lines([_headline(comparison, width), *_details(comparison, width)])


def _headline(comparison: Comparison, width: int) -> Content:
    style = BOLD if comparison.different else DIM
    return hanging(Content(""), summary(comparison), style, width)


def summary(comparison: Comparison) -> str:
    """Return the most important differences in one line."""
    return " · ".join(map(printable_line, verdict(comparison)))


def sides(comparison: Comparison) -> Content:
    """Return the labels of the sides: "num_stages=2 → num_stages=4"."""
    before, after = (printable_line(side.label) for side in (comparison.before, comparison.after))
    return Content.assemble((before, "$error"), (" → ", DIM), (after, "$success"))


def _details(comparison: Comparison, width: int) -> Iterator[Content]:
    yield from _table([row for row in main_changes(comparison) if row.changed], width)
    for place, rows in load_changes(comparison):
        arrows = " · ".join(row.arrow for row in rows if row.changed)
        if arrows:
            yield hanging(_label("load"), printable_line(f"{place}  {arrows}"), "", width)
    for pipeline in one_sided(comparison):
        yield hanging(_label("pipeline"), printable_line(pipeline), "", width)
    if registers := about_registers(comparison):
        yield hanging(_label("registers"), registers, "", width)
    for step in comparison.regain:
        yield hanging(_label("to regain"), printable_line(step), "", width)
    for finding in comparison.findings:
        yield _finding(finding, width)
    unchanged = [f"{row.name} {row.after}" for row in main_changes(comparison) if not row.changed]
    minor = [row.arrow for row in minor_changes(comparison)]
    if comparison.lines:
        minor.append(f"{plural(len(comparison.lines), 'line')} of Python with other instructions")
    for label, phrases in (("unchanged", unchanged), ("also", minor)):
        if phrases:
            yield hanging(_label(label), printable_line(" · ".join(phrases)), DIM, width)


def _label(text: str) -> Content:
    return Content.styled(f"{text:<{_LABEL}}", DIM)


def _finding(delta: FindingDelta, width: int) -> Content:
    state, finding = finding_state(delta), delta.after or delta.before
    if finding is None:
        return Content("")
    first = Content.assemble(
        (f"{state:<{_LABEL}}", _STYLE_OF_STATE[state]),
        (f"{SEVERITY_SIGN[finding.severity]} {finding.code} ", SEVERITY_STYLE[finding.severity]),
    )
    return hanging(first, printable_line(finding.message), "", width)


def _table(rows: Sequence[Change], width: int) -> Iterator[Content]:
    """Yield rows in as many columns as fit, filled column by column."""
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


def _cells(row: Change, sizes: Sequence[int]) -> Content:
    name, before, after, change = sizes
    shown = row.change if row.changed else ""
    return Content.assemble(
        (f"{printable_line(row.name):<{name}}  ", _WEIGHT_STYLE[row.weight]),
        (f"{printable_line(row.before):>{before}}", DIM),
        (" → ", DIM),
        (f"{printable_line(row.after):<{after}}", _WEIGHT_STYLE[row.weight]),
        (f"  {shown:<{change}}", _TONE_STYLE[row.tone]),
    )
