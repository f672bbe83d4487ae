"""Loads whose results the next iteration of a loop uses: pipelined by hand, one iteration ahead."""

from collections.abc import Iterator

from irlens.analyze.solver import reach
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.values import Values


def carried_loads(module: Module, loop: Operation) -> list[tuple[Operation, str]]:
    """Return the loads that a loop carries, each with the value that holds it: "%x_1".

    The pipeliner follows the operands of a product inside of one iteration, and does not find them.
    """
    body = [module.operations[index] for block in loop.blocks for index in block.operations]
    ends = [each for each in body if each.does == "yield"]
    if len(ends) != 1 or len(loop.blocks) != 1:
        return []
    carried = loop.blocks[0].arguments[-len(ends[0].operands) :] if ends[0].operands else ()
    loads = {name: each for each in body if each.does == "load" for name, _ in each.results}
    pairs = zip(ends[0].operands, carried, strict=False)
    return [(loads[name], argument.name) for name, argument in pairs if name in loads]


def inside(module: Module, operation: Operation, region: Operation) -> list[Operation] | None:
    """Return what an operation is computed from inside of a region, itself last.

    ``None`` if that cannot be moved to the beginning of the region: it has regions of its own, or
    stands in another one.
    """
    values = Values(module)

    def before(index: int) -> Iterator[int]:
        for value in values.operands[index]:
            if value is not None and region.index < value.operation < region.end:
                yield value.operation

    indices = sorted({operation.index, *reach(before(operation.index), before)})
    found = [module.operations[index] for index in indices]
    movable = all(each.parent == region.index and not each.regions for each in found)
    return found if movable else None
