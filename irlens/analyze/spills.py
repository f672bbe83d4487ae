"""Instructions that spill registers or reload them, with the loops around them."""

from irlens.analyze.cfg import Cfg
from irlens.analyze.graph import find_loops
from irlens.analyze.pressure import line_of
from irlens.isa.dialect import Instruction, SpillingFunction
from irlens.model.resources import SpillSite


def find_spills(function: SpillingFunction[Instruction], flow: Cfg) -> list[SpillSite]:
    """Return the instructions of a function that spill or reload, in the order of the text.

    Code that nothing is known to reach counts as outside of any loop.
    """
    forest = find_loops(flow.successors)
    depths = {i: forest.depth(n) for n, block in enumerate(flow.ranges) for i in block}
    sites = []
    for spill in function.spills():
        instruction = function.instructions[spill.index]
        sites.append(
            SpillSite(
                stage=function.stage,
                kind="store" if spill.stores else "load",
                place=spill.place,
                line=instruction.line,
                source=line_of(instruction.locations),
                loop_depth=depths[spill.index],
                bytes=spill.bytes,
            )
        )
    return sites
