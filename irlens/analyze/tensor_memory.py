"""Tensor memory: how much of an SM's a CTA takes (PTX ISA, ``tcgen05.alloc``).

Tensor memory is allocated in columns, each of 128 lanes and 32 bits. Triton allocates once, where
the kernel starts, and records the amount in its metadata; the PTX shows what is really allocated.
Where the two contradict each other, or the PTX alone does not say, the figure stays unknown.
"""

from msgspec.structs import replace

from irlens.analyze.cfg import Cfg
from irlens.analyze.facts import Provenance
from irlens.gpus import Gpu
from irlens.isa.ptx import Function, Immediate, Instruction, effects
from irlens.model.resources import Resources

#: A column's 128 lanes of 32 bits (PTX ISA, Tensor Memory Addressing).
_BYTES_PER_COLUMN = 128 * 4
_PATHS = ("resources.tensor_memory_columns", "resources.tensor_memory_bytes")


def allocations(function: Function) -> list[Instruction]:
    """Return the instructions that allocate tensor memory."""
    return [
        each
        for each in function.instructions
        if each.opcode == "tcgen05" and each.modifiers[:1] == ("alloc",)
    ]


def with_tensor_memory(
    resources: Resources,
    recorded: int | None,
    function: Function | None,
    flow: Cfg | None,
    gpu: Gpu | None,
    provenance: Provenance,
) -> Resources:
    """Add the tensor memory that a CTA takes; nothing on a GPU that has none.

    Args:
        recorded: The columns that Triton's metadata has, if it says.
        gpu: The GPU it was compiled for; ``None`` where that is unknown.
    """
    has_tensor_memory = gpu is not None and gpu.arch.tensor_memory_columns is not None
    if not has_tensor_memory and not recorded and (function is None or not allocations(function)):
        return resources
    columns = _columns(recorded, function, flow, provenance)
    if columns is None:
        return resources
    return replace(
        resources,
        tensor_memory_columns=columns,
        tensor_memory_bytes=columns * _BYTES_PER_COLUMN,
    )


def _columns(
    recorded: int | None, function: Function | None, flow: Cfg | None, provenance: Provenance
) -> int | None:
    """Return the columns that the metadata and the PTX agree on, as far as they exist."""
    if function is None or flow is None:
        if recorded is None:
            provenance.missing("neither the ptx nor Triton's metadata says", *_PATHS)
        else:
            provenance.known("Triton's metadata, tmem_size", *_PATHS)
        return recorded
    allocated = _allocated(function, flow)
    if isinstance(allocated, str):
        provenance.missing(allocated, *_PATHS)
        return None
    if recorded is None:
        if any(map(effects.calls, function.instructions)):
            provenance.missing("functions that the kernel calls may allocate more", *_PATHS)
            return None
        provenance.known("ptx, tcgen05.alloc", *_PATHS)
        return allocated
    if allocated != recorded:
        reason = f"Triton's metadata records {recorded} columns, and the ptx allocates {allocated}"
        provenance.missing(reason, *_PATHS)
        return None
    provenance.known("Triton's metadata, tmem_size; ptx, tcgen05.alloc", *_PATHS)
    return allocated


def _allocated(function: Function, flow: Cfg) -> int | str:
    """Return the columns that a kernel's own instructions allocate, or why that is not known."""
    instructions = allocations(function)
    if not instructions:
        return 0
    if len(instructions) > 1:
        return "the ptx allocates in several places, and may or may not hold all of it at once"
    columns = instructions[0].operands[-1] if instructions[0].operands else None
    if not isinstance(columns, Immediate) or not isinstance(columns.value, int):
        return "the number of columns the ptx allocates is decided at run time"
    index = function.instructions.index(instructions[0])
    (block,) = (number for number, indices in enumerate(flow.ranges) if index in indices)
    if flow.forest.depth(block):
        return "the ptx allocates in a loop"
    return columns.value
