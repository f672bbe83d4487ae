"""Local memory that a PTX kernel declares itself."""

from math import prod

from irlens.isa.ptx import Function, Variable

_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
#: ptxas rounds a stack frame up to 8 bytes, to 16 where a 16-byte access needs it.
_FRAME_UNIT = 16


def declared_bytes(kernel: Function) -> int | None:
    """Return the bytes per thread of a kernel's own arrays, at most; what is more was spilled.

    ``None`` where the stack may hold other things too: the kernel calls functions, allocates while
    it runs, or declares what has no known size.
    """
    if any(instruction.opcode in ("call", "alloca") for instruction in kernel.instructions):
        return None
    total = 0
    for statement in kernel.statements:
        for variable in statement.declarations if isinstance(statement, Variable) else ():
            if variable.space != "local":
                continue
            size = _BYTES.get(variable.type[1:])
            extents = [extent for extent in variable.dimensions if extent is not None]
            if size is None or len(extents) < len(variable.dimensions):
                return None
            # Alignment can add no more than this in front of each.
            total += size * prod(extents) + (variable.align or size) - 1
    return -(-total // _FRAME_UNIT) * _FRAME_UNIT
