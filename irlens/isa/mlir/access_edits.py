"""Edits of a ttir's accesses: other addresses of an atomic, values in place of a load."""

import re
from collections.abc import Collection, Sequence
from math import prod

from irlens.isa.mlir.global_memory import loaded_type
from irlens.isa.mlir.module import Module
from irlens.isa.mlir.tree import Operation
from irlens.isa.mlir.types import Tensor, Type

#: How the names of values begin that an edit adds.
_OWN = "%irlens"
_LOAD = re.compile(r"(.* = tt\.load [^{:]*?)(?:\{(.*?)\} )?(: .*)")
_VALUE = re.compile(r"%[\w$.#-]+")


def with_own_addresses(module: Module, atomic: Operation) -> str:
    """Return the text in which each program updates other addresses with an atomic.

    Its addresses are as far on as all programs before it update elements.

    Args:
        atomic: An atomic operation on one line, whose first operand is its address.
    """
    pointers = atomic.operand_types[0] if atomic.operand_types else None
    lines = module.text.split("\n")
    at = atomic.span.line - 1
    head, _, rest = lines[at].partition(f" {atomic.name} ")
    address = _VALUE.search(rest)
    if pointers is None or address is None:
        return module.text
    moved, shape = f"{_OWN}_address", pointers.shape if isinstance(pointers, Tensor) else ()
    added = [
        *_program_number(),
        f"{_OWN}_wide = arith.extsi {_OWN}_program : i32 to i64",
        f"{_OWN}_elements = arith.constant {prod(shape)} : i64",
        f"{_OWN}_first = arith.muli {_OWN}_wide, {_OWN}_elements : i64",
        f"{moved} = tt.addptr {address[0]}, {_OWN}_first : {pointers}, i64",
    ]
    if shape:
        offsets = f"tensor<{'x'.join(map(str, shape))}xi64>"
        added[-1:] = [
            f"{_OWN}_offsets = tt.splat {_OWN}_first : i64 -> {offsets}",
            f"{moved} = tt.addptr {address[0]}, {_OWN}_offsets : {pointers}, {offsets}",
        ]
    rest = f"{rest[: address.start()]}{moved}{rest[address.end() :]}"
    lines[at : at + 1] = [*added, f"{head} {atomic.name} {rest}"]
    return "\n".join(lines)


def _program_number() -> list[str]:
    """Return the lines that number the programs of a grid of up to three dimensions."""
    lines = [f"{_OWN}_program_z = tt.get_program_id z : i32"]
    above = f"{_OWN}_program_z"
    for axis in "yx":
        name = f"{_OWN}_program" if axis == "x" else f"{_OWN}_program_{axis}"
        lines += [
            f"{name}_id = tt.get_program_id {axis} : i32",
            f"{name}_extent = tt.get_num_programs {axis} : i32",
            f"{name}_rows = arith.muli {above}, {name}_extent : i32",
            f"{name} = arith.addi {name}_rows, {name}_id : i32",
        ]
        above = name
    return lines


def can_be_kept(load: Operation) -> bool:
    """Whether ``with_kept`` has values of a load's type."""
    kind = loaded_type(load)
    element = kind.element if isinstance(kind, Tensor) else kind
    return str(element) in _INTEGERS


#: Integers of the same size as each type of an element.
_INTEGERS = {
    "f64": "i64", "f32": "i32", "f16": "i16", "bf16": "i16", "i64": "i64", "i32": "i32",
    "i16": "i16", "i8": "i8", "i1": "i1",
}  # fmt: skip


def is_narrow_value(load: Operation) -> bool:
    """Whether a load returns a scalar of fewer than four bytes."""
    kind = loaded_type(load)
    return not isinstance(kind, Tensor) and (kind.bits or 32) < 32 and str(kind) in _INTEGERS


