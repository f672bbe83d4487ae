"""An operand of a product is read from LDS element by element, as it does not lie there along K.

## What it means

A lane multiplies several neighbours along K at a time: four fp16 of a 32 x 32 x 8 instruction of
CDNA 3. Where the operand lies in LDS with its other dimension contiguous, as it does in memory,
these are in rows of their own. LDS delivers each by an instruction of 2 bytes or less, and others
put them together, in place of one instruction of 8 bytes.

CDNA 4 has instructions that transpose what they read. For CDNA 3 and RDNA the compiler exchanges
the rows in registers before it stores the tile to LDS, where each lane loads several of them.

## Example

```python
b = tl.load(b_ptr + k[:, None] * N + n[None, :])     # [32, 128], num_warps=8: a lane has 8 of a row
acc = tl.dot(a, b, acc)                              # 16 reads of 2 B in place of 4 of 8 B
```

## What to do

* Fewer waves, or more of K in the tile, so that each lane loads several rows: with `num_warps=4` or
  64 of K the tile above is read 8 bytes at a time.
* Keep the operand in memory with K contiguous, and load it so: `k[:, None] + n[None, :] * K`.

## Targets

AMD. NVIDIA's `ldmatrix` transposes 16-bit operands, and IRL301 and IRL303 are about those that it
does not.
"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.encodings import encoding_of
from irlens.model.report import Blame, Severity
from irlens.model.source import SourceLocation, user_frame
from irlens.rules import Match, Place

if TYPE_CHECKING:
    from irlens.isa.amdgcn import Function

CODE = "IRL316"
NAME = "narrow-shared-read"
SEVERITY: Severity = "note"
NEEDS = ("ttgir", "assembly")

_SIDES = ("left", "right")
#: What stands between a tile's read and the product: neither changes which elements a lane holds.
_BETWEEN = ("transpose", "relayout")
_WORD = 32


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each operand that lanes read by single elements and hold by several."""
    module = facts.ttgir
    if module is None or facts.amdgcn is None:
        return
    narrow, reported = _narrow_reads(facts.amdgcn), set[tuple[SourceLocation, str]]()
    for product in module.doing("multiply matrices"):
        for number, side in enumerate(_SIDES):
            read, kind = _read(module, product, number), product.types[number]
            encoding, bits = encoding_of(module, kind), kind.element.bits
            source, place = user_line(read) if read is not None else None, user_line(product)
            if encoding is None or bits is None or bits >= _WORD or source is None or place is None:
                continue
            held, reads = encoding.numbers.get("kWidth", 1), narrow[source, bits // 8]
            if held < 2 or reads < held or (place, side) in reported:
                continue
            reported.add((place, side))
            yield Match(
                message=(
                    f"the {side} operand of the product at {place} is read from"
                    f" {facts.words.shared_memory} {bits // 8} B at a time, by {reads}"
                    f" instructions where {reads // held} of {held * bits // 8} B would do: it does"
                    " not lie there along K"
                ),
                hint=(
                    "store its data with K contiguous; on CDNA 3 and RDNA fewer waves or more of K"
                    " in the tile do, too: the compiler exchanges rows that one lane loads"
                ),
                place=Place(module.stage, product.span.line, place),
                blame=Blame(reason="the operand does not lie in LDS along K", kind=side),
            )


def _narrow_reads(function: "Function") -> Counter[tuple[SourceLocation | None, int | None]]:
    """Return the number of reads of LDS by line of Python and bytes."""
    from irlens.isa.amdgcn.memory import access_bytes, reads_lds  # only for AMD's GPUs

    return Counter(
        (user_frame(each.locations), access_bytes(each.mnemonic))
        for each in function.instructions
        if reads_lds(each)
    )


def _read(module: Module, product: Operation, number: int) -> Operation | None:
    """Return what reads an operand of a product from shared memory; ``None`` for others."""
    at = product
    while True:
        operands = module.values.operands[at.index]
        value = operands[number if at is product else 0] if operands else None
        if value is None or value.region is not None:
            return None
        at = module.operations[value.operation]
        if at.does == "load shared":
            return at
        if at.does not in _BETWEEN:
            return None
