"""The differences between two entries: the verdict, the figures as columns, then the rest."""

from collections.abc import Sequence

from textual.content import Content

from irlens.model.comparison import Comparison
from irlens.model.text import printable_line
from irlens.render.options import Options
from irlens.render.view.comparison import pair_view
from irlens.render.view.comparison_verdict import verdict
from irlens.render.view.nodes import Headline, NextSteps, Node, Section, Table
from irlens.tui import nodes
from irlens.tui.drawing import BOLD, DIM, beside, lines

#: Cells from which the table and everything else stand side by side.
_WIDE = 130


def draw(comparison: Comparison, width: int) -> Content:
    """Return all differences, the most important first."""
    children = pair_view(comparison, Options(subject=None)).children
    top = [child for child in children if isinstance(child, Headline)]
    tables = [child for child in children if isinstance(child, Table)]
    rest = [child for child in children if not isinstance(child, Headline | Table | NextSteps)]
    # A line sums up each section that is shown only on demand.
    rest = [child for child in rest if not (isinstance(child, Section) and child.detail)]
    rows = nodes.draw(top, width)
    table = nodes.draw(tables, width)
    left = max((row.cell_length for row in table), default=0)
    if width >= _WIDE and table and left <= width // 2:
        return lines([*rows, *beside(table, _details(rest, width - left - 3), left)])
    return lines([*rows, *table, *_details(rest, width)])


def _details(rest: Sequence[Node], width: int) -> list[Content]:
    return [row for row in nodes.draw(rest, width) if row.plain.strip()]


def headline(comparison: Comparison, first: Content, width: int) -> list[Content]:
    """Return the most important differences, in a column beside ``first``."""
    return nodes.headline(verdict(comparison), width, first)


def sides(comparison: Comparison) -> Content:
    """Return the labels of the sides: "num_stages=2 → num_stages=4"."""
    before, after = (printable_line(side.label) for side in (comparison.before, comparison.after))
    return Content.assemble(before, (" → ", DIM), (after, BOLD))
