"""The panels of the overview and of a comparison: which nodes of a view stand in which."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace
from textual.content import Content

from irlens.model.comparison import Comparison
from irlens.model.report import Occupancy, Report
from irlens.model.terms import describe_missing_time
from irlens.model.text import printable_line
from irlens.render.options import Options
from irlens.render.view.characters import bar
from irlens.render.view.comparison import pair_view
from irlens.render.view.comparison_verdict import verdict
from irlens.render.view.details import details
from irlens.render.view.launch_time import time_section
from irlens.render.view.memory_traffic import KEY as TRAFFIC
from irlens.render.view.nodes import (
    Bar,
    Column,
    Fact,
    Facts,
    Headline,
    NextSteps,
    Node,
    Section,
    Settings,
    Staircase,
    Table,
)
from irlens.render.view.report import facts, pipeline_facts, report_view
from irlens.tui import nodes
from irlens.tui.drawing import BOLD, DIM, beside, flowing, label_width, lines, occupancy_style

#: Lines of Python in the pressure panel, and the least cells for the bar of the occupancy.
_PRESSURE_LINES, _LEAST_BAR = 6, 10
#: Most units that the time panel shows, and the least share of the time that gets a bar.
_UNITS, _LEAST_SHARE = 5, 0.05


class Panels:
    """What the overview shows of a report; each method draws a panel at a width in cells."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._view = report_view(report, Options(subject=None))

    @property
    def memory_title(self) -> str:
        """The title of the memory panel, in the vendor's terms."""
        return _fact(self._report, "memory").title

    def time(self, width: int) -> Content:
        """Return a bar of the estimated time for each unit, and what would change it.

        The estimate itself is in the verdict above.
        """
        section = time_section(self._report)
        if section is None:
            missing = describe_missing_time(self._report) or "unknown"
            told = Content.styled(printable_line(missing), DIM)
            return flowing(Content(""), [told], "", width)
        children = [_bars(each) if isinstance(each, Table) else each for each in section.children]
        return lines(nodes.draw(children, width))

    def pipelines(self, width: int) -> Content:
        """Return every pipeline with its timeline."""
        return self._draw("pipelines", width)

    def pressure(self, width: int) -> Content:
        """Return the live registers over the instructions, and the lines of Python with the most.

        The stage nearest to the machine speaks for the kernel.
        """
        pressure = self._report.pressure
        stages = [stage for stage, _ in pressure.stages()]
        known = [stage for stage, each in pressure.stages() if each.peak is not None]
        sections = [
            section
            for stage, section in zip(stages, self._sections("pressure"), strict=True)
            if stage in known[:1] or not known
        ]
        rows = nodes.draw(sections, width, unfold={"lines"}, rows=_PRESSURE_LINES)
        return lines(rows) if rows else Content.styled("unknown", DIM)

    def memory(self, width: int) -> Content:
        """Return the shared memory of a CTA, drawn to scale."""
        children = [child for section in self._sections("memory") for child in section.children]
        return lines(
            [*nodes.facts([_fact(self._report, "memory")], width), *nodes.draw(children, width)]
        )

    def traffic(self, width: int) -> Content:
        """Return what the launch moves of global memory, each argument to scale."""
        known = [fact for fact in facts(self._report).facts if fact.key == TRAFFIC]
        if not known:
            return Content.styled(self._report.unknown.get(TRAFFIC, "unknown"), DIM)
        scales = [
            child
            for section in self._sections(TRAFFIC)
            for child in section.children
            if isinstance(child, Section)
        ]
        drawn = nodes.draw([child for each in scales for child in each.children], width)
        return lines([*nodes.facts(known, width), *([Content(""), *drawn] if drawn else [])])

    def mix(self, width: int) -> Content:
        """Return a bar for each class of instructions, the largest first."""
        return self._draw("mix", width)

    def kernel(self, width: int) -> Content:
        """Return how the kernel was compiled and is called, and which figures are unknown."""
        given = [child for child in self._view.children if isinstance(child, Settings)]
        known = list(self._other_facts())
        label = label_width([*(each.title for each in given), *map(nodes.label_of, known)])
        rows = [nodes.settings(each, label, width) for each in given]
        return lines([*rows, *nodes.facts(known, width, label=label)])

    def _other_facts(self) -> Iterator[Fact]:
        """Yield the facts that have no panel of their own."""
        loops = pipeline_facts(self._report)
        for child in self._view.children:
            if isinstance(child, Facts) and child != loops:
                yield from (
                    fact for fact in child.facts if not fact.key and fact.stands_for != "mix"
                )

    def _sections(self, key: str) -> list[Section]:
        children = self._view.children
        return [each for each in children if isinstance(each, Section) and each.key == key]

    def _draw(self, key: str, width: int) -> Content:
        rows = nodes.draw(self._sections(key), width)
        return lines(rows) if rows else Content.styled(self._report.unknown.get(key, "none"), DIM)


def _fact(report: Report, key: str) -> Fact:
    return next(fact for fact in facts(report).facts if fact.key == key)


def _bars(units: Table) -> Table:
    """Return what each unit alone takes without the words around it: the panel is narrow."""
    columns = tuple(Column(numbers=column.numbers) for column in units.columns[:-1])
    rows = [replace(row, cells=row.cells[:-1]) for row in units.rows]
    worth_it = [
        row
        for row in rows
        if any(isinstance(cell, Bar) and cell.share >= _LEAST_SHARE for cell in row.cells)
    ]
    return replace(units, columns=columns, rows=tuple(worth_it[:_UNITS]))


def occupancy(report: Report, shown: Occupancy | None, width: int) -> Content:
    """Return how full an SM gets, what limits it, and where the next steps are.

    Args:
        shown: The occupancy to draw: the report's own, or that of another demand.
    """
    as_shown = replace(report, occupancy=shown)
    rows = nodes.facts([_fact(as_shown, "occupancy")], width)
    if shown is not None and shown.launchable:
        room = max(width - rows[0].cell_length - 2, 0)
        if room >= _LEAST_BAR:
            share = Content.styled(bar(shown.theoretical, room), occupancy_style(shown))
            rows[0] = Content.assemble(rows[0], "  ", share)
    for section in details(as_shown):
        if section.key == "occupancy":
            # The staircases stand below, where the demand is changed.
            children = [each for each in section.children if not isinstance(each, Staircase)]
            rows += [Content(""), *nodes.draw(children, width)]
    return lines(rows)


#: Cells from which the table and everything else stand side by side.
_WIDE = 130


def draw_changes(comparison: Comparison, width: int) -> Content:
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


def changes_headline(comparison: Comparison, first: Content, width: int) -> list[Content]:
    """Return the most important differences, in a column beside ``first``."""
    return nodes.headline(verdict(comparison), width, first)


def sides(comparison: Comparison) -> Content:
    """Return the labels of the sides: "num_stages=2 → num_stages=4"."""
    before, after = (printable_line(side.label) for side in (comparison.before, comparison.after))
    return Content.assemble(before, (" → ", DIM), (after, BOLD))
