"""``--annotate``: a stage with what is known of each line beside it."""

from collections.abc import Iterator, Sequence

from irlens.cli.lines import COMMENT, with_source
from irlens.model.capture import Capture
from irlens.model.listing import LoopRange, PipelineMark, StageListing, role_word
from irlens.model.report import Pipeline, Report
from irlens.report.annotations import list_stage

_SERIALIZED = "*"
_PARTNERS_SHOWN = 2
_DEEPEST = 4


def annotated(
    capture: Capture, stage: str, report: Report, *, interleave: bool
) -> Iterator[tuple[str, str]]:
    """Yield each line of a stage: what stands beside it, and the line.

    Line number, live 32-bit registers per thread, what it does in a software pipeline with the
    lines of what that belongs to, and a rail for each loop around it: as far as the stage has
    them.

    Args:
        capture: Where the stage is.
        stage: One that is text.
        report: What is known of the capture.
        interleave: Whether to yield the Python in between, too.

    Raises:
        IrlensError: The capture lacks the stage, or it is not text.
    """
    listing = list_stage(capture, stage, report)
    gutter = _Gutter(listing, report.pipelines)
    comment = COMMENT.get(stage, "//")
    yield gutter.head, ""
    for told in filter(None, (listing.problem, listing.note and f"{_SERIALIZED} {listing.note}")):
        yield gutter.blank, f"{comment} {told}"
    if not interleave:
        for number, line in enumerate(listing.lines, 1):
            yield gutter.beside(number), line
        return
    for source_number, line in with_source(capture, stage):
        yield gutter.blank if source_number is None else gutter.beside(source_number), line


class _Gutter:
    """Columns as wide as the widest of their cells; those without any are left out.

    Attributes:
        head: What the columns are.
        blank: What stands beside a line that is none of the stage's.
    """

    def __init__(self, listing: StageListing, pipelines: Sequence[Pipeline]) -> None:
        self._listing = listing
        self._marks: dict[int, str] = {}
        for mark in listing.marks:
            before = self._marks.get(mark.line)
            told = _told(mark, pipelines)
            self._marks[mark.line] = f"{before}; {told}" if before else told
        count = len(listing.lines)
        self._number = max(len(str(count)), len("line"))
        self._live = max(len(str(listing.peak or 0)), len("live")) if listing.live else 0
        self._mark = max(map(len, (*self._marks.values(), "pipeline"))) if self._marks else 0
        self._rails = _rails(listing.loops, count)
        self._depth = max(map(len, self._rails.values()), default=0)
        self.head = self._row("line", "live", "pipeline", "").rstrip()
        self.blank = self._row("", "", "", "")

    def beside(self, number: int) -> str:
        """Return what stands beside a line of the stage."""
        live = self._listing.live[number - 1] if number <= len(self._listing.live) else -1
        return self._row(
            str(number),
            str(live) if live >= 0 else "",
            self._marks.get(number, ""),
            self._rails.get(number, ""),
        )

    def _row(self, number: str, live: str, mark: str, rails: str) -> str:
        cells = [number.rjust(self._number)]
        if self._live:
            cells.append(live.rjust(self._live))
        if self._mark:
            cells.append(mark.ljust(self._mark))
        if self._depth:
            cells.append(rails.ljust(self._depth))
        return "  ".join(cells) + "  "


def _told(mark: PipelineMark, pipelines: Sequence[Pipeline]) -> str:
    """Return "copy → 122", "wait ← 122, 140 +1": what is done, and where that leads or is from."""
    word = role_word(mark, pipelines) + (_SERIALIZED if mark.serialized else "")
    if not mark.partners:
        return word
    lines = ", ".join(map(str, mark.partners[:_PARTNERS_SHOWN]))
    more = len(mark.partners) - _PARTNERS_SHOWN
    return f"{word} {'←' if mark.role == 'wait' else '→'} {lines}" + (
        f" +{more}" if more > 0 else ""
    )


def _rails(loops: Sequence[LoopRange], count: int) -> dict[int, str]:
    """Return the rails beside each line that is in a loop; the outermost loop's is the leftmost."""
    found: dict[int, str] = {}
    for loop in loops:  # outer before inner
        if loop.depth > _DEEPEST:
            continue
        for line in range(max(loop.first, 1), min(loop.last, count) + 1):
            sign = "╭" if line == loop.first else "╰" if line == loop.last else "│"
            found[line] = found.get(line, "")[: loop.depth - 1].ljust(loop.depth - 1) + sign
    return found
