"""Writes accesses: through pointers, tensor descriptors and block pointers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.analyze.random_ttir.integers import Integers
from tests.analyze.random_ttir.machine import Box, Machine, Place, Shape, Value, type_of, wrap

#: Bytes of the elements that arguments point to.
SIZES = {"f32": 4, "f16": 2, "bf16": 2, "f64": 8, "i8": 1, "i1": 1, "i32": 4, "f8E4M3FN": 1}
#: What the argument ``index`` points to.
INDEX = np.array([(7 * n + 3) % 23 - 4 for n in range(64)], dtype=np.int32)


class Accesses(Integers):
    """Writes the accesses of a random kernel."""

    def shape(self, most: int = 3) -> Shape:
        """Return the shape of a tensor, or that of a scalar."""
        rank = self.random.choice([0, 1, 1, 1, 2, 2, 3])
        extents = [1, 2, 4, 8] if rank > 1 else [2, 4, 8, 16, 32]
        return tuple(self.random.choice(extents) for _ in range(min(rank, most)))

    def pointer(self, shape: Shape) -> Value:
        """Write the addresses of a tensor's elements."""
        base = self.random.choice(self.pointers)
        if shape:
            base = self.splat_pointer(base, shape)
        for _ in range(self.random.choice([1, 1, 2])):
            base = self.moved(base)
        return base

    def splat_pointer(self, base: Value, shape: Shape) -> Value:
        """Write a tensor of one address."""
        return self.emit(
            f"tt.splat {base.name} : {base.type} -> {type_of(base.element, shape)}",
            base.element,
            shape,
            lambda m: Place(
                m.values[base.name].argument, np.broadcast_to(m.values[base.name].offsets, shape)
            ),
        )

    def moved(self, base: Value) -> Value:
        """Write addresses some elements further."""
        number = self.integer(base.shape, "i64" if self.random.random() < 0.2 else "i32")
        size = SIZES[base.element.removeprefix("!tt.ptr<").removesuffix(">")]
        return self.emit(
            f"tt.addptr {base.name}, {number.name} : {base.type}, {number.type}",
            base.element,
            base.shape,
            lambda m: Place(
                m.values[base.name].argument,
                m.values[base.name].offsets + m.values[number.name] * size,
            ),
        )

    def access(self) -> None:
        """Write a load, a store or an atomic operation."""
        shape = self.shape()
        known = [e for e in self.scope if e.element.startswith("!tt.ptr<") and e.shape == shape]
        if known and shape and self.random.random() < 0.3:
            pointer = self.random.choice(known)
        else:
            pointer = self.pointer(shape)
        element = pointer.element.removeprefix("!tt.ptr<").removesuffix(">")
        mask = self.flag(shape) if self.random.random() < 0.7 else None
        masked = f", {mask.name}" if mask else ""
        operation = self.random.choice(["tt.load", "tt.load", "tt.store", "tt.atomic_rmw"])
        if operation == "tt.atomic_rmw" and element not in ("f32", "i32"):
            operation = "tt.load"
        if operation == "tt.load":
            line = self.write(f"{self.name()} = tt.load {pointer.name}{masked} : {pointer.type}")
        else:
            data = self.name()
            zero = "0" if element[0] == "i" else "0.000000e+00"
            zero = "false" if element == "i1" else zero
            text = f"dense<{zero}>" if shape else zero
            kind = type_of(element, shape)
            self.write(
                f"{data} = arith.constant {text}" + (f" : {kind}" if text != "false" else "")
            )
            if operation == "tt.store":
                line = self.write(f"tt.store {pointer.name}, {data}{masked} : {pointer.type}")
            else:
                mask = mask or self.flag(shape)
                what = "fadd" if element == "f32" else "add"
                line = self.write(
                    f"{self.name()} = tt.atomic_rmw {what}, acq_rel, gpu, {pointer.name}, {data}, "
                    f"{mask.name} : ({pointer.type}, {kind}, {mask.type}) -> {kind}"
                )
        self.operations[line] = operation, SIZES[element]

        def step(machine: Machine) -> None:
            place = machine.values[pointer.name]
            offsets = np.broadcast_to(place.offsets, shape)
            lanes = np.ones(shape, dtype=bool)
            if mask:
                lanes = np.broadcast_to(machine.values[mask.name], shape)
            once = operation != "tt.atomic_rmw"
            machine.accessed(line, place.argument, offsets, lanes, once=once)

        self.steps.append(step)

    def lookup(self) -> None:
        """Write a load of integers, which others may be computed from."""
        shape: Shape = self.random.choice([(), (8,)])
        place = self.integer(shape)
        low, high = self.constant(0, "i32", shape), self.constant(INDEX.size - 1, "i32", shape)
        inside = self.operation("arith.minsi", self.operation("arith.maxsi", place, low), high)
        base = self.index[0]
        if shape:
            base = self.splat_pointer(base, shape)
        pointer = self.emit(
            f"tt.addptr {base.name}, {inside.name} : {base.type}, {inside.type}",
            base.element,
            base.shape,
            lambda m: Place("index", m.values[inside.name] * 4),
        )
        mask = self.flag(shape) if self.random.random() < 0.5 else None
        other = self.integer(shape)
        operands = f"{pointer.name}, {mask.name}, {other.name}" if mask else pointer.name

        def compute(machine: Machine) -> Any:
            found = INDEX[machine.values[inside.name]].astype(np.int64)
            lanes = np.ones(shape, dtype=bool)
            if mask:
                lanes = np.broadcast_to(machine.values[mask.name], shape)
            offsets = np.broadcast_to(machine.values[pointer.name].offsets, shape)
            machine.accessed(line, "index", offsets, lanes)
            return np.where(lanes, found, machine.values[other.name])

        line = len(self.lines) + 1
        self.emit(f"tt.load {operands} : {pointer.type}", "i32", shape, compute)
        self.operations[line] = "tt.load", SIZES["i32"]

    def box(self) -> None:
        """Write an access through a tensor descriptor or a block pointer."""
        rank = self.random.choice([1, 2, 2, 3])
        shape = tuple(self.random.choice([2, 4, 8]) for _ in range(rank))
        base = self.random.choice(self.pointers)
        element = base.element.removeprefix("!tt.ptr<").removesuffix(">")
        extents = [self.random.choice([3, 7, 16, 40]) for _ in range(rank)]
        strides = [self.random.choice([8, 16, 48]) for _ in range(rank - 1)] + [1]
        if self.random.random() < 0.5:
            self._descriptor(base, element, shape, extents, strides)
        else:
            self._block_pointer(base, element, shape, extents, strides)

    def _descriptor(
        self, base: Value, element: str, shape: Shape, extents: list[int], strides: list[int]
    ) -> None:
        sizes = [self.constant(each).name for each in extents]
        steps = [self.constant(each, "i64").name for each in strides]
        kind = type_of(element, shape).removeprefix("tensor<")
        name = self.name()
        self.write(
            f"{name} = tt.make_tensor_descriptor {base.name}, [{', '.join(sizes)}], "
            f"[{', '.join(steps)}] : <{element}>, <{kind}"
        )
        corner = [self.scalar() for _ in shape]
        at = f"{name}[{', '.join(each.name for each in corner)}]"
        size = SIZES[element]

        def box(machine: Machine) -> Box:
            places = [int(machine.values[each.name]) for each in corner]
            return Box(machine.values[base.name], extents, [s * size for s in strides], places)

        self._through_box(at, f"!tt.tensordesc<{kind}", element, shape, box, range(len(shape)))

    def _block_pointer(
        self, base: Value, element: str, shape: Shape, extents: list[int], strides: list[int]
    ) -> None:
        sizes = [self.constant(each, "i64").name for each in extents]
        steps = [self.constant(each, "i64").name for each in strides]
        corner = [self.scalar() for _ in shape]
        order = ", ".join(map(str, reversed(range(len(shape)))))
        kind = type_of(element, shape)
        name = self.name()
        places = ", ".join(each.name for each in corner)
        self.write(
            f"{name} = tt.make_tensor_ptr {base.name}, [{', '.join(sizes)}], [{', '.join(steps)}], "
            f"[{places}] {{order = array<i32: {order}>}} : <{kind}>"
        )
        moves = [corner]
        if self.random.random() < 0.5:
            moves.append([self.scalar() for _ in shape])
            further = self.name()
            self.write(
                f"{further} = tt.advance {name}, [{', '.join(e.name for e in moves[1])}] : <{kind}>"
            )
            name = further
        size = SIZES[element]

        def box(machine: Machine) -> Box:
            places = [
                int(wrap(sum(machine.values[each.name] for each in axis), "i32"))
                for axis in zip(*moves, strict=True)
            ]
            return Box(machine.values[base.name], extents, [s * size for s in strides], places)

        checked = [axis for axis in range(len(shape)) if self.random.random() < 0.7]
        self._through_box(name, f"!tt.ptr<{kind}>", element, shape, box, checked)

    def _through_box(
        self,
        at: str,
        kind: str,
        element: str,
        shape: Shape,
        box: Callable[[Machine], Box],
        checked: Sequence[int],
    ) -> None:
        tensor = type_of(element, shape)
        descriptor = "tensordesc" in kind
        check = f" {{boundaryCheck = array<i32: {', '.join(map(str, checked))}>}}"
        check = "" if descriptor or not checked else check
        if self.random.random() < 0.6:
            operation = "tt.descriptor_load" if descriptor else "tt.load"
            arrow = f" -> {tensor}" if descriptor else ""
            line = self.write(f"{self.name()} = {operation} {at}{check} : {kind}{arrow}")
        else:
            operation = "tt.descriptor_store" if descriptor else "tt.store"
            data = self.name()
            zero = "0" if element[0] == "i" else "0.000000e+00"
            zero = "false" if element == "i1" else zero
            self.write(f"{data} = arith.constant dense<{zero}> : {tensor}")
            arrow = f", {tensor}" if descriptor else ""
            line = self.write(f"{operation} {at}, {data}{check} : {kind}{arrow}")
        self.operations[line] = operation, SIZES[element]

        def step(machine: Machine) -> None:
            found = box(machine)
            offsets = np.full(shape, int(found.base.offsets))
            lanes = np.ones(shape, dtype=bool)
            for axis, extent in enumerate(shape):
                index = found.corner[axis] + np.arange(extent)
                index = index.reshape([-1 if n == axis else 1 for n in range(len(shape))])
                offsets = offsets + index * found.strides[axis]
                if axis in checked:
                    lanes = lanes & (index >= 0) & (index < found.extents[axis])
            machine.accessed(line, found.base.argument, offsets, lanes, once=not descriptor)

        self.steps.append(step)
