"""Registers were spilled to memory.

## What it means

Where a kernel needs more registers than it may have, the compiler writes some of them to local
memory (AMD: scratch) and reads them back. That is ordinary device memory behind the caches, at
hundreds of cycles, and inside a loop it is paid for in every iteration.

On NVIDIA the figure is the stack frame of the machine code less what the PTX itself declares there
(arrays such as the one `tl.sin` needs for large arguments), and it is given only for kernels that
call no function. On AMD it is the compiler's own count of spilled registers.

## Example

A tile of 128 x 256 fp32 over four warps: 256 registers per thread for the accumulator alone, of
the 255 that there are.

## What to do

* More warps for the same tile, or a smaller tile.
* A higher `maxnreg`, or none; on AMD a lower `waves_per_eu`.
* Fewer `num_stages` where a pipeline is kept in registers, fewer values live across the loop.
"""

from collections.abc import Iterator
from math import prod

from irlens.analyze.facts import Facts
from irlens.model.report import Finding, Severity
from irlens.parse.ptx import Function, Variable

CODE = "IRL105"
NAME = "register-spill"
SEVERITY: Severity = "warning"

#: ptxas rounds a stack frame up to 8 bytes, to 16 where a 16-byte access needs it.
_FRAME_UNIT = 16
_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


def find(facts: Facts) -> Iterator[Finding]:
    """Yield a finding where registers were spilled for certain."""
    spilled = _spilled(facts)
    if spilled is None:
        return
    yield Finding(
        code=CODE,
        severity=SEVERITY,
        message=f"{spilled} spilled to memory",
        hint="spread the tile over more warps, or make it smaller",
        stage=None,
        line=None,
        source=None,
    )


def _spilled(facts: Facts) -> str | None:
    resources = facts.resources
    if resources.vgpr_spills:
        registers = "register" if resources.vgpr_spills == 1 else "registers"
        return f"{resources.vgpr_spills:,} vector {registers} per lane are"
    if facts.ptx is None or not resources.local_bytes:
        return None
    declared = _declared(facts.ptx)
    if declared is None or resources.local_bytes <= declared:
        return None
    # What is declared may have been optimised away, and its room been used for spills.
    least = "at least " if declared else ""
    return f"{least}{resources.local_bytes - declared:,} B of registers per thread are"


def _declared(kernel: Function) -> int | None:
    """Return the bytes of local memory that the PTX declares; ``None`` where it may need more."""
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
