"""What an address is computed from: operations, and the kernel's arguments and their parts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from irlens.analyze.mlir_loops import user_line
from irlens.analyze.solver import reach
from irlens.isa.mlir import Argument, Module, Operation
from irlens.isa.mlir.copies import BY_THREADS, HANDED_ON
from irlens.isa.mlir.global_memory import loaded_type, may_write
from irlens.isa.mlir.operations import Deed
from irlens.isa.mlir.parser import parse
from irlens.isa.mlir.types import Pointer
from irlens.isa.mlir.values import Value
from irlens.model.report import Pipeline, PipelineKind
from irlens.model.source import SourceLocation

#: How an argument enters an address: "stride" is multiplied by an index, "shift" added to one,
#: "modulus" divides one, "pointer" is what the address begins at.
Role: TypeAlias = Literal["stride", "shift", "modulus", "pointer"]

#: Operations that hand a value on, whatever its shape and width.
_COPIES = frozenset(
    {
        "spread", "insert", "stretch", "reshape", "transpose", "extend",
        "extend unsigned", "truncate", "to index",
    }
)  # fmt: skip
#: What a loaded pointer or stride goes into.
_FACTORS: tuple[Deed, ...] = ("multiply", "extend", "spread", "offset", "to pointer")
#: Operands of a loop before the values that it carries: where it begins and ends, and its step.
_LOOP_BOUNDS = 3
ALL_BOUNDS, START_AND_STEP = slice(_LOOP_BOUNDS), slice(0, _LOOP_BOUNDS, 2)
_SUMS = frozenset({"add", "subtract", "offset"})
_DIVISIONS = frozenset({"remainder", "remainder unsigned", "divide", "divide unsigned"})
#: Where operations that hand on a pointer have it among what they read.
_POINTERS: dict[Deed | None, slice] = {
    **dict.fromkeys(("offset", "recast", "spread", "insert", "stretch"), slice(1)),
    **dict.fromkeys(("reshape", "transpose"), slice(1)),
    **dict.fromkeys(("if", "select"), slice(1, None)),
    **dict.fromkeys(("for", "while"), slice(None)),
}


def computed_from(
    module: Module, operation: Operation, operands: int | None = None, *, bounds: slice = ALL_BOUNDS
) -> tuple[Operation, ...]:
    """Return the operations that an operation's operands are computed from, in order.

    Of a branch, and of a loop that is no ``for``, all that it yields counts.

    Args:
        operands: How many operands to follow, from the first one; all if ``None``.
        bounds: Which bounds of a loop its number follows from.
    """
    read = filter(None, module.values.operands[operation.index][:operands])
    seen = reach(read, lambda value: filter(None, _read(module, value, bounds)))
    return tuple(module.operations[each] for each in sorted({e.operation for e in seen}))


def _read(module: Module, value: Value, bounds: slice) -> tuple[Value | None, ...]:
    """Return what a value is made of: its operation's operands, and what its regions yield."""
    values, maker = module.values, module.operations[value.operation]
    read = values.operands[maker.index]
    if not maker.regions or maker.does == "function":
        return read
    ends = [values.operands[each.index] for each in module.body(maker) if each.does == "yield"]
    if maker.does != "for":
        return sum(ends, read)
    carried = value.number - (value.region is not None)
    if carried < 0:
        return read[bounds]
    return read[_LOOP_BOUNDS + carried :][:1] + ends[-1][carried : carried + 1]


def pointer_sources(module: Module, access: Operation) -> list[Argument | Operation]:
    """Return what the pointers of an access come from: the kernel's arguments, loads and the like.

    Neither offsets are followed nor the operands of a load.
    """

    def before(value: Value) -> list[Value]:
        at = _POINTERS.get(module.operations[value.operation].does, slice(0))
        return [*filter(None, _read(module, value, ALL_BOUNDS)[at])]

    seen = reach(filter(None, module.values.operands[access.index][:1]), before)
    found: list[Argument | Operation] = []
    for index, number in sorted({(e.operation, e.number) for e in seen if not before(e)}):
        maker = module.operations[index]
        if maker is module.kernel:
            argument = maker.parameters[number]
            found += [argument] * isinstance(argument.type, Pointer)
        elif maker.does != "load" or isinstance(loaded_type(maker).element, Pointer):
            found.append(maker)
    return found


