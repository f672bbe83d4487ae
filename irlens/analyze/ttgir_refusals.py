"""Why the pipeliner refused a load: its conditions, as far as a ttgir shows them.

The conditions are those of ``lib/Dialect/TritonGPU/Transforms/Pipeliner/AssignLatencies.cpp``
(``preCondition``, ``isSmallLoad`` or ``canBeConvertedToAsyncLoad``, ``loadOpsToIndirectionLevel``)
and of ``ScheduleLoops.cpp`` (``isSafeToPipeline``), tested in the order in which they exclude a
load for certain. If none does, the reason is unknown.
"""

from collections.abc import Iterable

import msgspec

from irlens.analyze.mlir_loops import Loop, carried_farther
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.encodings import blocked, encoding_of
from irlens.isa.mlir.operations import LOADS
from irlens.isa.mlir.products import PRODUCTS
from irlens.isa.mlir.values import Value, Values

#: The smallest cp.async copies 4 bytes (PTX ISA, cp.async: cp-size).
_SMALLEST_COPY = 4
#: cp.async came with compute capability 8.0 (PTX ISA, cp.async: Target ISA Notes).
_FIRST_WITH_CP_ASYNC = 80
#: AMD's targets whose narrow loads Triton 3.6 to 3.9 leave alone. gfx950, gfx1100, gfx1201 and
#: gfx1250 pipeline loads of 1 byte.
_LEAVE_SMALL = frozenset({"gfx90a", "gfx942"})

NOT_FOR = "only for loops are pipelined, and this is a while loop"
OUTER = "only the innermost of nested loops is pipelined"
CONDITIONAL = "it is inside a condition or another region of the loop's body"
NO_CP_ASYNC = "the target has no asynchronous copies"
ONE_STAGE = "one stage was requested"
SWITCHED_OFF = "warp specialization switched pipelining off for the loop (tt.num_stages = 0)"
LEFT_TO_USERS = (
    "its warps are specialized, and those that use the load also issue it: only operands of the"
    " dot, through tensor descriptors, have warps that run ahead"
)
NO_DOT = "no dot uses the loop's loads, and the loop has no num_stages of its own"
DOT_IN_BRANCH = (
    "its dot is in a condition, and a num_stages that is not the loop's own is only for loops with"
    " a dot directly in their body"
)
NARROW = "a thread reads less than 4 consecutive bytes, and the smallest asynchronous copy is 4"
SMALL = "a lane reads less than 4 consecutive bytes, and Triton pipelines no load that small here"
NO_OPERAND = "the loop has a dot, and the load does not lead to its operands"
INDIRECT = (
    "another load of the loop takes its address from it, and two stages have no room for both"
)
TRANSPOSED = (
    "the tensor core takes operands of this type only with K contiguous, so that the tile is"
    " transposed as it is copied, element by element, and the smallest asynchronous copy is 4 bytes"
)
SEVERAL_LAYOUTS = (
    "products take its tile in different layouts, and the compiler copies ahead into one of them"
)
CHAINED = (
    "its address is loaded in the same iteration, and the compiler places it in the last stage,"
    " which uses it"
)
PRINTS = "the loop prints or asserts, and Triton pipelines no such loop"
BARRIER = "the loop has a barrier (tl.debug_barrier), and Triton pipelines no such loop"
FARTHER = "the loop carries a value for more than one iteration, and Triton pipelines no such loop"
#: Reasons why a loop has no stages, and so none of its loads is pipelined.
WITHOUT_STAGES = frozenset({NO_DOT, DOT_IN_BRANCH, NOT_FOR})
UNKNOWN = "the ttgir does not show why"


class LoopBody(msgspec.Struct, frozen=True):
    """How the loads of a loop are used; all operations are those directly in its body.

    Attributes:
        to_dot: Operations that an operand A or B of such a dot depends on, or may depend on
            through shared memory.
        to_load: Operations that the address or mask of a load depends on.
        transposed: Operations whose narrow elements go to shared memory with another dimension
            contiguous than in registers.
        several: Operations whose values products take from shared memory in different layouts.
    """

    has_dot: bool
    to_dot: frozenset[int]
    to_load: frozenset[int]
    transposed: frozenset[int]
    several: frozenset[int]

    @staticmethod
    def read(module: Module, values: Values, loop: Operation) -> "LoopBody":
        """Follow the operands in a loop's body backwards."""
        body = module.own(loop)
        dots = [operation for operation in body if operation.name in PRODUCTS]
        loads = [operation for operation in body if operation.name in LOADS]
        # A dot may read from shared memory what is stored there.
        stores = [operation for operation in body if operation.does == "store shared"]
        factors = [value for dot in dots for value in _factors(values, dot)]
        factors += (value for store in stores for value in values.operands[store.index])
        addresses = (value for load in loads for value in values.operands[load.index])
        to_dot = _backwards(module, values, loop, factors)
        buffers: dict[int, set[str]] = {}
        for each in body:
            moved = each.does == "allocate shared" and each.operands
            if moved or (each.does == "relayout" and each.index in to_dot):
                source = _untransposed(module, values, each)
                buffers.setdefault(source, set()).add(each.result_type.layout)
        return LoopBody(
            has_dot=bool(dots),
            to_dot=to_dot,
            to_load=_backwards(module, values, loop, addresses),
            transposed=frozenset(
                source.operation
                for each in body
                if each.does == "allocate shared" and _transposes(module, each)
                for source in values.operands[each.index]
                if source is not None
            ),
            several=frozenset(index for index, layouts in buffers.items() if len(layouts) > 1),
        )


