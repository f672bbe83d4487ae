"""Where the data that a wait releases is first used: in the same iteration or in the next.

Triton's usual loop waits and then computes. But where operands of the next iteration's first
``mma`` are read ahead into registers, and in CUDA's classic double buffer (copy the next, compute,
wait, swap), the wait stands at the end, for the next iteration: what it releases has been on its
way for one iteration more than commit and wait are apart.
"""

from collections.abc import Collection, Iterable

import msgspec

from irlens.analyze.pipelines.loops import FunctionLoops
from irlens.isa.ptx import Instruction
from irlens.isa.ptx.registers import access

#: Opcodes that only move or repack a value: the compute is what uses their result.
_REPACKING = frozenset({"mov", "cvt", "prmt", "and", "or", "xor", "lop3", "shl", "shr", "shf"})


class Use(msgspec.Struct, frozen=True):
    """The first instruction that computes with released data.

    Attributes:
        at: Its offset in the text.
        ahead: Whether it stands in the iteration after the wait's.
    """

    at: int
    ahead: bool


def first_use(loops: FunctionLoops, header: int, body: Collection[int], wait: int) -> Use | None:
    """Return where the data that a wait in a loop releases is first used.

    Args:
        loops: The function.
        header: The loop's header block.
        body: The loop's blocks.
        wait: Offset of the wait in the text.

    Returns:
        ``None`` where nothing in the loop reads shared memory.
    """
    before, after = _around(loops, header, body, wait)
    loaded: set[str] = set()
    used = _scan(after, loaded)
    if used is not None:
        return Use(used.start, ahead=False)
    used = _scan(before, loaded)
    return Use(used.start, ahead=True) if used is not None else None


def _around(
    loops: FunctionLoops, header: int, body: Collection[int], wait: int
) -> tuple[list[Instruction], list[Instruction]]:
    """Return an iteration's instructions before and behind a wait, in the order of the text."""
    home = next(b for b in body if any(i.start == wait for i in loops.block(b)))
    reached, waiting = set[int](), [home]
    while waiting:
        for target in loops.cfg.successors[waiting.pop()]:
            if target in body and target != header and target not in reached:
                reached.add(target)
                waiting.append(target)
    own = loops.block(home)
    tail = [i for i in own if i.start > wait]
    tail += [i for block in sorted(reached - {home}) for i in loops.block(block)]
    rest = [block for block in sorted(body) if block not in reached and block != home]
    head = [i for block in rest for i in loops.block(block)]
    head += [i for i in own if i.start < wait]
    return sorted(head, key=lambda i: i.start), tail


def _scan(instructions: Iterable[Instruction], loaded: set[str]) -> Instruction | None:
    """Return the first instruction that computes with what was read from shared memory.

    Args:
        instructions: In order.
        loaded: Registers that hold such values; brought up to date.
    """
    for instruction in instructions:
        if _computes_on_shared(instruction):
            return instruction
        found = access(instruction)
        reads, writes = (found.reads, found.writes) if found is not None else ((), ())
        if _loads_shared(instruction):
            loaded.update(writes)
        elif loaded.isdisjoint(reads):
            loaded.difference_update(writes)
        elif instruction.opcode in _REPACKING:
            loaded.update(writes)
        else:
            return instruction
    return None


def _loads_shared(instruction: Instruction) -> bool:
    spaces = {modifier.partition("::")[0] for modifier in instruction.modifiers}
    return instruction.opcode in ("ld", "ldmatrix") and "shared" in spaces


def _computes_on_shared(instruction: Instruction) -> bool:
    """Whether it is a matrix instruction that reads its operands in shared memory."""
    return (instruction.opcode, instruction.modifiers[:1]) in (
        ("wgmma", ("mma_async",)),
        ("tcgen05", ("mma",)),
    )
