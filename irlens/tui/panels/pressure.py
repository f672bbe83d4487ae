"""Register pressure over the instructions, and the lines of Python where it is highest."""

from collections.abc import Iterator

from textual.content import Content

from irlens.model.pressure import StagePressure
from irlens.model.report import Report
from irlens.model.text import count, plural, printable_line
from irlens.tui.drawing import (
    DIM,
    MAIN,
    WARN,
    bar,
    cut,
    flowing,
    lines,
    peak_column,
    profile,
)

TITLE = "Live registers"

_HEIGHT = 6
_LABEL = 5
_LINES = 6
_BAR = 10
#: The machine code tells more than what it is assembled from.
_STAGES = ("sass", "amdgcn", "ptx")


def draw(report: Report, width: int) -> Content:
    """Draw the pressure of the stage that is nearest to the machine."""
    for stage in _STAGES:
        found = getattr(report.pressure, stage)
        if found is not None and found.peak is not None:
            return lines(list(_rows(stage, found, report, width)))
    reasons = [found.reason for found in (report.pressure.ptx, report.pressure.amdgcn) if found]
    return Content.assemble(("unknown", WARN), f"  {' '.join(reasons)}")


def _rows(stage: str, found: StagePressure, report: Report, width: int) -> Iterator[Content]:
    peak = found.peak or 0
    at = f"at {found.source}" if found.source else ""
    told = [
        Content.assemble((f"{peak}", "bold"), f" live in {stage}", (f" {at}" if at else "", DIM))
    ]
    if _is_real(stage, report):
        told.append(Content.styled(f"{report.resources.registers} allocated", DIM))
    yield flowing(Content(""), told, "  ", width)
    if found.curve:
        yield from _curve(found, peak, max(width - _LABEL, 8))
    yield Content("")
    yield from _lines(found, report, width)


def _is_real(stage: str, report: Report) -> bool:
    """Whether the registers are those that the kernel is given: PTX's are virtual."""
    return stage != "ptx" and report.resources.registers is not None


def _curve(found: StagePressure, peak: int, width: int) -> Iterator[Content]:
    drawn = profile(found.curve, peak, width, _HEIGHT)
    at = peak_column(found.curve, width)
    for row, text in enumerate(drawn):
        label = str(peak) if row == 0 else "0" if row == _HEIGHT - 1 else ""
        yield Content.assemble(
            (f"{label:>{_LABEL - 1}} ", DIM),
            (text[:at], MAIN),
            (text[at], WARN),
            (text[at + 1 :], MAIN),
        )
    told = plural(len(found.curve), "instruction")
    if at + len(told) + 2 < width:
        pad = " " * (width - at - 1 - len(told))
        yield Content.assemble(" " * (_LABEL + at), ("▲", WARN), (pad + told, DIM))
    else:
        yield Content.assemble((" " * _LABEL + told.ljust(at), DIM), ("▲", WARN))


def _lines(found: StagePressure, report: Report, width: int) -> Iterator[Content]:
    highest = sorted(found.lines, key=lambda line: (-line.peak, line.source))[:_LINES]
    places = max((len(str(line.source)) for line in highest), default=0)
    for line in highest:
        place = str(line.source)
        figures = f"{place:<{places}} {count(line.peak):>5} "
        code = printable_line(report.code.get(place, ""))
        room = max(width - len(figures) - _BAR - 1, 0)
        yield Content.assemble(
            figures,
            (bar(line.peak / max(found.peak or 1, 1), _BAR), MAIN),
            (f" {cut(code, room)}", DIM),
        )
