"""What the browser's heading tells of all entries together."""

from collections.abc import Collection

from textual.content import Content

from irlens.model.text import count, plural
from irlens.session.workbench import Entry
from irlens.tui.drawing import BAD, WARN
from irlens.tui.entry_cells import mark


def tally(entries: Collection[Entry], *, shown: int, listing: bool) -> Content:
    """Return how many entries there are, and how many of them are in trouble.

    Args:
        entries: All of them.
        shown: How many have the words that are searched for.
        listing: Whether they are still being read; then it is told how many have been.
    """
    number = plural(len(entries), "entry" if len(entries) == 1 else "entrie")
    told = [f"{count(shown)} of {number}" if shown < len(entries) else number]
    if listing:
        told.append(f"{count(sum(entry.findings is not None for entry in entries))} read")
    marks = [mark(entry) for entry in entries]
    unreadable = sum(bool(entry.problem) for entry in entries)
    troubles = (
        (unreadable, "✗ unreadable", BAD),
        (marks.count("✗") - unreadable, "✗ cannot launch", BAD),
        (marks.count("!"), "! spill", WARN),
    )
    return Content(" · ").join(
        [
            *map(Content, told),
            *(Content.styled(f"{count(many)} {what}", how) for many, what, how in troubles if many),
        ]
    )
