"""A tile passes through shared memory in every iteration, and another form of the loop avoids it.

## What it means

The compiler loads a tile in the layout in which its threads read neighbours, and converts it to the
layout of what it meets: a transposed tile, or one that is longer in the other dimension. The tile
goes through shared memory, with two barriers, each time around. Asynchronous copies put a tile into
shared memory anyway, from where threads read it in any layout, so that a pipelined loop converts
nothing.

The finding is reported for loads that the compiler would pipeline if the loop had stages of its
own.

It is also reported for a tile that one product computes and another one takes as its right operand
(Hopper). wgmma reads right operands from shared memory alone, left ones from registers, too. As
(A B)^T is B^T A^T, both products can be computed transposed: the tile is then a left operand, in
the registers that hold it.

## Example

```python
for n in range(0, N, BN):
    x = tl.load(x_ptr + rows[:, None] * N + (n + columns)[None, :])
    y = tl.load(y_ptr + (n + columns)[:, None] * M + rows[None, :])
    tl.store(z_ptr + rows[:, None] * N + (n + columns)[None, :], x + tl.trans(y))
```

## What to do

* `tl.range(0, N, BN, num_stages=3)`: the loads are copied ahead, too. Reads down the columns of a
  buffer may have bank conflicts (IRL303), so compare the times.
* Load both tiles along the same dimension, if the data can lie so.
* Of a right operand: `p = tl.dot(tl.trans(b), tl.trans(a))` in place of its transpose, then
  `acc += tl.dot(p, tl.trans(w))`, and store the transposed result. The tile needs 64 columns, which
  are then its rows.

`irlens inspect --memory` shows what each conversion of the kernel costs. Asked for by name,
`irlens explain KERNEL IRL314` also answers for those of loops that no other form avoids.

Before a store or an atomic, where a product's result goes to the threads that access neighbours in
memory, no finding stands: products have layouts of their own, and nothing changes the others'. A
tensor descriptor (`desc.store`, `desc.atomic_add`, from Hopper on) converts nothing: threads store
the result to shared memory, from where TMA takes it. An H200 took as long or longer so, in seven of
eight loops (`benchmarks/programs/product_results.py`): 180 µs in place of 181 for atomics on tiles
of 64x64 fp32, 23 in place of 18 for stores of fp16.

Fewer of them cost less: sum over the loop in registers and store once. In the backward pass of
attention, the gradient of the queries takes a loop of its own then, as in Triton's tutorial.

## Targets

NVIDIA from Ampere on. On AMD the loads of such loops are pipelined through registers, and what they
bring is converted as before.
"""

from collections.abc import Iterator

from irlens.analyze.address_slice import computed_beside
from irlens.analyze.facts import Facts
from irlens.analyze.layout_conversions import find_conversions, user_of
from irlens.analyze.mlir_loops import find_loops, place_of, user_line
from irlens.analyze.ttgir_refusals import DOT_IN_BRANCH, NO_DOT, NO_OPERAND, ONE_STAGE
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.products import WGMMA
from irlens.model.report import Blame, Severity
from irlens.rules import Match, Place

CODE = "IRL314"
NAME = "converted-tile"
SEVERITY: Severity = "note"
NEEDS = ("ttgir",)

