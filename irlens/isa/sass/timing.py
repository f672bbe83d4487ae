"""What the time of instructions depends on: where their data come from, what they begin and await.

Asynchronous work is told by events (``irlens.isa.events``) of a stream each; a stream's groups
complete in order. The phases of mbarriers are groups as well: announcing bytes opens one, bulk
copies join it, and a wait ends the oldest.
"""

from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.sass import units
from irlens.isa.sass.copies import polls_barrier
from irlens.isa.sass.records import Instruction, Mnemonic

#: What is committed and awaited independently.
Stream: TypeAlias = Literal["cp.async", "wgmma", "tma", "tcgen05"]
#: Where an instruction's result comes from.
Origin: TypeAlias = Literal["memory", "local", "shared", "shuffle", "constant", "special"]
#: What makes other warps or the memory wait: a barrier of the CTA, a fence of the GPU, a write
#: that a fence waits for.
Ordering: TypeAlias = Literal["barrier", "fence", "write"]

_CONSTANTS = frozenset({"LDC", "ULDC", "LDCU", "S2R", "S2UR", "CS2R", "R2UR", "B2R"})
_OF_STREAMS = frozenset({"LDGSTS", "LDGDEPBAR", "DEPBAR", "WARPGROUP", "SYNCS", "UTMALDG"})
_WRITES = units.GLOBAL_STORES | {"ATOM", "ATOMG"}
#: Scopes of fences that reach the L2.
_FENCED = frozenset({"GPU", "SYS"})
#: Prefixes of what waits for other warps: tensor memory and the pool of registers are shared.
_SHARED_WITH_OTHERS = ("UTC", "LDTM", "STTM", "USETMAXREG")


class Demand(msgspec.Struct, frozen=True, gc=False):
    """What an instruction of a name asks of an SM.

    Attributes:
        issues: How often it occupies its unit.
        slots: How often it occupies the LSU, as an access.
        of_warpgroup: Whether it is a product of a warp group.
        sums_in_fp32: Whether it is a product of a warp whose sums are fp32.
        multiplies_fp64: Whether it is a product of fp64.
        loaded: Bytes of global memory that a lane loads.
        is_asynchronous: Whether it may begin, commit or await asynchronous work.
        is_bulk_copy: Whether it copies a tile to shared memory.
        is_plain: Whether it neither loads, nor orders other work, nor is of asynchronous work.
    """

    unit: units.Unit
    issues: int
    integer_cycles: int
    slots: int
    multiply_adds: float
    of_warpgroup: bool
    sums_in_fp32: bool
    multiplies_fp64: bool
    loaded: int
    origin: Origin
    ordering: Ordering | None
    is_asynchronous: bool
    is_bulk_copy: bool
    is_plain: bool


def demand(instruction: Instruction) -> Demand:
    """Return what an instruction asks of an SM, as far as its name says."""
    return _demand(instruction.opcode, instruction.modifiers)


@lru_cache(maxsize=1 << 12)
def _demand(opcode: str, modifiers: tuple[str, ...]) -> Demand:
    name = Mnemonic(opcode, modifiers)
    of_warpgroup = units.is_warpgroup_product(name)
    came_from, orders, copies = origin(name), ordering(name), is_bulk_copy(name)
    is_asynchronous = opcode in _OF_STREAMS or of_warpgroup
    return Demand(
        unit=units.unit(name),
        issues=units.issues(name),
        integer_cycles=units.integer_cycles(name),
        slots=units.access_slots(name),
        multiply_adds=units.multiply_adds(name),
        of_warpgroup=of_warpgroup,
        sums_in_fp32=units.sums_in_fp32(name),
        multiplies_fp64=units.multiplies_fp64(name),
        loaded=units.lane_bytes(name) if opcode in units.GLOBAL_LOADS else 0,
        origin=came_from,
        ordering=orders,
        is_asynchronous=is_asynchronous,
        is_bulk_copy=copies,
        is_plain=came_from != "memory" and not (orders or is_asynchronous or copies),
    )


def origin(instruction: Instruction | Mnemonic) -> Origin:
    """Return where an instruction's result comes from, which decides its latency."""
    opcode = instruction.opcode
    if opcode in units.GLOBAL_LOADS:
        return "memory"
    if opcode in units.LOCAL:
        return "local"
    if opcode in units.SHARED or opcode == "LDTM":
        return "shared"
    if opcode == "SHFL":
        return "shuffle"
    return "constant" if opcode in _CONSTANTS else "special"


def ordering(instruction: Instruction | Mnemonic) -> Ordering | None:
    """Return how an instruction orders others; ``None`` if it does not."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode == "BAR" and "ARV" not in modifiers:
        return "barrier"
    if opcode == "MEMBAR" and not _FENCED.isdisjoint(modifiers):
        return "fence"
    return "write" if opcode in _WRITES else None


def asynchronous(instruction: Instruction) -> tuple[Stream, Event] | None:
    """Return what an instruction does to asynchronous work, and of which stream.

    A product that closes its group is a commit that copies. Products in tensor memory signal
    barriers, whose addresses are computed, and have no event here (``mbarriers``).
    """
    if not demand(instruction).is_asynchronous:
        return None
    line, at, modifiers = instruction.line, instruction.offset, instruction.modifiers
    texts = [operand.text for operand in instruction.operands]
    copy, commit = Copy(line, None, at=at), Commit(line, certain=True, at=at)
    match instruction.opcode:
        case "LDGSTS":
            return "cp.async", copy
        case "LDGDEPBAR":
            return "cp.async", commit
        case "DEPBAR" if "LE" in modifiers and len(texts) > 1:
            return "cp.async", Wait(line, _number(texts[1]), certain=True, at=at)
        case _ if units.is_warpgroup_product(instruction):
            return "wgmma", Commit(line, True, at=at, copies=True) if "gsb0" in texts else copy
        case "WARPGROUP" if "DEPBAR" in modifiers:
            return "wgmma", Wait(line, _number(texts[-1]), certain=True, at=at)
        case "SYNCS" if "ARRIVE" in modifiers and "TRANS64" in modifiers:
            return "tma", commit
        case "UTMALDG":
            return "tma", copy
        case "SYNCS" if polls_barrier(instruction):
            return "tma", Wait(line, 0, certain=True, at=at)
    return None


def is_bulk_copy(instruction: Instruction | Mnemonic) -> bool:
    """Whether it copies a tile to shared memory."""
    return instruction.opcode == "UTMALDG"


def is_tensor_memory_product(instruction: Instruction) -> bool:
    """Whether it is a product in tensor memory."""
    return instruction.opcode.startswith("UTC") and instruction.opcode.endswith("MMA")


def waits_for_others(instruction: Instruction) -> bool:
    """Whether a warp may wait there for what its own loop does not determine.

    Tensor memory and the pool of registers are shared with other warps, and how many bulk copies
    are in flight is decided before the loop.
    """
    shared = instruction.opcode.startswith(_SHARED_WITH_OTHERS)
    return shared or "PHASECHK" in instruction.modifiers


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return 0
