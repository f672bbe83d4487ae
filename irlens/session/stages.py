"""The text of a stage: as it is in the capture, or with annotations in a gutter."""

from collections.abc import Iterator, Mapping, Sequence

from irlens.analyze.capture_code import CaptureCode
from irlens.isa.dialects import dialect_of
from irlens.model.capture import BINARY_STAGES, STAGE_ORDER
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.listing import (
    LoopRange,
    PipelineAnnotation,
    StageListing,
    describe_iteration,
    role_word,
)
from irlens.model.report import Pipeline, Report

#: Marks instructions whose order the assembler serialised; the listing's note explains it.
_SERIALIZED = "*"
#: Title of the control fields: scoreboards waited for, set after reading, after writing; stall.
_SCHEDULE = "schedule"
#: Title of what AMD's waits wait for: operations of a counter, and their lines.
_WAITS_FOR = "waits for"
#: What a line moves: its columns' titles, and the cells of a line that moves nothing.
TrafficCells = tuple[str, str, str]
_TRAFFIC: TrafficCells = ("requested", "distinct", "sectors")
_NO_TRAFFIC: TrafficCells = ("", "", "")
_MAX_PARTNERS = 2
_MAX_DEPTH = 4


#: Stages that are not a file of the capture's stages.
_DERIVED = ("metadata", "sass")
STAGES = (*STAGE_ORDER, *_DERIVED)


def check_stage(name: str) -> None:
    """Raise ``UnknownNameError`` unless a stage has this name."""
    if name not in STAGES:
        raise UnknownNameError("stage", name, STAGES)


def check_text(stage: str) -> None:
    """Raise ``IrlensError`` for a stage without lines."""
    if stage in BINARY_STAGES:
        raise IrlensError(f"{stage} is binary and has no lines", hint=binary_hint(stage))


def binary_hint(stage: str) -> str | None:
    """Return how to read the code of a binary stage as text, if there is a way."""
    return "read it with --stage sass" if stage == "cubin" else None


def read_stage(code: CaptureCode, name: str) -> bytes:
    """Return the content of a stage; SASS is disassembled from the cubin.

    Raises:
        IrlensError: The capture lacks the stage.
    """
    capture = code.capture
    if name == "metadata" and capture.metadata_stage is not None:
        return capture.metadata_stage.read()
    stage = capture.stages.get(name)
    return stage.read() if stage is not None else code[name].text.encode()


