"""The counters by which an AMDGPU wave waits for its memory operations.

Vector memory instructions return at once. Each raises a counter, and ``s_waitcnt vmcnt(N)`` blocks
until at most the latest N are outstanding. Operations of vector memory complete in the order of
their issue, as do those of LDS. Scalar loads and messages do not: LLVM waits for all of a counter
that has any (AMD's instruction set manuals, "Manually Inserted Wait States"; LLVM, AMDGPUUsage,
"Memory Model"). Until gfx9 stores raise the same counter as loads.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from irlens.isa.amdgcn.memory import STORES, Counter, immediate, transfer
from irlens.isa.amdgcn.records import FunctionBody, Instruction
from irlens.isa.amdgcn.units import classify
from irlens.isa.events import Commit, Event, Wait

_RETURNS = ("glc", "sc0")
_ATOMICS = frozenset({"buffer atomic", "flat atomic", "global atomic"})
#: The names of each, up to gfx11 and from gfx12 on.
_NAMES: dict[Counter, tuple[str, ...]] = {
    "load": ("vmcnt", "loadcnt"),
    "async": ("asynccnt",),
    "tensor": ("tensorcnt",),
}
#: Counters of ``s_waitcnt`` that are followed, and the instructions that wait for one alone.
_NAMED = re.compile(r"(vmcnt|lgkmcnt)\((\d{1,3})\)")
_OTHERS = re.compile(r"(?:expcnt|vscnt)\(\d{1,3}\)|&")
_SINGLE = re.compile(r"s_wait_(loadcnt|dscnt|kmcnt|asynccnt|tensorcnt)|s_waitcnt_(vmcnt)")
#: Waits for counters that are not followed, and for results of the ALUs.
_UNRELATED = re.compile(
    r"s_wait(?:cnt_(?:vscnt|expcnt|depctr)|_(?:alu|bvhcnt|event|expcnt|samplecnt|storecnt|xcnt))"
)
_COMBINED = {"s_wait_loadcnt_dscnt": "loadcnt", "s_wait_storecnt_dscnt": "storecnt"}
_LDS = frozenset({"LDS load", "LDS store", "LDS atomic"})
_FLAT = frozenset({"flat load", "flat store", "flat atomic"})
#: Messages and readings of the clock return data through the counter of scalar loads.
_MESSAGES = ("s_sendmsg", "s_memtime", "s_memrealtime")


class Counters(msgspec.Struct, frozen=True):
    """The counters of a kernel's architecture.

    Attributes:
        stores_apart: Whether stores have a counter of their own.
    """

    stores_apart: bool

    @staticmethod
    def of(function: FunctionBody) -> "Counters":
        """Return the counters of a kernel: stores have their own from gfx10 on.

        The descriptor has fields since then that it did not have before.
        """
        return Counters("memory_ordered" in function.directives)

    def raised_by_load(self, instruction: Instruction) -> Counter | None:
        """Return the counter of loads that an instruction raises."""
        read = transfer(instruction)
        if read is not None:
            return read.counter
        kind = classify(instruction.operations[0])
        if kind in ("buffer load", "scratch load"):
            return "load"
        if kind in STORES:
            return None if self.stores_apart else "load"
        if kind in _ATOMICS:
            modifiers = instruction.operations[0].modifiers
            returns = any(m in _RETURNS or m.startswith("th:TH_ATOMIC_RETURN") for m in modifiers)
            return "load" if returns or not self.stores_apart else None
        # It invalidates a cache, in order with the loads (LLVM, SIInsertWaitcnts).
        return "load" if instruction.mnemonic == "global_inv" else None

    def raised_by_lds_copy(self, instruction: Instruction) -> Counter | None:
        """Return what counts a copy between global memory and LDS; ``None`` if it is none."""
        kind = classify(instruction.operations[0])
        if kind == "LDS to global":
            return "tensor" if instruction.mnemonic.startswith("tensor_") else "async"
        return self.raised_by_load(instruction) if kind == "global to LDS" else None

    def raised_by(self, instruction: Instruction) -> Counter | None:
        """Return the counter that an instruction raises, be it a load or a copy from LDS."""
        return self.raised_by_lds_copy(instruction) or self.raised_by_load(instruction)

    def event(self, instruction: Instruction, counter: Counter) -> Event | None:
        """Return the event that an instruction causes on a counter; every operation is a group."""
        line = instruction.line
        most = limit(instruction, counter)
        if most is not None:
            return Wait(line, most, certain=True, at=line)
        raised = self.raised_by(instruction) == counter
        return Commit(line, certain=True, at=line, copies=True) if raised else None


def limit(instruction: Instruction, counter: Counter) -> int | None:
    """Return the number of a counter's operations that may be outstanding after a wait.

    ``None`` where the instruction does not wait for it.
    """
    found = limits(instruction) or {}
    return next((found[name] for name in _NAMES[counter] if name in found), None)


def limits(instruction: Instruction) -> Mapping[str, int] | None:
    """Return how many operations may still be outstanding after a wait, by counter.

    Empty where the instruction waits for none of them, ``None`` where it is not understood.
    """
    operation = instruction.operations[0]
    if not operation.mnemonic.startswith("s_wait"):
        return {}
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
        return {} if _UNRELATED.fullmatch(operation.mnemonic) else None
    value, *registers = immediate(operation), *operation.operands[:-1]
    if value is None or any(each.text != "null" for each in registers):
        return None  # gfx10 adds a scalar register to the number
    if single is not None:
        return {single[1] or single[2]: value}
    # The field of 6 bits (LLVM, AMDGPUBaseInfo.cpp, getLoadcntBitMask and getDscntBitMask).
    return {str(combined): value >> 8 & 0x3F, "dscnt": value & 0x3F}


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
    instruction: Instruction, counters: Counters, names: tuple[str, str, str]
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
