"""Calls of AMDGPU functions: which function an indirect jump leads to.

LLVM computes the address of a function relative to the program counter, or loads it from a table,
and jumps to it (AMDGPUUsage, "Function Call Convention")::

    s_getpc_b64 s[4:5]
    s_add_u32   s4, s4, NAME@rel32@lo+4
    s_addc_u32  s5, s5, NAME@rel32@hi+12
    s_swappc_b64 s[30:31], s[4:5]

``s_swappc`` leaves the address after it in s[30:31]. ``s_setpc s[30:31]`` returns, and through any
other register it leaves the caller for good.
"""

import re
from collections.abc import Set

from irlens.isa.amdgcn.records import Instruction, RegisterRange
from irlens.isa.calls import Call

#: What leads to an address in a register, or to another function. gfx1250 renames some.
LEADS_AWAY = ("s_setpc", "s_set_pc", "s_swappc", "s_swap_pc", "s_call", "s_rfe")
_CALLS = ("s_swappc", "s_swap_pc")
_JUMPS = ("s_setpc", "s_set_pc")
_COPIES = frozenset({"s_load_b64", "s_load_dwordx2", "s_mov_b64"})
_RETURN_ADDRESS = 30
_SYMBOL = re.compile(r'(?P<name>"[^"]++"|[\w.$]++)@(?:rel(?:32|64)|gotpcrel(?:32)?)(?:@lo)?')
_IN_A_REGISTER = "its target is in a register"


def find_calls(instructions: tuple[Instruction, ...], labels: Set[int]) -> dict[int, Call]:
    """Return the calls of a function by the index of their instruction.

    Args:
        labels: The indices of those that a label stands in front of.
    """
    calls = {}
    for index, each in enumerate(instructions):
        if not each.mnemonic.startswith(LEADS_AWAY) or _returns(each):
            continue
        leaves = each.mnemonic.startswith(_JUMPS)
        known = leaves or each.mnemonic.startswith(_CALLS)
        target = _range(each, -1) if known else None
        callee = _callee(instructions, labels, index, target) if target is not None else None
        calls[index] = Call(callee, "" if callee else _IN_A_REGISTER, leaves)
    return calls


def find_returns(instructions: tuple[Instruction, ...]) -> frozenset[int]:
    """Return the indices of the instructions that return to the caller."""
    return frozenset(index for index, each in enumerate(instructions) if _returns(each))


def _returns(instruction: Instruction) -> bool:
    target = _range(instruction, -1) if instruction.mnemonic.startswith(_JUMPS) else None
    return target is not None and (target.file, target.first) == ("s", _RETURN_ADDRESS)


def _range(instruction: Instruction, operand: int) -> RegisterRange | None:
    operands = instruction.operations[0].operands
    registers = operands[operand].registers if operands else ()
    return registers[0] if len(registers) == 1 else None


def _callee(
    instructions: tuple[Instruction, ...], labels: Set[int], call: int, target: RegisterRange
) -> str | None:
    """Return the function whose address was last written to a pair of registers.

    After a label another path may have written it: there it counts only if no other function's
    address ever is in that pair.
    """
    straight = True
    for index in range(call - 1, -1, -1):
        straight = straight and index + 1 not in labels
        each = instructions[index]
        written = _range(each, 0)
        if written is None or not _covers(written, target):
            continue
        name = _named(each)
        if name is None and each.mnemonic in _COPIES:
            source = _range(each, 1)
            if source is None or source == target:
                return None
            target = source
        elif name is not None:
            others = {_named(one) for one in instructions if _writes(one, target)} - {None, name}
            return name if straight or not others else None
        elif not each.mnemonic.startswith(("s_add", "s_sext")):  # a half of the address, extended
            return None
    return None


def _named(instruction: Instruction) -> str | None:
    """Return the symbol of whose address an instruction adds the low half, or all of it."""
    texts = [operand.text for operand in instruction.operations[0].operands]
    found = [match["name"].strip('"') for text in texts if (match := _SYMBOL.match(text))]
    return found[0] if found and "@hi" not in texts[-1] else None


def _writes(instruction: Instruction, target: RegisterRange) -> bool:
    written = _range(instruction, 0)
    return written is not None and _covers(written, target)


def _covers(written: RegisterRange, target: RegisterRange) -> bool:
    """Whether two ranges overlap."""
    return (
        written.file == target.file
        and written.first < target.first + target.count
        and target.first < written.first + written.count
    )
