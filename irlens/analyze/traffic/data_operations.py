"""The operations of a kernel that compute data alone, which no address depends on."""

from collections import defaultdict
from collections.abc import Sequence

from irlens.analyze.traffic.frames import result_names
from irlens.analyze.traffic.values import UnknownTrafficError
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.global_memory import DATA_REGIONS, POINTERS, VALUES, is_pure


def public_function(module: Module) -> Operation:
    """Return a kernel's function.

    Raises:
        UnknownTrafficError: There is no single one, or the module is not understood.
    """
    if module.kernel is None:
        raise UnknownTrafficError("the ttir has no single kernel, or is not understood")
    return module.kernel


def data_operations(module: Module) -> frozenset[int]:
    """Return the operations that no address, mask, branch, loop or call depends on, by index."""
    makers: defaultdict[str, list[Operation]] = defaultdict(list)
    names: list[str] = []
    found: set[int] = set()
    for operation in module.operations:
        if is_pure(operation.name) or operation.name in DATA_REGIONS:
            found.add(operation.index)
            for name in result_names(operation):
                makers[name].append(operation)
        else:
            names += _decisive(operation)
    while names:
        for operation in makers.pop(names.pop(), ()):
            found.discard(operation.index)
            names += operation.operands
    return frozenset(found)


def data_arguments(module: Module) -> frozenset[str]:
    """Return the kernel's arguments that no address, mask, branch, loop or call depends on."""
    data = data_operations(module)
    decisive = (each for each in module.operations if each.index not in data)
    used = {name for each in decisive for name in _decisive(each)}
    (block, *_) = public_function(module).regions[0].blocks
    return frozenset(each.name for each in block.arguments if each.name not in used)


def _decisive(operation: Operation) -> Sequence[str]:
    """Return the operands of an operation, without the data that it stores."""
    at = POINTERS.get(operation.name)
    if at is None or operation.name in VALUES:
        return operation.operands
    places = (at.pointer, at.mask, at.pointer + 1 if at.offsets else None)
    return [name for number, name in enumerate(operation.operands) if number in places]
