"""Which arguments of a kernel it writes through."""

from collections import defaultdict

from irlens.analyze.solver import reach
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.global_memory import may_write
from irlens.isa.mlir.parser import parse

#: What writes through its first operand.
_STORES = frozenset({"store", "atomic", "store tile", "reduce tile"})
#: What may write through any operand.
_OPAQUE = frozenset({"call", "opaque"})
#: What has results that do not point to where its operands point.
_LOADS = frozenset({"load", "load tile"})


def written_arguments(text: str, stage: str) -> frozenset[int] | None:
    """Return the positions of the arguments that a kernel may write through.

    Returns:
        Positions among the arguments of the kernel's function; ``None`` if they are unknown.
    """
    module = parse(text, stage=stage)
    if module.kernel is None:
        return None
    sources = _sources(module)
    written = (name for each in module.operations for name in _written(each))
    names = reach(written, lambda name: sources[name.partition("#")[0]])
    reached = {name.partition("#")[0] for name in names}
    arguments = module.kernel.parameters
    return frozenset(index for index, each in enumerate(arguments) if each.name in reached)


def _written(operation: Operation) -> tuple[str, ...]:
    """Return the operands that an operation may write through."""
    if operation.does in _STORES:
        return operation.operands[:1]
    opaque = operation.does in _OPAQUE or may_write(operation.name)
    return operation.operands if opaque else ()


def _sources(module: Module) -> defaultdict[str, list[str]]:
    """Return for each value those that it may be computed from, whichever way a branch goes."""
    sources: defaultdict[str, list[str]] = defaultdict(list)
    for operation in module.operations:
        for argument in (each for block in operation.blocks for each in block.arguments):
            if argument.initial is not None:
                sources[argument.name].append(argument.initial)
        if operation.does not in _LOADS:
            for name, _ in operation.results:
                sources[name].extend(operation.operands)
        if operation.does in ("yield", "condition") and operation.parent is not None:
            parent = module.operations[operation.parent]
            carried = [each.name for block in parent.blocks for each in block.arguments]
            for name in (*(name for name, _ in parent.results), *carried):
                sources[name].extend(operation.operands)
    return sources
