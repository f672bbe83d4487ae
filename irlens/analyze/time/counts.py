"""What a launch asks of each unit: the counts that its time is computed from."""

import msgspec

from irlens.analyze.time.units import Unit


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one launch, all CTAs together where nothing else is said.

    Attributes:
        ctas: CTAs of the grid.
        resident: CTAs that an SM holds at once.
        cta_cycles: Cycles that a CTA takes with an SM to itself.
        instructions: Instructions that warps issue.
        units: Those of them that occupy each unit.
        tensor_cycles: Cycles for which they occupy the tensor cores of one SM.
        shared_wavefronts: Cycles for which they occupy the shared memory of one SM.
        sectors: Sectors that loads and stores ask the L1 for.
        l2_bytes: Bytes between SMs and L2.
        dram_bytes: Bytes between L2 and memory.
        uncertain: What is not exact in these counts; empty if nothing.
    """

    ctas: int
    resident: int
    cta_cycles: float
    instructions: float
    units: dict[Unit, float]
    tensor_cycles: float
    shared_wavefronts: float
    sectors: float
    l2_bytes: float
    dram_bytes: float
    uncertain: str = ""
