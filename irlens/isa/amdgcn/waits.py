"""The counters that an AMDGPU wave waits for, by the names that the assembly gives them.

Operations of vector memory complete in the order of their issue, as do those of LDS. Scalar loads
and messages do not: LLVM waits for all of a counter that has any (AMD's instruction set manuals,
"Manually Inserted Wait States"; LLVM, AMDGPUUsage, "Memory Model").
"""

from typing import NamedTuple

from irlens.isa.amdgcn import memory
from irlens.isa.amdgcn.records import Instruction
from irlens.isa.amdgcn.units import classify

_LDS = frozenset({"LDS load", "LDS store", "LDS atomic"})
_FLAT = frozenset({"flat load", "flat store", "flat atomic"})
#: Messages and readings of the clock return data through the counter of scalar loads.
_MESSAGES = ("s_sendmsg", "s_memtime", "s_memrealtime")


class Counted(NamedTuple):
    """What an instruction adds to a counter.

    Attributes:
        counter: Its name: "vmcnt", "lgkmcnt"; from gfx12 on "loadcnt", "dscnt", "kmcnt".
        in_order: Whether it completes in the order of its issue.
    """

    counter: str
    in_order: bool


#: What counts vector memory, LDS and scalar loads: up to gfx11, and from gfx12 on.
SHARED = ("vmcnt", "lgkmcnt", "lgkmcnt")
SEPARATE = ("loadcnt", "dscnt", "kmcnt")


def counted(
    instruction: Instruction, counters: memory.Counters, names: tuple[str, str, str]
) -> tuple[Counted, ...]:
    """Return what an instruction adds to the counters; two of them for a flat access."""
    operation = instruction.operations[0]
    kind = classify(operation)
    vector, lds, scalar = names
    found = []
    raised = counters.raised_by(instruction)
    if raised is not None:
        name = {"load": vector, "async": "asynccnt", "tensor": "tensorcnt"}[raised]
        found.append(Counted(name, kind not in _FLAT))
    if kind in _FLAT:
        found.append(Counted(lds, False))
    elif kind in _LDS or (kind == "cross-lane" and operation.mnemonic.startswith("ds_")):
        found.append(Counted(lds, True))
    elif kind == "scalar load" or operation.mnemonic.startswith(_MESSAGES):
        found.append(Counted(scalar, False))
    return tuple(found)
