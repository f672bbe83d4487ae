"""Shared memory buffers of a ttgir: the values that point into them, and their live ranges.

This follows the rules of Triton's allocator (``lib/Analysis/Alias.cpp`` and ``resolveLiveness`` in
``lib/Analysis/Allocation.cpp``): a buffer is needed from its ``ttg.local_alloc`` to the last use of
any descriptor of it, through the whole of a loop that uses but does not allocate it, and through
the whole of a ``ttg.warp_specialize``, whose regions run at the same time.

The machine code of a loop does not show which store a read of LDS belongs to: their addresses come
from different functions of the lane. The ttgir does. A buffer that ``ttg.local_alloc`` fills from
registers is a value like any other, and a change of layout through shared memory is one operation.
Only a store into a buffer that exists already, or a loop that carries a buffer to its next
iteration, lets an iteration read what an earlier one stored.
"""

from bisect import bisect_right

from irlens.analyze.mlir_loops import find_loops
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.types import MemDesc, Type
from irlens.isa.mlir.values import Value

_REPEATED = frozenset({"for", "while", "partition"})
_SLICES = frozenset({"pick buffer", "slice buffer"})
_NONE: frozenset[int] = frozenset()


class Buffers:
    """The ``ttg.local_alloc`` operations of a module.

    Attributes:
        ranges: First and last operation (by index) between which each allocation is needed.
        users: The operations that read a descriptor of each.
    """

    def __init__(self, module: Module) -> None:
        self.ranges: dict[int, tuple[int, int]] = {}
        self.users: dict[int, list[Operation]] = {}
        self._copies: dict[int, int] = {}
        self._module = module
        self._values = module.values
        self._pointing: dict[Value, frozenset[int]] = {}
        repeated: list[Operation] = []  # around the operation at hand, outermost first
        for operation in module.operations if any(module.doing("allocate shared")) else ():
            while repeated and repeated[-1].end <= operation.index:
                repeated.pop()
            for value in self._values.operands[operation.index]:
                for allocation in self.behind(value):
                    self._extend(allocation, operation, repeated)
            if operation.does == "allocate shared":
                self._allocate(operation, repeated)
            elif operation.does == "yield":
                self._yield(operation)
            elif any(isinstance(each, MemDesc) for each in _result_types(operation)):
                self._pass_on(operation)
            if operation.regions:
                self._enter(operation)
            if operation.does in _REPEATED:
                repeated.append(operation)

    def behind(self, value: Value | None) -> frozenset[int]:
        """Return the allocations that a descriptor may point into."""
        return self._pointing.get(value, _NONE) if value is not None else _NONE

    def copies(self, allocation: int) -> int:
        """Count the tiles that a buffer is cut into along its first dimension."""
        if allocation not in self._copies:
            self._copies[allocation] = self._count_copies(allocation)
        return self._copies[allocation]

    def _count_copies(self, allocation: int) -> int:
        whole = self._module.operations[allocation].result_type.shape
        for user in self.users[allocation]:
            if user.does in _SLICES and len(user.result_type.shape) < len(whole):
                return whole[0]
        return 1

    def _allocate(self, operation: Operation, repeated: list[Operation]) -> None:
        first = last = operation.index
        together = next((op for op in repeated if op.does == "partition"), None)
        if together is not None:
            first, last = together.index, together.end - 1
        self.ranges[operation.index] = (first, last)
        self.users[operation.index] = []
        self._pointing[Value(operation.index, 0)] = frozenset({operation.index})

    def _extend(self, allocation: int, user: Operation, repeated: list[Operation]) -> None:
        self.users[allocation].append(user)
        first, last = self.ranges[allocation]
        end = user.index
        # The outermost loop that begins after the allocation.
        around = bisect_right(repeated, allocation, key=lambda operation: operation.index)
        if around < len(repeated):
            end = repeated[around].end - 1
        self.ranges[allocation] = (first, max(last, end))

    def _yield(self, operation: Operation) -> None:
        """Make what the enclosing operation carries and returns point where the yielded do."""
        if operation.parent is None:
            return
        is_loop = self._module.operations[operation.parent].does == "for"
        for number, value in enumerate(self._values.operands[operation.index]):
            targets = [Value(operation.parent, number)]
            if is_loop:  # whose first argument is the induction variable
                targets.append(Value(operation.parent, number + 1, 0))
            for target in targets if self.behind(value) else ():
                self._pointing[target] = self.behind(target) | self.behind(value)

    def _pass_on(self, operation: Operation) -> None:
        """Make descriptors among the results point where the operands do."""
        types = _result_types(operation)
        count = sum(results for _, results in operation.results)
        given = self._values.operands[operation.index]
        carried = given[3:] if operation.does == "for" else given
        everything = frozenset[int]().union(*(self.behind(value) for value in given))
        for number, kind in enumerate(types[:count]):
            if isinstance(kind, MemDesc):
                value = Value(operation.index, number)
                one_to_one = len(carried) == count
                self._pointing[value] = self.behind(carried[number]) if one_to_one else everything

    def _enter(self, operation: Operation) -> None:
        """Make block arguments point where the values bound to them do."""
        given = self._values.operands[operation.index]
        for region, contents in enumerate(operation.regions):
            arguments = [argument for block in contents.blocks for argument in block.arguments]
            for number, argument in enumerate(arguments):
                if argument.initial is not None:
                    bound = self._values.initial(operation, argument.initial)
                elif operation.does == "partition" and number < len(given):
                    bound = given[number]
                else:
                    continue
                self._pointing[Value(operation.index, number, region)] = self.behind(bound)


def _result_types(operation: Operation) -> tuple[Type, ...]:
    return operation.result_types or operation.operand_types


#: What reads a buffer, or names a part of it; all other operations may write to it or pass it on.
_READERS = frozenset(
    {"allocate shared", "free shared", "load shared", "pick buffer", "view shared"}
)


def stays_in_iteration(ttgir: Module | None) -> bool:
    """Whether every iteration of every loop reads all that it stores to shared memory itself.

    ``False`` where this is unknown: without a ttgir, or where loops have become branches.
    """
    if ttgir is None or ttgir.unknown or any(ttgir.doing("jump", "branch", "call")):
        return False
    buffers = {
        name
        for operation in ttgir.operations
        if _is_buffer(operation)
        for name, _ in operation.results
    }
    return not any(
        operation.does not in _READERS
        and any(operand.partition("#")[0] in buffers for operand in operation.operands)
        for index in find_loops(ttgir)
        for operation in (ttgir.operations[index], *ttgir.body(ttgir.operations[index]))
    )


def buffers_behind_stores(module: Module, loop: Operation) -> int:
    """Return how many buffers each tile takes turns in that a loop loads and stores to them.

    Returns:
        0 where an iteration stores what another one has computed, or where tiles differ.
    """
    values = module.values
    buffers, counts = Buffers(module), set[int]()
    for store in module.body(loop):
        if store.does != "store shared":
            continue
        value, *targets = values.operands[store.index]
        kinds = _result_types(store)[-1:]
        if value is None or value.region is not None or value.operation <= loop.index or not kinds:
            return 0
        for index in {each for target in targets for each in buffers.behind(target)}:
            shape = module.operations[index].result_type.shape
            counts.add(shape[0] if len(shape) > len(kinds[0].shape) else 1)
    return counts.pop() if len(counts) == 1 else 0


def _is_buffer(operation: Operation) -> bool:
    """Whether an operation's results are buffers in shared memory."""
    allocates = operation.does == "allocate shared"
    return allocates or any(isinstance(each, MemDesc) for each in operation.result_types)