def with_four_bytes(module: Module, load: Operation) -> str:
    """Return the text in which a load reads four bytes, see ``is_narrow_value``."""
    kind, (result, _) = loaded_type(load), load.results[0]
    lines, at, bits = module.text.split("\n"), load.span.line - 1, _INTEGERS[str(kind)]
    pointer, wide, narrow = (f"{_OWN}_{result[1:]}_{part}" for part in ("pointer", "wide", "bits"))
    _, placed, location = lines[at].rpartition(" loc(")
    operands = ", ".join([pointer, *load.operands[1:2]])  # its mask; what is masked is undefined
    last = f"{result} = tt.bitcast {narrow} : {bits} -> {kind}"
    lines[at] = "\n".join(
        [
            f"{pointer} = tt.bitcast {load.operands[0]} : {load.operand_type} -> !tt.ptr<i32>",
            f"{wide} = tt.load {operands} : !tt.ptr<i32>{placed}{location if placed else ''}",
            f"{result if bits == str(kind) else narrow} = arith.trunci {wide} : i32 to {bits}",
            *([] if bits == str(kind) else [last]),
        ]
    )
    return "\n".join(lines)


def with_own_loads(module: Module, load: Operation) -> str:
    """Return the text with a load, and its transposition, for each operation that uses one.

    Each has an attribute of its own: loads that differ in nothing become one.
    """
    lines, chain = module.text.split("\n"), [load]
    at = {each.span.line - 1: each for each in module.operations}
    while len(users := _uses(lines, chain[-1])) == 1 and at[users[0]].does == "transpose":
        chain.append(at[users[0]])
    match, last = _LOAD.fullmatch(lines[load.span.line - 1]), chain[-1].span.line - 1
    if match is None:
        return module.text
    before, attributes, after = match.groups()
    transposed = [lines[each.span.line - 1] for each in chain[1:]]
    for number, row in enumerate(users[1:], 2):
        given = ", ".join(filter(None, [attributes, f"tt.irlens = {number} : i32"]))
        copies = "\n".join([f"{before}{{{given}}} {after}", *transposed])
        for place, each in enumerate(chain):
            own, used = f"{_OWN}_{number}_{place}", _used(each)
            copies, lines[row] = used.sub(own, copies), used.sub(own, lines[row])
        lines[last] += f"\n{copies}"
    return "\n".join(lines)