#: Why loads are not pipelined that would be, if their loop had stages of its own.
_FOR_LACK_OF_STAGES = frozenset({NO_DOT, DOT_IN_BRANCH, NO_OPERAND, ONE_STAGE})
#: Rows of the left operand of wgmma.
_ROWS = 64


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each tile that goes through shared memory for its order or its place."""
    module, arch = facts.ttgir, facts.gpu.arch if facts.gpu is not None else None
    if module is not None and arch is not None and arch.vendor == "nvidia":
        yield from _loaded(facts, module)
        yield from _right_operands(facts, module)


def on_request(facts: Facts) -> Iterator[Match]:
    """Yield also every other conversion of a loop that goes through shared memory."""
    module, found = facts.ttgir, {each.place.line for each in find(facts)}
    reported = set[tuple[str, str]]()
    for operation, conversion in find_conversions(module) if module is not None else ():
        source, user = user_line(operation), user_of(module, operation) if module else None
        if conversion.through != "shared memory" or not conversion.depth or user is None:
            continue
        if conversion.line in found or (str(source), conversion.type) in reported:
            continue
        reported.add((str(source), conversion.type))
        reason = (
            f"{user.name} at {place_of(user)} takes it in the layout {conversion.after_kind}, and"
            f" it is made in {conversion.before_kind}"
        )
        yield Match(
            message=(
                f"the tensor {conversion.type} at {place_of(operation)} is converted to another"
                f" layout in every iteration, through {facts.words.shared_memory}: {reason}"
            ),
            hint="convert less, or after the loop",
            place=Place("ttgir", operation.span.line, source),
            blame=Blame(reason=reason, kind="conversion"),
        )


def _loaded(facts: Facts, module: Module) -> Iterator[Match]:
    """Yield a finding for each line whose loaded tiles a pipelined loop would not convert."""
    idle = {each.source for each in facts.loads if each.reason in _FOR_LACK_OF_STAGES}
    reported = set()
    for operation, conversion in find_conversions(module) if idle else ():
        tensor = operation.result_type
        if not conversion.depth or conversion.through != "shared memory" or len(tensor.shape) < 2:
            continue
        (value,) = module.values.operands[operation.index]
        load = module.operations[value.operation] if value and value.region is None else None
        if load is None or load.does != "load" or not _is_in_loop_itself(module, load):
            continue
        source = user_line(load)
        if source is None or source in reported or source not in idle:
            continue
        reported.add(source)
        extents = "x".join(map(str, tensor.shape))
        yield Match(
            message=(
                f"the {extents} tile that {source} loads is converted to another layout in every"
                f" iteration, through {facts.words.shared_memory}: the loop is not pipelined, and"
                " copies of a pipelined one are read in any layout"
            ),
            hint="write the loop as tl.range(..., num_stages=3), and compare the times",
            place=Place(module.stage, operation.span.line, source),
            blame=Blame(reason="the loop is not pipelined"),
        )


def _is_in_loop_itself(module: Module, load: Operation) -> bool:
    """Whether no condition guards a load, whatever stages its loop has."""
    return load.parent is not None and module.operations[load.parent].does == "for"


def _right_operands(facts: Facts, module: Module) -> Iterator[Match]:
    """Yield a finding for each product of a loop whose right operand another one computes."""
    values, loops = module.values, find_loops(module)
    for product in module.named(WGMMA):
        (value,) = values.operands[product.index][1:2] or (None,)
        buffer = module.operations[value.operation] if value and value.region is None else None
        if buffer is None or buffer.parent != product.parent or product.parent not in loops:
            continue
        if buffer.does != "allocate shared" or not buffer.operands:
            continue
        shape = buffer.operand_type.shape
        made = [
            each
            for each in computed_beside(module, buffer, 0)
            if each.name == WGMMA and each.result_type.shape == shape
        ]
        if not made or len(shape) != 2 or shape[1] < _ROWS:
            continue
        source, first = user_line(product), user_line(made[-1])
        extents = "x".join(map(str, shape))
        yield Match(
            message=(
                f"the {extents} tile that the product at {first} computes is the right operand of"
                f" the one at {source}: every iteration stores it to {facts.words.shared_memory},"
                " from where alone wgmma takes right operands"
            ),
            hint=(
                "compute both products transposed, tl.dot(tl.trans(b), tl.trans(a)): a left operand"
                " stays in registers"
            ),
            place=Place(module.stage, product.span.line, source),
            blame=Blame(
                reason="the tile is a right operand, which wgmma reads from shared memory",
                kind="operand",
            ),
        )
