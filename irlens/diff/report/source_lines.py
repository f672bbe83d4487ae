"""Lines of Python: which line of one side is which of the other, and what changed on each.

An edit above a loop moves the loop; it stays the same loop. Lines are aligned by their text where
both reports hold it, and by their number elsewhere. A file that was renamed stays the same file.
"""

from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from irlens.diff.report.figure_deltas import delta
from irlens.model.comparison import LineDelta
from irlens.model.pressure import LinePressure, StagePressure
from irlens.model.report import Report
from irlens.model.source import SourceLocation

#: Alignment is quadratic: beyond this number of pairs, the remaining files match by number.
_MOST_PAIRS = 250_000

#: Which lines of the source both reports hold.
LinesHeld: TypeAlias = Literal["all", "some"]
_Lines: TypeAlias = dict[int, str]


class LinePair(NamedTuple):
    """A line on both sides; ``None`` on a side that has no such line.

    The file goes by its name on the second side.
    """

    file: str
    before: int | None
    after: int | None


class LinePairs:
    """Looks up the pair that a location of either side belongs to.

    Args:
        known: Aligned lines by side (``True`` is the first), file and line; other lines have the
            same number on both sides.
        renamed: The second side's names of files of the first that it calls otherwise.
    """

    def __init__(
        self, known: dict[tuple[bool, str, int], LinePair], renamed: dict[str, str]
    ) -> None:
        self._known = known
        self._renamed = renamed

    def before(self, source: SourceLocation | None) -> LinePair | None:
        """Return the pair of a location on the first side."""
        if source is None:
            return None
        file = self._renamed.get(source.file, source.file)
        same = LinePair(file, source.line, source.line)
        return self._known.get((True, source.file, source.line), same)

    def after(self, source: SourceLocation | None) -> LinePair | None:
        """Return the pair of a location on the second side."""
        if source is None:
            return None
        same = LinePair(source.file, source.line, source.line)
        return self._known.get((False, source.file, source.line), same)


def align(before: Report, after: Report, lines_held: LinesHeld = "some") -> LinePairs:
    """Return the paired lines of two reports; ``lines_held`` as in ``compare``."""
    ours, theirs = _lines_by_file(before), _lines_by_file(after)
    known: dict[tuple[bool, str, int], LinePair] = {}
    budget = _MOST_PAIRS
    renamed = _renamed(ours, theirs)
    for old in sorted(file for file in ours if renamed.get(file, file) in theirs):
        file = renamed.get(old, old)
        cost = len(ours[old]) * len(theirs[file])
        if cost > budget or (lines_held == "some" and _agree(ours[old], theirs[file])):
            continue  # every line keeps its number
        budget -= cost
        forward = _aligned(ours[old], theirs[file])
        back = {second: first for first, second in forward.items()}
        for line in ours[old]:
            known[True, old, line] = LinePair(file, line, forward.get(line))
        for line in theirs[file]:
            known[False, file, line] = LinePair(file, back.get(line), line)
    return LinePairs(known, renamed)


def _renamed(ours: dict[str, _Lines], theirs: dict[str, _Lines]) -> dict[str, str]:
    """Return the new names of files that only one side has, and that share most of their lines."""
    gone = {file: set(ours[file].values()) for file in ours.keys() - theirs.keys()}
    new = {file: set(theirs[file].values()) for file in theirs.keys() - ours.keys()}
    shared = [
        (-len(texts & others), min(old, file), max(old, file), old, file)
        for old, texts in gone.items()
        for file, others in new.items()
        if len(texts & others) * 2 > min(len(texts), len(others))
    ]
    renamed: dict[str, str] = {}
    for _, _, _, old, file in sorted(shared):
        if old not in renamed and file not in renamed.values():
            renamed[old] = file
    return renamed


def _lines_by_file(report: Report) -> dict[str, _Lines]:
    files: dict[str, _Lines] = {}
    for place, text in report.code.items():
        file, _, number = place.rpartition(":")
        if number.isascii() and number.isdigit() and len(number) < 10:
            files.setdefault(file, {})[int(number)] = text
    return files


def _agree(ours: _Lines, theirs: _Lines) -> bool:
    """Return whether no line that both sides have differs."""
    return all(theirs[line] == text for line, text in ours.items() if line in theirs)


def _aligned(ours: _Lines, theirs: _Lines) -> dict[int, int]:
    """Align the lines of a file: lines of the same text, and equally long edits in between."""
    first, second = sorted(ours.items()), sorted(theirs.items())
    # The matcher is not symmetric; a comparison and its mirror image must agree.
    swapped = second < first
    if swapped:
        first, second = second, first
    matcher = SequenceMatcher(
        None, [text for _, text in first], [text for _, text in second], autojunk=False
    )
    pairs = {}
    for _, start, end, other, other_end in matcher.get_opcodes():
        if end - start == other_end - other:
            lines = zip(first[start:end], second[other:other_end], strict=True)
            pairs.update({one: two for (one, _), (two, _) in lines})
    return {two: one for one, two in pairs.items()} if swapped else pairs


def line_deltas(before: Report, after: Report, lines: LinePairs) -> list[LineDelta]:
    """Return the lines whose instructions or pressure changed, largest change first."""
    changed = []
    for stage in ("ptx", "sass", "amdgcn"):
        ours: StagePressure | None = getattr(before.pressure, stage)
        theirs: StagePressure | None = getattr(after.pressure, stage)
        if ours is None or theirs is None or None in (ours.peak, theirs.peak):
            continue
        first = {lines.before(line.source): line for line in ours.lines}
        second = {lines.after(line.source): line for line in theirs.lines}
        for pair in [*first, *(pair for pair in second if pair not in first)]:
            changed += _line_delta(stage, first.get(pair), second.get(pair))
    return sorted(changed, key=_line_order)


def _line_delta(
    stage: str, first: LinePressure | None, second: LinePressure | None
) -> list[LineDelta]:
    """Return the change of a line, if it changed."""
    present = second or first
    instructions = delta(
        "instructions", first.instructions if first else 0, second.instructions if second else 0
    )
    peak = delta("peak", first.peak if first else None, second.peak if second else None)
    if present is None or not (instructions.moved or peak.before != peak.after):
        return []
    source = msgspec.structs.replace(present.source, column=0)
    return [LineDelta(stage=stage, source=source, instructions=instructions, peak=peak)]


def _line_order(line: LineDelta) -> tuple[object, ...]:
    change = abs(line.instructions.change or 0) + abs(line.peak.change or 0)
    return -change, line.stage, line.source
