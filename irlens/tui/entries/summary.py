"""The browser's texts about entries: the one under the cursor, and all of them together."""

import time
from collections import Counter
from collections.abc import Collection, Iterator

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from irlens.model.report import Report, Severity
from irlens.model.text import count, plural, printable_line
from irlens.render.view.nodes import Facts, Run, text
from irlens.session.exchange import Entry
from irlens.tui.drawing import (
    BAD,
    SEVERITY_SIGN,
    WARN,
    content_of,
    drawn,
    flowed,
    headline,
    lines,
    shortened,
)
from irlens.tui.entries.cells import age, finding_pieces, mark, settings
from irlens.tui.entries.layout import elided

_BAR_WIDTH = 8
#: The least cells of a summary.
_MIN_WIDTH = 27
#: The least lines, and the cells from which its parts stand side by side.
_MIN_HEIGHT, _WIDE = 4, 74


def tally(entries: Collection[Entry], *, shown: int, listing: bool) -> Content:
    """Return the number of entries, and of those with a problem."""
    number = plural(len(entries), "entry" if len(entries) == 1 else "entrie")
    parts = [Content(f"{count(shown)} of {number}" if shown < len(entries) else number)]
    if listing:
        parts.append(Content("listing …"))
    # What follows of findings is that of these.
    analysed = sum(entry.findings is not None for entry in entries)
    if not all(entry.is_complete for entry in entries):
        parts.append(Content(f"{count(analysed)} analysed"))
    marks = Counter(map(mark, entries))
    unreadable = sum(bool(entry.problem) for entry in entries)
    problems = (
        (unreadable, "✗ unreadable", BAD),
        (marks["✗"] - unreadable, "✗ cannot launch", BAD),
        (marks["!"], "! spill", WARN),
    )
    parts += [
        Content.styled(f"{count(many)} {problem}", style)
        for many, problem, style in problems
        if many
    ]
    findings = Counter[Severity]()
    for entry in entries:
        for severity, found in (entry.findings or {}).items():
            findings[severity] += found
    if pieces := finding_pieces(findings):
        parts.append(Content.assemble(*pieces).rstrip())
    return Content(" · ").join(parts)


class EntrySummary(Static):
    """The entry under the cursor in a few lines; more of them once its report is loaded."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._entry: Entry | None = None
        self._report: Report | None = None
        self._drawn_room = (0, 0)

    def show(self, entry: Entry | None, report: Report | None) -> None:
        """Show an entry; ``None`` shows nothing."""
        self._entry, self._report = entry, report
        self._draw()

    def on_resize(self) -> None:
        """Draw for another size."""
        if self._room != self._drawn_room:
            self._draw()

    @property
    def _room(self) -> tuple[int, int]:
        """Cells and lines; the summary itself is as tall as its text."""
        height = self.parent.size.height if isinstance(self.parent, Widget) else 0
        return self.size.width, height

    def _draw(self) -> None:
        self._drawn_room = self._room
        width, height = self._room
        width = max(width, _MIN_WIDTH)
        rows = _rows(self._entry, self._report, width) if self._entry is not None else ()
        wrapped = [part for row in rows for line in row.split() for part in line.wrap(width)]
        self.update(lines(shortened(wrapped, max(height, _MIN_HEIGHT), width, ", ⏎ opens all")))


def _rows(entry: Entry, report: Report | None, width: int) -> Iterator[Content]:
    about = [text(Run(part, "dim")) for part in _compiled_for(entry)]
    if entry.place:
        about.append(text(Run(elided(printable_line(entry.place), width), "dim")))
    name = Run(entry.kernel, "strong")
    if width < _WIDE:
        yield content_of((name,))
        yield from flowed(about, width)
    else:
        yield from flowed(about, width, first=text(name, "  "))
    if entry.problem:
        yield Content("")
        yield Content.styled(printable_line(entry.problem), BAD)
        return
    if entry.config is not None:
        pairs = [text(f"{name} {value}") for name, value in settings(entry.config).items()]
        yield from flowed(pairs, width, gap="  ")
    if report is not None:
        yield from _about(report, width)


def _compiled_for(entry: Entry) -> Iterator[str]:
    if entry.target is not None:
        yield entry.target.full_name
    if entry.triton_version:
        yield f"Triton {entry.triton_version}"
    if entry.modified is not None:
        yield age(time.time() - entry.modified, entry.modified)


def _about(report: Report, width: int) -> Iterator[Content]:
    """Yield the verdict, the findings, and what the kernel takes."""
    # Not needed for the first frame.
    from irlens.render.view.findings import findings
    from irlens.render.view.report import facts, pipeline_facts
    from irlens.render.view.verdict import verdict
    from irlens.tui.panels import in_brief

    yield from headline(verdict(report), width)
    if (found := findings(report)) is not None:
        for each in found.findings:
            first = text(Run(f"{SEVERITY_SIGN[each.severity]} {each.code} ", each.tone))
            yield from flowed([text(each.message)], width, first=first)
    known = list(facts(report).facts)
    if (loops := pipeline_facts(report)) is not None:
        known += loops.facts
    yield from drawn([Facts(tuple(in_brief(fact, 1) for fact in known))], width)
