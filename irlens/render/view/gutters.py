"""What stands beside a line of code, for text, HTML and the TUI: signs, rails, brackets, words."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec

from irlens.model.listing import LoopRange, PipelineAnnotation
from irlens.model.report import Pipeline
from irlens.model.schedule import SCOREBOARDS, Alone, Awaited, Control, LoopSchedule
from irlens.model.text import count, plural

#: The asynchronous operations of pipelines that do not copy.
_OPERATIONS: dict[str | None, str] = {
    "wgmma": "product", "tcgen05": "product", "register": "load",
}  # fmt: skip
#: Lines of operations that a wait names.
_MOST_LINES = 2


def role_word(annotation: PipelineAnnotation, pipelines: Sequence[Pipeline]) -> str:
    """Return the role of a line in one word; the "copy" of a matrix pipeline is a "product"."""
    known = annotation.pipeline is not None and annotation.pipeline < len(pipelines)
    kind = pipelines[annotation.pipeline or 0].kind if known else None
    return _OPERATIONS.get(kind, annotation.role) if annotation.role == "copy" else annotation.role


class Rails:
    """A rail for each loop around a line; a number where loops are nested deeper than that.

    Args:
        most: Rails beside each other.
    """

    def __init__(self, loops: Sequence[LoopRange], most: int) -> None:
        self._loops = loops
        self.width = min(max((loop.depth for loop in loops), default=0), most)
        # Between two of these lines the loops around are the same ones.
        self._turns = sorted({line for loop in loops for line in (loop.first, loop.last + 1)})
        self._found: dict[int, list[LoopRange]] = {}

    def at(self, line: int) -> str:
        """Return the rails of a line, the outermost loop's first."""
        rails = ""
        for loop in self._around(line):
            sign = "╭" if line == loop.first else "╰" if line == loop.last else "│"
            if loop.depth > self.width:
                sign = str(loop.depth) if loop.depth < 10 else "+"
            before = min(loop.depth, self.width) - 1
            rails = rails[:before].ljust(before) + sign
        return rails

    def depth(self, line: int) -> int:
        """Return the depth of the innermost loop around a line; 0 without one."""
        return max((loop.depth for loop in self._around(line)), default=0)

    def _around(self, line: int) -> list[LoopRange]:
        at = bisect_right(self._turns, line)
        if at not in self._found:
            self._found[at] = [each for each in self._loops if each.first <= line <= each.last]
        return self._found[at]


class Bracket(msgspec.Struct, frozen=True):
    """The marks of one pipeline group: partners, directly or through others.

    Attributes:
        first: Line of the first mark, from 1.
        last: Line of the last mark.
    """

    first: int
    last: int
    members: frozenset[int]


#: Brackets that do not overlap, in ascending order, drawn in one column.
Lane = list[Bracket]


def bracket_lanes(marks: Sequence[PipelineAnnotation]) -> list[Lane]:
    """Return the brackets of some marks in as few lanes as possible, the outer lane first."""
    lanes: list[Lane] = []
    for bracket in sorted(_brackets(marks), key=lambda bracket: (bracket.first, -bracket.last)):
        lane = next((lane for lane in lanes if lane[-1].last < bracket.first), None)
        if lane is None:
            lanes.append([bracket])
        else:
            lane.append(bracket)
    return lanes


def bracket_at(lane: Lane, line: int) -> str:
    """Return a lane's character at a line: a corner, a branch, a stroke or a space."""
    at = bisect_right(lane, line, key=lambda bracket: bracket.first) - 1
    if at < 0 or line > lane[at].last:
        return " "
    bracket = lane[at]
    if line == bracket.first:
        return "┏"
    if line == bracket.last:
        return "┗"
    return "┣" if line in bracket.members else "┃"


def _brackets(marks: Iterable[PipelineAnnotation]) -> list[Bracket]:
    leader: dict[int, int] = {}

    def find(line: int) -> int:
        leader.setdefault(line, line)
        while leader[line] != line:
            leader[line] = leader[leader[line]]
            line = leader[line]
        return line

    for mark in marks:
        for partner in mark.partners:
            leader[find(partner)] = find(mark.line)
    groups: dict[int, set[int]] = {}
    for line in list(leader):
        groups.setdefault(find(line), set()).add(line)
    return [
        Bracket(min(lines), max(lines), frozenset(lines))
        for lines in groups.values()
        if len(lines) > 1
    ]


