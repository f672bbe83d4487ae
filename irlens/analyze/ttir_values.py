"""What is known of the integers and pointers that an operation of a ttir computes."""

import re
from collections.abc import Callable

import msgspec

from irlens.analyze import strides
from irlens.analyze.strides import ANY, Axis, Value
from irlens.isa.mlir import Operation
from irlens.isa.mlir.types import element_bits, read_shaped

_POINTER = re.compile(r"!tt\.ptr<([^<>,]+)(?:, \d+)?>")
_NUMBER = re.compile(r"(?:dense<)?(-?[0-9]{1,18})>?")
_HINT = re.compile(r"dense<\[?([0-9, ]{1,60})\]?>")
_SAME = frozenset({"arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast"})


def evaluate(operation: Operation, shape: tuple[int, ...], operands: list[Value]) -> Value:
    """Return what is known of an operation's only result.

    Args:
        operation: It must have one.
        shape: Of the result.
        operands: What is known of the operands, in their order.
    """
    value = _result(operation, shape, operands)
    # A damaged text may have shapes that do not go together.
    if value is None or value.shape != shape or len(value.axes) != len(shape):
        value = strides.unknown(shape)
    return _hinted(operation, value)


def _result(operation: Operation, shape: tuple[int, ...], operands: list[Value]) -> Value | None:
    """Evaluate an operation; ``None`` where nothing is known of its result."""
    name = operation.name
    if name == "arith.constant":
        return _constant(operation, shape)
    if name == "tt.make_range" and len(shape) == 1:
        start = leading_number(operation.attributes.get("start"), 0)
        return Value(shape, (Axis(shape[0], 1, None, 1),), strides.power(start))
    if name in ("tt.get_program_id", "tt.get_num_programs"):
        return strides.unknown()
    if not operands:
        return None
    if name in _SAME:
        return operands[0]
    if name in _RESHAPES:
        return _RESHAPES[name](operation, shape, operands[0])
    if any(operand.shape != operands[0].shape for operand in operands):
        return None
    if name in ("arith.cmpi", "tt.addptr", *_ARITHMETIC):
        return _of_two(operation, *operands) if len(operands) == 2 else None
    if name.startswith(("arith.", "math.")) or name == "tt.load":
        return strides.elementwise(*operands)
    return None


def _constant(operation: Operation, shape: tuple[int, ...]) -> Value | None:
    written = operation.words[0] if operation.words else ""
    if written in ("true", "dense<true>", "false", "dense<false>"):
        return strides.number(int("true" in written), shape)
    found = _NUMBER.fullmatch(written)
    return strides.number(int(found[1]), shape) if found else None


def _of_two(operation: Operation, a: Value, b: Value) -> Value | None:
    if operation.name == "arith.cmpi":
        return strides.compare(operation.words[0], a, b) if operation.words else None
    if operation.name == "tt.addptr":
        return _moved(operation, a, b)
    return _ARITHMETIC[operation.name](a, b)


def _moved(operation: Operation, pointer: Value, offset: Value) -> Value | None:
    bits = pointee_bits(operation.operand_types[0]) if operation.operand_types else None
    if bits is None:
        return None
    size = strides.number(max(bits // 8, 1), offset.shape)
    return strides.add(pointer, strides.multiply(offset, size))


def _splat(_operation: Operation, shape: tuple[int, ...], value: Value) -> Value:
    axes = tuple(map(strides.still, shape))
    return Value(shape, axes, value.divisor, value.constant, value.symbol)


def _expand(operation: Operation, shape: tuple[int, ...], value: Value) -> Value | None:
    axis = leading_number(operation.attributes.get("axis"), -1)
    if not 0 <= axis <= len(value.axes):
        return None
    axes = (*value.axes[:axis], strides.still(1), *value.axes[axis:])
    return msgspec.structs.replace(value, shape=shape, axes=axes)


def _broadcast(_operation: Operation, shape: tuple[int, ...], value: Value) -> Value | None:
    if len(shape) != len(value.shape):
        return None
    axes = tuple(
        strides.still(wide) if narrow == 1 else axis
        for axis, narrow, wide in zip(value.axes, value.shape, shape, strict=True)
    )
    return msgspec.structs.replace(value, shape=shape, axes=axes)


def _transpose(operation: Operation, shape: tuple[int, ...], value: Value) -> Value | None:
    order = [
        int(number) for number in re.findall(r"[0-9]{1,2}", operation.attributes.get("order", ""))
    ]
    order = order[: len(value.shape)]
    if sorted(order) != list(range(len(value.shape))):
        return None
    axes = tuple(value.axes[n] for n in order)
    return msgspec.structs.replace(value, shape=shape, axes=axes)


_RESHAPES: dict[str, Callable[[Operation, tuple[int, ...], Value], Value | None]] = {
    "tt.splat": _splat,
    "tt.expand_dims": _expand,
    "tt.broadcast": _broadcast,
    "tt.trans": _transpose,
}
_ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "arith.addi": strides.add,
    "arith.subi": lambda a, b: strides.add(a, b, -1),
    "arith.muli": strides.multiply,
    "arith.remsi": strides.remainder,
    "arith.remui": strides.remainder,
    "arith.divsi": strides.quotient,
    "arith.divui": strides.quotient,
}


def _hinted(operation: Operation, value: Value) -> Value:
    """Believe what ``tl.multiple_of`` and its like promise."""
    divisor = _hint(operation, "tt.divisibility")
    if divisor:
        value = msgspec.structs.replace(
            value, divisor=max(value.divisor, strides.power(min(divisor)))
        )
    for attribute, step in (("tt.contiguity", 1), ("tt.constancy", 0)):
        runs = _hint(operation, attribute)
        if len(runs) == len(value.axes) and max(runs, default=0) > 1:
            axes = tuple(
                axis if run <= axis.run else Axis(run, step, None, ANY if step == 0 else 1)
                for axis, run in zip(value.axes, map(strides.power, runs), strict=True)
            )
            value = msgspec.structs.replace(value, axes=axes)
    return value


def _hint(operation: Operation, name: str) -> list[int]:
    found = _HINT.match(operation.attributes.get(name, ""))
    return [int(part) for part in found[1].split(",") if part.strip()] if found else []


def leading_number(written: str | None, default: int = 1) -> int:
    """Return the number that an attribute (``16 : i32``) begins with."""
    number = (written or "").partition(" ")[0]
    return int(number) if number.isdecimal() and len(number) < 10 else default


def result_shape(operation: Operation) -> tuple[int, ...] | None:
    """Return the shape of an operation's result, empty for a scalar; ``None`` for other types."""
    types = operation.result_types or operation.operand_types
    written = types[0] if types else ""
    if _POINTER.fullmatch(written) or re.fullmatch(r"i[0-9]{1,3}|index", written):
        return ()
    tensor = read_shaped(written) if written.startswith("tensor<") else None
    return tensor.shape if tensor else None


def pointee_bits(written: str) -> int | None:
    """Return the width in bits of what a pointer, or a tensor of them, points to."""
    found = _POINTER.search(written)
    return element_bits(found[1]) if found else None
