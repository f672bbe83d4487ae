"""A vector that a loop loads changes its layout in every iteration, through shared memory.

## What it means

The compiler loads a tensor in the layout in which its threads read neighbours, and converts it to
the layout of the tile that it meets: a row of scales, a mask, a bias beside a matrix product. A
vector that is shorter than the CTA has threads is loaded in that layout at once: all threads read
it from the cache, and nothing is converted. One with as many elements as threads, or more, goes
through shared memory, with two barriers, each time around.

## Example

```python
for k in range(0, K, BLOCK_K):           # num_warps=4: 128 threads
    scale = tl.load(scale_ptr + k // BLOCK_K * N + columns)    # 128 elements
    acc += tl.dot(a, b) * scale[None, :]
```

## What to do

* `num_warps=8`: 256 threads for 128 elements, and the conversion goes. Compare the times, since
  the number of warps changes more than this.
* Or a tile that is half as long in that dimension.

`irlens inspect --memory` shows what each conversion of the kernel costs.

## Targets

NVIDIA and AMD. Conversions of whole tiles, such as the one before a store that writes
neighbours together, have no such remedy; IRL314 reports those that pipelining avoids.
"""

from collections.abc import Iterator
from math import prod

from irlens.analyze.facts import Facts
from irlens.analyze.layout_conversions import find_conversions
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.global_memory import LOADS
from irlens.model.report import Severity
from irlens.model.text import count
from irlens.rules import Match, Place

CODE = "IRL310"
NAME = "converted-vector"
SEVERITY: Severity = "note"
NEEDS = ("ttgir",)

#: Warps that a hint asks for at most.
_MOST_WARPS = 16
#: What leaves a vector's values as they are.
_HANDED_ON = ("insert", "relayout")
#: Operations between a load and a conversion that are looked through.
_STEPS = 8


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each line whose conversions more warps would avoid."""
    if facts.ttgir is None or "ttg.num-warps" not in facts.ttgir.attributes:
        return
    module, words, reported = facts.ttgir, facts.words, set()
    warps = module.integer("ttg.num-warps") or 0
    lanes = module.integer("ttg.threads-per-warp") or 32
    for operation, conversion in find_conversions(module):
        tensor, source = operation.result_type, user_line(operation)
        moves = conversion.through in ("shuffles", "shared memory")
        elements = prod(tensor.shape)
        is_vector = max(tensor.shape, default=0) == elements  # also one inserted into a tile's rank
        if not conversion.depth or not moves or not is_vector or source in reported:
            continue
        wanted = 1 << (elements // lanes).bit_length()  # the least with more threads than elements
        if not warps < wanted <= _MOST_WARPS:
            continue
        load = _loaded(module, operation)
        if load is None or source is None:
            continue
        reported.add(source)
        way = words.shared_memory if conversion.through == "shared memory" else "shuffles"
        yield Match(
            message=(
                f"{source} converts the {count(elements)} elements that"
                f" {user_line(load) or 'a load'} loads to another layout in every iteration,"
                f" through {way}: the {words.cta} has {count(warps * lanes)} threads for them,"
                " and with more it would load them in that layout"
            ),
            hint=f"try num_warps={wanted}, or a tile that is shorter in this dimension",
            place=Place(module.stage, operation.span.line, source),
        )


def _loaded(module: Module, conversion: Operation) -> Operation | None:
    """Return the load in a loop whose values are converted, elementwise operations between."""
    pending, seen = [conversion.index], 0
    while pending and seen < _STEPS:
        seen += 1
        for value in module.values.operands[pending.pop()]:
            if value is None or value.region is not None:
                continue
            operation = module.operations[value.operation]
            if operation.name in LOADS:
                return operation if _in_loop(module, operation) else None
            if operation.name.startswith(("arith.", "math.")) or operation.does in _HANDED_ON:
                pending.append(operation.index)
    return None


def _in_loop(module: Module, operation: Operation) -> bool:
    while operation.parent is not None:
        operation = module.operations[operation.parent]
        if operation.does in ("for", "while"):
            return True
    return False
