"""A document: the text of a code pane with the analysis of its lines, apart from the widget.

A stage may have a hundred thousand lines. Work for a whole stage takes a few passes that do not
walk it character by character in Python; the rest is done for a line when it comes into view.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

import msgspec

from irlens.isa.dialects import syntax_of
from irlens.model.listing import LoopRange, PipelineAnnotation, StageListing
from irlens.model.pressure import Pressure
from irlens.model.report import Finding, Pipeline, Report
from irlens.model.several import grouped
from irlens.model.source import SourceLocation
from irlens.render.view.drawings import RegisterBudget, register_budget
from irlens.render.view.gutters import role_word
from irlens.render.view.memory_traffic import LineTraffic, traffic_by_line, traffic_stage
from irlens.tui.code.text import CodeText

_COMPILED = re.compile(
    r"^[ \t]*@(?:\w+\.)*jit\b.*\n(?:[ \t]*(?:@|\)).*\n)*[ \t]*def ", re.MULTILINE
)

#: A file and a line of Python, which link the panes.
Place = tuple[str, int]


class Document:
    """A stage's text or a Python file. Lines count from 1.

    Attributes:
        name: The stage, or the Python file's base name.
        listing: The text and its annotations; the stage of Python is "python".
        budget: The kernel's register budget; ``None`` where it is unknown.
    """

    def __init__(
        self,
        name: str,
        listing: StageListing,
        findings: Mapping[int, Sequence[Finding]],
        live_in: str,
        begin: int = 1,
        pipelines: Sequence[Pipeline] = (),
        budget: RegisterBudget | None = None,
        traffic: Mapping[int, LineTraffic] | None = None,
    ) -> None:
        self.name = name
        self.listing = listing
        self.text = CodeText(listing.text, listing.stage)
        self.findings = findings
        self.live_in = live_in
        self.begin = begin
        self.pipelines = pipelines
        self.budget = budget
        self.traffic = traffic or {}

    def __len__(self) -> int:
        return len(self.text)

    @property
    def stage(self) -> str:
        """The stage, which gives the syntax."""
        return self.listing.stage

    def chain(self, line: int) -> tuple[SourceLocation, ...]:
        """Return a line's source locations, the innermost inlined function first."""
        number = _column(self.listing.chain, line)
        return self.listing.chains[number] if 0 <= number < len(self.listing.chains) else ()

    def live(self, line: int) -> int | None:
        """Return the live registers at a line, ``None`` where they are unknown."""
        live = _column(self.listing.live, line)
        return None if live < 0 else live

    @property
    def registers(self) -> str:
        """What the live registers are: PTX's are virtual; "" where none are counted."""
        if not self.listing.live:
            return ""
        return f"live {'virtual' if self.live_in == 'ptx' else 'machine'} registers"

    def places(self, place: Place) -> list[int]:
        """Return the lines that come from a line of Python, in ascending order."""
        return sorted(
            line for number in self._by_place.get(place, ()) for line in self._by_chain[number]
        )

    def runs(self, lines: Sequence[int]) -> list[int]:
        """Return the first line of each run of some ascending lines.

        Lines without an instruction, such as debug information, do not interrupt a run.
        """
        between = self._instructions
        return [
            line
            for last, line in zip((0, *lines), lines, strict=False)
            if not last or between[line - 1] > between[last]
        ]

    def mark(self, line: int) -> PipelineAnnotation | None:
        """Return the pipeline mark of a line."""
        return self.marks.get(line)

    def role(self, mark: PipelineAnnotation) -> str:
        """Return a mark's role in a word: "product" for a matrix product, which copies nothing."""
        return role_word(mark, self.pipelines)

    @cached_property
    def marks(self) -> dict[int, PipelineAnnotation]:
        """The marks of software pipelines, by line."""
        return {mark.line: mark for mark in self.listing.marks}

    def loop(self, line: int) -> LoopRange | None:
        """Return the innermost loop around a line."""
        around = [loop for loop in self.listing.loops if loop.first <= line <= loop.last]
        return max(around, key=lambda loop: loop.depth, default=None)

    @cached_property
    def code_lines(self) -> Sequence[int]:
        """The lines that stay visible when lines without code are folded."""
        folded = syntax_of(self.stage).folded
        if not folded:
            return range(1, len(self) + 1)
        stripped = map(str.lstrip, self.text.lines)
        return [
            number
            for number, line in enumerate(stripped, 1)
            if line and not line.startswith(folded)
        ]

    @cached_property
    def peaks(self) -> list[int]:
        """The lines where the most registers are live."""
        peak = self.listing.peak
        return [line for line, live in enumerate(self.listing.live, 1) if peak and live == peak]

    def peak_of(self, place: Place) -> int | None:
        """Return the line of the peak that comes from a line of Python, or else the first peak."""
        own = (
            line for line in self.peaks if place in {(at.file, at.line) for at in self.chain(line)}
        )
        return next(own, next(iter(self.peaks), None))

    @cached_property
    def _instructions(self) -> list[int]:
        """The number of lines with a source up to and including each; entry 0 is 0."""
        return list(accumulate((number >= 0 for number in self.listing.chain), initial=0))

    @cached_property
    def _by_place(self) -> dict[Place, list[int]]:
        return grouped(
            (place, number)
            for number, chain in enumerate(self.listing.chains)
            for place in {(location.file, location.line) for location in chain}
        )

    @cached_property
    def _by_chain(self) -> list[list[int]]:
        lines: list[list[int]] = [[] for _ in self.listing.chains]
        for line, number in enumerate(self.listing.chain, 1):
            if 0 <= number < len(lines):
                lines[number].append(line)
        return lines


