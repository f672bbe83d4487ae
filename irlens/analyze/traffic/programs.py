"""Runs the integer and pointer part of a kernel's ttir for many programs at once."""

from collections.abc import Mapping, Sequence

import numpy as np

from irlens.analyze.traffic import arithmetic
from irlens.analyze.traffic.counting import Tally
from irlens.analyze.traffic.launch import first_values
from irlens.analyze.traffic.values import (
    Array,
    Descriptor,
    Integer,
    Mask,
    Pointer,
    Unknown,
    UnknownTrafficError,
    Value,
    add,
    chosen,
    constant,
    integer,
    materialize,
    multiply,
    negate,
    negative,
    truth,
    wrapped,
)
from irlens.isa.mlir import Block, Module, Operation

LOADS = frozenset({"tt.load", "tt.descriptor_load"})
STORES = frozenset({"tt.store", "tt.descriptor_store"})
ATOMICS = frozenset({"tt.atomic_rmw", "tt.atomic_cas"})
_DESCRIPTORS = frozenset({"tt.descriptor_load", "tt.descriptor_store"})
#: Operations with a region that accesses no memory and computes data.
_DATA_REGIONS = frozenset({"tt.reduce", "tt.scan"})
#: Dialects without side effects, and other operations of this kind.
_PURE_DIALECTS = ("arith.", "math.")
_PURE = frozenset(
    {
        "tt.bitcast", "tt.broadcast", "tt.cat", "tt.clampf", "tt.dot", "tt.dot_scaled",
        "tt.expand_dims", "tt.fp_to_fp", "tt.gather", "tt.histogram", "tt.int_to_ptr", "tt.join",
        "tt.make_range", "tt.mulhiui", "tt.precise_divf", "tt.precise_sqrt", "tt.ptr_to_int",
        "tt.reshape", "tt.splat", "tt.split", "tt.trans", "tt.unsplat", "ub.poison",
        "tt.addptr",
    }
)  # fmt: skip
#: Operations that neither compute a value nor access memory that is counted.
_SILENT = frozenset({"tt.print", "tt.assert", "llvm.intr.assume", "gpu.barrier", "ttg.barrier"})
#: Iterations of one loop, over which the evaluation would take too long.
_MOST_ITERATIONS = 1 << 16
_AXES = {"x": 0, "y": 1, "z": 2}

Key = tuple[int, str]