def scoreboards(control: Control) -> str:
    """Return the scoreboards that an instruction waits for: "0-2---"."""
    waited = control.waits
    return "".join(str(n) if n in waited else "-" for n in range(SCOREBOARDS))


def notation(control: Control) -> str:
    """Return control fields in the usual notation: "B0-----:R-:W1:-:S04".

    Scoreboards waited for, the one set after reading, the one set after writing, yield, stall.
    """
    read = "-" if control.read is None else control.read
    write = "-" if control.write is None else control.write
    yields = "Y" if control.yields else "-"
    return f"B{scoreboards(control)}:R{read}:W{write}:{yields}:S{control.stall:02}"


def describe_control(control: Control) -> str:
    """Return control fields in words: "waits for scoreboard 0, sets 1 when written, stalls 4"."""
    awaited = ", ".join(map(str, control.waits))
    words = [f"waits for scoreboard {awaited}"] if awaited else []
    words += [f"sets {control.read} when read"] if control.read is not None else []
    words += [f"sets {control.write} when written"] if control.write is not None else []
    words += ["yields"] if control.yields else []
    return ", ".join([*words, f"stalls {plural(control.stall, 'cycle')}"])


def describe_waits(waits: Iterable[Awaited]) -> str:
    """Return what the waits of a line wait for: "2 of 3 vmcnt: 77, 78"."""
    return "; ".join(map(_describe_wait, waits))


def _describe_wait(wait: Awaited) -> str:
    lines = ", ".join(map(str, wait.retired[:_MOST_LINES]))
    more = len(wait.retired) - _MOST_LINES
    text = f"{_span(wait.waits)} of {_span(wait.outstanding)} {wait.counter}"
    return text + (f": {lines}" if lines else "") + (f" +{more}" if more > 0 else "")


def _span(numbers: tuple[int, int]) -> str:
    fewest, most = numbers
    return str(most) if fewest == most else f"{fewest}–{most}"


def describe_iteration(loop: LoopRange, stage: str) -> str:
    """Return what an iteration of a loop issues, in words; empty where that is unknown."""
    warp = "wave" if stage == "amdgcn" else "warp"
    return f"a {warp}'s iteration: {_describe_issued(loop.schedule)}" if loop.schedule else ""


def _describe_issued(issued: LoopSchedule) -> str:
    slots = ", ".join(f"{unit} {number}" for unit, number in issued.units.items())
    bound = "at most " if issued.branches else ""
    text = f"{bound}{plural(issued.instructions, 'instruction')}"
    if issued.cycles is not None:
        text += f" in {plural(issued.cycles, 'issue cycle')}"
    text += f": {slots}"
    for unit, cycles in issued.occupied.items():
        if unit == "matrix":
            text += f"; occupies the matrix core for {bound}{plural(cycles, 'cycle')}"
        elif not issued.branches:  # the least of what may be skipped bounds nothing
            text += f"; occupies the vector ALU for at least {plural(cycles, 'cycle')}"
    if issued.unknown:
        text += f"; no public document has the cycles of {', '.join(issued.unknown)}"
    if issued.alone is not None:
        text += f"; {_time_of(issued.alone)}"
    if issued.wavefronts:
        text += f"; {_wavefronts_of(issued)}"
    if issued.requested_bytes:
        text += f"; requests {count(issued.requested_bytes)} B"
    return text


def _time_of(alone: Alone) -> str:
    text = f"a warp alone takes about {plural(round(alone.cycles), 'cycle')}"
    if alone.hidden is None:
        return text
    beyond = f" beyond {count(hidden)}" if (hidden := round(alone.hidden)) > 0 else ""
    return f"{text}, and {alone.exposed:.2g} for each cycle that loads take{beyond}"


def _wavefronts_of(issued: LoopSchedule) -> str:
    bound = "" if issued.conflicts is not None else "at least "
    bound = "at most " if issued.branches and not bound else bound
    text = f"{bound}{plural(round(issued.wavefronts), 'wavefront')} of shared memory"
    return f"{text}, {round(issued.conflicts)} by bank conflicts" if issued.conflicts else text
