"""Whether data in shared memory outlives the iteration that stores it, from the ttgir.

The machine code of a loop does not show which store a read of LDS belongs to: their addresses come
from different functions of the lane. The ttgir does. A buffer that ``ttg.local_alloc`` fills from
registers is a value like any other, and a change of layout through shared memory is one operation.
Only a store into a buffer that exists already, or a loop that carries a buffer to its next
iteration, lets an iteration read what an earlier one stored.
"""

from irlens.analyze.mlir_loops import find_loops
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.types import MemDesc

_ALLOCATION = "ttg.local_alloc"
#: Operations that read a buffer, or name a part of it; all others may write to it or pass it on.
_READERS = frozenset(
    {
        _ALLOCATION,
        "amdg.local_load_packed_transposed",
        "ttg.local_dealloc",
        "ttg.local_gather",
        "ttg.local_load",
        "ttg.memdesc_index",
        "ttg.memdesc_reinterpret",
        "ttg.memdesc_reshape",
        "ttg.memdesc_subslice",
        "ttg.memdesc_trans",
    }
)


def stays_in_iteration(ttgir: Module | None) -> bool:
    """Whether every iteration of every loop reads all that it stores to shared memory itself.

    ``False`` where this is unknown: without a ttgir, or where loops have become branches.
    """
    if ttgir is None or ttgir.unknown or any(ttgir.named("cf.br", "cf.cond_br", "tt.call")):
        return False
    buffers = {
        name
        for operation in ttgir.operations
        if _is_buffer(operation)
        for name, _ in operation.results
    }
    return not any(
        operation.name not in _READERS
        and any(operand.partition("#")[0] in buffers for operand in operation.operands)
        for index in find_loops(ttgir)
        for operation in (ttgir.operations[index], *ttgir.body(ttgir.operations[index]))
    )


def _is_buffer(operation: Operation) -> bool:
    """Whether an operation's results are buffers in shared memory."""
    named = operation.name == _ALLOCATION or operation.name.startswith("ttg.memdesc_")
    return named or any(isinstance(each, MemDesc) for each in operation.result_types)
