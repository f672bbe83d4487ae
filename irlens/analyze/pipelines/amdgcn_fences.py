"""Loads of AMDGPU loops that the fence of a barrier awaits."""

from collections.abc import Collection
from itertools import pairwise
from typing import TYPE_CHECKING

from irlens.model.report import PipelineLoad

if TYPE_CHECKING:
    from irlens.isa.amdgcn import Function

#: Why loops of RDNA wait for loads that have just been issued, and what hides it.
FENCED = "LLVM's fence at each barrier waits for all loads before it, as RDNA's caches ask for"
OTHER_WAVES = "let other waves hide the latency: fewer registers and less LDS for each workgroup"


def are_fenced(function: "Function | None", loads: Collection[PipelineLoad]) -> bool:
    """Whether all loads are awaited by the fences of barriers, as on RDNA.

    Waves of a workgroup share no cache there, so that all accesses end before it (LLVM,
    AMDGPUUsage, "Memory Model gfx10-gfx11": fence release, workgroup).
    """
    if function is None:
        return False
    from irlens.isa.amdgcn.units import classify  # kernels for NVIDIA's GPUs need none of it
    from irlens.isa.amdgcn.waits import Counters

    waits = {each.wait_line for each in loads}
    after = {
        one.line: classify(other.operations[0])
        for one, other in pairwise(function.instructions)
        if one.line in waits
    }
    fences = {"barrier", "cache control"}  # a workgroup of one wave has the fence alone
    is_rdna = Counters.of(function).stores_apart
    return is_rdna and bool(waits) and after.keys() == waits and fences.issuperset(after.values())
