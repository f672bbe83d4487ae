"""EXEC, the mask of active lanes, and what it means for liveness.

Liveness is a wave's, as in LLVM's register allocation: a vector instruction overwrites its
destination, though only in the lanes that are active. Where LLVM narrows EXEC and branches around
the code if no lane remains, the other lanes' values live on along that branch. Where it left the
branch out, they live on through the narrowed instructions themselves.
"""

from irlens.isa.amdgcn.records import Instruction


def lanes_off(instruction: Instruction, before: bool) -> bool:
    """Whether lanes may be off behind an instruction, without a branch around the code.

    Args:
        instruction: The instruction.
        before: Whether lanes may be off before it.
    """
    mnemonic = instruction.mnemonic
    if mnemonic.startswith("s_cbranch_exec"):
        return False
    operands = instruction.operations[0].operands
    to_exec = bool(operands) and any(r.file == "exec" for r in operands[0].registers)
    if "saveexec" in mnemonic or "wrexec" in mnemonic or to_exec:
        return not mnemonic.startswith(("s_or_", "s_mov_"))
    return before or mnemonic.startswith("v_cmpx")
