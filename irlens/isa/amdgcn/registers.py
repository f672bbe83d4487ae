"""Which registers an AMDGPU instruction reads and writes.

AMD writes destinations first, and registers of any width in full: ``v[4:7]``. This module knows
which instructions have no destination, have two, or read what they write (AMD's instruction set
manuals for RDNA and CDNA; LLVM, "Syntax of AMDGPU Instructions"). The rules are
tested against the operands of LLVM's own machine code, instruction by instruction.

Sets of registers are bits of an integer, see ``bits``. EXEC, SCC and M0 are not in them.

EXEC is the mask of active lanes. Liveness is a wave's, as in LLVM's register allocation: a vector
instruction overwrites its destination, though only in the lanes that are active. Where LLVM narrows
EXEC and branches around the code if no lane remains, the other lanes' values live on along that
branch. Where it left the branch out, they live on through the narrowed instructions themselves.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from irlens.isa.amdgcn.records import (
    FunctionBody,
    Instruction,
    Operand,
    Operation,
    RegisterRange,
    Unknown,
)
from irlens.isa.amdgcn.units import classify
from irlens.isa.bitsets import RegisterFiles
from irlens.isa.dialect import Access, OperandUse, RegisterUse, consecutive

#: First bit and number of registers of each file within a set.
FILES = RegisterFiles({"v": (0, 1024), "a": (1024, 512), "s": (1536, 128), "vcc": (1664, 2)})

#: Files whose registers are named by number. Of each other kind there is only one.
_NUMBERED = frozenset("vsa")

VECTOR = FILES.masks["v"] | FILES.masks["a"]
SCALAR = FILES.masks["s"] | FILES.masks["vcc"]

#: Classes of instructions that write no register.
_NO_DESTINATION = frozenset({
    "LDS store", "LDS to global", "barrier", "buffer store", "cache control", "flat store",
    "global store", "global to LDS", "scalar store", "scratch store", "wait",
})  # fmt: skip
_ATOMIC = frozenset({"buffer atomic", "flat atomic", "global atomic"})
#: A memory atomic returns the old value with: before gfx940, gfx940 to gfx950, from gfx12 on.
_RETURNS = re.compile(r"glc|sc0|th:TH_ATOMIC_(?:\w+_)?RETURN\w*")


def _named(pattern: str) -> Callable[[str], bool]:
    """Return whether a mnemonic has a form; a kernel has few, many times."""
    matches = re.compile(pattern).fullmatch
    return lru_cache(maxsize=1 << 12)(lambda mnemonic: matches(mnemonic) is not None)


_writes_nothing = _named(
    r"s_(?:cmp|cmpk|bitcmp[01]|setreg|setprio|set_|setpc|set_pc|sethalt|setkill)(?:_|\b)\w*|v_nop"
)
#: Instructions of the class "control" with a destination.
_control_writes = _named(r"s_(?:mem(?:real)?time|get_shader_cycles_u64|swap_?pc_\w+)")
_carries_out = _named(
    r"v_(?:(?:add|sub|subrev|addc|subb|subbrev)_co(?:_ci)?_u32|div_scale_f(?:32|64)"
    r"|mad_(?:co_)?[iu]64_[iu]32)(?:_e32|_e64)?(?:_dpp8?|_sdwa)?"
)
_swaps = _named(r"v_(?:swap_b(?:16|32)|permlane(?:16|32)_swap_b32)(?:_e32|_e64)?")
#: Instructions that add to their destination, or replace a part of it.
_accumulates = _named(
    r"(?:v_dual_|v_)(?:pk_)?(?:fmac|mac|dot\d\w*?c_|dot2acc|smfmac|swmmac|writelane)\w*"
    r"|s_(?:fmac_f(?:16|32)|addk_i32|addk_co_i32|mulk_i32|bitset[01]_b(?:32|64))"
)
#: Instructions that may leave their destination, or half of it, unchanged.
_may_keep = _named(r"s_cmov\w*|\w+_d16(?:_\w+)?|(?:ds_(?:read|load)|v_cvt)\w*_d16_hi")
_reads_vcc = _named(
    r"v_div_fmas_f(?:32|64)(?:_e64)?|v_dual_cndmask_b32|s_cbranch_vccn?z"
    r"|s_cbranch_cdbg\w*"
)
#: Instructions whose registers depend on run-time values.
_is_indirect = _named(r"[sv]_movrel\w*|s_set_gpr_idx\w*|s_(?:call|rfe)\w*")


def bits(register: RegisterRange) -> int:
    """Return a range of registers as a set; those of files that are not counted are left out."""
    return _bits_of(register.file, register.first, register.count)


_bits_of = lru_cache(maxsize=1 << 13)(FILES.bits)


def register_use(function: FunctionBody) -> RegisterUse:
    """Return what each instruction of a function does with registers.

    Writes to one 16-bit half of a register leave the other half. VGPRs and AGPRs count together, as
    from gfx90a on they share one file.
    """
    for statement in function.statements:
        if isinstance(statement, Unknown):
            return RegisterUse(unknown=f"the statement on line {statement.line} is not understood")
    reads, writes, kills = [], [], []
    off = False
    for instruction in function.instructions:
        accessed = access(instruction, function.lanes)
        if accessed is None:
            name = instruction.mnemonic
            return RegisterUse(unknown=f"which registers '{name}' on line {instruction.line} uses")
        reads.append(accessed.reads)
        writes.append(accessed.writes)
        kills.append(accessed.kills & ~VECTOR if off else accessed.kills)
        changed = lanes_off(instruction)
        off = off if changed is None else changed
    return RegisterUse(
        reads=reads,
        writes=writes,
        kills=kills,
        weights={1: VECTOR},
        at_entry=_at_entry(function),
    )


def _at_entry(function: FunctionBody) -> int:
    """Registers that hold something when a wave starts.

    These are user and system SGPRs from s0 on, and from v0 on the lane's place in its workgroup
    (AMDGPUUsage, "Initial Kernel Execution State").
    """
    if not function.is_kernel:
        return VECTOR | SCALAR  # the arguments of a function, as far as it reads them
    fields = function.directives
    scalars = fields.get("user_sgpr_count", 16)
    scalars += sum(value for name, value in fields.items() if name.startswith("system_sgpr_"))
    vectors = fields.get("system_vgpr_workitem_id", 2) + 1
    return FILES.bits("s", 0, scalars) | FILES.bits("v", 0, vectors)


def lanes_off(instruction: Instruction) -> bool | None:
    """Whether an instruction may switch lanes off, without a branch around the code.

    ``None`` where they stay as they were.
    """
    mnemonic = instruction.mnemonic
    if mnemonic.startswith("s_cbranch_exec"):
        return False
    operands = instruction.operations[0].operands
    written = operands[0].registers if operands else ()
    to_exec = "exec" in [register.file for register in written]
    if "saveexec" in mnemonic or "wrexec" in mnemonic or to_exec:
        return not mnemonic.startswith(("s_or_", "s_mov_"))
    return True if mnemonic.startswith("v_cmpx") else None


def access(instruction: Instruction, lanes: int) -> Access | None:
    """Return what an instruction reads and writes; ``None`` where that is not known.

    For a call these are its operands alone, without the effects of the callee. Both operations of
    a dual-issue instruction read before either writes.

    Args:
        lanes: Lanes of a wave, 32 or 64: the bits of VCC that an implicit use covers.
    """
    if len(instruction.operations) == 1:
        return operation_access(instruction.operations[0], lanes)
    reads = writes = kills = 0
    for operation in instruction.operations:
        accessed = operation_access(operation, lanes)
        if accessed is None:
            return None
        reads |= accessed.reads
        writes |= accessed.writes
        kills |= accessed.kills
    return Access(reads, writes, kills)


def operation_access(operation: Operation, lanes: int) -> Access | None:
    """Return what one operation of an instruction reads and writes; see ``access``."""
    kind = classify(operation)
    if kind is None or _is_indirect(operation.mnemonic):
        return None
    count = _destinations(operation, kind)
    written, read = operation.operands[:count], operation.operands[count:]
    reads, writes = _bits(read), _bits(written)
    partial = _keeps_some(operation)
    for operand in written:
        for register in operand.registers:
            partial = partial or bool(register.half)
    kills = 0 if partial else writes
    if reads_destination(operation):
        reads |= writes
    if _reads_vcc(operation.mnemonic):
        reads |= FILES.bits("vcc", 0, lanes // 32)
    return Access(reads, writes, kills)


def operand_uses(operation: Operation) -> list[OperandUse] | None:
    """Return the registers that an operation names by number; ``None`` if unknown."""
    # The number of lanes matters only to VCC where it is not named.
    accessed = operation_access(operation, lanes=64)
    if accessed is None:
        return None
    modifies = reads_destination(operation)
    uses: list[OperandUse] = []
    destinations = accessed.writes
    for operand in operation.operands:
        registers = _bits((operand,))
        # Destinations come first: the same register in a later operand is read.
        writes = bool(registers & destinations)
        kills = writes and not registers & ~accessed.kills
        destinations &= ~registers
        uses += [
            OperandUse(
                consecutive(each.file, each.first, each.count),
                modifies or not writes,
                writes,
                kills,
            )
            for each in operand.registers
            if each.file in _NUMBERED
        ]
    return uses


def reads_destination(operation: Operation) -> bool:
    """Whether an operation reads what it writes, without naming it again."""
    if _swaps(operation.mnemonic) or _accumulates(operation.mnemonic):
        return True
    return classify(operation) == "buffer atomic"


def _destinations(operation: Operation, kind: str) -> int:
    """Number of operands that are written; they come first."""
    mnemonic = operation.mnemonic
    if kind in _NO_DESTINATION or _writes_nothing(mnemonic):
        return 0
    if kind == "control":
        return int(_control_writes(mnemonic))
    if kind in _ATOMIC:
        return int(any(map(_RETURNS.fullmatch, operation.modifiers)))
    if kind == "LDS atomic":
        return int("_rtn" in mnemonic)
    if mnemonic.startswith("v_cmpx_") and len(operation.operands) == 2:
        return 0  # from gfx10 on it writes EXEC and nothing else
    if _carries_out(mnemonic) or _swaps(mnemonic):
        return 2
    return 1


def _keeps_some(operation: Operation) -> bool:
    """Whether a part of the destination, or of its lanes, may stay unchanged."""
    modifiers = operation.modifiers
    if _may_keep(operation.mnemonic) or "dst_unused:UNUSED_PRESERVE" in modifiers:
        return True
    if not operation.mnemonic.endswith("_dpp"):
        return False
    # A lane that reads from outside of its row writes nothing, unless bound_ctrl makes that 0.
    everywhere = {"row_mask:0xf", "bank_mask:0xf"}.issubset(modifiers)
    within = any(each.startswith("quad_perm:") for each in modifiers)
    return not everywhere or not (within or "bound_ctrl:1" in modifiers)


def _bits(operands: Iterable[Operand]) -> int:
    total = 0
    for operand in operands:
        for register in operand.registers:
            total |= _bits_of(register.file, register.first, register.count)
    return total
