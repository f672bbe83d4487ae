"""What one iteration of each loop of the machine code issues, and the cycles that it takes to.

ptxas writes into each instruction how many cycles pass before the warp may issue its next one.
Their sum over an iteration is the least that a warp needs for it, waits for scoreboards excluded.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from irlens.analyze.loops import Loops
from irlens.analyze.time import units
from irlens.isa.dialect import I_co
from irlens.isa.sass import Instruction
from irlens.isa.sass.control import Control

_LANES = 32


class LoopSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """One iteration of a loop by one warp, its inner loops excluded.

    Attributes:
        instructions: Instructions that it issues.
        cycles: Cycles that they take to issue: the sum of their stalls, where the code has any.
        units: Issue slots of each unit.
        occupied: Cycles for which it occupies units of a SIMD at least, as far as the vendor
            documents them: "valu", "matrix".
        unknown: Instructions of which that is unknown.
        requested_bytes: Bytes of global memory that its loads request, masks aside; those of
            bulk copies (TMA) are not in the code.
        branches: Whether an iteration may skip some of it, so that all of these are upper bounds.
    """

    instructions: int
    cycles: int | None = None
    units: Mapping[str, int]
    occupied: Mapping[str, int] = {}
    unknown: tuple[str, ...] = ()
    requested_bytes: int
    branches: bool


def schedule(
    kernel_loops: Loops[Instruction], loop: int, control: Sequence[Control]
) -> LoopSchedule:
    """Return what one iteration of a loop issues.

    Args:
        kernel_loops: The kernel's loops.
        loop: The loop's index.
        control: The control fields of each of the kernel's instructions.
    """
    flow, own = kernel_loops.cfg, kernel_loops.forest.loops[loop].own
    indices = [index for block in own for index in flow.blocks[block].indices]
    slots: Counter[str] = Counter()
    requested = 0
    for index in indices:
        each = kernel_loops.instructions[index]
        if each.guard is not None and each.guard.never:
            slots["other"] += 1  # issued, and goes nowhere
            continue
        slots[units.unit(each)] += units.issues(each)
        if each.opcode in units.GLOBAL_LOADS:
            requested += _LANES * units.lane_bytes(each)
    return LoopSchedule(
        instructions=len(indices),
        cycles=sum(control[index].stall for index in indices),
        units=dict(slots.most_common()),
        requested_bytes=requested,
        branches=may_skip(kernel_loops, loop),
    )


def may_skip(kernel_loops: Loops[I_co], loop: int) -> bool:
    """Return whether an iteration of a loop may skip some of its instructions."""
    body = set(kernel_loops.forest.body(loop))
    own = kernel_loops.forest.loops[loop].own
    return any(len(body.intersection(kernel_loops.cfg.successors[block])) > 1 for block in own)
