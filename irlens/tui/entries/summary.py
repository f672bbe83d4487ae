"""The browser's texts about entries: the one under the cursor, and all of them together."""

from collections.abc import Collection, Iterator

from textual.content import Content
from textual.widgets import Static

from irlens.model.report import Report
from irlens.model.terms import Terms
from irlens.model.text import count, percent, plural, printable_line, size
from irlens.render.view.characters import bar
from irlens.session.workbench import Entry
from irlens.tui.drawing import (
    BAD,
    DIM,
    GOOD,
    SEVERITY_SIGN,
    SEVERITY_STYLE,
    WARN,
    flowing,
    labelled,
    lines,
    occupancy_style,
)
from irlens.tui.entries.cells import mark, settings
from irlens.tui.entries.layout import elided

_BAR_WIDTH = 8
#: The least cells of a summary.
_MIN_WIDTH = 27


def tally(entries: Collection[Entry], *, shown: int, listing: bool) -> Content:
    """Return the number of entries, and of those with a problem.

    Args:
        entries: All entries.
        shown: Number of entries that match the filter.
        listing: Whether entries are still being read; then their progress is shown.
    """
    number = plural(len(entries), "entry" if len(entries) == 1 else "entrie")
    parts = [Content(f"{count(shown)} of {number}" if shown < len(entries) else number)]
    if listing:
        analysed = sum(entry.findings is not None for entry in entries)
        parts.append(Content(f"{count(analysed)} read"))
    marks = [mark(entry) for entry in entries]
    unreadable = sum(bool(entry.problem) for entry in entries)
    problems = (
        (unreadable, "✗ unreadable", BAD),
        (marks.count("✗") - unreadable, "✗ cannot launch", BAD),
        (marks.count("!"), "! spill", WARN),
    )
    parts += [
        Content.styled(f"{count(many)} {problem}", style)
        for many, problem, style in problems
        if many
    ]
    return Content(" · ").join(parts)


class EntrySummary(Static):
    """The entry under the cursor in a few lines; more of them once its report is loaded."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._entry: Entry | None = None
        self._report: Report | None = None
        self._drawn_width = 0

    def show(self, entry: Entry | None, report: Report | None) -> None:
        """Show an entry; ``None`` shows nothing."""
        self._entry, self._report = entry, report
        self._draw()

    def on_resize(self) -> None:
        """Draw for another width."""
        if self.size.width != self._drawn_width:
            self._draw()

    def _draw(self) -> None:
        self._drawn_width = self.size.width
        width = max(self._drawn_width, _MIN_WIDTH)
        rows = _rows(self._entry, self._report, width) if self._entry is not None else ()
        self.update(lines(list(rows)))


def _rows(entry: Entry, report: Report | None, width: int) -> Iterator[Content]:
    yield Content.styled(printable_line(entry.kernel), "bold")
    yield Content.styled(" · ".join(_compiled_for(entry)), DIM)
    if entry.place:
        yield Content.styled(elided(printable_line(entry.place), width), DIM)
    if entry.problem:
        yield Content("")
        yield Content.styled(printable_line(entry.problem), BAD)
        return
    if entry.config is not None:
        yield Content(
            "  ".join(f"{name} {value}" for name, value in settings(entry.config).items())
        )
    if report is not None:
        yield from _figures(report, width)
        yield from _pipelines(report)
        yield from _findings(report)


def _compiled_for(entry: Entry) -> Iterator[str]:
    if entry.target is not None:
        product = entry.target.product
        yield entry.target.arch + (f" ({product})" if product else "")
    if entry.triton_version:
        yield f"Triton {printable_line(entry.triton_version)}"


def _figures(report: Report, width: int) -> Iterator[Content]:
    from irlens.tui.panels import figure_facts  # not needed for the first frame

    terms, resources, occupancy = Terms(report), report.resources, report.occupancy
    yield Content("")
    if occupancy is None:
        yield labelled("Occupancy", ("unknown", WARN))
    elif not occupancy.launchable:
        yield labelled("Occupancy", ("cannot launch", BAD))
        for refusal in occupancy.refusals:
            yield Content.styled(terms.refusal(refusal), BAD)
    else:
        share = (bar(occupancy.theoretical, _BAR_WIDTH), occupancy_style(occupancy))
        yield labelled("Occupancy", share, f" {percent(occupancy.theoretical)}")
        yield labelled("", f"{plural(occupancy.blocks_per_sm, terms.block)}/{terms.sm}")
        limits = ", ".join(terms.resource(name) for name in occupancy.limited_by)
        yield labelled("limited by", limits)
    registers = resources.registers
    yield labelled("Registers", "unknown" if registers is None else f"{registers}")
    if resources.local_bytes:
        yield labelled("Local", (f"{size(resources.local_bytes)} per {terms.thread}", WARN))
    shared = resources.shared_dynamic_bytes
    yield labelled(terms.shared, "unknown" if shared is None else f"{size(shared)}")
    for label, items in figure_facts(report):
        yield flowing(labelled(label), items, " · ", width)


def _pipelines(report: Report) -> Iterator[Content]:
    from irlens.tui.panels import kind_and_depth

    for number, pipeline in enumerate(report.pipelines):
        if number == 0:
            yield Content("")
        label = "" if number else "Pipelines"
        yield labelled(label, f"{pipeline.place}  ", kind_and_depth(pipeline))


def _findings(report: Report) -> Iterator[Content]:
    yield Content("")
    if not report.findings:
        yield labelled("Findings", ("none", GOOD))
        return
    yield labelled("Findings", count(len(report.findings)))
    for finding in report.findings:
        sign = SEVERITY_SIGN[finding.severity]
        yield Content.assemble(
            (f"{sign} {finding.code} ", SEVERITY_STYLE[finding.severity]),
            printable_line(finding.message),
        )
