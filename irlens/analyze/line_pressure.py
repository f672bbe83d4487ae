"""Register pressure told by lines of Python, the same way for every stage."""

from collections.abc import Iterable, Sequence

from irlens.model.pressure import LinePressure, LiveGroup
from irlens.model.source import SourceLocation


def line_of(chain: Sequence[SourceLocation], frame: int = -1) -> SourceLocation | None:
    """Return the line of a frame, the outermost one's unless told; ``None`` for an empty chain.

    Instructions of one line differ in their columns, which are left out.
    """
    return SourceLocation(chain[frame].file, chain[frame].line) if chain else None


def by_line(
    chains: Iterable[Sequence[SourceLocation]], live: Iterable[int], frame: int = -1
) -> tuple[LinePressure, ...]:
    """Return the peak of each line of Python that has instructions, in ascending order.

    Args:
        chains: The source lines of each instruction, innermost inlined function first.
        live: Registers live at each instruction.
        frame: Which of the lines it counts for: the outermost (-1) or the innermost (0).
    """
    counts: dict[SourceLocation, list[int]] = {}
    for chain, count in zip(chains, live, strict=True):
        source = line_of(chain, frame)
        if source is not None:
            counts.setdefault(source, []).append(count)
    return tuple(
        LinePressure(source=source, peak=max(found), instructions=len(found))
        for source, found in sorted(counts.items())
    )


def by_origin(values: Iterable[tuple[SourceLocation | None, int]]) -> tuple[LiveGroup, ...]:
    """Return live values by the line that computed them, most registers first.

    Args:
        values: Of each its line, and the 32-bit registers that it takes.
    """
    totals: dict[SourceLocation | None, tuple[int, int]] = {}
    for source, registers in values:
        taken, count = totals.get(source, (0, 0))
        totals[source] = taken + registers, count + 1
    ordered = sorted(totals.items(), key=lambda item: (-item[1][0], str(item[0])))
    return tuple(
        LiveGroup(source=source, registers=taken, values=count)
        for source, (taken, count) in ordered
    )
