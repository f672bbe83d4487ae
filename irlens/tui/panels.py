"""The panels of the overview and of a comparison: which nodes of a view stand in which."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace
from textual.content import Content

from irlens.model.comparison import Comparison
from irlens.model.report import Occupancy, Report
from irlens.model.terms import describe_missing_time
from irlens.render.options import Options
from irlens.render.view.characters import bar
from irlens.render.view.comparison import pair_view
from irlens.render.view.comparison_verdict import verdict
from irlens.render.view.details import details
from irlens.render.view.launch_time import time_section
from irlens.render.view.memory_traffic import KEY as TRAFFIC
from irlens.render.view.nodes import (
    Bar,
    Cell,
    Column,
    Fact,
    Facts,
    Findings,
    Headline,
    NextSteps,
    Node,
    Phrases,
    Run,
    Section,
    Sentence,
    Settings,
    Staircase,
    Table,
    Text,
    text,
)
from irlens.render.view.report import facts, pipeline_facts, report_view
from irlens.tui.drawing import DIM, SEVERITY_SIGN, beside, drawn, headline, lines, occupancy_style

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
            return lines(drawn([Sentence(missing, "dim")], width))
        children = [_bars(each) if isinstance(each, Table) else each for each in section.children]
        return lines(drawn(children, width))

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
        rows = drawn([_unfolded(each) for each in sections], width)
        return lines(rows) if rows else Content.styled("unknown", DIM)

    def memory(self, width: int) -> Content:
        """Return the shared memory of a CTA, drawn to scale."""
        children = [child for section in self._sections("memory") for child in section.children]
        return lines(drawn([_in_brief([_fact(self._report, "memory")]), *children], width))

    def traffic(self, width: int) -> Content:
        """Return what the launch moves of global memory, each argument to scale."""
        known = [fact for fact in facts(self._report).facts if fact.key == TRAFFIC]
        if not known:
            return Content.styled(self._report.unknown.get(TRAFFIC, "unknown"), DIM)
        scales = [
            replace(child, title="")
            for section in self._sections(TRAFFIC)
            for child in section.children
            if isinstance(child, Section)
        ]
        return lines(drawn([_in_brief(known), *scales], width))

    def mix(self, width: int) -> Content:
        """Return a bar for each class of instructions, the largest first."""
        return self._draw("mix", width)

    def kernel(self, width: int) -> Content:
        """Return how the kernel was compiled and is called, and which figures are unknown."""
        given = [child for child in self._view.children if isinstance(child, Settings)]
        known = [*map(_as_fact, given), *self._other_facts()]
        return lines(drawn([_in_brief(known)], width))

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
        rows = drawn(map(_unfolded, self._sections(key)), width)
        return lines(rows) if rows else Content.styled(self._report.unknown.get(key, "none"), DIM)


def _fact(report: Report, key: str) -> Fact:
    return next(fact for fact in facts(report).facts if fact.key == key)


def _in_brief(known: Sequence[Fact]) -> Facts:
    """Return facts without the lines that stand for a section: the panel shows that."""
    return Facts(tuple(in_brief(fact) for fact in known))


def in_brief(fact: Fact, most: int | None = None) -> Fact:
    """Return a fact with the first lines only, and none that a section repeats."""
    lasting = [line for line in fact.lines if not line.stands_for]
    return replace(fact, lines=tuple(lasting[:most]))


def _as_fact(given: Settings) -> Fact:
    """Return settings beside their title."""
    pairs = (text(Run(f"{each.name} {each.value}".strip(), each.tone)) for each in given.settings)
    return Fact(given.title.capitalize(), (), (Phrases(tuple(pairs), separator="  "),))


def _unfolded(section: Section) -> Section:
    """Return a section without what is folded, but for the lines of Python with the most."""
    children = (
        replace(_unfolded(child), children=tuple(map(_first_rows, child.children)))
        if isinstance(child, Section)
        else child
        for child in section.children
        if not (isinstance(child, Section) and child.folded and child.key != "lines")
    )
    return replace(section, children=tuple(children), detail="")


def _first_rows(node: Node) -> Node:
    """Return a table with some of its rows: those with the longest bars."""
    if not isinstance(node, Table):
        return node
    shown = sorted(node.rows, key=lambda row: -sum(_share(cell) for cell in row.cells))
    return replace(node, rows=tuple(shown[:_PRESSURE_LINES]))


def _share(cell: Cell) -> float:
    return cell.share if isinstance(cell, Bar) else 0.0


def _bars(units: Table) -> Table:
    """Return what each unit alone takes without the words around it: the panel is narrow."""
    columns = tuple(Column(numbers=column.numbers) for column in units.columns[:-1])
    rows = [replace(row, cells=row.cells[:-1]) for row in units.rows]
    worth_it = [row for row in rows if any(_share(cell) >= _LEAST_SHARE for cell in row.cells)]
    return replace(units, columns=columns, rows=tuple(worth_it[:_UNITS]))


def occupancy(report: Report, shown: Occupancy | None, width: int) -> Content:
    """Return how full an SM gets, what limits it, and where the next steps are.

    Args:
        shown: The occupancy to draw: the report's own, or that of another demand.
    """
    as_shown = replace(report, occupancy=shown)
    rows = drawn([_in_brief([_fact(as_shown, "occupancy")])], width)
    if shown is not None and shown.launchable:
        room = max(width - rows[0].cell_length - 2, 0)
        if room >= _LEAST_BAR:
            share = Content.styled(bar(shown.theoretical, room), occupancy_style(shown))
            rows[0] = Content.assemble(rows[0], "  ", share)
    for section in details(as_shown):
        if section.key == "occupancy":
            # The staircases stand below, where the demand is changed.
            children = [each for each in section.children if not isinstance(each, Staircase)]
            rows += [Content(""), *drawn(children, width)]
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
    rest = [_signed(child) if isinstance(child, Findings) else child for child in rest]
    rows, table = drawn(top, width), drawn(tables, width)
    left = max((row.cell_length for row in table), default=0)
    if width >= _WIDE and table and left <= width // 2:
        return lines([*rows, *beside(table, _details(rest, width - left - 3), left)])
    return lines([*rows, *table, *_details(rest, width)])


def _signed(found: Findings) -> Findings:
    """Return findings in short, each with the sign of its severity beside its colour."""
    items = (
        replace(item, state=f"{item.state} {SEVERITY_SIGN[item.severity]}", hint="")
        for item in found.findings
    )
    return replace(found, findings=tuple(items))


def _details(rest: Sequence[Node], width: int) -> list[Content]:
    return [row for row in drawn(rest, width) if row.plain]


def changes_headline(comparison: Comparison, first: Text, width: int) -> list[Content]:
    """Return the most important differences, in a column beside ``first``."""
    return headline(verdict(comparison), width, first)


def sides(comparison: Comparison) -> Text:
    """Return the labels of the sides: "num_stages=2 → num_stages=4"."""
    before, after = comparison.before.label, comparison.after.label
    return text(before, Run(" → ", "dim"), Run(after, "strong"))