def annotated(
    code: CaptureCode,
    stage: str,
    report: Report,
    *,
    interleave: bool,
    traffic: Mapping[int, TrafficCells] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield the gutter and the text of each line of a stage.

    The gutter holds the line number, the control fields of NVIDIA's machine code or what AMD's
    waits for, live 32-bit registers per thread, the line's role in a software pipeline with the
    lines of its partners, what the line moves, and a rail for each enclosing loop, as far as the
    stage has them.

    Args:
        code: The capture's code.
        stage: A text stage.
        report: The capture's report.
        interleave: Whether to yield the Python source between the lines.
        traffic: What each line moves: bytes requested and distinct, and sectors.

    Raises:
        IrlensError: The capture lacks the stage, or it is not text.
    """
    check_text(stage)
    from irlens.report.annotations import list_stage
    from irlens.session.source_lines import with_source

    listing = list_stage(code, stage, report)
    gutter = _Gutter(listing, report.pipelines, traffic or {})
    comment = dialect_of(stage).comment
    yield gutter.head, ""
    for note in filter(None, (listing.problem, listing.note and f"{_SERIALIZED} {listing.note}")):
        yield gutter.blank, f"{comment} {note}"
    for loop in listing.loops:
        if issued := describe_iteration(loop, stage):
            yield gutter.blank, f"{comment} loop {loop.first}–{loop.last}, {issued}"
    if not interleave:
        for number, line in enumerate(listing.lines, 1):
            yield gutter.cells(number), line
        return
    for source_number, line in with_source(code, stage):
        yield gutter.blank if source_number is None else gutter.cells(source_number), line


class _Gutter:
    """Formats the cells next to each line; columns without any cell are omitted.

    Attributes:
        head: The column titles.
        blank: The gutter of a line that is not part of the stage.
    """

    def __init__(
        self,
        listing: StageListing,
        pipelines: Sequence[Pipeline],
        traffic: Mapping[int, TrafficCells],
    ) -> None:
        self._listing = listing
        self._roles: dict[int, str] = {}
        for mark in listing.marks:
            previous = self._roles.get(mark.line)
            role = _role(mark, pipelines)
            self._roles[mark.line] = f"{previous}; {role}" if previous else role
        count = len(listing.lines)
        self._number_width = max(len(str(count)), len("line"))
        schedule = listing.schedule
        title = _WAITS_FOR if listing.stage == "amdgcn" else _SCHEDULE
        self._schedule_width = max(map(len, (*schedule, title))) if schedule else 0
        self._live_width = max(len(str(listing.peak or 0)), len("live")) if listing.live else 0
        self._role_width = max(map(len, (*self._roles.values(), "pipeline"))) if self._roles else 0
        self._traffic = traffic
        columns = zip(_TRAFFIC, *traffic.values(), strict=True) if traffic else ()
        self._traffic_widths = [max(map(len, column)) for column in columns]
        self._rails = _rails(listing.loops, count)
        self._rail_width = max(map(len, self._rails.values()), default=0)
        self.head = self._row("line", title, "live", "pipeline", _TRAFFIC, "").rstrip()
        self.blank = self._row("", "", "", "", _NO_TRAFFIC, "")

    def cells(self, number: int) -> str:
        """Return the gutter of a line of the stage."""
        listing = self._listing
        live = listing.live[number - 1] if number <= len(listing.live) else -1
        return self._row(
            str(number),
            listing.schedule[number - 1] if number <= len(listing.schedule) else "",
            str(live) if live >= 0 else "",
            self._roles.get(number, ""),
            self._traffic.get(number, _NO_TRAFFIC),
            self._rails.get(number, ""),
        )

    def _row(
        self, number: str, schedule: str, live: str, role: str, traffic: TrafficCells, rails: str
    ) -> str:
        cells = [number.rjust(self._number_width)]
        if self._schedule_width:
            cells.append(schedule.ljust(self._schedule_width))
        if self._live_width:
            cells.append(live.rjust(self._live_width))
        if self._role_width:
            cells.append(role.ljust(self._role_width))
        # There are no widths, and no columns, without a launch.
        cells += [
            cell.rjust(width) for cell, width in zip(traffic, self._traffic_widths, strict=False)
        ]
        if self._rail_width:
            cells.append(rails.ljust(self._rail_width))
        return "  ".join(cells) + "  "


def _role(mark: PipelineAnnotation, pipelines: Sequence[Pipeline]) -> str:
    """Return "copy → 122", "wait ← 122, 140 +1": the role, and the lines of its partners."""
    word = role_word(mark, pipelines) + (_SERIALIZED if mark.serialized else "")
    if not mark.partners:
        return word
    lines = ", ".join(map(str, mark.partners[:_MAX_PARTNERS]))
    more = len(mark.partners) - _MAX_PARTNERS
    arrow = "←" if mark.role == "wait" else "→"
    return f"{word} {arrow} {lines}" + (f" +{more}" if more > 0 else "")


def _rails(loops: Sequence[LoopRange], count: int) -> dict[int, str]:
    """Return the rails of each line in a loop; the outermost loop's rail is the leftmost."""
    rails: dict[int, str] = {}
    for loop in loops:  # outer before inner
        if loop.depth > _MAX_DEPTH:
            continue
        for line in range(max(loop.first, 1), min(loop.last, count) + 1):
            sign = "╭" if line == loop.first else "╰" if line == loop.last else "│"
            rails[line] = rails.get(line, "")[: loop.depth - 1].ljust(loop.depth - 1) + sign
    return rails
