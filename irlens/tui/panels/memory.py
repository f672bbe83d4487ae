"""Where the shared memory of a CTA goes, drawn to scale."""

from collections.abc import Iterator

from textual.content import Content

from irlens.model.memory import SharedMemory
from irlens.model.report import Report
from irlens.model.text import size
from irlens.model.words import Words, describe_buffer
from irlens.tui.drawing import DIM, MAIN, WARN, lines

TITLE = "Shared memory"

#: Neighbours differ in how they are filled, not only in colour.
_FILLS = ("█", "▓", "▒")
_REST = "░"


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
        rows.append(Content.assemble((f"per {words.cta}  ", DIM), " + ".join(told)))
    if memory is not None:
        rows += _map(memory, width)
    return lines(rows)


def _map(memory: SharedMemory, width: int) -> Iterator[Content]:
    total, rest = memory.total_bytes, memory.remainder_bytes
    parts = [
        (buffer.bytes or 0, _FILLS[number % len(_FILLS)], describe_buffer(buffer), buffer.at_peak)
        for number, buffer in enumerate(memory.buffers)
    ]
    if total and memory.peak_bytes is not None:
        alive = [(amount, fill) for amount, fill, _, at_peak in parts if at_peak and amount]
        yield Content.styled(_scaled([*alive, (rest or 0, _REST)], total, width), MAIN)
    for _, fill, told, at_peak in parts:
        note = "" if at_peak else "  not alive at the peak"
        yield Content.assemble((fill * 2, MAIN), f" {told}", (note, DIM))
    if rest:
        yield Content.assemble((_REST * 2, MAIN), f" {size(rest)} scratch and gaps")
    if memory.reason:
        yield Content.styled(memory.reason, DIM)


def _scaled(parts: list[tuple[int, str]], total: int, width: int) -> str:
    """A strip of ``width`` cells; what is there at all has one of them."""
    drawn, before = "", 0
    for amount, fill in parts:
        before += amount
        end = max(round(before / total * width), len(drawn) + (1 if amount else 0))
        drawn += fill * (end - len(drawn))
    return drawn[:width]
