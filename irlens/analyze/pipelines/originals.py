"""What marks take over from those of PTX: barriers are followed there, and pipelines are read."""

from collections.abc import Mapping, MutableMapping, Sequence

import msgspec

from irlens.analyze.pipelines.drafts import Draft, Key
from irlens.analyze.pipelines.loops import FunctionLoops
from irlens.analyze.pipelines.streams import at_barrier
from irlens.analyze.pipelines.tcgen05 import barrier_of
from irlens.isa.ptx import Instruction
from irlens.model.listing import PipelineMark, PipelineRole

#: What the marks of a role lead to.
_LEADS_TO: dict[PipelineRole, tuple[PipelineRole, ...]] = {
    "copy": ("commit", "wait"),
    "commit": ("wait",),
    "wait": ("commit", "copy"),
}


class Original(msgspec.Struct, frozen=True):
    """The PTX of a kernel, as another of its stages needs it.

    Attributes:
        instructions: By line.
        marks: Its marks.
        loops: Its loops; ``None`` where the PTX is not known.
    """

    instructions: Mapping[int, Instruction]
    marks: Sequence[PipelineMark]
    loops: FunctionLoops | None = None


def goes_by_barrier(instruction: Instruction) -> bool:
    """Whether an instruction signals a barrier, or asks one."""
    return at_barrier(instruction) is not None or barrier_of(instruction) is not None


def take_over(
    drafts: MutableMapping[Key, Draft], same: Mapping[int, Instruction], original: Original
) -> None:
    """Join what goes by barriers as it is in the PTX, and take the report's pipelines from there.

    Args:
        drafts: What is added to.
        same: By what orders the drafts, the instruction of PTX, as far as it is known.
        original: The PTX.
    """
    marks = {(mark.line, mark.role): mark for mark in original.marks}
    made: dict[tuple[int, PipelineRole], list[Key]] = {}
    for at, role in drafts:
        if at in same and (same[at].line, role) in marks:
            made.setdefault((same[at].line, role), []).append((at, role))
    for place, keys in made.items():
        mark = marks[place]
        partners = [
            partner
            for line in mark.partners
            for role in _LEADS_TO[mark.role]
            for partner in made.get((line, role), ())
        ]
        for key in keys:
            drafts[key].pipeline = mark.pipeline
            if goes_by_barrier(same[key[0]]):
                drafts[key].partners.update(partners)
