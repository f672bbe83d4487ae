"""What may shorten the waits of a loop for its loads: more stages, where no fence awaits all."""

from collections.abc import Collection
from itertools import pairwise
from typing import TYPE_CHECKING

from irlens.analyze.facts import Facts
from irlens.model.estimate import RESOLUTION
from irlens.model.report import Pipeline, PipelineLoad
from irlens.model.text import percent, size

if TYPE_CHECKING:
    from irlens.isa.amdgcn import Function

#: Why loops of RDNA wait for loads that have just been issued, and what hides it.
FENCED = "LLVM's fence at each barrier waits for all loads before it, as RDNA's caches ask for"
#: What keeps loads from running ahead that the compiler did not move.
LEFT_IN_PLACE = "the compiler leaves these loads in place: remove what keeps them there"
OTHER_WAVES = "let other waves hide the latency: fewer registers and less LDS for each workgroup"


def by_llvm(facts: Facts, more: str = "") -> str:
    """Return what may move the loads or waits of code for AMD GPUs.

    Args:
        more: What to try first: "3 stages, ".
    """
    multiplies = facts.ttir is not None and any(facts.ttir.doing("multiply matrices"))
    sizes = ", or on CDNA matrix_instr_nonkdim" * multiplies
    return (
        f"LLVM places loads and waits: try {more}other tiles or another num_warps{sizes}, and"
        " compare versions of Triton (irlens diff --triton)"
    )


def why_no_more(facts: Facts, pipeline: Pipeline, stages: int, iterations: int = 1) -> str:
    """Return why a loop gains nothing by a number of stages; empty where it may gain.

    Args:
        iterations: How many more iterations of data shared memory then holds.
    """
    held, arch = facts.resources.shared_dynamic_bytes, facts.gpu.arch if facts.gpu else None
    if held is not None and arch is not None:
        needed = held + iterations * (pipeline.bytes_per_iteration or 0)
        if needed > (most := arch.shared_per_block_optin):
            return (
                f"{stages} stages would take {size(needed)} of {facts.words.shared_memory}, and a"
                f" {facts.words.cta} has at most {size(most)}"
            )
    return waits_are_short(facts)


def waits_are_short(facts: Facts) -> str:
    """Return why no number of stages shortens a launch; empty where it waits for its loads."""
    waits = facts.share_of_waits()
    if waits is None or waits >= RESOLUTION:
        return ""
    return (
        "more stages hardly help: even if every load were as fast as one from the L1, the launch is"
        f" estimated to take less than {percent(RESOLUTION)} less time"
    )


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
