"""What one iteration of each loop of the machine code issues, and the cycles that it takes.

ptxas writes into each instruction how many cycles pass before the warp may issue its next one.
Their sum over an iteration is the least that a warp needs for it. What it waits for besides
(scoreboards, groups of copies and of products) follows from the latencies of the GPU.

AMD's code has no stalls: hardware and ``s_waitcnt`` delay instructions. What the ALUs and matrix
cores are occupied for is the least time of an iteration on its SIMD.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from irlens.analyze.loops import Loops
from irlens.analyze.time.cta_timeline import Timeline
from irlens.analyze.time.loop_runs import Path, Segment
from irlens.analyze.time.shared_wavefronts import Wavefronts
from irlens.isa import amdgcn
from irlens.isa.amdgcn.memory import transfer
from irlens.isa.amdgcn.units import CYCLES_OF_16_LANES, matrix_cycles, unit, vector_cycles
from irlens.isa.amdgcn.waits import Counters
from irlens.isa.dialect import I_co
from irlens.isa.sass import Instruction, units
from irlens.isa.sass.control_flow import only_waits
from irlens.isa.sass.timing import waits_for_others
from irlens.model.schedule import Alone, Control, LoopSchedule

_LANES = 32
#: Iterations after which each one takes as long as the one before.
_SETTLED = 16
#: A latency, in cycles, that no iteration hides.
_LONG = 1 << 14


def schedule(
    kernel_loops: Loops[Instruction],
    loop: int,
    control: Sequence[Control],
    wavefronts: Mapping[int, Wavefronts] = MappingProxyType({}),
    timeline: Timeline | None = None,
) -> LoopSchedule:
    """Return what one iteration of a loop issues.

    Args:
        wavefronts: Those of accesses to shared memory, by index of the instruction, where they
            are known.
        timeline: The GPU's latencies and rates, for a CTA of one warp.
    """
    straight = _straight(kernel_loops, loop)
    blocks = straight or kernel_loops.forest.loops[loop].own
    indices = [index for block in blocks for index in kernel_loops.cfg.blocks[block].indices]
    slots: Counter[str] = Counter()
    requested = 0
    accesses = []
    for index in indices:
        each = kernel_loops.instructions[index]
        if each.guard is not None and each.guard.never:
            slots["other"] += 1  # issued, and goes nowhere
            continue
        slots[units.unit(each)] += units.issues(each)
        if each.opcode in units.GLOBAL_LOADS:
            requested += _LANES * units.lane_bytes(each)
        if each.opcode in units.ADDRESSED:
            accesses.append(index)
    known = [wavefronts[index] for index in accesses if index in wavefronts]
    least = sum(
        units.shared_cycles(kernel_loops.instructions[index])
        for index in accesses
        if index not in wavefronts
    )
    return LoopSchedule(
        instructions=len(indices),
        cycles=sum(control[index].stall for index in indices),
        units=dict(slots.most_common()),
        requested_bytes=requested,
        wavefronts=sum(each.total for each in known) + least,
        conflicts=sum(each.conflicts for each in known) if len(known) == len(accesses) else None,
        alone=_alone(kernel_loops, straight, control, timeline) if straight and timeline else None,
        branches=not straight and may_skip(kernel_loops, loop),
    )


def _straight(kernel_loops: Loops[Instruction], loop: int) -> tuple[int, ...]:
    """Return the blocks of an iteration, in order; empty if it branches, or has inner loops.

    A loop that does nothing but wait for a barrier counts as passed.
    """
    forest = kernel_loops.forest
    spins = {
        block
        for child in forest.loops[loop].children
        if all(map(only_waits, kernel_loops.body(child)))
        for block in forest.body(child)
    }
    header = forest.loops[loop].header
    inside = set(forest.loops[loop].own) - spins
    order = [header]
    while True:
        following = set(kernel_loops.cfg.successors[order[-1]]) & set(forest.body(loop)) - spins
        if following == {header}:
            return tuple(order)
        if len(following) != 1 or not following <= inside or following & set(order):
            return ()
        order += following


def _alone(
    kernel_loops: Loops[Instruction],
    blocks: tuple[int, ...],
    control: Sequence[Control],
    timeline: Timeline,
) -> Alone | None:
    if any(waits_for_others(each) for block in blocks for each in kernel_loops.block(block)):
        return None

    found = timeline.durations_at(
        (0.0, _LONG, 2 * _LONG),
        kernel_loops.instructions,
        kernel_loops.cfg,
        [Path((Segment(blocks, n),), frozenset()) for n in (_SETTLED, 2 * _SETTLED)],
        control,
    )
    cycles, long, longer = ((more - few) / _SETTLED for few, more in found)
    exposed = (longer - long) / _LONG
    if not exposed:
        return Alone(cycles=cycles)
    return Alone(cycles=cycles, hidden=_LONG - (long - cycles) / exposed, exposed=exposed)


def may_skip(kernel_loops: Loops[I_co], loop: int) -> bool:
    """Return whether an iteration of a loop may skip some of its instructions."""
    body = set(kernel_loops.forest.body(loop))
    own = kernel_loops.forest.loops[loop].own
    return any(len(body.intersection(kernel_loops.cfg.successors[block])) > 1 for block in own)


def schedule_amdgcn(
    kernel: amdgcn.Function, kernel_loops: Loops[amdgcn.Instruction], loop: int, arch: str
) -> LoopSchedule:
    """Return what one iteration of a loop issues.

    Args:
        arch: The processor it was compiled for: "gfx942".
    """
    own = list(kernel_loops.own(loop))
    # Stores have a counter of their own from RDNA on.
    passes = 1 if Counters.of(kernel).stores_apart else CYCLES_OF_16_LANES
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
        "valu": sum(vector_cycles(each, passes) for each in own),
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
