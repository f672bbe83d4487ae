"""What one iteration of each loop of AMD's machine code issues, and how long it occupies units.

The code has no stalls, as NVIDIA's does: hardware and ``s_waitcnt`` delay instructions. What the
ALUs and matrix cores are occupied for is the least time of an iteration on its SIMD.
"""

from collections import Counter

from irlens.analyze.loop_schedules import may_skip
from irlens.analyze.loops import Loops
from irlens.isa.amdgcn import Function, Instruction
from irlens.isa.amdgcn.memory import stores_count_apart, transfer
from irlens.isa.amdgcn.units import matrix_cycles, unit, vector_cycles
from irlens.model.schedule import LoopSchedule


def schedule(
    kernel: Function, kernel_loops: Loops[Instruction], loop: int, arch: str
) -> LoopSchedule:
    """Return what one iteration of a loop issues.

    Args:
        kernel: The kernel.
        kernel_loops: Its loops.
        loop: The loop's index.
        arch: The processor it was compiled for: "gfx942".
    """
    own = list(kernel_loops.own(loop))
    # Stores have a counter of their own from RDNA on.
    of_16_lanes = not stores_count_apart(kernel)
    products: list[int] = []
    unknown: set[str] = set()
    for each in own:
        if unit(each) == "matrix":
            cycles = matrix_cycles(each.operations[0], arch)
            if cycles is None:
                unknown.add(each.mnemonic)
            else:
                products.append(cycles)
    reads = [read for each in own if (read := transfer(each)) is not None]
    occupied = {
        "valu": sum(vector_cycles(each, of_16_lanes=of_16_lanes) for each in own),
        "matrix": sum(products),
    }
    return LoopSchedule(
        instructions=len(own),
        units=dict(Counter(map(unit, own)).most_common()),
        occupied={name: cycles for name, cycles in occupied.items() if cycles},
        unknown=tuple(sorted(unknown)),
        requested_bytes=sum(kernel.lanes * (read.bytes or 0) for read in reads),
        branches=may_skip(kernel_loops, loop),
    )
