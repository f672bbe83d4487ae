"""Where the shared memory of a CTA goes, drawn to scale."""

from collections.abc import Iterator
from itertools import cycle

from textual.content import Content

from irlens.model.memory import SharedMemory
from irlens.model.report import Report
from irlens.model.text import size
from irlens.model.words import Words, describe_buffer
from irlens.tui.drawing import DIM, MAIN, WARN, flowing, hanging, lines

TITLE = "Shared memory"

#: Neighbours differ in how they are filled, not only in colour.
_FILLS = ("█", "▓", "▒")
_REST = "░"


def title(report: Report) -> str:
    """Return the title in the vendor's words."""
    words = Words(report)
    return TITLE if words.shared_memory == TITLE.lower() else words.shared_memory


def draw(report: Report, width: int) -> Content:
    """Draw the map."""
    held, memory, words = report.resources, report.memory, Words(report)
    rows: list[Content] = []
    if held.shared_dynamic_bytes is None:
        rows.append(Content.styled("unknown", WARN))
    else:
        told = [f"{size(held.shared_dynamic_bytes)} dynamic"]
        if held.shared_static_bytes:
            told.append(f"{size(held.shared_static_bytes)} static")
        if held.shared_reserved_bytes:
            told.append(f"{size(held.shared_reserved_bytes)} reserved by the system")
        items = [Content(f"{'+ ' if number else ''}{part}") for number, part in enumerate(told)]
        rows.append(flowing(Content.styled(f"per {words.cta}  ", DIM), items, " ", width))
    if memory is not None:
        rows += _map(memory, width)
    return lines(rows)


def _map(memory: SharedMemory, width: int) -> Iterator[Content]:
    total, rest = memory.total_bytes, memory.remainder_bytes
    fills = cycle(_FILLS)
    # Only what is alive at the peak is in the strip.
    parts = [
        (buffer, next(fills) if buffer.at_peak and buffer.bytes else " ")
        for buffer in memory.buffers
    ]
    if total and memory.peak_bytes is not None:
        alive = [(buffer.bytes or 0, fill) for buffer, fill in parts if fill != " "]
        yield Content.styled(_scaled([*alive, (rest or 0, _REST)], total, width), MAIN)
    for buffer, fill in parts:
        note = [] if buffer.at_peak else [Content.styled("not alive at the peak", DIM)]
        told = [Content(describe_buffer(buffer)), *note]
        yield flowing(Content.styled(f"{fill * 2} ", MAIN), told, "  ", width)
    if rest:
        yield Content.assemble((_REST * 2, MAIN), f" {size(rest)} scratch and gaps")
    if memory.reason:
        yield hanging(Content(""), memory.reason, DIM, width)


def _scaled(parts: list[tuple[int, str]], total: int, width: int) -> str:
    """A strip of ``width`` cells; what is there at all has one of them."""
    parts = [(amount, fill) for amount, fill in parts if amount]
    drawn, before = "", 0
    for later, (amount, fill) in zip(range(len(parts) - 1, -1, -1), parts, strict=True):
        before += amount
        end = min(max(round(before / total * width), len(drawn) + 1), width - later)
        drawn += fill * (end - len(drawn))
    return drawn[:width]
