"""Values that a loop of a ttgir hands from iteration to iteration before it uses them."""

from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.values import Value, Values

#: No pipeline is as deep as this.
_MOST_ITERATIONS = 64


class Carried:
    """Follows results of loads through the yields of their loops.

    Args:
        module: A ttgir.
        values: Its values.
    """

    def __init__(self, module: Module, values: Values) -> None:
        self._module = module
        self._uses: dict[Value, list[tuple[int, int]]] = {}
        for index, operands in enumerate(values.operands):
            for position, value in enumerate(operands):
                if value is not None:
                    self._uses.setdefault(value, []).append((index, position))

    def iterations(self, load: Operation, loop: Operation) -> int:
        """Return the iterations from a load to the first use of what it brings.

        It is 0 where that is used in its own iteration, or never.

        Args:
            load: An operation with one result.
            loop: The innermost loop around it.
        """
        if loop.name != "scf.for" or load.parent != loop.index:
            return 0
        held, seen = {Value(load.index, 0)}, set[Value]()
        for iteration in range(_MOST_ITERATIONS):
            seen |= held
            uses = [use for value in held for use in self._uses.get(value, ())]
            if any(not self._is_yield(index, loop) for index, _ in uses):
                return iteration
            # Argument 0 of the body counts the iterations.
            held = {Value(loop.index, position + 1, 0) for _, position in uses} - seen
            if not held:
                return 0
        return 0

    def _is_yield(self, index: int, loop: Operation) -> bool:
        operation = self._module.operations[index]
        return operation.name == "scf.yield" and operation.parent == loop.index
