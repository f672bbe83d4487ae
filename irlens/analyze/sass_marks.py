"""Where in machine code the groups of asynchronous copies are (CUDA Binary Utilities).

``LDGSTS`` copies, ``LDGDEPBAR`` closes a group, and ``DEPBAR.LE SB0, N`` waits until at most N of
them are outstanding: what ``cp.async`` and its groups become, one by one.
"""

from collections.abc import Iterator, Sequence

from irlens.analyze import sass_flow
from irlens.analyze.graph import LoopForest, find_loops
from irlens.analyze.pipelines.drafts import Draft, Key, LoopKey, add_groups, by_source, finish
from irlens.analyze.pipelines.groups import Commit, Copy, Event, Wait
from irlens.analyze.pipelines.loops import loop_source
from irlens.analyze.sass_flow import Flow
from irlens.model.listing import PipelineMark
from irlens.model.report import Pipeline
from irlens.parse.sass import Instruction, Section


def find_marks(section: Section, pipelines: Sequence[Pipeline]) -> list[PipelineMark]:
    """Return the lines of a section that copy asynchronously, commit or wait for that.

    Args:
        section: The kernel, with the source lines of the PTX it was made from.
        pipelines: What the report says of the loops in PTX; a loop here is the one with the same
            ``for``.
    """
    flow = sass_flow.build(section)
    if flow.unknown:
        return []
    events = {
        block: found
        for block, inside in enumerate(flow.blocks)
        if (found := tuple(_events(section.instructions[n] for n in inside)))
    }
    homes = {each.at: block for block, found in events.items() for each in found}
    origins = {each.offset: each.source or None for each in section.instructions}
    forest = find_loops(flow.successors)
    loops = {at: _around(section, flow, forest, block) for at, block in homes.items()}
    drafts: dict[Key, Draft] = {}
    add_groups(drafts, flow.successors, events, origins=origins, loops=loops)
    return finish(drafts, by_source(pipelines))


def _events(instructions: Iterator[Instruction]) -> Iterator[Event]:
    for each in instructions:
        line, at, certain = each.line, each.offset, each.guard is None
        if each.opcode == "LDGSTS":
            yield Copy(line, None, at=at)
        elif each.opcode == "LDGDEPBAR":
            yield Commit(line, certain, at=at)
        elif each.opcode == "DEPBAR" and each.modifiers == ("LE",):
            limit = _limit([operand.text for operand in each.operands])
            if limit is not None:
                yield Wait(line, limit, certain, at=at)


def _limit(operands: list[str]) -> int | None:
    """Groups that a wait leaves outstanding; other scoreboards than SB0 count other things."""
    match operands:
        case ["SB0", str(number)] if number.startswith("0x"):
            return int(number, 16)
    return None


def _around(section: Section, flow: Flow, forest: LoopForest, block: int) -> tuple[LoopKey, ...]:
    """The pipelines that a block could be part of, the innermost loop's first."""
    found: list[LoopKey] = []
    index = forest.innermost[block]
    while index is not None:
        loop = forest.loops[index]
        back = section.instructions[flow.blocks[loop.latches[0]][-1]]
        found.append((str(loop_source(back.source)), "cp.async"))
        index = loop.parent
    return tuple(found)
