"""What the browser tells of the entry under the cursor."""

from collections.abc import Iterator

from textual.content import Content
from textual.widgets import Static

from irlens.model.report import Report
from irlens.model.text import count, percent, plural, printable_line, size
from irlens.model.words import Words
from irlens.session.workbench import Entry
from irlens.tui.drawing import (
    BAD,
    DIM,
    GOOD,
    SEVERITY_SIGN,
    SEVERITY_STYLE,
    WARN,
    bar,
    labelled,
    lines,
    occupancy_style,
)
from irlens.tui.entry_cells import settings
from irlens.tui.entry_line import elided
from irlens.tui.panels.pipelines import verdict

_BAR = 8
#: Cells that the summary has at least.
_LEAST = 27


class EntrySummary(Static):
    """A few lines; more of them once the report is there."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._told: tuple[Entry, Report | None] | None = None
        self._drawn_for = 0

    def tell(self, entry: Entry | None, report: Report | None) -> None:
        """Show an entry, ``None`` for none."""
        self._told = (entry, report) if entry is not None else None
        self._draw()

    def on_resize(self) -> None:
        """Draw it for the width there is."""
        if self.size.width != self._drawn_for:
            self._draw()

    def _draw(self) -> None:
        self._drawn_for = self.size.width
        width = max(self._drawn_for, _LEAST)
        self.update(lines(list(_rows(*self._told, width))) if self._told else Content(""))


def _rows(entry: Entry, report: Report | None, width: int) -> Iterator[Content]:
    yield Content.styled(printable_line(entry.kernel), "bold")
    yield Content.styled(" · ".join(_made_for(entry)), DIM)
    if entry.place:
        yield Content.styled(elided(printable_line(entry.place), width), DIM)
    if entry.problem:
        yield Content("")
        yield Content.styled(printable_line(entry.problem), BAD)
        return
    if entry.config is not None:
        told = "  ".join(f"{name} {value}" for name, value in settings(entry.config).items())
        yield Content(told)
    if report is not None:
        yield from _figures(report)
        yield from _pipelines(report)
        yield from _findings(report)


def _made_for(entry: Entry) -> list[str]:
    told = []
    if entry.target is not None:
        product = entry.target.product
        told.append(entry.target.arch + (f" ({product})" if product else ""))
    if entry.triton_version:
        told.append(f"Triton {printable_line(entry.triton_version)}")
    return told


def _figures(report: Report) -> Iterator[Content]:
    words, held, occupancy = Words(report), report.resources, report.occupancy
    yield Content("")
    if occupancy is None:
        yield labelled("Occupancy", ("unknown", WARN))
    elif not occupancy.launchable:
        yield labelled("Occupancy", ("cannot launch", BAD))
        for refusal in occupancy.refusals:
            yield Content.styled(words.refusal(refusal), BAD)
    else:
        share = percent(occupancy.theoretical)
        yield labelled(
            "Occupancy", (bar(occupancy.theoretical, _BAR), occupancy_style(occupancy)), f" {share}"
        )
        blocks = f"{plural(occupancy.blocks_per_sm, words.block)}/{words.sm}"
        yield labelled("", blocks)
        limits = ", ".join(words.resource(name) for name in occupancy.limited_by)
        yield labelled("limited by", limits)
    yield labelled("Registers", "unknown" if held.registers is None else f"{held.registers}")
    if held.local_bytes:
        yield labelled("Local", (f"{size(held.local_bytes)} per {words.thread}", WARN))
    shared = held.shared_dynamic_bytes
    yield labelled(words.shared, "unknown" if shared is None else f"{size(shared)}")


def _pipelines(report: Report) -> Iterator[Content]:
    for number, pipeline in enumerate(report.pipelines):
        if number == 0:
            yield Content("")
        label = "" if number else "Pipelines"
        yield labelled(label, f"{pipeline.place}  ", verdict(pipeline))


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
