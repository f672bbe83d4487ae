"""What is known of a stage, put into columns as long as its text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens.analyze.loops import Loops
from irlens.analyze.pipelines.loops import loop_source
from irlens.isa.dialect import Instruction
from irlens.model.listing import LoopRange, PipelineMark, StageListing
from irlens.model.pressure import StagePressure
from irlens.model.source import SourceLocation

Chain: TypeAlias = tuple[SourceLocation, ...]


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a stage.

    Attributes:
        chains: First line, last line and source of each instruction; where lines overlap, a
            later entry wins.
        live: Live registers by line; ``None`` where they are not known.
        loops: In any order.
        marks: In ascending order.
        problem: What could not be found out; empty if everything was.
    """

    chains: Iterable[tuple[int, int, Chain]] = ()
    live: Mapping[int, int] | None = None
    loops: Sequence[LoopRange] = ()
    marks: Sequence[PipelineMark] = ()
    problem: str = ""


def of_assembly(
    chains: Iterable[tuple[int, int, Chain]],
    lines: Iterable[int],
    pressure: StagePressure,
    loops: Sequence[LoopRange],
    marks: Sequence[PipelineMark],
) -> Content:
    """Return what is known of an assembly.

    Args:
        chains: As ``Content`` has them.
        lines: Of the kernel's instructions, one each.
        pressure: Live registers at the same instructions.
        loops: The kernel's.
        marks: The kernel's.
    """
    known = pressure.peak is not None
    return Content(
        chains=chains,
        live=live_by_line(lines, pressure.curve) if known else None,
        loops=loops,
        marks=marks,
        problem=pressure.reason,
    )


def live_by_line(lines: Iterable[int], counts: Iterable[int]) -> dict[int, int]:
    """Return the registers live on each line: the most, where several instructions share one."""
    found: dict[int, int] = {}
    for line, count in zip(lines, counts, strict=True):
        found[line] = max(count, found.get(line, 0))
    return found


def loop_ranges(loops: Loops[Instruction]) -> list[LoopRange]:
    """Return the ranges of a function's loops, outer ones before those inside."""
    return [
        loop_range(loops, index, loop_source(loops.locations(index)))
        for index in range(len(loops.forest.loops))
    ]


def loop_range(loops: Loops[Instruction], index: int, source: SourceLocation | None) -> LoopRange:
    """Return one loop's range.

    Args:
        loops: A function's loops.
        index: One of them. Compilers rotate loops, so that some of its instructions may stand
            before the header.
        source: The ``for`` in Python.
    """
    lines = [line for each in loops.body(index) for line in (each.line, each.end_line)]
    header = loops.header(index).line
    return LoopRange(
        first=min(header, *lines),
        last=max(header, *lines),
        depth=loops.forest.loops[index].depth,
        source=source,
    )


def arrange(stage: str, text: str, content: Content) -> StageListing:
    """Return the listing of a stage.

    Args:
        stage: Its name.
        text: Its text.
        content: What is known of it, by lines that the text has.
    """
    blank = StageListing(
        stage=stage, text=text, chains=[], chain=[], live=[], peak=None, loops=[], marks=[]
    )
    count = len(blank.lines)
    numbers: dict[Chain, int] = {}
    chain = [-1] * count
    before, number = None, -1
    for first, last, source in content.chains:
        if source is not before:  # neighbours share their chain, and hashing one is slow
            number = numbers.setdefault(source, len(numbers)) if source else -1
            before = source
        for index in range(first - 1, last):
            chain[index] = number
    live = []
    if content.live is not None:
        live = [content.live.get(line, -1) for line in range(1, count + 1)]
    return msgspec.structs.replace(
        blank,
        chains=list(numbers),
        chain=chain,
        live=live,
        peak=max(content.live.values(), default=None) if content.live is not None else None,
        loops=sorted(content.loops, key=lambda loop: (loop.first, loop.depth)),
        marks=list(content.marks),
        problem=content.problem,
    )
