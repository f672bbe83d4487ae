"""Random kernels as ttir, and what they access.

A kernel is written as text and, line by line, as functions over the values of one program: the two
are made together, so that nothing is parsed to execute it.
"""

from collections.abc import Sequence
from random import Random

import numpy as np

from tests.analyze.random_ttir.accesses import SIZES
from tests.analyze.random_ttir.control_flow import ControlFlow
from tests.analyze.random_ttir.machine import Block, Kernel, Machine, Place, Value


def random_kernel(random: Random) -> Kernel:
    """Return a random kernel and its launch."""
    writer = ControlFlow(random)
    elements = random.sample(sorted(SIZES), 2)
    writer.lines.append("module {")
    if random.random() < 0.3:
        _function(writer, elements[0])
    arguments = [Value(f"%p{n}", f"!tt.ptr<{each}>", ()) for n, each in enumerate(elements)]
    numbers = {"n": random.choice([1, 7, 20, 33, 100]), "m": random.choice([0, 3, 16])}
    scalars = [Value(f"%{name}", "i32", ()) for name in numbers]
    given = ", ".join(f"{each.name}: {each.type}" for each in [*arguments, *scalars])
    writer.lines.append(f"  tt.func public @kernel({given}, %index: !tt.ptr<i32>) {{")
    writer.pointers, writer.scope = arguments, list(scalars)
    writer.index = [Value("%index", "!tt.ptr<i32>", ())]
    blocks = _body(writer)
    bases = _bases([*arguments, *writer.index])
    blocks["bb0"].steps.insert(0, lambda m: m.values.update(bases))
    writer.lines += ["  }", "}"]
    grid = random.randrange(1, 6), random.choice([1, 1, 3]), random.choice([1, 1, 2])
    return Kernel("\n".join(writer.lines) + "\n", blocks, numbers, grid, writer.operations)


def _bases(arguments: Sequence[Value]) -> dict[str, Place]:
    return {each.name: Place(each.name[1:], np.int64(0)) for each in arguments}


def _function(writer: ControlFlow, element: str) -> None:
    parameters = [Value("%f0", "i32", ()), Value("%f1", f"!tt.ptr<{element}>", ())]
    given = ", ".join(f"{each.name}: {each.type}" for each in parameters)
    label = "@helper__i32"
    writer.lines.append(
        f"  tt.func private {label}({given}) -> i32 attributes {{noinline = true}} {{"
    )
    writer.pointers, writer.scope, writer.steps = parameters[1:], parameters[:1], []
    writer.statements(1)
    result = writer.scalar()
    writer.write(f"tt.return {result.name} : i32")
    writer.lines.append("  }")
    writer.functions = [(label, parameters, writer.steps, result)]


def _body(writer: ControlFlow) -> dict[str, Block]:
    """Write the kernel's blocks: one, one with an early return, or two ways that meet."""
    blocks = {"bb0": Block()}
    writer.steps = blocks["bb0"].steps
    writer.statements(2, 4)
    shape = writer.random.random()
    if shape < 0.7:
        writer.write("tt.return")
        return blocks
    flag = writer.flag(())
    known = list(writer.scope)
    writer.write(f"cf.cond_br {flag.name}, ^bb1, ^bb2")
    blocks["bb0"].leave = lambda m: "bb1" if m.values[flag.name] else "bb2"
    merged = Value("%merged", "i32", ())
    for label in ("bb1", "bb2"):
        blocks[label] = Block()
        writer.steps, writer.scope = blocks[label].steps, list(known)
        writer.lines.append(f"  ^{label}:  // pred: ^bb0")
        writer.statements(1)
        if shape < 0.85:
            writer.write("tt.return")
            continue
        number = writer.scalar()
        writer.write(f"cf.br ^bb3({number.name} : i32)")

        def leave(machine: Machine, number: Value = number) -> str:
            machine.values[merged.name] = machine.values[number.name]
            return "bb3"

        blocks[label].leave = leave
    if shape >= 0.85:
        blocks["bb3"] = Block()
        writer.steps, writer.scope = blocks["bb3"].steps, [*known, merged]
        writer.lines.append("  ^bb3(%merged: i32):  // 2 preds: ^bb1, ^bb2")
        writer.statements(1)
        writer.write("tt.return")
    return blocks