def stage_document(listing: StageListing, report: Report | None) -> Document:
    """Return the document of a stage, with its findings."""
    findings = grouped(
        (finding.line, finding)
        for finding in (report.findings if report else ())
        if finding.stage == listing.stage and finding.line is not None
    )
    # Lines before the first one with a Python source are declarations.
    begin = next((line for line, number in enumerate(listing.chain, 1) if number >= 0), 1)
    pipelines = report.pipelines if report else ()
    budget = register_budget(report) if report else None
    evaluated = report is not None and listing.stage == traffic_stage(report)
    traffic = traffic_by_line(report) if report and evaluated else None
    return Document(
        listing.stage, listing, findings, listing.stage, begin, pipelines, budget, traffic
    )


def python_document(file: str, text: str, kernel: str, report: Report | None) -> Document:
    """Return the document of a Python file, with findings and register pressure by line."""
    findings = grouped(
        (finding.source.line, finding)
        for finding in (report.findings if report else ())
        if finding.source is not None and finding.source.file == file
    )
    count = len(CodeText(text, "python"))
    stage, live = _pressure(file, count, report)
    listing = StageListing(
        stage="python",
        text=text,
        chains=[(SourceLocation(file, line),) for line in range(1, count + 1)],
        chain=list(range(count)),
        live=live,
        peak=max(live, default=None),
        loops=[],
        marks=[],
    )
    budget = register_budget(report) if report else None
    traffic = traffic_by_line(report, file) if report else None
    return Document(
        file, listing, findings, stage, _definition(text, kernel), budget=budget, traffic=traffic
    )


def _definition(text: str, kernel: str) -> int:
    """Return the line that defines a kernel, or else the first function with a ``jit`` decorator.

    A kernel may have another name than its function.
    """
    own = re.compile(rf"^[ \t]*def {re.escape(kernel)}\b", re.MULTILINE)
    found = own.search(text) or _COMPILED.search(text)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def following(lines: Sequence[int], line: int, step: int) -> int | None:
    """Return the next (-1: previous) of some ascending lines, wrapping around the ends."""
    if not lines:
        return None
    if step > 0:
        return lines[bisect_right(lines, line) % len(lines)]
    return lines[bisect_left(lines, line) - 1]


def nearest(lines: Sequence[int], line: int) -> int | None:
    """Return the nearest of some ascending lines."""
    at = bisect_left(lines, line)
    return min(lines[max(at - 1, 0) : at + 1], key=lambda near: abs(near - line), default=None)


def _pressure(file: str, count: int, report: Report | None) -> tuple[str, list[int]]:
    """Return the lowest-level stage with pressure in a Python file, and its peak at each line."""
    pressure = report.pressure if report else Pressure()
    known = {"amdgcn": pressure.amdgcn, "sass": pressure.sass, "ptx": pressure.ptx}
    peaks: dict[int, int] = {}
    for name, stage in known.items():
        for line in (*stage.lines, *stage.innermost) if stage else ():
            if line.source.file == file:
                peaks[line.source.line] = max(line.peak, peaks.get(line.source.line, -1))
        if peaks:
            return name, [peaks.get(line, -1) for line in range(1, count + 1)]
    return "", []


def _column(values: Sequence[int], line: int) -> int:
    return values[line - 1] if 0 < line <= len(values) else -1


class Landmark(msgspec.Struct, frozen=True):
    """A kind of lines that keys jump between.

    Attributes:
        lines: Returns its lines, ascending.
    """

    name: str
    lines: Callable[[Document], Sequence[int]]


LANDMARKS = {
    "finding": Landmark(
        "findings of its own, the overview lists all", lambda document: sorted(document.findings)
    ),
    "peak": Landmark("register pressure", lambda document: document.peaks),
    "loop": Landmark(
        "loops", lambda document: sorted({loop.first for loop in document.listing.loops})
    ),
    "mark": Landmark("pipelined copies, commits or waits", lambda document: sorted(document.marks)),
}


def partner_line(document: Document, line: int) -> int | None:
    """Return the partner of a copy, commit or wait, the next one in the text of several."""
    mark = document.mark(line)
    return following(sorted(mark.partners), line, 1) if mark else None


def other_line(lines: Sequence[int], line: int, step: int) -> int | None:
    """Return the next (-1: previous) of some ascending lines, ``None`` if there is no other."""
    target = following(lines, line, step)
    return None if target == line else target