def _used(operation: Operation) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(operation.results[0][0])}(?![\w$.#-])")


def _uses(lines: Sequence[str], operation: Operation) -> list[int]:
    """Return the rows that use an operation's result."""
    own, used = operation.span.line - 1, _used(operation)
    return [row for row, line in enumerate(lines) if row != own and used.search(line)]


def with_bound(module: Module, access: Operation, argument: str, size: int) -> str:
    """Return the ttir with a mask on an access, so that it stays within its tensor.

    Args:
        argument: The tensor: its address without "%".
        size: Bytes of the tensor.
    """
    pointers, at, given = access.operand_types[0], access.span.line - 1, list(access.operands)
    numbers, truth = _with_element(pointers, "i64"), _with_element(pointers, "i1")
    begin, extent = f"%{argument}", str(size)
    added, place = list[str](), 1 if access.does == "load" else 2
    mask = f"{_OWN}_mask_0"
    if isinstance(pointers, Tensor):
        begin, extent = f"{_OWN}_tensor", f"dense<{size}>"
        added.append(f"{begin} = tt.splat %{argument} : {pointers.element} -> {pointers}")
    added += [
        f"{_OWN}_begin = tt.ptr_to_int {begin} : {pointers} -> {numbers}",
        f"{_OWN}_address = tt.ptr_to_int {given[0]} : {pointers} -> {numbers}",
        f"{_OWN}_offset = arith.subi {_OWN}_address, {_OWN}_begin : {numbers}",
        f"{_OWN}_extent = arith.constant {extent} : {numbers}",
        f"{_OWN}_zero = arith.subi {_OWN}_extent, {_OWN}_extent : {numbers}",
        f"{_OWN}_behind = arith.cmpi sge, {_OWN}_offset, {_OWN}_zero : {numbers}",
        f"{_OWN}_before = arith.cmpi slt, {_OWN}_offset, {_OWN}_extent : {numbers}",
        f"{_OWN}_mask_0 = arith.andi {_OWN}_behind, {_OWN}_before : {truth}",
    ]
    if len(given) > place:
        mask = f"{_OWN}_mask_1"
        added.append(f"{mask} = arith.andi {_OWN}_mask_0, {given[place]} : {truth}")
    new = ", ".join([*given[:place], mask, *given[place + 1 :]])
    lines = module.text.split("\n")
    lines[at] = lines[at].replace(", ".join(given), new, 1)
    return "\n".join([*lines[:at], *added, *lines[at:]])


def with_moving_address(module: Module, access: Operation, dimension: int) -> str:
    """Return the ttir with an access whose address moves along a dimension, past all others."""
    pointers, at = access.operand_types[0], access.span.line - 1
    if not isinstance(pointers, Tensor):
        return module.text
    extent, name = pointers.shape[dimension], f"{_OWN}_along"
    shape, kind = [extent], f"tensor<{extent}xi32>"
    added = [f"{name} = tt.make_range {{end = {extent} : i32, start = 0 : i32}} : {kind}"]
    for other in range(len(pointers.shape)):
        if other != dimension:
            shape.insert(other, 1)
            wider, axis = f"tensor<{'x'.join(map(str, shape))}xi32>", f"{{axis = {other} : i32}}"
            added.append(f"{name}_{other} = tt.expand_dims {name} {axis} : {kind} -> {wider}")
            name, kind = f"{name}_{other}", wider
    numbers = _with_element(pointers, "i32")
    if kind != numbers:
        added.append(f"{name}_wide = tt.broadcast {name} : {kind} -> {numbers}")
        name = f"{name}_wide"
    step, address = prod(pointers.shape) // extent, access.operands[0]
    added += [
        f"{_OWN}_step = arith.constant dense<{step}> : {numbers}",
        f"{_OWN}_moved = arith.muli {name}, {_OWN}_step : {numbers}",
        f"{_OWN}_address = tt.addptr {address}, {_OWN}_moved : {pointers}, {numbers}",
    ]
    lines = module.text.split("\n")
    lines[at] = re.sub(rf"{re.escape(address)}(?![\w$.-])", f"{_OWN}_address", lines[at], count=1)
    return "\n".join([*lines[:at], *added, *lines[at:]])


def with_kept(module: Module, loads: Collection[Operation]) -> str:
    """Return the text without some loads: their values are those bits of their addresses.

    Nothing folds them to constants, and they lie in the layout of the load.

    Args:
        loads: Loads on one line each, see ``can_be_kept``.
    """
    lines = module.text.split("\n")
    for each in loads:
        kind, (result, _), pointers = loaded_type(each), each.results[0], each.operand_type
        element = str(kind.element if isinstance(kind, Tensor) else kind)
        wide, bits = _with_element(kind, "i64"), _with_element(kind, _INTEGERS[element])
        names = [f"{_OWN}_{result[1:]}_address", f"{_OWN}_{result[1:]}_bits"]
        written = [f"{names[0]} = tt.ptr_to_int {each.operands[0]} : {pointers} -> {wide}"]
        if bits != wide:
            written.append(f"{names[1]} = arith.trunci {names[0]} : {wide} to {bits}")
        else:
            names[1] = names[0]
        if str(kind) != bits:
            written.append(f"{result} = tt.bitcast {names[1]} : {bits} -> {kind}")
        else:
            written[-1] = f"{result} = {written[-1].partition(' = ')[2]}"
        lines[each.span.line - 1] = "\n".join(written)
    return "\n".join(lines)


def _with_element(kind: Type, element: str) -> str:
    if not isinstance(kind, Tensor):
        return element
    return f"tensor<{'x'.join(map(str, kind.shape))}x{element}>"
