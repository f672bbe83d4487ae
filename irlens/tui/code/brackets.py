"""Pipeline groups as brackets beside the code: which copies, commits and waits belong together."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec

from irlens.model.listing import PipelineMark


class Bracket(msgspec.Struct, frozen=True):
    """Marks that lead to each other, directly or through others.

    Attributes:
        first: 1-based line of the first of them.
        last: 1-based line of the last.
        members: The lines of all.
    """

    first: int
    last: int
    members: frozenset[int]


#: Brackets that do not overlap, in ascending order, drawn in one column.
Lane = list[Bracket]


def lanes(marks: Sequence[PipelineMark]) -> list[Lane]:
    """Return the brackets of some marks in as few lanes as they need, the outer lane first."""
    found: list[Lane] = []
    for bracket in sorted(_brackets(marks), key=lambda bracket: (bracket.first, -bracket.last)):
        lane = next((lane for lane in found if lane[-1].last < bracket.first), None)
        if lane is None:
            found.append([bracket])
        else:
            lane.append(bracket)
    return found


def drawn(lane: Lane, line: int) -> str:
    """Return what a lane shows at a line: a corner, a branch, a stroke or a space."""
    at = bisect_right(lane, line, key=lambda bracket: bracket.first) - 1
    if at < 0 or line > lane[at].last:
        return " "
    bracket = lane[at]
    if line == bracket.first:
        return "┏"
    if line == bracket.last:
        return "┗"
    return "┣" if line in bracket.members else "┃"


def _brackets(marks: Iterable[PipelineMark]) -> list[Bracket]:
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
