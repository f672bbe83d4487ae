"""Addresses and masks of a kernel's accesses to global memory, evaluated through its ttir."""

import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from irlens.analyze import axis_info
from irlens.analyze.axis_info import ANY, Axis, Value
from irlens.analyze.global_accesses import Direction
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Argument, Module, Operation
from irlens.isa.mlir.global_memory import ATOMICS, LOADS, POINTERS, buffer_values, loaded_type
from irlens.isa.mlir.operations import DIVISIBILITY, Deed
from irlens.isa.mlir.types import Pointer, Scalar, Tensor, Type
from irlens.isa.mlir.values import Value as Name
from irlens.model.source import SourceLocation

#: Most walks until the values that loops carry must be stable. Real kernels take two or three.
_MAX_WALKS = 8

_NUMBER = re.compile(r"-?[0-9]{1,18}")
_INDEX = Scalar("index")
_SAME = frozenset({"extend", "extend unsigned", "truncate", "to index", "relayout"})


class Access(msgspec.Struct, frozen=True):
    """One load or store of a tensor of pointers, an asynchronous copy being a load.

    Attributes:
        location: Innermost frame first.
        line: 1-based line in the ttir, or the ttgir.
        pointer: Addresses in bytes.
    """

    direction: Direction
    location: tuple[SourceLocation, ...]
    source: SourceLocation | None
    line: int
    element_bytes: int
    pointer: Value
    mask: Value | None

    def width(self, elements_per_thread: int, *, masked: bool = True) -> int:
        """Return the bytes that a thread can access at once, at most 16.

        Args:
            masked: Whether to consider the mask, which must be the same for all of them.
        """
        best = 1
        for n, axis in enumerate(self.pointer.axes):
            if axis.step != self.element_bytes or axis.symbol:
                continue
            aligned = self.pointer.divisor_along(n) // self.element_bytes
            allowed = self.mask.axes[n].constant if masked and self.mask else axis.run
            best = max(best, min(axis.run, aligned, allowed))
        return min(best * self.element_bytes, self.widest(elements_per_thread))

    def widest(self, elements_per_thread: int) -> int:
        """Return the bytes that a thread can access at once whatever the address and the mask."""
        widest = max(16 // self.element_bytes, 1)
        return min(widest, max(elements_per_thread, 1)) * self.element_bytes


def divisors(module: Module) -> dict[str, int]:
    """Return the known divisor of each integer or pointer argument of the kernel, 16 or 1."""
    return {
        argument.name: argument.integer(DIVISIBILITY) or 1
        for function in module.doing("function")
        for argument in _arguments(function)
        if isinstance(argument.type, Pointer)
        or (_is_integer(argument.type) and argument.type != _INDEX)
    }


def loaded_scalars(module: Module) -> dict[str, Operation]:
    """Return the loads of single integers, and the pointers made of them, by their names.

    The compiler knows no divisor of either.
    """
    loads = (each for each in module.doing("load") if _is_integer(loaded_type(each)))
    made = (each for each in module.doing("to pointer") if not each.result_type.shape)
    return {each.results[0][0]: each for each in (*loads, *made)}


class Addresses:
    """Evaluates the addresses of a module for one or several assumptions about its arguments."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._accesses: dict[tuple[tuple[str, int], ...], tuple[Access, ...]] = {}

    def accesses(self, known: Mapping[str, int]) -> tuple[Access, ...]:
        """Return the accesses of tensors in the kernel, in the order of the text.

        Args:
            known: The divisor of each argument, and of other scalars, by the name with the percent
                sign.
        """
        key = tuple(known.items())
        if key not in self._accesses:
            walk = _Walk(self._module, known)
            self._accesses[key] = tuple(walk.accesses())
        return self._accesses[key]


class _Walk:
    """Evaluates the integers of a module, several times where there are loops."""

    def __init__(self, module: Module, known: Mapping[str, int]) -> None:
        self._module = module
        self._known = known
        self._names = module.values
        self._values: dict[Name, Value] = {}
        #: In walks after the first, the values that differ from those of the walk before.
        self._changed: set[Name] | None = None

    def accesses(self) -> Iterator[Access]:
        operations = list(self._module.named(*POINTERS.keys() - ATOMICS))
        if not operations:
            return
        carried: dict[Name, Value] = {}
        for _ in range(_MAX_WALKS):
            before = dict(carried)
            self._evaluate(carried)
            if carried == before:
                break
        else:  # does not converge: give up what the loops carry
            self._evaluate({name: axis_info.unknown(v.shape) for name, v in carried.items()})
        for operation in operations:
            access = self._access(operation)
            if access is not None:
                yield access

    def _access(self, operation: Operation) -> Access | None:
        operands = [self._value(name) for name in self._names.operands[operation.index]]
        at = POINTERS[operation.name]
        pointer = operands[at.pointer] if len(operands) > at.pointer else None
        element = operation.operand_type.element.pointee
        if at.offsets:
            element = buffer_values(operation)[1]
        size = element.bytes if element is not None else None
        if at.offsets:
            pointer = _offset(pointer, operands[at.pointer + 1 :], size)
        if pointer is None or not pointer.shape or size is None:
            return None
        mask = operands[at.mask] if at.mask is not None and len(operands) > at.mask else None
        if at.offsets and mask is not None and not mask.shape:
            mask = None  # the stride, which the cache of buffers is swizzled by
        if mask is not None and mask.shape != pointer.shape:
            return None
        return Access(
            direction="load" if operation.name in LOADS else "store",
            location=operation.location,
            source=user_line(operation),
            line=operation.span.line,
            element_bytes=size,
            pointer=pointer,
            mask=mask,
        )

    def _value(self, name: Name | None) -> Value | None:
        return None if name is None else self._values.get(name)

    def _evaluate(self, carried: dict[Name, Value]) -> None:
        """Walk the module once; ``carried`` holds what loops carry around, and is widened."""
        for operation in self._module.operations:
            if operation.does == "function":
                self._define_arguments(operation)
            elif operation.does == "for":
                self._enter_loop(operation, carried)
            elif operation.does == "yield":
                self._leave_region(operation, carried)
            elif operation.does == "if":
                for number in range(sum(count for _, count in operation.results)):
                    self._values.pop(Name(operation.index, number), None)
            elif operation.results:
                self._define(operation)
        self._changed = set()

    def _set(self, name: Name, value: Value) -> None:
        """Set a value; operations of which no operand changes are not evaluated again."""
        if self._changed is not None and self._values.get(name) != value:
            self._changed.add(name)
        self._values[name] = value

    def _define_arguments(self, function: Operation) -> None:
        for index, argument in enumerate(_arguments(function)):
            if argument.name in self._known:
                symbol = None if isinstance(argument.type, Pointer) else (argument.name, 1)
                value = Value((), (), self._known[argument.name], None, symbol)
                self._set(Name(function.index, index, 0), value)

    def _enter_loop(self, loop: Operation, carried: dict[Name, Value]) -> None:
        """The induction variable starts at a bound and goes in steps; the rest is carried."""
        operands = [self._value(name) for name in self._names.operands[loop.index]]
        low, step = (operands[n] if len(operands) > n else None for n in (0, 2))
        if low is not None and step is not None:
            divisor = min(low.divisor, step.divisor)
            self._set(Name(loop.index, 0, 0), Value((), (), divisor))
        for number, initial in enumerate(operands[3:]):
            if initial is None:
                continue
            value = carried.setdefault(Name(loop.index, number), initial)
            self._set(Name(loop.index, number + 1, 0), value)
            self._set(Name(loop.index, number), value)

    def _leave_region(self, end: Operation, carried: dict[Name, Value]) -> None:
        """Join what a region yields into the loop's values, or the results of ``scf.if``."""
        owner = self._module.operations[end.parent] if end.parent is not None else None
        if owner is None or owner.does not in ("for", "if"):
            return
        is_loop = owner.does == "for"
        for number, operand in enumerate(self._names.operands[end.index]):
            name, value = Name(owner.index, number), self._value(operand)
            known = (carried if is_loop else self._values).get(name)
            if value is None and known is not None:
                value = axis_info.unknown(known.shape)
            elif value is not None and known is not None:
                value = axis_info.join(known, value) if known.shape == value.shape else known
            if value is not None and is_loop:
                carried[name] = value
            elif value is not None:
                self._set(name, value)

    def _define(self, operation: Operation) -> None:
        shape = _result_shape(operation)
        if shape is None or len(operation.results) != 1 or operation.results[0][1] != 1:
            return
        names = self._names.operands[operation.index]
        if self._changed is not None and self._changed.isdisjoint(names):
            return
        known = [self._values[name] for name in names if name in self._values]
        complete = len(known) == len(names)
        value = _evaluate(operation, shape, known) if complete else axis_info.unknown(shape)
        if (divisor := self._known.get(operation.results[0][0])) is not None:
            value = msgspec.structs.replace(value, divisor=max(value.divisor, divisor))
        self._set(Name(operation.index, 0), value)


def _offset(pointer: Value | None, operands: list[Value | None], size: int | None) -> Value | None:
    """Return the addresses of a buffer access: a pointer, and offsets from it in elements."""
    offsets = operands[0] if operands else None
    if pointer is None or offsets is None:
        return None
    return _moved(_splat(offsets.shape, pointer), offsets, size)


def _arguments(function: Operation) -> tuple[Argument, ...]:
    """Return a kernel's arguments; nothing is known about those of functions it calls."""
    return function.parameters if "public" in function.words else ()


def _evaluate(operation: Operation, shape: tuple[int, ...], operands: list[Value]) -> Value:
    """Return what is known about an operation's only result.

    Args:
        operands: What is known about the operands, in order.
    """
    value = _result(operation, shape, operands)
    # A damaged text may have shapes that do not match.
    if value is None or value.shape != shape or len(value.axes) != len(shape):
        value = axis_info.unknown(shape)
    return _hinted(operation, value) if operation.attributes else value


def _result(operation: Operation, shape: tuple[int, ...], operands: list[Value]) -> Value | None:
    """Evaluate an operation; ``None`` where nothing is known about its result."""
    name, does = operation.name, operation.does
    if does == "constant":
        return _constant(operation, shape)
    if does == "range" and len(shape) == 1:
        start = operation.integer("start") or 0
        return Value(shape, (Axis(shape[0], 1, None, 1),), axis_info.power(start))
    if does in ("program", "programs"):
        return axis_info.unknown()
    if not operands:
        return None
    if does in _SAME:
        return operands[0]
    if does in _RESHAPES:
        return _RESHAPES[does](operation, shape, operands[0])
    if any(operand.shape != operands[0].shape for operand in operands):
        return None
    if does in ("compare", "offset", *_ARITHMETIC):
        return _of_two(operation, *operands) if len(operands) == 2 else None
    if name.startswith(("arith.", "math.")) or does == "load":
        return axis_info.elementwise(*operands)
    return None


def _constant(operation: Operation, shape: tuple[int, ...]) -> Value | None:
    literal = operation.literal
    if literal in ("true", "false"):
        return axis_info.number(int(literal == "true"), shape)
    match = _NUMBER.fullmatch(literal)
    return axis_info.number(int(match[0]), shape) if match else None


def _of_two(operation: Operation, a: Value, b: Value) -> Value | None:
    if operation.does == "compare":
        return axis_info.compare(operation.words[0], a, b) if operation.words else None
    if operation.does == "offset":
        element = operation.operand_type.element.pointee
        return _moved(a, b, element.bytes if element is not None else None)
    return _ARITHMETIC[operation.does](a, b)


def _moved(pointer: Value, offset: Value, size: int | None) -> Value | None:
    if size is None:
        return None
    step = axis_info.number(size, offset.shape)
    return axis_info.add(pointer, axis_info.multiply(offset, step))


def _splat(shape: tuple[int, ...], value: Value) -> Value:
    axes = tuple(map(axis_info.still, shape))
    return Value(shape, axes, value.divisor, value.constant, value.symbol)


def _expand(operation: Operation, shape: tuple[int, ...], value: Value) -> Value | None:
    axis = operation.integer("axis")
    if axis is None or not 0 <= axis <= len(value.axes):
        return None
    axes = (*value.axes[:axis], axis_info.still(1), *value.axes[axis:])
    return msgspec.structs.replace(value, shape=shape, axes=axes)


def _broadcast(_operation: Operation, shape: tuple[int, ...], value: Value) -> Value | None:
    if len(shape) != len(value.shape):
        return None
    axes = tuple(
        axis_info.still(wide) if narrow == 1 else axis
        for axis, narrow, wide in zip(value.axes, value.shape, shape, strict=True)
    )
    return msgspec.structs.replace(value, shape=shape, axes=axes)


def _transpose(operation: Operation, shape: tuple[int, ...], value: Value) -> Value | None:
    order = operation.integers("order")
    if sorted(order) != list(range(len(value.shape))):
        return None
    axes = tuple(value.axes[n] for n in order)
    return msgspec.structs.replace(value, shape=shape, axes=axes)


_RESHAPES: dict[Deed | None, Callable[[Operation, tuple[int, ...], Value], Value | None]] = {
    "spread": lambda _operation, shape, value: _splat(shape, value),
    "insert": _expand,
    "stretch": _broadcast,
    "transpose": _transpose,
}
_ARITHMETIC: dict[Deed | None, Callable[[Value, Value], Value]] = {
    "add": axis_info.add,
    "subtract": lambda a, b: axis_info.add(a, b, -1),
    "multiply": axis_info.multiply,
    "remainder": axis_info.remainder,
    "remainder unsigned": axis_info.remainder,
    "divide": axis_info.quotient,
    "divide unsigned": axis_info.quotient,
}


def _hinted(operation: Operation, value: Value) -> Value:
    """Apply the hints of ``tl.multiple_of`` and the like."""
    divisor = operation.integers(DIVISIBILITY)
    if divisor:
        value = msgspec.structs.replace(
            value, divisor=max(value.divisor, axis_info.power(min(divisor)))
        )
    for attribute, step in (("tt.contiguity", 1), ("tt.constancy", 0)):
        runs = operation.integers(attribute)
        if len(runs) == len(value.axes) and max(runs, default=0) > 1:
            axes = tuple(
                axis if run <= axis.run else Axis(run, step, None, ANY if step == 0 else 1)
                for axis, run in zip(value.axes, map(axis_info.power, runs), strict=True)
            )
            value = msgspec.structs.replace(value, axes=axes)
    return value


def _result_shape(operation: Operation) -> tuple[int, ...] | None:
    """Return the shape of an operation's result, empty for a scalar; ``None`` for other types."""
    kind = operation.result_type
    pointer = isinstance(kind, Pointer) and not isinstance(kind.pointee, Tensor)
    return kind.shape if pointer or isinstance(kind, Tensor) or _is_integer(kind) else None


def _is_integer(kind: Type | None) -> bool:
    return isinstance(kind, Scalar) and kind.is_integer
