"""Hopper's products that the compiler awaits in the iteration that issues them, and why.

The conditions are those of ``dotCanBeProperlyAsync`` in
``lib/Dialect/TritonGPU/Transforms/Pipeliner/WGMMAPipeline.cpp``. Left to run on, a product overlaps
with the next iteration's.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from irlens.analyze.mlir_loops import place_of
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.copies import HANDED_ON
from irlens.isa.mlir.products import WGMMA
from irlens.isa.mlir.values import Value

Kind: TypeAlias = Literal["stored", "type", "used", ""]


class Awaited(NamedTuple):
    """A product, the kind of reason why it is awaited, and the reason in words."""

    product: Operation
    kind: Kind
    reason: str


def awaited_products(module: Module) -> Iterator[Awaited]:
    """Yield the products in loops of a ttgir that are awaited at once."""
    users: dict[Value, list[Operation]] = {}
    for operation in module.operations:
        for value in filter(None, module.values.operands[operation.index]):
            users.setdefault(value, []).append(operation)
    for product in module.named(WGMMA):
        loop = module.operations[product.parent] if product.parent is not None else None
        if loop is None or loop.does != "for":
            continue
        waits = [
            each
            for each in users.get(Value(product.index, 0), ())
            if each.name in HANDED_ON and each.integer("pendings") == 0
        ]
        if waits:
            kind, reason = _reason(module, loop, product, waits[0], users)
            yield Awaited(product, kind, reason)


def _reason(
    module: Module,
    loop: Operation,
    product: Operation,
    wait: Operation,
    users: dict[Value, list[Operation]],
) -> tuple[Kind, str]:
    operands = module.values.operands[product.index]
    for value in filter(None, operands[:2]):
        made = module.operations[value.operation]
        if value.region is None and made.parent == loop.index and made.does == "allocate shared":
            return "stored", f"threads store its operand to shared memory at {place_of(made)}"
    element = str(product.result_type.element)
    if element != "f32":
        return "type", f"it adds up in {element}, and products that run on do so in f32 alone"
    handed = module.values.operands[wait.index].index(Value(product.index, 0))
    result = [*users.get(Value(product.index, 0), ()), *users.get(Value(wait.index, handed), ())]
    for user in result:
        if user not in (wait, product) and user.does != "yield":
            return "used", f"the same iteration uses its result at {place_of(user)}"
    (end,) = (each for each in module.own(loop) if each.does == "yield")
    yielded = module.values.operands[end.index]
    for number, last in enumerate(yielded):
        if last not in (Value(product.index, 0), Value(wait.index, handed)):
            continue
        for user in users.get(Value(loop.index, number + 1, 0), ()):
            if user.name != WGMMA:
                return "used", f"the next iteration uses its result at {place_of(user)}"
    return "", "the ttgir does not show why"
