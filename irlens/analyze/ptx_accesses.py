"""How wide a thread's accesses to global memory are, by their place in the source."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, TypeAlias

from irlens.model.source import SourceLocation
from irlens.parse.ptx import Function, Immediate, Instruction

Direction: TypeAlias = Literal["load", "store"]
Place: TypeAlias = tuple[Direction, tuple[SourceLocation, ...]]

_OPCODES: dict[str, Direction] = {"ld": "load", "ldu": "load", "st": "store"}
_BITS = {
    f"{kind}{bits}": bits
    for bits in (8, 16, 32, 64, 128)
    for kind in ("b", "u", "s", "f")
}  # fmt: skip


def access_widths(function: Function) -> dict[Place, frozenset[int]]:
    """Return the bytes that one thread's instructions load or store at each place.

    Asynchronous copies to shared memory are loads of their cp-size. Instructions without debug
    information are left out, and so are bulk copies.
    """
    found: defaultdict[Place, set[int]] = defaultdict(set)
    for instruction, place in _placed(function):
        access = _access(instruction)
        if access is not None and place:
            direction, width = access
            found[direction, place].add(width)
    return {place: frozenset(widths) for place, widths in found.items()}


def _placed(function: Function) -> Iterator[tuple[Instruction, tuple[SourceLocation, ...]]]:
    """Yield the instructions with their places.

    Triton's accesses are inline assembly of several lines, and the LLVM of Triton 3.9 writes a
    ``.loc`` in front of each, every one a line further down than the last. Only that of a block's
    first instruction is true.
    """
    place: tuple[SourceLocation, ...] | None = None
    for statement in function.statements:
        if "// begin inline asm" in statement.trivia:
            place = None
        if not isinstance(statement, Instruction):
            continue
        if place is None or not statement.inline_asm:
            place = statement.locations
        yield statement, place


def _access(instruction: Instruction) -> tuple[Direction, int] | None:
    """Return the direction and the bytes of an access to global memory."""
    modifiers = instruction.modifiers
    if instruction.opcode == "cp" and modifiers[:2] in (("async", "ca"), ("async", "cg")):
        size = instruction.operands[2] if len(instruction.operands) > 2 else None
        return ("load", int(size.value)) if isinstance(size, Immediate) else None
    direction = _OPCODES.get(instruction.opcode)
    if direction is None or "global" not in modifiers:
        return None
    bits = next((_BITS[name] for name in reversed(modifiers) if name in _BITS), None)
    lanes = next((int(name[1:]) for name in modifiers if name in ("v2", "v4", "v8")), 1)
    return None if bits is None else (direction, bits * lanes // 8)
