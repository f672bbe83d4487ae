"""The addresses and masks of a kernel's accesses to global memory, followed through its ttir."""

import re
from collections.abc import Iterator, Mapping

import msgspec

from irlens.analyze import strides
from irlens.analyze.mlir_loops import user_line
from irlens.analyze.ptx_accesses import Direction
from irlens.analyze.strides import Value
from irlens.analyze.ttir_values import evaluate, leading_number, pointee_bits, result_shape
from irlens.isa.mlir import Argument, Module, Operation
from irlens.isa.mlir.values import Value as Name
from irlens.isa.mlir.values import Values
from irlens.model.source import SourceLocation

#: Walks of a kernel until its loops' values must have settled. Real ones take two or three.
_MAX_WALKS = 8

_INTEGER = re.compile(r"i[0-9]{1,3}")


class Access(msgspec.Struct, frozen=True):
    """One ``tt.load`` or ``tt.store`` of a tensor of pointers.

    Attributes:
        direction: "load" or "store".
        location: Innermost frame first.
        source: The user's line of Python.
        line: 1-based line in the ttir.
        element_bytes: Of what is loaded or stored.
        pointer: Addresses in bytes.
        mask: ``None`` where there is none.
    """

    direction: Direction
    location: tuple[SourceLocation, ...]
    source: SourceLocation | None
    line: int
    element_bytes: int
    pointer: Value
    mask: Value | None

    def width(self, elements_per_thread: int, *, masked: bool = True) -> int:
        """Return the bytes that a thread can access at a time, 16 at most.

        Args:
            elements_per_thread: Elements that each thread has.
            masked: Whether to consider the mask, which must be the same for all of them.
        """
        best = 1
        for n, axis in enumerate(self.pointer.axes):
            if axis.step != self.element_bytes or axis.symbol:
                continue
            aligned = self.pointer.divisor_along(n) // self.element_bytes
            allowed = self.mask.axes[n].constant if masked and self.mask else axis.run
            best = max(best, min(axis.run, aligned, allowed))
        widest = max(16 // self.element_bytes, 1)
        return min(best, widest, max(elements_per_thread, 1)) * self.element_bytes


def divisors(module: Module) -> dict[str, int]:
    """Return what is known to divide each integer or pointer argument of the kernel, 16 or 1."""
    return {
        argument.name: leading_number(argument.attributes.get("tt.divisibility"))
        for function in module.named("tt.func")
        for argument in _arguments(function)
        if argument.type and ("!tt.ptr<" in argument.type or _INTEGER.fullmatch(argument.type))
    }


def accesses(module: Module, known: Mapping[str, int]) -> tuple[Access, ...]:
    """Return the accesses of tensors in a kernel, in the order of the text.

    Args:
        module: A ttir.
        known: What divides each argument, by its name with the percent sign.
    """
    return tuple(_Walk(module, known).accesses())


class _Walk:
    """Evaluates the integers of a module, several times over where there are loops."""

    def __init__(self, module: Module, known: Mapping[str, int]) -> None:
        self._module = module
        self._known = known
        self._names = Values(module)
        self._values: dict[Name, Value] = {}

    def accesses(self) -> Iterator[Access]:
        carried: dict[Name, Value] = {}
        for _ in range(_MAX_WALKS):
            before = dict(carried)
            self._evaluate(carried)
            if carried == before:
                break
        else:  # does not settle: give up what the loops carry
            self._evaluate({name: strides.unknown(v.shape) for name, v in carried.items()})
        for operation in self._module.named("tt.load", "tt.store"):
            access = self._access(operation)
            if access is not None:
                yield access

    def _access(self, operation: Operation) -> Access | None:
        operands = self._names.operands[operation.index]
        pointer = self._value(operands[0] if operands else None)
        bits = pointee_bits(operation.operand_types[0]) if operation.operand_types else None
        if pointer is None or not pointer.shape or bits is None:
            return None
        position = 1 if operation.name == "tt.load" else 2
        mask = self._value(operands[position]) if len(operands) > position else None
        if mask is not None and mask.shape != pointer.shape:
            return None
        return Access(
            direction="load" if operation.name == "tt.load" else "store",
            location=operation.location,
            source=user_line(operation),
            line=operation.span.line,
            element_bytes=max(bits // 8, 1),
            pointer=pointer,
            mask=mask,
        )

    def _value(self, name: Name | None) -> Value | None:
        return None if name is None else self._values.get(name)

    def _evaluate(self, carried: dict[Name, Value]) -> None:
        """Walk the module once; ``carried`` holds what loops bring round, and is widened."""
        self._values = {}
        for operation in self._module.operations:
            if operation.name == "tt.func":
                self._define_arguments(operation)
            elif operation.name == "scf.for":
                self._enter_loop(operation, carried)
            elif operation.name == "scf.yield":
                self._leave_region(operation, carried)
            elif operation.results and operation.name != "scf.if":
                self._define(operation)

    def _define_arguments(self, function: Operation) -> None:
        for index, argument in enumerate(_arguments(function)):
            if argument.name in self._known:
                symbol = None if "ptr" in (argument.type or "") else (argument.name, 1)
                value = Value((), (), self._known[argument.name], None, symbol)
                self._values[Name(function.index, index, 0)] = value

    def _enter_loop(self, loop: Operation, carried: dict[Name, Value]) -> None:
        """The induction variable starts at a bound and goes in steps; the rest is carried."""
        operands = [self._value(name) for name in self._names.operands[loop.index]]
        low, step = (operands[n] if len(operands) > n else None for n in (0, 2))
        if low is not None and step is not None:
            divisor = min(low.divisor, step.divisor)
            self._values[Name(loop.index, 0, 0)] = Value((), (), divisor)
        for number, initial in enumerate(operands[3:]):
            if initial is None:
                continue
            value = carried.setdefault(Name(loop.index, number), initial)
            self._values[Name(loop.index, number + 1, 0)] = value
            self._values[Name(loop.index, number)] = value

    def _leave_region(self, end: Operation, carried: dict[Name, Value]) -> None:
        """Join what a region yields into the loop's values, or the results of ``scf.if``."""
        owner = self._module.operations[end.parent] if end.parent is not None else None
        if owner is None or owner.name not in ("scf.for", "scf.if"):
            return
        into = carried if owner.name == "scf.for" else self._values
        for number, operand in enumerate(self._names.operands[end.index]):
            name, value = Name(owner.index, number), self._value(operand)
            known = into.get(name)
            if value is None:
                if known is not None:
                    into[name] = strides.unknown(known.shape)
            elif known is None or known.shape == value.shape:
                into[name] = strides.join(known, value) if known else value

    def _define(self, operation: Operation) -> None:
        shape = result_shape(operation)
        if shape is None or sum(count for _, count in operation.results) != 1:
            return
        operands = [self._value(name) for name in self._names.operands[operation.index]]
        known = [operand for operand in operands if operand is not None]
        complete = len(known) == len(operands)
        value = evaluate(operation, shape, known) if complete else strides.unknown(shape)
        self._values[Name(operation.index, 0)] = value


def _arguments(function: Operation) -> tuple[Argument, ...]:
    """Return a kernel's arguments; of those of a function that it calls nothing is known."""
    if "public" not in function.words or not function.regions or not function.regions[0].blocks:
        return ()
    return function.regions[0].blocks[0].arguments
