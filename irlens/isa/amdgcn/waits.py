"""The counters that an AMDGPU wave waits for, by the names that the assembly gives them.

Operations of vector memory complete in the order of their issue, as do those of LDS. Scalar loads
and messages do not: LLVM waits for all of a counter that has any (AMD's instruction set manuals,
"Manually Inserted Wait States"; LLVM, AMDGPUUsage, "Memory Model").
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from irlens.isa.amdgcn import memory
from irlens.isa.amdgcn.records import Instruction
from irlens.isa.amdgcn.units import classify

#: Counters of ``s_waitcnt`` that are followed, and the instructions that wait for one alone.
_NAMED = re.compile(r"(vmcnt|lgkmcnt)\((\d{1,3})\)")
_OTHERS = re.compile(r"(?:expcnt|vscnt)\(\d{1,3}\)|&")
_SINGLE = re.compile(r"s_wait_(loadcnt|dscnt|kmcnt|asynccnt|tensorcnt)")
#: Waits for other counters, and for results of the ALUs. More may be added to the instruction set.
_UNRELATED = re.compile(
    r"s_wait(?:cnt_(?:vscnt|expcnt|depctr)|_(?:alu|bvhcnt|event|expcnt|samplecnt|storecnt|xcnt))"
)
_COMBINED = {"s_wait_loadcnt_dscnt": "loadcnt", "s_wait_storecnt_dscnt": "storecnt"}
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


def limits(instruction: Instruction) -> Mapping[str, int] | None:
    """Return the operations that may be outstanding after a wait, by counter.

    Empty where the instruction waits for none of them, ``None`` where it is not understood.
    """
    operation = instruction.operations[0]
    if operation.mnemonic == "s_waitcnt":
        words = [word for operand in operation.operands for word in operand.text.split()]
        words += operation.modifiers
        found = {}
        for word in words:
            if match := _NAMED.fullmatch(word):
                found[match[1]] = int(match[2])
            elif not _OTHERS.fullmatch(word):
                return None
        return found
    single = _SINGLE.fullmatch(operation.mnemonic)
    combined = _COMBINED.get(operation.mnemonic)
    if single is None and combined is None:
        waits = operation.mnemonic.startswith("s_wait")
        return None if waits and not _UNRELATED.fullmatch(operation.mnemonic) else {}
    value = memory.immediate(operation)
    if value is None:
        return None
    if single is not None:
        return {single[1]: value}
    # The field of 6 bits (LLVM, AMDGPUBaseInfo.cpp, getLoadcntBitMask and getDscntBitMask).
    return {str(combined): value >> 8 & 0x3F, "dscnt": value & 0x3F}
