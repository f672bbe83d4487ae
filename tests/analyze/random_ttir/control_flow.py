"""Writes loops, branches and calls."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.analyze.random_ttir.accesses import Accesses
from tests.analyze.random_ttir.machine import Machine, Step, Value


class ControlFlow(Accesses):
    """Writes the control flow of a random kernel."""

    def statements(self, depth: int, most: int = 3) -> None:
        """Write some accesses, loops, branches and calls."""
        for _ in range(self.random.randrange(1, most + 1)):
            choice = self.random.random()
            if depth > 0 and choice < 0.2:
                self.loop(depth)
            elif depth > 0 and choice < 0.35:
                self.branch(depth)
            elif depth > 0 and choice < 0.42:
                self.while_loop(depth)
            elif choice < 0.52 and self.functions:
                self.call()
            elif choice < 0.62:
                self.box()
            elif choice < 0.66 and self.index:
                self.lookup()
            else:
                self.access()

    def region(self, names: Sequence[Value], body: Callable[[], list[Value]]) -> tuple[
        list[Step], list[Value]
    ]:  # fmt: skip
        """Write a region, and return its operations and the values that it yields."""
        outer, known = self.steps, len(self.scope)
        self.steps = []
        self.scope += names
        self._depth += 1
        yielded = body()
        self._depth -= 1
        steps, self.steps = self.steps, outer
        del self.scope[known:]
        return steps, yielded

    def carried(self) -> list[Value]:
        """Return values for a loop to carry: numbers, and sometimes addresses."""
        found = [self.scalar() for _ in range(self.random.randrange(2))]
        if self.random.random() < 0.6:
            found.append(self.pointer(self.shape(2)))
        if self.random.random() < 0.3:
            found.append(self.integer(self.shape(2) or (8,)))
        return found

    def next_of(self, value: Value) -> Value:
        """Write the next of a value that a loop carries."""
        if value.element.startswith("!tt.ptr"):
            return self.moved(value) if self.random.random() < 0.8 else value
        if self.random.random() < 0.3:
            return value
        if self.random.random() < 0.5:
            return self.binary(value, self.integer(value.shape, value.element, 1), value.element)
        return self.integer(value.shape, value.element)

    def results(self, values: Sequence[Value]) -> tuple[str, list[Value]]:
        """Return the left-hand side of an operation with such results, and the results."""
        if not values:
            return "", []
        name = self.name()
        if len(values) == 1:
            return f"{name} = ", [Value(name, values[0].element, values[0].shape)]
        named = [Value(f"{name}#{n}", v.element, v.shape) for n, v in enumerate(values)]
        return f"{name}:{len(values)} = ", named

    def loop(self, depth: int) -> None:
        """Write an ``scf.for``."""
        low = self.bounded(self.random.choice([1, 5]))
        high = self.bounded(self.random.choice([8, 20]))
        step = self.bounded(4, least=1) if self.random.random() < 0.3 else self.constant(3)
        first = self.carried()
        left, results = self.results(first)
        counter = Value(self.name(), "i32", ())
        inner = [Value(self.name(), each.element, each.shape) for each in first]
        pairs = ", ".join(f"{i.name} = {f.name}" for i, f in zip(inner, first, strict=True))
        kinds = ", ".join(each.type for each in first)
        carries = f" iter_args({pairs}) -> ({kinds}) " if first else ""
        self.write(
            f"{left}scf.for {counter.name} = {low.name} to {high.name} step {step.name}"
            f"{carries} : i32 {{"
        )

        def body() -> list[Value]:
            self.statements(depth - 1, 2)
            following = [self.next_of(each) for each in inner]
            if following:
                self.write(f"scf.yield {', '.join(each.name for each in following)} : {kinds}")
            return following

        steps, yielded = self.region([counter, *inner], body)
        self.write("}")

        def run(machine: Machine) -> None:
            values = [machine.values[each.name] for each in first]
            bounds = [int(machine.values[each.name]) for each in (low, high, step)]
            for number in range(*bounds):
                machine.values[counter.name] = np.int64(number)
                machine.values.update(zip((each.name for each in inner), values, strict=True))
                machine.run(steps)
                values = [machine.values[each.name] for each in yielded]
            machine.values.update(zip((each.name for each in results), values, strict=True))

        self.steps.append(run)
        self.scope += results

    def bounded(self, most: int, least: int = 0) -> Value:
        """Write a scalar between bounds."""
        low, high = self.constant(least), self.constant(most)
        return self.operation(
            "arith.minsi", self.operation("arith.maxsi", self.scalar(), low), high
        )

    def while_loop(self, depth: int) -> None:
        """Write an ``scf.while`` that ends, since it counts."""
        first = [self.bounded(5), *self.carried()]
        left, results = self.results(first)
        before = [Value(self.name(), each.element, each.shape) for each in first]
        after = [Value(self.name(), each.element, each.shape) for each in first]
        pairs = ", ".join(f"{b.name} = {f.name}" for b, f in zip(before, first, strict=True))
        kinds = ", ".join(each.type for each in first)
        arrow = kinds if len(first) == 1 else f"({kinds})"
        self.write(f"{left}scf.while ({pairs}) : ({kinds}) -> {arrow} {{")

        def condition() -> list[Value]:
            if self.random.random() < 0.3:
                self.access()
            bound = self.constant(self.random.choice([4, 9]))
            flag = self.emit(
                f"arith.cmpi slt, {before[0].name}, {bound.name} : i32",
                "i1",
                (),
                lambda m: m.values[before[0].name] < m.values[bound.name],
            )
            names = ", ".join(each.name for each in before)
            self.write(f"scf.condition({flag.name}) {names} : {kinds}")
            return [flag]

        tests, (flag,) = self.region(before, condition)
        self.write("} do {")
        self.write(f"^bb0({', '.join(f'{each.name}: {each.type}' for each in after)}):")

        def body() -> list[Value]:
            self.statements(depth - 1, 2)
            step = self.constant(self.random.choice([1, 2]))
            following = [self.operation("arith.addi", after[0], step)]
            following += [self.next_of(each) for each in after[1:]]
            self.write(f"scf.yield {', '.join(each.name for each in following)} : {kinds}")
            return following

        steps, yielded = self.region(after, body)
        self.write("}")

        def run(machine: Machine) -> None:
            values = [machine.values[each.name] for each in first]
            while True:
                machine.values.update(zip((each.name for each in before), values, strict=True))
                machine.run(tests)
                if not machine.values[flag.name]:
                    break
                machine.values.update(zip((each.name for each in after), values, strict=True))
                machine.run(steps)
                values = [machine.values[each.name] for each in yielded]
            machine.values.update(zip((each.name for each in results), values, strict=True))

        self.steps.append(run)
        self.scope += results

    def branch(self, depth: int) -> None:
        """Write an ``scf.if``."""
        flag = self.flag(())
        wanted = self.carried() if self.random.random() < 0.6 else []
        left, results = self.results(wanted)
        kinds = ", ".join(each.type for each in wanted)
        self.write(f"{left}scf.if {flag.name}" + (f" -> ({kinds})" if wanted else "") + " {")

        def body() -> list[Value]:
            self.statements(depth - 1, 2)
            yielded = [self.next_of(each) for each in wanted]
            if yielded:
                self.write(f"scf.yield {', '.join(each.name for each in yielded)} : {kinds}")
            return yielded

        sides = [self.region([], body)]
        if wanted or self.random.random() < 0.5:
            self.write("} else {")
            sides.append(self.region([], body))
        self.write("}")

        def run(machine: Machine) -> None:
            side = 0 if machine.values[flag.name] else 1
            if side == len(sides):
                return
            steps, yielded = sides[side]
            machine.run(steps)
            values = [machine.values[each.name] for each in yielded]
            machine.values.update(zip((each.name for each in results), values, strict=True))

        self.steps.append(run)
        self.scope += results

    def call(self) -> None:
        """Write a call of a function."""
        label, parameters, steps, result = self.random.choice(self.functions)
        given = [
            self.random.choice([e for e in self.pointers if e.element == each.element])
            if each.element.startswith("!tt.ptr")
            else self.scalar()
            for each in parameters
        ]
        kinds = ", ".join(each.type for each in given)

        def compute(machine: Machine) -> Any:
            inner = Machine(machine.program, machine.grid, {})
            inner.accesses = machine.accesses
            for parameter, each in zip(parameters, given, strict=True):
                inner.values[parameter.name] = machine.values[each.name]
            inner.run(steps)
            return inner.values[result.name]

        names = ", ".join(each.name for each in given)
        self.emit(f"tt.call {label}({names}) : ({kinds}) -> i32", "i32", (), compute)