class Programs:
    """Some neighbouring programs of a launch, run together.

    Args:
        module: The kernel's ttir.
        arguments: The launch's arguments.
        grid: Programs in x, y and z.
        numbers: Numbers of the programs, x fastest.

    Attributes:
        tallies: What each access moves, by operation and argument.
    """

    def __init__(
        self,
        module: Module,
        arguments: Mapping[str, int | float | str],
        grid: tuple[int, int, int],
        numbers: range,
    ) -> None:
        self.tallies: dict[Key, Tally] = {}
        self._module = module
        self._arguments = arguments
        self._grid = grid
        self._numbers = np.arange(numbers.start, numbers.stop, dtype=np.int64)
        self._values: dict[str, Value] = {}

    def run(self, function: Operation) -> None:
        """Run a function's only block.

        Raises:
            TooLargeError: Fewer programs at once may do.
            UnknownTrafficError: The traffic cannot be counted.
        """
        blocks = function.regions[0].blocks
        if len(blocks) != 1:
            raise _unknown(function, "the kernel returns early or branches")
        self._values = first_values(blocks[0].arguments, self._arguments)
        self._block(blocks[0], np.ones(self._numbers.size, dtype=bool))

    def _block(self, block: Block, active: Array) -> list[Value]:
        """Run a block and return the operands of its last operation."""
        last: list[Value] = []
        for index in block.operations:
            operation = self._module.operations[index]
            last = [self._read(name) for name in operation.operands]
            try:
                self._run(operation, last, active)
            except UnknownTrafficError as error:
                reason = str(error)
                placed = reason.startswith("line ")
                raise error if placed else _unknown(operation, reason) from None
        return last

    def _read(self, name: str) -> Value:
        return self._values.get(name, Unknown(f"{name} is not known"))

    def _define(self, operation: Operation, values: Sequence[Value]) -> None:
        names = [
            name if count == 1 else f"{name}#{number}"
            for name, count in operation.results
            for number in range(count)
        ]
        self._values.update(zip(names, values, strict=True))

    def _run(self, operation: Operation, operands: list[Value], active: Array) -> None:
        name = operation.name
        if name in LOADS | STORES | ATOMICS:
            self._access(operation, operands, active)
            read = Unknown(f"line {operation.span.line}: it depends on data that is loaded")
            self._define(operation, [read] * sum(count for _, count in operation.results))
        elif name == "scf.for":
            self._for(operation, operands, active)
        elif name == "scf.if":
            self._if(operation, operands[0], active)
        elif name == "scf.while":
            self._while(operation, operands, active)
        elif name in ("tt.get_program_id", "tt.get_num_programs"):
            self._define(operation, [self._program(operation)])
        elif name == "tt.make_tensor_descriptor":
            self._define(operation, [_descriptor(operation, operands)])
        elif name in ("scf.yield", "scf.condition", "tt.return") or name in _SILENT:
            return
        else:
            self._compute(operation, operands)

    def _compute(self, operation: Operation, operands: list[Value]) -> None:
        pure = operation.name in _PURE or operation.name.startswith(_PURE_DIALECTS)
        if not pure and operation.name not in _DATA_REGIONS:
            raise _unknown(operation, f"{operation.name} is not understood")
        result = arithmetic.compute(operation, operands) if pure else None
        if result is None:
            reasons = [each for each in operands if isinstance(each, Unknown)]
            own = Unknown(f"line {operation.span.line}: {operation.name} is not evaluated")
            result = reasons[0] if reasons else own
        self._define(operation, [result] * sum(count for _, count in operation.results))

    def _program(self, operation: Operation) -> Integer:
        axis = _AXES[operation.words[0]]
        if operation.name == "tt.get_num_programs":
            return constant(self._grid[axis])
        before = int(np.prod(self._grid[:axis], dtype=np.int64))
        return integer(self._numbers // before % self._grid[axis])

    def _access(self, operation: Operation, operands: list[Value], active: Array) -> None:
        if operation.name in _DESCRIPTORS:
            pointer, mask, shape, element = _tile(operation, operands)
        else:
            pointer, mask, shape, element = _pointers(operation, operands)
        size = arithmetic.element_bytes(element)
        if size is None:
            raise _unknown(operation, f"the size of {element} is not known")
        tally = self.tallies.setdefault((operation.index, pointer.argument), Tally())
        tally.access(pointer.offset, mask, shape, active, size)

    def _for(self, operation: Operation, operands: list[Value], active: Array) -> None:
        low, high, step = (_scalar(operation, each) for each in operands[:3])
        block = operation.regions[0].blocks[0]
        carried = operands[3:]
        begin, end = np.broadcast_arrays(low, high)
        trips = np.maximum(0, -((begin - end) // np.maximum(step, 1)))
        trips = np.where(active, trips, 0)
        if int(trips.max(initial=0)) > _MOST_ITERATIONS:
            raise _unknown(operation, f"a loop of more than {_MOST_ITERATIONS:,} iterations")
        names = [each.name for each in block.arguments]
        for iteration in range(int(trips.max(initial=0))):
            running = trips > iteration
            values = [integer(low + iteration * step), *carried]
            self._values.update(zip(names, values, strict=True))
            yielded = self._block(block, running) if block.operations else []
            yielded = yielded[: len(carried)]
            goes_on = bool((running | ~active).all())
            carried = [
                new if goes_on else chosen(running, new, old)
                for new, old in zip(yielded, carried, strict=True)
            ]
        self._define(operation, carried)

    def _while(self, operation: Operation, operands: list[Value], active: Array) -> None:
        before, after = (region.blocks[0] for region in operation.regions)
        carried, results, running = operands, list[Value](), active
        for _ in range(_MOST_ITERATIONS):
            self._values.update(zip((a.name for a in before.arguments), carried, strict=True))
            condition, *passed = self._block(before, running)
            held = _condition(operation, condition, active.size)
            results = (
                [chosen(running, new, old) for new, old in zip(passed, results, strict=True)]
                if results
                else passed
            )
            running = running & held
            if not running.any():
                self._define(operation, results)
                return
            self._values.update(zip((a.name for a in after.arguments), passed, strict=True))
            carried = self._block(after, running)
        raise _unknown(operation, f"a loop of more than {_MOST_ITERATIONS:,} iterations")

    def _if(self, operation: Operation, condition: Value, active: Array) -> None:
        held = _condition(operation, condition, active.size)
        branches = [region.blocks[0] for region in operation.regions if region.blocks]
        taken = active & held
        outcomes = []
        for block, running in zip(branches, (taken, active & ~held), strict=False):
            outcomes.append(self._block(block, running) if running.any() else None)
        count = sum(number for _, number in operation.results)
        if not count:
            return
        left, right = outcomes
        if left is None or right is None:
            self._define(operation, left or right or [Unknown("it is not reached")] * count)
            return
        merged = [chosen(taken, one, other) for one, other in zip(left, right, strict=True)]
        self._define(operation, merged)


def _unknown(operation: Operation, reason: str) -> UnknownTrafficError:
    return UnknownTrafficError(f"line {operation.span.line}: {reason}")


def _reason(operation: Operation, value: Value, wanted: str) -> UnknownTrafficError:
    if isinstance(value, Unknown):
        placed = value.reason.startswith("line ")
        return UnknownTrafficError(value.reason) if placed else _unknown(operation, value.reason)
    return _unknown(operation, f"{wanted} is not understood")


def _scalar(operation: Operation, value: Value) -> Array:
    if not isinstance(value, Integer):
        raise _reason(operation, value, "a bound of the loop")
    return materialize(value)


def _condition(operation: Operation, value: Value, programs: int) -> Array:
    if not isinstance(value, Mask):
        raise _reason(operation, value, "the condition")
    return np.broadcast_to(truth(value), (programs,))


def _pointers(
    operation: Operation, operands: list[Value]
) -> tuple[Pointer, Mask, tuple[int, ...], str]:
    """Read an access through pointers: where, the mask, the shape and the element type."""
    if "boundaryCheck" in operation.attributes:
        raise _unknown(operation, "block pointers are not understood")
    pointer = operands[0]
    if not isinstance(pointer, Pointer):
        raise _reason(operation, pointer, "the address")
    shape, element = arithmetic.element_of(operation.operand_types[0])
    if not element.startswith("!tt.ptr<") or element.startswith("!tt.ptr<tensor"):
        raise _unknown(operation, "the type of the pointer is not understood")
    element = element.removeprefix("!tt.ptr<").partition(",")[0].removesuffix(">")
    at = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2}.get(operation.name)
    if at is None or len(operands) <= at:
        return pointer, Mask(()), shape, element
    mask = operands[at]
    if not isinstance(mask, Mask):
        raise _reason(operation, mask, "the mask")
    return pointer, mask, shape, element


def _descriptor(operation: Operation, operands: list[Value]) -> Value:
    base, rest = operands[0], operands[1:]
    numbers = [each for each in rest if isinstance(each, Integer)]
    if not isinstance(base, Pointer) or len(numbers) != len(rest):
        raise next(_reason(operation, each, "the descriptor") for each in operands
                   if not isinstance(each, Pointer | Integer))  # fmt: skip
    half = len(numbers) // 2
    return Descriptor(base, tuple(numbers[:half]), tuple(numbers[half:]))


def _tile(
    operation: Operation, operands: list[Value]
) -> tuple[Pointer, Mask, tuple[int, ...], str]:
    """Read an access through a descriptor; lanes outside its tensor are masked off."""
    descriptor = operands[0]
    if not isinstance(descriptor, Descriptor):
        raise _reason(operation, descriptor, "the descriptor")
    kind = operation.operand_types[0].removeprefix("!tt.tensordesc<").removesuffix(">")
    if not kind.startswith("tensor<"):
        kind = f"tensor<{kind}>"
    shape, element = arithmetic.element_of(kind)
    size, rank = arithmetic.element_bytes(element), len(shape)
    places = [each for each in operands[1 : rank + 1] if isinstance(each, Integer)]
    if size is None or len(places) != rank or len(descriptor.shape) != rank:
        raise _reason(operation, operands[1], "the tile's place")
    offset = _spread(descriptor.base.offset, rank)
    factors = Mask(())
    for axis, place in enumerate(places):
        along = np.arange(shape[axis], dtype=np.int64)
        along = along.reshape((1,) * (axis + 1) + (-1,) + (1,) * (rank - axis - 1))
        index = add(_spread(place, rank), integer(along))
        stride = _spread(multiply(descriptor.strides[axis], constant(size)), rank)
        offset = wrapped(add(offset, multiply(index, stride)), 64)
        extent = _spread(descriptor.shape[axis], rank)
        inside = negative(add(index, negate(extent)))
        above = negative(add(negate(index), constant(-1, rank)))
        factors = Mask(factors.factors + inside.factors + above.factors)
    return Pointer(descriptor.base.argument, offset), factors, shape, element


def _spread(value: Integer, rank: int) -> Integer:
    return integer(*(term.reshape(-1, *(1,) * rank) for term in value.terms.values()))
