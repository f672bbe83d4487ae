"""Writes integers, tensors of them, conditions and masks."""

from collections.abc import Callable
from math import prod
from random import Random
from typing import Any

import numpy as np

from tests.analyze.random_ttir.machine import (
    LOGIC,
    OPERATIONS,
    PREDICATES,
    Machine,
    Shape,
    Step,
    Value,
    type_of,
    unsigned,
    wrap,
)


class Integers:
    """Writes the integers of a random kernel.

    Args:
        random: Where the choices come from.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.operations: dict[int, tuple[str, int]] = {}
        self.scope: list[Value] = []
        self.steps: list[Step] = []
        self.pointers: list[Value] = []
        self.index: list[Value] = []
        self.functions: list[tuple[str, list[Value], list[Step], Value]] = []
        self._count = 0
        self._depth = 0

    def name(self) -> str:
        """Return a new name."""
        self._count += 1
        return f"%v{self._count}"

    def write(self, text: str) -> int:
        """Write a line and return its number."""
        self.lines.append("  " * (self._depth + 2) + text)
        return len(self.lines)

    def emit(
        self, text: str, element: str, shape: Shape, compute: Callable[[Machine], Any]
    ) -> Value:
        """Write an operation that computes one value."""
        value = Value(self.name(), element, shape)
        self.write(f"{value.name} = {text}")

        def step(machine: Machine) -> None:
            machine.values[value.name] = compute(machine)

        self.steps.append(step)
        self.scope.append(value)
        return value

    def pick(self, element: str, shape: Shape) -> Value | None:
        """Return a value that there is."""
        found = [each for each in self.scope if each.element == element and each.shape == shape]
        return self.random.choice(found) if found else None

    # Integers

    def constant(self, number: int, element: str = "i32", shape: Shape = ()) -> Value:
        """Write a constant."""
        kind = type_of(element, shape)
        text = f"dense<{number}>" if shape else str(number)
        return self.emit(
            f"arith.constant {text} : {kind}", element, shape, lambda _m: np.full(shape, number)
        )

    def scalar(self, depth: int = 1) -> Value:
        """Write a scalar of 32 bits."""
        choice = self.random.randrange(8)
        known = self.pick("i32", ())
        if choice < 3 and known:
            return known
        if choice < 5 or depth <= 0:
            axis = self.random.randrange(3)
            if self.random.random() < 0.2:
                return self.emit(
                    f"tt.get_num_programs {'xyz'[axis]} : i32",
                    "i32",
                    (),
                    lambda m: np.int64(m.grid[axis]),
                )
            return self.emit(
                f"tt.get_program_id {'xyz'[axis]} : i32",
                "i32",
                (),
                lambda m: np.int64(m.program[axis]),
            )
        if choice == 5:
            return self.constant(self.random.choice([0, 1, 2, 3, 5, 8, 13, 64, -1, -7, 1000003]))
        return self.arithmetic((), "i32", depth)

    def integer(self, shape: Shape, element: str = "i32", depth: int = 2) -> Value:
        """Write an integer, or a tensor of them."""
        if not shape and element == "i32":
            return self.scalar(depth)
        known = self.pick(element, shape)
        if known and self.random.random() < 0.3:
            return known
        if element == "i64":
            return self.widened(shape, depth)
        if not shape or depth <= 0 or self.random.random() < 0.3:
            return self.along(shape) if self.random.random() < 0.7 else self.splat(shape)
        return self.arithmetic(shape, element, depth)

    def widened(self, shape: Shape, depth: int) -> Value:
        """Write integers of 64 bits from others of 32."""
        source = self.integer(shape, "i32", depth - 1)
        kinds = f"{source.type} to {type_of('i64', shape)}"
        if self.random.random() < 0.8:
            text = f"arith.extsi {source.name} : {kinds}"
            value = self.emit(text, "i64", shape, lambda m: m.values[source.name])
        else:
            text = f"arith.extui {source.name} : {kinds}"
            value = self.emit(
                text,
                "i64",
                shape,
                lambda m: unsigned(m.values[source.name], "i32").astype(np.int64),
            )
        if depth > 0 and self.random.random() < 0.5:
            return self.binary(value, self.widened(shape, depth - 1), "i64")
        return value

    def splat(self, shape: Shape) -> Value:
        """Write a tensor of one number."""
        if self.random.random() < 0.3:
            return self.constant(self.random.randrange(-3, 20), "i32", shape)
        source = self.scalar()
        return self.emit(
            f"tt.splat {source.name} : i32 -> {type_of('i32', shape)}",
            "i32",
            shape,
            lambda m: np.broadcast_to(m.values[source.name], shape),
        )

    def along(self, shape: Shape) -> Value:
        """Write the indices along one axis of a tensor."""
        axis = self.random.randrange(len(shape))
        extent = shape[axis]
        start = self.random.choice([0, 0, 0, 4])
        line = self.emit(
            f"tt.make_range {{end = {start + extent} : i32, start = {start} : i32}} : "
            f"tensor<{extent}xi32>",
            "i32",
            (extent,),
            lambda _m: np.arange(start, start + extent),
        )
        if self.random.random() < 0.7:
            line = self.step_of(line)
        return self.broadcast(line, axis, shape)

    def step_of(self, value: Value) -> Value:
        """Write a multiple of a value, moved by a scalar."""
        factor = self.constant(self.random.choice([1, 2, 3, 8, 33]), "i32", value.shape)
        scaled = self.operation("arith.muli", value, factor)
        offset = self.step_scalar()
        moved = self.emit(
            f"tt.splat {offset.name} : i32 -> {value.type}",
            "i32",
            value.shape,
            lambda m: np.broadcast_to(m.values[offset.name], value.shape),
        )
        return self.operation("arith.addi", scaled, moved)

    def step_scalar(self) -> Value:
        """Write a scalar times a constant."""
        return self.operation(
            "arith.muli", self.scalar(), self.constant(self.random.choice([1, 4, 8, 16, -8]))
        )

    def broadcast(self, line: Value, axis: int, shape: Shape) -> Value:
        """Write a tensor whose elements vary along one axis as those of a line do."""
        value = line
        current = list(line.shape)
        if len(shape) > 1 and self.random.random() < 0.2:
            full = tuple(extent if n == axis else 1 for n, extent in enumerate(shape))
            value = self.reshaped(value, full)
            current = list(full)
        for position in range(len(shape)):
            if len(current) == len(shape):
                break
            if position == axis:
                continue
            current.insert(position, 1)
            source, wanted = value, tuple(current)
            value = self.emit(
                f"tt.expand_dims {source.name} {{axis = {position} : i32}} : "
                f"{source.type} -> {type_of(source.element, wanted)}",
                source.element,
                wanted,
                lambda m, source=source, wanted=wanted: m.values[source.name].reshape(wanted),  # type: ignore[misc]  # bound now
            )
        if value.shape == shape:
            return value
        narrow = value
        return self.emit(
            f"tt.broadcast {narrow.name} : {narrow.type} -> {type_of(narrow.element, shape)}",
            narrow.element,
            shape,
            lambda m: np.broadcast_to(m.values[narrow.name], shape),
        )

    def reshaped(self, value: Value, shape: Shape) -> Value:
        """Write a tensor of another shape with the same elements."""
        return self.emit(
            f"tt.reshape {value.name} : {value.type} -> {type_of(value.element, shape)}",
            value.element,
            shape,
            lambda m: m.values[value.name].reshape(shape),
        )

    def arithmetic(self, shape: Shape, element: str, depth: int) -> Value:
        """Write an operation on integers."""
        choice = self.random.random()
        if choice < 0.15:
            return self.select(shape, element, depth)
        if choice < 0.25 and len(shape) > 1:
            return self.transposed(shape, element, depth)
        if choice < 0.3 and shape:
            flat = self.integer((prod(shape),), element, depth - 1)
            return self.reshaped(flat, shape) if flat.shape != shape else flat
        if choice < 0.35:
            flag = self.flag(shape, depth - 1)
            signed = self.random.random() < 0.5
            return self.emit(
                f"arith.{'extsi' if signed else 'extui'} {flag.name} : "
                f"{flag.type} to {type_of(element, shape)}",
                element,
                shape,
                lambda m: m.values[flag.name].astype(np.int64) * (-1 if signed else 1),
            )
        if choice < 0.4 and element == "i32":
            wide = self.widened(shape, depth - 1)
            return self.emit(
                f"arith.trunci {wide.name} : {wide.type} to {type_of('i32', shape)}",
                "i32",
                shape,
                lambda m: wrap(m.values[wide.name], "i32"),
            )
        left = self.integer(shape, element, depth - 1)
        return self.binary(left, self.integer(shape, element, depth - 1), element)

    def binary(self, left: Value, right: Value, element: str) -> Value:
        """Write an operation on two integers, whose result is defined."""
        name = self.random.choice(["addi", "muli", *OPERATIONS])
        if name[:2] == "sh" and self.random.random() < 0.5:
            name = "addi"
        if name[:3] in ("div", "rem"):
            divisor = self.random.choice([1, 2, 3, 5, 8, -3] if name[-2] == "s" else [1, 2, 3, 8])
            right = self.constant(divisor, element, left.shape)
        if name[:2] == "sh":
            right = self.constant(self.random.randrange(5), element, left.shape)
        return self.operation(f"arith.{name}", left, right)

    def operation(self, name: str, left: Value, right: Value) -> Value:
        """Write an operation on two integers."""
        function, element = OPERATIONS[name.removeprefix("arith.")], left.element
        return self.emit(
            f"{name} {left.name}, {right.name} : {left.type}",
            element,
            left.shape,
            lambda m: wrap(function(m.values[left.name], m.values[right.name], element), element),
        )

    def select(self, shape: Shape, element: str, depth: int) -> Value:
        """Write a choice between two integers."""
        left = self.integer(shape, element, depth - 1)
        right = self.integer(shape, element, depth - 1)
        scalar = self.random.random() < 0.3 or not shape
        flag = self.flag(() if scalar else shape, depth - 1)
        kinds = left.type if not shape else f"{flag.type}, {left.type}"
        if shape and scalar:
            kinds = f"{left.type}"
        return self.emit(
            f"arith.select {flag.name}, {left.name}, {right.name} : {kinds}",
            element,
            shape,
            lambda m: np.where(m.values[flag.name], m.values[left.name], m.values[right.name]),
        )

    def transposed(self, shape: Shape, element: str, depth: int) -> Value:
        """Write a tensor with its axes in another order."""
        order = list(range(len(shape)))
        self.random.shuffle(order)
        source_shape = [0] * len(shape)
        for position, axis in enumerate(order):
            source_shape[axis] = shape[position]
        source = self.integer(tuple(source_shape), element, depth - 1)
        return self.emit(
            f"tt.trans {source.name} {{order = array<i32: {', '.join(map(str, order))}>}} : "
            f"{source.type} -> {type_of(element, shape)}",
            element,
            shape,
            lambda m: np.transpose(m.values[source.name], order),
        )

    # Conditions and masks

    def flag(self, shape: Shape, depth: int = 2) -> Value:
        """Write a condition, or a mask."""
        known = self.pick("i1", shape)
        if known and self.random.random() < 0.2:
            return known
        choice = self.random.random()
        if depth > 0 and choice < 0.4:
            left, right = self.flag(shape, depth - 1), self.flag(shape, depth - 1)
            name = self.random.choice(["andi", "andi", *LOGIC])
            function = LOGIC[name]
            return self.emit(
                f"arith.{name} {left.name}, {right.name} : {left.type}",
                "i1",
                shape,
                lambda m: function(m.values[left.name], m.values[right.name]),
            )
        if shape and choice < 0.5:
            source = self.flag((), depth - 1)
            return self.emit(
                f"tt.splat {source.name} : i1 -> {type_of('i1', shape)}",
                "i1",
                shape,
                lambda m: np.broadcast_to(m.values[source.name], shape),
            )
        if shape and len(shape) > 1 and choice < 0.7:
            axis = self.random.randrange(len(shape))
            return self.broadcast(self.comparison((shape[axis],)), axis, shape)
        return self.comparison(shape)

    def comparison(self, shape: Shape) -> Value:
        """Write a comparison of integers."""
        element = "i64" if self.random.random() < 0.2 else "i32"
        left = self.integer(shape, element, 1)
        if shape and self.random.random() < 0.6 and element == "i32":
            right = self.splat(shape)
        else:
            right = self.integer(shape, element, 1)
        name = self.random.choice(["slt"] * 5 + ["sle", "sgt", "sge", "eq", "ne"] + ["ult", "uge"])
        compare = PREDICATES[name.lstrip("su") if name not in ("ult", "uge") else name[1:]]
        if name[0] == "u":
            return self.emit(
                f"arith.cmpi {name}, {left.name}, {right.name} : {left.type}",
                "i1",
                shape,
                lambda m: compare(
                    unsigned(m.values[left.name], element), unsigned(m.values[right.name], element)
                ),
            )
        return self.emit(
            f"arith.cmpi {name}, {left.name}, {right.name} : {left.type}",
            "i1",
            shape,
            lambda m: compare(m.values[left.name], m.values[right.name]),
        )
