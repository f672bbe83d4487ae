"""Spills in SASS: stores to local memory (STL) and loads from it (LDL)."""

from irlens.analyze import sass_cfg
from irlens.analyze.graph import find_loops
from irlens.analyze.pressure import line_of
from irlens.isa.sass import Instruction, Section
from irlens.model.spills import SpillSite

_BYTES = {"8": 1, "16": 2, "U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


def find_spills(section: Section) -> list[SpillSite]:
    """Return the instructions of a section that access local memory, in the order of the text.

    Stack arrays lie there too: in a kernel whose PTX declares none, all of them are spills. Code
    that nothing in the section is known to reach counts as outside of any loop.
    """
    flow = sass_cfg.build(section)
    forest = find_loops(flow.successors)
    sites = []
    for block, instructions in enumerate(flow.ranges):
        depth = forest.depth(block)
        for index in instructions:
            instruction = section.instructions[index]
            if instruction.opcode in ("STL", "LDL"):
                sites.append(_site(instruction, depth))
    return sites


def _site(instruction: Instruction, depth: int) -> SpillSite:
    widths = [_BYTES[each] for each in instruction.modifiers if each in _BYTES]
    return SpillSite(
        stage="sass",
        kind="store" if instruction.opcode == "STL" else "load",
        place="memory",
        line=instruction.line,
        source=line_of(instruction.locations),
        loop_depth=depth,
        bytes=widths[0] if widths else 4,
    )