def can_precede(
    module: Module, place: SourceLocation | None, loop_place: SourceLocation | None
) -> bool:
    """Whether the loads of a line could stand before their loop, and bring the same.

    Their addresses and masks must not change with the iteration, and nothing in the loop may write
    to what they read.
    """
    found = [
        (load, loop)
        for load in module.doing(*_LOADS)
        if user_line(load) == place
        for loop in module.doing("for", "while")
        if load.index in range(loop.index, loop.end) and user_line(loop) == loop_place
    ]
    return bool(found) and all(_can_precede(module, *pair) for pair in found)


def _can_precede(module: Module, load: Operation, loop: Operation) -> bool:
    read = filter(None, module.values.operands[load.index])
    seen = reach(read, lambda value: filter(None, _read(module, value, ALL_BOUNDS)))
    if any(each.operation == loop.index for each in seen):
        return False  # the induction variable, or what the loop carries
    body = module.body(loop)
    writes = [each for each in body if _written(each)]
    used = {each.operation for each in seen} | {load.index}
    if any(each.index in used or each.does not in _STORES for each in writes):
        return False
    memory = [
        source
        for each in body
        if each.index in used and each.does in _LOADS
        for source in pointer_sources(module, each)
    ]
    written = [source for each in writes for source in pointer_sources(module, each)]
    return all(isinstance(each, Argument) and each not in memory for each in written)


def is_multiplied(module: Module, operation: Operation) -> bool:
    """Whether a factor of a matrix product, or its scale, is computed from an operation."""
    dots = module.doing("multiply matrices", "multiply scaled matrices")
    # The last operand is what a product adds to.
    return any(operation in computed_from(module, each, len(each.operands) - 1) for each in dots)


def computed_beside(module: Module, operation: Operation, number: int) -> list[Operation]:
    """Return the operations of its block that an operand is computed from, in the same iteration.

    Args:
        number: The operand's, from 0.
    """
    values = module.values

    def beside(read: Sequence[Value | None]) -> Iterator[Value]:
        for value in filter(None, read):
            if (
                value.region is None
                and module.operations[value.operation].parent == operation.parent
            ):
                yield value

    def before(value: Value) -> Iterator[Value]:
        read = values.operands[value.operation]
        hands_on = module.operations[value.operation].name in HANDED_ON
        yield from beside(read[value.number : value.number + 1] if hands_on else read)

    seen = reach(beside(values.operands[operation.index][number : number + 1]), before)
    return [module.operations[index] for index in sorted({each.operation for each in seen})]


class Chain(NamedTuple):
    """Loads of a loop that need each other's values in the same iteration.

    Attributes:
        sources: The loads that others wait for, in order.
        last: The one that waits for most of them, one after the other.
        waiting: All that wait for others.
        length: The number of loads that are done one after the other.
    """

    sources: tuple[Operation, ...]
    last: Operation
    waiting: tuple[Operation, ...]
    length: int

    def iterations_ahead(self, stages: int, kind: PipelineKind | None = BY_THREADS) -> int:
        """Return how many iterations ahead each load of the loop runs.

        NVIDIA's pipeliner divides the stages among such loads (``AssignLatencies.cpp``), AMD's
        places those that need the values of others a stage behind (``ScheduleLoops.cpp``).
        """
        return (stages - 1) // self.length if kind == BY_THREADS else stages - 2

    def stages_for(self, iterations: int) -> int:
        """Return the stages to request for loads that run ``iterations`` ahead."""
        return iterations * self.length + 1


def load_chain(module: Module, loop: Operation) -> Chain | None:
    """Return the longest chain of a loop's loads; ``None`` where no load needs another's value."""
    lengths: dict[int, int] = {}
    sources: set[int] = set()
    for load in module.body(loop):
        if load.does not in ("load", "load tile") or load.parent != loop.index:
            continue
        operands = range(len(load.operands))
        before = {each.index for n in operands for each in computed_beside(module, load, n)}
        lengths[load.index] = 1 + max((lengths.get(each, 0) for each in before), default=0)
        sources |= before & lengths.keys()
    if not sources:
        return None
    waiting = tuple(module.operations[each] for each in lengths if lengths[each] > 1)
    last = max(waiting, key=lambda each: lengths[each.index])
    of_others = tuple(module.operations[each] for each in sorted(sources))
    return Chain(of_others, last, waiting, lengths[last.index])


