"""Constant propagation through the integer instructions of a PTX program.

Only values that do not depend on the thread, the arguments or memory are known. That suffices for
a ring of buffers: its index starts at a constant and wraps at one, so the buffer that every
iteration uses is known.
"""

import operator
from collections.abc import Callable, Mapping

from irlens.isa.ptx import Address, Function, Immediate, Instruction, Operand, Register, Symbol
from irlens.isa.ptx.operands import Negated, Pair
from irlens.isa.ptx.registers import access
from irlens.model.several import all_known

#: Known values of registers, unsigned; predicates are 0 or 1.
Values = dict[str, int]

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "lo": operator.lt,
    "ls": operator.le,
    "hi": operator.gt,
    "hs": operator.ge,
}
_UNARY: dict[str, Callable[[int], int]] = {
    "abs": abs,
    "mov": operator.pos,
    "neg": operator.neg,
    "not": operator.invert,
}
_BINARY: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "and": operator.and_,
    "max": max,
    "min": min,
    "or": operator.or_,
    "sub": operator.sub,
    "xor": operator.xor,
}
#: Distance between the addresses that variables are given; only that they are far apart matters.
_SPACING = 1 << 24
_MOST_VARIABLES = 200


def _ambiguous(function: Function) -> frozenset[str]:
    """Return names of registers, without their numbers, that more than one scope declares."""
    scopes: dict[str, set[int]] = {}
    for group in function.registers:
        scopes.setdefault(_stem(group.name), set()).add(group.scope)
    return frozenset(name for name, declared in scopes.items() if len(declared) > 1)


def _stem(name: str) -> str:
    return name.rstrip("0123456789")


class Evaluator:
    """Evaluates integer instructions as far as their operands are known.

    Names that different ``{ }`` scopes declare again are not evaluated.
    """

    def __init__(self, function: Function) -> None:
        self._ambiguous = _ambiguous(function)
        self._variables: dict[str, int] = {}
        #: What each instruction writes, by its offset: a loop's are executed many times.
        self._written: dict[int, tuple[str, ...]] = {}

    def address(self, operand: Operand, values: Mapping[str, int]) -> int | None:
        """Return the value of ``[base+offset]``, or of a register or name with an address."""
        if not isinstance(operand, Address):
            return self._value(operand, values)
        base = self._value(operand.base, values)
        return None if base is None else base + operand.offset & 0xFFFF_FFFF

    def execute(self, instruction: Instruction, values: Values) -> None:
        """Update the known values with the effect of an instruction."""
        written = self._written.get(instruction.start)
        if written is None:
            accessed = access(instruction)
            written = accessed.writes if accessed is not None else ()
            self._written[instruction.start] = written
        result = self._result(instruction, values) if len(written) == 1 else None
        for name in written:
            changed = values.get(name) != result
            if result is None or (changed and instruction.predicate is not None):
                values.pop(name, None)
            elif _stem(name) not in self._ambiguous:
                values[name] = result

    def _value(self, operand: Operand, values: Mapping[str, int]) -> int | None:
        match operand:
            case Register(name=name):
                return values.get(name)
            case Immediate(value=int() as value):
                return value
            case Negated(operand=inner):
                negated = self._value(inner, values)
                return None if negated is None else 1 - negated
            case Symbol(name=name) if len(self._variables) < _MOST_VARIABLES:
                return self._variables.setdefault(name, _SPACING * (1 + len(self._variables)))
        return None

    def _result(self, instruction: Instruction, values: Mapping[str, int]) -> int | None:
        destination, *sources = instruction.operands or (None,)
        if isinstance(destination, Pair):
            return None
        inputs = [self._value(source, values) for source in sources]
        kind = instruction.modifiers[-1] if instruction.modifiers else ""
        if instruction.opcode == "selp" and len(inputs) == 3:
            chosen = inputs[2]
            value = None if chosen is None else inputs[0 if chosen else 1]
            # Both sides alike: no need to know which.
            return inputs[0] if inputs[0] == inputs[1] else value
        known = all_known(inputs)
        if known is None:
            return None
        if instruction.opcode in ("cvt", "cvta"):
            return _convert(instruction, known)
        if kind == "pred":
            known = [value & 1 for value in known]
            result = _compute(instruction.opcode, instruction.modifiers, 1, known)
            return None if result is None else result & 1
        width, signed = _type(kind)
        if width is None:
            return None
        numbers = [_wrap(value, width, signed) for value in known]
        if instruction.opcode == "setp":
            return _compared(instruction.modifiers, numbers)
        if instruction.opcode == "mul" and "wide" in instruction.modifiers:
            width *= 2
        if instruction.opcode == "mad" and "wide" in instruction.modifiers:
            numbers[2:] = [_wrap(value, 2 * width, signed) for value in known[2:]]
            width *= 2
        result = _compute(instruction.opcode, instruction.modifiers, width, numbers)
        return None if result is None else result & ((1 << width) - 1)


def _type(kind: str) -> tuple[int | None, bool]:
    """Return the width in bits of an integer type, else ``None``, and whether it is signed."""
    if kind[:1] in ("b", "u", "s") and kind[1:] in ("8", "16", "32", "64"):
        return int(kind[1:]), kind[0] == "s"
    return None, False


def _wrap(value: int, width: int, signed: bool) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


def _convert(instruction: Instruction, inputs: list[int]) -> int | None:
    """Evaluate ``cvt`` between integers, and ``cvta``, whose windows only shift addresses."""
    if len(inputs) != 1:
        return None
    if instruction.opcode == "cvta":
        return inputs[0]
    if len(instruction.modifiers) != 2:
        return None
    (to, _), (source, signed) = map(_type, instruction.modifiers)
    if to is None or source is None:
        return None
    return _wrap(inputs[0], source, signed) & ((1 << to) - 1)


def _compared(modifiers: tuple[str, ...], inputs: list[int]) -> int | None:
    compare = _COMPARE.get(modifiers[0])
    if compare is None or len(modifiers) != 2 or len(inputs) != 2:
        return None
    return int(compare(*inputs))


def _compute(opcode: str, modifiers: tuple[str, ...], width: int, inputs: list[int]) -> int | None:
    """Return the result of an instruction before truncation; ``None`` if it is not evaluated."""
    if "cc" in modifiers or "sat" in modifiers:
        return None
    match inputs:
        case [a] if opcode in _UNARY:
            return _UNARY[opcode](a)
        case [a, b] if opcode in _BINARY:
            return _BINARY[opcode](a, b)
        case [a, b] if opcode == "mul":
            return a * b >> (width if "hi" in modifiers else 0)
        case [a, b, c] if opcode == "mad" and "hi" not in modifiers:
            return a * b + c
        case [a, b] if opcode in ("shl", "shr"):
            # Amounts beyond the width shift everything out.
            amount = min(b & 0xFFFF_FFFF, width)
            return a << amount if opcode == "shl" else a >> amount
        case [a, b] if opcode in ("div", "rem") and b:
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return quotient if opcode == "div" else a - b * quotient
    return None
