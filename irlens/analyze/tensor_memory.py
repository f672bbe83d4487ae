"""How much of an SM's tensor memory a CTA takes (PTX ISA, ``tcgen05.alloc``).

Tensor memory is allocated in columns, each of 128 lanes and 32 bits. Triton allocates once, where
the kernel starts, and notes in its metadata how much; the PTX shows what is allocated indeed.
Where they contradict each other, or the PTX alone does not tell, nothing is claimed.
"""

from msgspec.structs import replace

from irlens.analyze import cfg, graph
from irlens.analyze.ledger import Ledger
from irlens.gpus import Gpu
from irlens.isa.ptx import Function, Immediate, Instruction
from irlens.model.capture import Capture
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
    capture: Capture,
    function: Function | None,
    gpu: Gpu | None,
    ledger: Ledger,
) -> Resources:
    """Add what a CTA takes of tensor memory; nothing on a GPU that has none.

    Args:
        resources: What is known so far.
        capture: Its metadata tells what Triton allocates.
        function: The kernel in the PTX, if the capture has it.
        gpu: What it was compiled for; ``None`` where that is unknown.
        ledger: Receives origins and reasons under "resources".
    """
    noted = capture.metadata.tmem_size if capture.metadata is not None else None
    is_there = gpu is not None and gpu.arch.tensor_memory_columns is not None
    if not is_there and not noted and (function is None or not allocations(function)):
        return resources
    columns = _columns(noted, function, ledger)
    if columns is None:
        return resources
    return replace(
        resources,
        tensor_memory_columns=columns,
        tensor_memory_bytes=columns * _BYTES_PER_COLUMN,
    )


def _columns(noted: int | None, function: Function | None, ledger: Ledger) -> int | None:
    """Return what both the metadata and the PTX say, as far as they are there."""
    if function is None:
        if noted is None:
            ledger.missing("neither the ptx nor Triton's metadata tells", *_PATHS)
        else:
            ledger.known("Triton's metadata, tmem_size", *_PATHS)
        return noted
    seen = _allocated(function)
    if isinstance(seen, str):
        ledger.missing(seen, *_PATHS)
        return None
    if noted is None:
        if any(each.opcode == "call" for each in function.instructions):
            ledger.missing("functions that the kernel calls may allocate more", *_PATHS)
            return None
        ledger.known("ptx, tcgen05.alloc", *_PATHS)
        return seen
    if seen != noted:
        reason = f"Triton's metadata notes {noted} columns, and the ptx allocates {seen}"
        ledger.missing(reason, *_PATHS)
        return None
    ledger.known("Triton's metadata, tmem_size; ptx, tcgen05.alloc", *_PATHS)
    return seen


def _allocated(function: Function) -> int | str:
    """Return the columns that a kernel's own instructions allocate, or why that is not known."""
    found = allocations(function)
    if not found:
        return 0
    if len(found) > 1:
        return "the ptx allocates in several places, and may hold all of it at once or not"
    columns = found[0].operands[-1] if found[0].operands else None
    if not isinstance(columns, Immediate) or not isinstance(columns.value, int):
        return "how many columns the ptx allocates is decided at run time"
    flow = cfg.build(function)
    index = function.instructions.index(found[0])
    (block,) = (number for number, indices in enumerate(flow.ranges) if index in indices)
    if graph.find_loops(flow.successors).depth(block):
        return "the ptx allocates in a loop"
    return columns.value