def chain_of(module: Module | None, pipeline: Pipeline) -> Chain | None:
    """Return the loads of a pipeline's loop of which one needs what another brings.

    ``None`` where there are none, or the ttir does not tell which loop it is. Of a loop without a
    product the pipeliner looks at each load alone.
    """
    source = pipeline.source
    if module is None or source is None:
        return None
    loops = [each for each in module.doing("for") if user_line(each) == source]
    if len(loops) != 1 or all(each.does != "multiply matrices" for each in module.body(loops[0])):
        return None
    return load_chain(module, loops[0])


def loaded_parts(module: Module, access: Operation) -> list[Operation]:
    """Return the loads of pointers and strides that the address of an access is computed from.

    Numbers that only bound a loop or a tile are none.
    """
    factors = {name for each in module.doing(*_FACTORS) for name in each.operands}
    return [
        each for each in computed_from(module, access, 1, bounds=START_AND_STEP)
        if each.does == "load" and each.operand_types
        and isinstance(each.operand_types[0], Pointer)
        and factors & {name for name, _ in each.results}
    ]  # fmt: skip


def argument_roles(module: Module, access: Operation) -> dict[str, frozenset[Role]]:
    """Return the parts that the kernel's arguments play in the address of an access, by name."""
    values = module.values
    roles: dict[str, set[Role]] = {}
    uniform: dict[Value, frozenset[str]] = {}
    kernel = module.kernel
    if kernel is None:
        return {}
    for number, argument in enumerate(kernel.parameters):
        name = argument.name.removeprefix("%")
        uniform[Value(kernel.index, number, 0)] = frozenset((name,))
        if isinstance(argument.type, Pointer):
            roles[name] = {"pointer"}
    for operation in computed_from(module, access):
        operands = values.operands[operation.index]
        known = [uniform.get(each) if each is not None else None for each in operands]
        if operation.does == "constant":
            uniform[Value(operation.index, 0)] = frozenset()
        elif known and None not in known and operation.does in _COPIES | _SUMS | {"multiply"}:
            names = frozenset[str]().union(*(each for each in known if each is not None))
            uniform[Value(operation.index, 0)] = names
        for role, name in _roles(operation, known):
            if "pointer" not in roles.setdefault(name, set()):
                roles[name].add(role)
    # What is added to an address that is made of arguments alone.
    address = next(iter(values.operands[access.index]), None)
    for name in uniform.get(address, ()) if address else ():
        if "pointer" not in roles.setdefault(name, set()):
            roles[name].add("shift")
    return {name: frozenset(each) for name, each in roles.items()}


def _roles(operation: Operation, known: list[frozenset[str] | None]) -> Iterator[tuple[Role, str]]:
    """Yield what arguments do to an operand that is not made of arguments alone."""
    if len(known) != 2 or None not in known:
        return
    role: Role | None = None
    if operation.does == "multiply":
        role = "stride"
    elif operation.does in _SUMS:
        role = "shift"
    elif operation.does in _DIVISIONS and known[1] is not None:
        role = "modulus"
    if role is not None:
        for names in known:
            for name in names or ():
                yield role, name


#: What writes through its first operand.
_STORES = frozenset({"store", "atomic", "store tile", "reduce tile"})
#: What may write through any operand.
_OPAQUE = frozenset({"call", "opaque"})
#: What has results that do not point to where its operands point.
_LOADS: tuple[Deed, ...] = ("load", "load tile")


def written_arguments(text: str, stage: str) -> frozenset[int] | None:
    """Return the positions of the arguments that a kernel may write through.

    Returns:
        Positions among the arguments of the kernel's function; ``None`` if they are unknown.
    """
    module = parse(text, stage=stage)
    if module.kernel is None:
        return None
    reached, arguments = written_values(module), module.kernel.parameters
    return frozenset(index for index, each in enumerate(arguments) if each.name in reached)


def written_values(module: Module) -> frozenset[str]:
    """Return the names of what a kernel may write through, its arguments among them."""
    sources = _sources(module)
    written = (name for each in module.operations for name in _written(each))
    names = reach(written, lambda name: sources[name.partition("#")[0]])
    return frozenset(name.partition("#")[0] for name in names)


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
