"""Which arguments of a kernel it writes through."""

from collections import defaultdict

from irlens.analyze.solver import reach
from irlens.isa.mlir.parser import parse
from irlens.isa.mlir.tree import Module, Operation

#: Operations that write through their first operand.
_STORES = frozenset(
    {
        "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_store", "tt.descriptor_reduce",
        "tt.descriptor_scatter",
    }
)  # fmt: skip
#: Operations that may write through any operand, and dialects of such operations.
_OPAQUE = frozenset({"tt.call", "tt.elementwise_inline_asm", "tt.extern_elementwise"})
_OPAQUE_DIALECTS = ("ttng.", "nvws.", "amdg.", "amdgpu.")
#: Operations whose results do not point to where their operands point.
_LOADS = frozenset({"tt.load", "tt.descriptor_load", "tt.descriptor_gather"})


def written_arguments(text: str, stage: str) -> frozenset[int] | None:
    """Return the positions of the arguments that a kernel may write through.

    Args:
        text: The kernel's ttir or ttgir.
        stage: Which of them.

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
    if operation.name in _STORES:
        return operation.operands[:1]
    opaque = operation.name in _OPAQUE or operation.name.startswith(_OPAQUE_DIALECTS)
    return operation.operands if opaque else ()


def _sources(module: Module) -> defaultdict[str, list[str]]:
    """Return for each value those that it may be computed from, whichever way a branch goes."""
    sources: defaultdict[str, list[str]] = defaultdict(list)
    for operation in module.operations:
        for argument in (each for block in operation.blocks for each in block.arguments):
            if argument.initial is not None:
                sources[argument.name].append(argument.initial)
        if operation.name not in _LOADS:
            for name, _ in operation.results:
                sources[name].extend(operation.operands)
        if operation.name in ("scf.yield", "scf.condition") and operation.parent is not None:
            parent = module.operations[operation.parent]
            carried = [each.name for block in parent.blocks for each in block.arguments]
            for name in (*(name for name, _ in parent.results), *carried):
                sources[name].extend(operation.operands)
    return sources
