"""Where to go from a line: what is worth a look in a text, in order."""

from collections.abc import Callable, Sequence

import msgspec

from irlens.tui.code.document import Document, following


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


def partner(document: Document, line: int) -> int | None:
    """Return what a copy, a commit or a wait belongs to, the next one in the text if several."""
    mark = document.mark(line)
    return following(sorted(mark.partners), line, 1) if mark else None


def other(lines: Sequence[int], line: int, step: int) -> int | None:
    """Return the next (-1: previous) of some ascending lines, unless there is only this one."""
    found = following(lines, line, step)
    return None if found == line else found