def refusal(
    module: Module,
    load: Operation,
    loop: Loop,
    body: LoopBody,
    *,
    num_stages: int | None,
    widest_access: int | None,
    pipelined: bool,
    specialized: bool = False,
) -> str:
    """Return why a load was not pipelined.

    Args:
        load: A load in a loop that does not run ahead of its use.
        loop: The innermost loop around it.
        num_stages: The kernel-wide number of stages; ``None`` if unknown.
        widest_access: Consecutive bytes of one thread at most; ``None`` if unknown.
        pipelined: Whether other loads of the loop run ahead, so that the loop itself is accepted.
        specialized: Whether the loop is that of some warps alone.
    """
    stages = num_stages if loop.num_stages is None else loop.num_stages
    nvidia, capability = _target(module)
    if module.operations[loop.operation].does != "for":
        return NOT_FOR
    if loop.inner:
        return OUTER
    inner = module.body(module.operations[loop.operation])
    if loop.num_stages is None and not body.has_dot and any(e.name in PRODUCTS for e in inner):
        return DOT_IN_BRANCH
    if load.parent != loop.operation:
        return CONDITIONAL
    if nvidia and capability < _FIRST_WITH_CP_ASYNC:
        return NO_CP_ASYNC
    if specialized:
        return LEFT_TO_USERS
    if loop.num_stages == 0:
        return SWITCHED_OFF
    if stages is not None and stages <= 1:
        return ONE_STAGE
    if not body.has_dot and loop.num_stages is None:
        return NO_DOT
    reason = _of_the_load(load, body, stages, widest_access, too_narrow(module))
    if reason == UNKNOWN and load.index in body.several:
        return SEVERAL_LAYOUTS
    if reason != UNKNOWN or pipelined:
        return reason
    return _of_the_loop(module, module.operations[loop.operation])


def _of_the_loop(module: Module, loop: Operation) -> str:
    """Return why the pipeliner rejects a whole loop, or ``UNKNOWN``."""
    deeds = {each.does for each in module.body(loop)}
    if "print" in deeds:
        return PRINTS
    if "synchronize" in deeds:
        return BARRIER
    return FARTHER if carried_farther(module, loop) else UNKNOWN


def _of_the_load(
    load: Operation, body: LoopBody, stages: int | None, widest: int | None, narrow: str
) -> str:
    """Return why a load was refused in a loop that is pipelined.

    Args:
        stages: Of the loop; ``None`` if unknown.
        widest: Consecutive bytes of one thread at most; ``None`` if unknown.
        narrow: Why the target leaves loads of less than 4 alone; empty if it does not.
    """
    small = widest is not None and widest < _SMALLEST_COPY
    if small and narrow == NARROW:
        return narrow
    if body.has_dot and load.index not in body.to_dot:
        return NO_OPERAND
    if load.index in body.transposed:
        return TRANSPOSED
    if stages == 2 and load.index in body.to_load:
        return INDIRECT
    return (small and narrow) or UNKNOWN


def too_narrow(module: Module) -> str:
    """Return why loads of less than 4 bytes per thread are not pipelined; empty if they are."""
    nvidia, _ = _target(module)
    if nvidia:
        return NARROW
    return SMALL if module.target in _LEAVE_SMALL else ""


def _target(module: Module) -> tuple[bool, int]:
    """Return whether the target is NVIDIA's, and its compute capability times ten."""
    name = module.target  # AMD's begins with "gfx"
    return name.isdecimal(), int(name) if name.isdecimal() else 0


def _transposes(module: Module, allocation: Operation) -> bool:
    """Whether a tile of narrow elements has another dimension contiguous in shared memory.

    Wider elements are transposed by asynchronous copies of one element each.
    """
    if len(allocation.types) != 2:
        return False
    tensor, buffer = allocation.types
    registers, shared = blocked(module, tensor), encoding_of(module, buffer)
    if registers is None or shared is None or shared.kind != "nvmma_shared":
        return False
    bits = tensor.element.bits
    if bits is None or bits >= 8 * _SMALLEST_COPY:
        return False
    rank = len(tensor.shape)
    return registers.order[0] != (rank - 2 if shared.numbers.get("transposed") else rank - 1)


def _untransposed(module: Module, values: Values, allocation: Operation) -> int:
    """Return the operation whose value a buffer holds, or its threads' transposition of it."""
    operation = allocation
    for _ in range(2):
        (source, *_) = values.operands[operation.index]
        if source is None or source.region is not None:
            return allocation.index
        operation = module.operations[source.operation]
        if not operation.name.endswith(".in_thread_transpose"):
            break
    return operation.index


def _factors(values: Values, operation: Operation) -> list[Value | None]:
    """Return the operands of an operation, those of a dot without the accumulator."""
    operands = list(values.operands[operation.index])
    if operation.name not in PRODUCTS:
        return operands
    accumulator = len(operands) - 1 if operation.does == "multiply scaled matrices" else 2
    return operands[:accumulator] + operands[accumulator + 1 :]


def _backwards(
    module: Module, values: Values, loop: Operation, start: Iterable[Value | None]
) -> frozenset[int]:
    """Return the operations of a loop's body that values are computed from."""
    sources: set[int] = set()
    pending = list(start)
    while pending:
        value = pending.pop()
        if value is None or value.region is not None or value.operation in sources:
            continue
        operation = module.operations[value.operation]
        if operation.parent == loop.index:
            sources.add(operation.index)
            for user in (operation, *module.body(operation)):
                pending += _factors(values, user)
    return frozenset(sources)
