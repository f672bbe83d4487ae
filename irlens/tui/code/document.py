"""A text that a pane shows, with everything that is known of its lines."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate

import msgspec

from irlens.isa.syntax import syntax_of
from irlens.model.listing import LoopRange, PipelineMark, StageListing, role_word
from irlens.model.pressure import Pressure
from irlens.model.report import Finding, Pipeline, Report
from irlens.model.source import SourceLocation
from irlens.tui.code.text import CodeText

_COMPILED = re.compile(
    r"^[ \t]*@(?:\w+\.)*jit\b.*\n(?:[ \t]*(?:@|\)).*\n)*[ \t]*def ", re.MULTILINE
)

#: A line of Python without its column: what the panes are linked by.
Place = tuple[str, int]


class Document:
    """A stage's text or a Python file. Lines count from 1.

    Attributes:
        name: The stage, or the Python file's base name.
        listing: The text and its columns; of Python "stage" is "python".
        text: The text as it is drawn.
        findings: What the report finds, by line.
        live_in: The stage whose registers are counted.
        begin: The line where the kernel begins.
        pipelines: Those that marks belong to.
    """

    def __init__(
        self,
        name: str,
        listing: StageListing,
        findings: Mapping[int, Sequence[Finding]],
        live_in: str,
        begin: int = 1,
        pipelines: Sequence[Pipeline] = (),
    ) -> None:
        self.name = name
        self.listing = listing
        self.text = CodeText(listing.text, listing.stage)
        self.findings = findings
        self.live_in = live_in
        self.begin = begin
        self.pipelines = pipelines

    def __len__(self) -> int:
        return len(self.text)

    @property
    def stage(self) -> str:
        """Whose language it is."""
        return self.listing.stage

    def chain(self, line: int) -> tuple[SourceLocation, ...]:
        """Return where a line comes from, the innermost inlined function first."""
        number = _column(self.listing.chain, line)
        return self.listing.chains[number] if 0 <= number < len(self.listing.chains) else ()

    def live(self, line: int) -> int | None:
        """Return the live registers at a line, ``None`` where there are none to be told."""
        live = _column(self.listing.live, line)
        return None if live < 0 else live

    def places(self, place: Place) -> list[int]:
        """Return the lines that come from a line of Python, in ascending order."""
        return sorted(
            line for number in self._by_place.get(place, ()) for line in self._by_chain[number]
        )

    def runs(self, lines: Sequence[int]) -> list[int]:
        """Return the first line of each run of some ascending lines.

        What is no instruction, such as debug information, does not divide a run.
        """
        between = self._instructions
        return [
            line
            for last, line in zip((0, *lines), lines, strict=False)
            if not last or between[line - 1] > between[last]
        ]

    def mark(self, line: int) -> PipelineMark | None:
        """Return what a line does in a software pipeline."""
        return self.marks.get(line)

    def role(self, mark: PipelineMark) -> str:
        """Return what a mark's line does, in a word: "product" for a copy that is none."""
        return role_word(mark, self.pipelines)

    @cached_property
    def marks(self) -> dict[int, PipelineMark]:
        """The lines that are part of a software pipeline."""
        return {mark.line: mark for mark in self.listing.marks}

    def loop(self, line: int) -> LoopRange | None:
        """Return the innermost loop around a line."""
        around = [loop for loop in self.listing.loops if loop.first <= line <= loop.last]
        return max(around, key=lambda loop: loop.depth, default=None)

    @cached_property
    def code_lines(self) -> Sequence[int]:
        """The lines that remain when lines without code are folded: in an assembly not all."""
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

    @cached_property
    def _instructions(self) -> list[int]:
        """How many lines up to each come from anywhere, that line included; 0 is before all."""
        return list(accumulate((number >= 0 for number in self.listing.chain), initial=0))

    @cached_property
    def _by_place(self) -> dict[Place, list[int]]:
        found: defaultdict[Place, list[int]] = defaultdict(list)
        for number, chain in enumerate(self.listing.chains):
            for place in {(location.file, location.line) for location in chain}:
                found[place].append(number)
        return found

    @cached_property
    def _by_chain(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.listing.chains]
        for line, number in enumerate(self.listing.chain, 1):
            if 0 <= number < len(found):
                found[number].append(line)
        return found


def stage_document(listing: StageListing, report: Report | None) -> Document:
    """Return a stage with the findings that were seen in it."""
    findings: defaultdict[int, list[Finding]] = defaultdict(list)
    for finding in report.findings if report else ():
        if finding.stage == listing.stage and finding.line is not None:
            findings[finding.line].append(finding)
    # What stands before the first line that comes from Python declares.
    begin = next((line for line, number in enumerate(listing.chain, 1) if number >= 0), 1)
    pipelines = report.pipelines if report else ()
    return Document(listing.stage, listing, findings, listing.stage, begin, pipelines)


def python_document(file: str, text: str, kernel: str, report: Report | None) -> Document:
    """Return a Python file with the findings and the register pressure of its lines."""
    findings: defaultdict[int, list[Finding]] = defaultdict(list)
    for finding in report.findings if report else ():
        if finding.source is not None and finding.source.file == file:
            findings[finding.source.line].append(finding)
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
    return Document(file, listing, findings, stage, _definition(text, kernel))


def _definition(text: str, kernel: str) -> int:
    """Return the line where a kernel is defined; the first that is compiled at all, if not that.

    A kernel may have been given another name than its function's.
    """
    own = re.compile(rf"^[ \t]*def {re.escape(kernel)}\b", re.MULTILINE)
    found = own.search(text) or _COMPILED.search(text)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def following(lines: Sequence[int], line: int, step: int) -> int | None:
    """Return the nearest of some ascending lines after (-1: before) one, around the ends."""
    if not lines:
        return None
    if step > 0:
        return lines[bisect_right(lines, line) % len(lines)]
    return lines[bisect_left(lines, line) - 1]


def nearest(lines: Sequence[int], line: int) -> int | None:
    """Return the one of some ascending lines that is nearest to one."""
    at = bisect_left(lines, line)
    return min(lines[max(at - 1, 0) : at + 1], key=lambda near: abs(near - line), default=None)


def _pressure(file: str, count: int, report: Report | None) -> tuple[str, list[int]]:
    """The stage that tells most, and the peaks that it has at a Python file's lines."""
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
    """Something that stands on some lines of a text.

    Attributes:
        name: What it is called in a sentence.
        lines: Where it stands, in ascending order.
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
    """Return what a copy, a commit or a wait belongs to, the next one in the text if several."""
    mark = document.mark(line)
    return following(sorted(mark.partners), line, 1) if mark else None


def other_line(lines: Sequence[int], line: int, step: int) -> int | None:
    """Return the next (-1: previous) of some ascending lines, unless there is only this one."""
    found = following(lines, line, step)
    return None if found == line else found
