"""Pipelines between warps: one loop issues the work, and other warps wait for it.

How much is under way between them is up to the warps at run time. What they share bounds it: a
ring of barriers, each of which has one phase under way at a time.
"""

import msgspec

from irlens.analyze.pipelines.barriers import Elsewhere
from irlens.analyze.pipelines.loops import FunctionLoops, loop_source
from irlens.model.report import Pipeline
from irlens.model.text import plural

#: With one barrier the work of two iterations is never announced at once.
_FEWEST = 2


def awaited_elsewhere(
    loops: FunctionLoops, index: int, record: Pipeline, work: str, found: Elsewhere
) -> Pipeline:
    """Fill in what is known of a loop that nothing waits in for the work that it issues.

    Args:
        loops: The kernel.
        index: The loop.
        record: The blank record.
        work: What it issues: "the copies".
        found: The reading.
    """
    other = any(
        loops.warp_group(block) not in (None, loops.warp_group(loops.forest.loops[index].header))
        for block in _blocks(loops, found.waits)
    )
    places = _places(loops, found.waits)
    where = f"at {' and '.join(places)}" if places else "outside this loop"
    reason = f"{work} are waited for {where}: how many are under way is up to the warps at run time"
    if found.ring is None:
        return msgspec.structs.replace(record, reason=reason)
    most = found.ring if other and found.ring >= _FEWEST else None
    return msgspec.structs.replace(
        record,
        stages_at_most=most,
        bytes_per_iteration=found.bytes_per_iteration,
        verdict=record.verdict if most is None else "pipelined",
        reason=f"{reason}, within a ring of {plural(found.ring, 'barrier')}",
    )


def _blocks(loops: FunctionLoops, waits: tuple[int, ...]) -> list[int]:
    """The blocks that some instructions are in."""
    return [
        number
        for number, block in enumerate(loops.cfg.blocks)
        if any(block.start <= at < block.stop for at in waits)
    ]


def _places(loops: FunctionLoops, waits: tuple[int, ...]) -> list[str]:
    """Name the loops in which instructions stand, with the warps that run them."""
    told = []
    for block in _blocks(loops, waits):
        # The innermost loop does nothing but ask the barrier, again and again.
        spinning = loops.forest.innermost[block]
        around = loops.forest.loops[spinning].parent if spinning is not None else None
        place = loop_source(loops.locations(around)) if around is not None else None
        at = loops.cfg.blocks[block].start
        place = place or loop_source(loops.function.instructions[at].locations)
        group = loops.warp_group(block)
        if place is not None:
            told.append(f"{place} by {group.name}" if group is not None else str(place))
    return list(dict.fromkeys(told))
