"""A dot's tile is smaller than the tensor core's instruction, so part of each is padding.

## What it means

A tensor-core instruction multiplies tiles of a fixed shape, 16 rows by 8 columns for NVIDIA's
`mma.sync`. A smaller tile is padded with zeros or copies: the instruction takes as long, and part
of its result is discarded. The finding compares the tile with the instruction along M and N.

## Example

```python
scores = tl.dot(q, k)      # q is 4 x 64: four heads of one token
```

Only 4 of the instruction's 16 rows are used.

## What to do

* Combine the work of several programs in one tile: more heads, more rows, the group of query heads
  that share a key.
* Swap the operands, `tl.dot(k_t, q_t)`, if the other dimension of the instruction is smaller.
* At one or two rows a plain sum of products may be faster than a dot.

## Targets

NVIDIA's tensor cores and AMD's matrix cores (MFMA and WMMA instructions).
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.encodings import encoding_of
from irlens.isa.mlir.products import Product, products
from irlens.model.report import Severity
from irlens.model.text import percent
from irlens.rules import Match, Place

CODE = "IRL402"
NAME = "padded-dot"
SEVERITY: Severity = "warning"
NEEDS = ("ttgir",)


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each dot that is shorter or narrower than its instruction."""
    if facts.ttgir is None:
        return
    reported = set()
    for dot, product in products(facts.ttgir):
        shapes = _shapes(facts.ttgir, dot, product)
        if shapes is None or not dot.location or dot.location in reported:
            continue
        (m, n), (rows, columns) = shapes
        used = min(m, rows) * min(n, columns)
        if used == rows * columns:
            continue
        reported.add(dot.location)
        source = user_line(dot)
        yield Match(
            message=(
                f"the dot at {source} is {m} x {n} and the {facts.words.tensor_core}'s instruction"
                f" {rows} x {columns}: {percent(1 - used / (rows * columns))} of it is padding"
            ),
            hint=(
                f"make the tile at least {max(m, rows)} x {max(n, columns)}, or swap the operands"
            ),
            place=Place(facts.ttgir.stage, dot.span.line, source),
        )


def _shapes(
    module: Module, dot: Operation, product: Product
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return M and N of a dot and of its instruction."""
    encoding = encoding_of(module, dot.result_type)
    instruction = encoding.lists.get("instrShape", ()) if encoding is not None else ()
    if encoding is None or len(instruction) < 2:
        return None
    # mma.sync's is (M, N), after a batch dimension if there is one; AMD's is (M, N, K).
    sync = encoding.kind == "nvidia_mma" and encoding.numbers.get("versionMajor") == 2
    first = len(instruction) - 2 if sync else 0
    return (product.m, product.n), (instruction[first], instruction[first + 1])
