"""Which lines of Python hold the registers at the peak, and whether a change is about them.

More warps, and smaller tiles, leave each thread less of every tensor. That shows what takes the
registers only where the lines that hold most of them at the peak account for what goes away.
"""

from collections.abc import Sequence

from irlens.model.pressure import LiveGroup, Pressure, StagePressure
from irlens.model.source import SourceLocation

#: Part of the live registers that the lines hold which are named.
_MOST = 0.5
#: Part of what goes away that these lines have to account for.
_PROOF = 2 / 3

_Line = tuple[str, int]


def needed(pressure: Pressure) -> StagePressure | None:
    """Return the pressure that says what a kernel needs: of PTX, whose registers have no limit."""
    known = (each for each in (pressure.ptx, pressure.amdgcn, pressure.sass) if each is not None)
    return next((each for each in known if each.peak is not None and each.live), None)


def holders(pressure: StagePressure) -> list[LiveGroup]:
    """Return the lines that hold at least half of the registers at the peak, the most first."""
    found: list[LiveGroup] = []
    for group in pressure.live:
        if sum(each.registers for each in found) >= _MOST * (pressure.peak or 0):
            break
        if group.source is None:
            return []  # what holds them has no line
        found.append(group)
    return found


def accounts_for(before: StagePressure, after: StagePressure) -> bool:
    """Whether the lines that hold most registers before a change account for what it frees."""
    if before.peak is None or after.peak is None or after.peak >= before.peak:
        return False
    lines = [_line(each.source) for each in holders(before)]
    freed = _held(before.live, lines) - _held(after.live, lines)
    return bool(lines) and freed >= _PROOF * (before.peak - after.peak)


def describe(pressure: StagePressure) -> str:
    """Return the lines that hold the most registers at the peak; empty if unknown."""
    found = holders(pressure)
    if not found:
        return ""
    held = sum(each.registers for each in found)
    lines = list(dict.fromkeys(str(each.source) for each in found))
    at = f" at {pressure.source}" if pressure.source is not None else ""
    return (
        f"{' and '.join(lines)} hold{'s' if len(lines) == 1 else ''} {held:,} of the"
        f" {pressure.peak:,} registers that are live at once{at}"
    )


def _line(source: SourceLocation | None) -> _Line | None:
    return (source.file, source.line) if source is not None else None


def _held(live: Sequence[LiveGroup], lines: Sequence[_Line | None]) -> int:
    return sum(each.registers for each in live if _line(each.source) in lines)
