"""Shared memory: what it is made of where most is needed, and every buffer."""

from irlens.model.memory import SharedBuffer, SharedMemory
from irlens.model.report import Report
from irlens.model.text import size
from irlens.model.words import Words, describe_buffer
from irlens.render.html._markup import Content, Markup, join, tag
from irlens.render.html._parts import card, stated, table
from irlens.render.html._places import Places
from irlens.render.html._svg import label, rectangle, svg

_WIDTH, _HEIGHT, _BAR = 420, 42, 22
#: Pixels that a character of a label takes.
_CHARACTER = 6.4
_MOST_COPIES = 16


def memory(report: Report, places: Places) -> Markup | None:
    """Return the card; ``None`` where nothing is known or there is no shared memory."""
    found = report.memory
    if found is None or not found.total_bytes:
        return None
    scratch = [
        tag("li", tag("code", use.operation), " at ", places.either(use.source, "ttgir", use.line))
        for use in found.scratch
    ]
    words = Words(report)
    return card(
        words.resource("shared_memory").capitalize(),
        _map(found),
        _buffers(found, places) if found.buffers else None,
        tag("p", f"{size(found.remainder_bytes)} scratch and gaps, that may be of")
        if scratch and found.remainder_bytes
        else None,
        tag("ul", *scratch) if scratch else None,
        tag("p", found.reason, class_="note") if found.reason else None,
        aside=f"{size(found.total_bytes)} dynamic per {words.cta}",
    )


def _map(found: SharedMemory) -> Markup | None:
    """A bar of the whole, cut into the buffers that are alive at the peak and the rest."""
    total = found.total_bytes
    if not total or found.peak_bytes is None:
        return None
    scale = (_WIDTH - 2) / total
    x, drawn = 1.0, []
    for buffer in found.buffers:
        if buffer.at_peak and buffer.bytes:
            drawn += _buffer(buffer, x, buffer.bytes * scale)
            x += buffer.bytes * scale
    if found.remainder_bytes:
        width = found.remainder_bytes * scale
        named = tag("title", f"{size(found.remainder_bytes)} scratch and gaps")
        drawn.append(rectangle(x, 1, width, _BAR, named, class_="scratch"))
        drawn += _named("scratch", x, width)
    described = f"{size(total)} of shared memory: {size(found.peak_bytes)} in buffers at the peak"
    return svg(_WIDTH, _HEIGHT, described, *drawn)


def _buffer(buffer: SharedBuffer, x: float, width: float) -> list[Markup]:
    """A buffer's part of the bar, a cell for each of its copies."""
    copies = buffer.copies if 0 < buffer.copies <= _MOST_COPIES else 1
    named = tag("title", describe_buffer(buffer))
    style = "barrier" if buffer.purpose == "barrier" else "buffer"
    cell = width / copies
    cells = [
        rectangle(x + cell * index, 1, cell - 1, _BAR, named, class_=style)
        for index in range(copies)
    ]
    return [*cells, *_named(describe_buffer(buffer).rpartition(" at ")[0], x, width)]


def _named(text: str, x: float, width: float) -> list[Markup]:
    fits = len(text) * _CHARACTER < width
    return [label(x + width / 2, _HEIGHT - 4, text)] if fits else []


def _buffers(found: SharedMemory, places: Places) -> Markup:
    rows: list[list[Content]] = [
        [
            describe_buffer(buffer).rpartition(" at ")[0],
            places.either(buffer.source, "ttgir", buffer.line),
            join([places.stage("ttgir", buffer.line), f" to {buffer.last_line}"]),
            None if buffer.at_peak else stated("dim", "not at the peak"),
        ]
        for buffer in found.buffers
    ]
    return table(["buffer", "made for", "alive in", ""], rows, class_="figures")
