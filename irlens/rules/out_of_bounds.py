"""An access reaches outside its tensor.

## What it means

Some lanes of a load or store that no mask turns off have an address before the beginning of the
argument's tensor, or past its end. A load reads what lies there, which is another tensor or an
address that faults; a store overwrites it. Whether the launch fails depends on where the allocator
placed the tensor, so tests may pass.

Addresses and masks are evaluated for every program of the grid, from the shapes and numbers of the
launch: the finding names a program and the first byte outside, and counts lanes over all programs.

## Example

```python
offsets = tl.program_id(0) * 1024 + tl.arange(0, 1024)
x = tl.load(x_ptr + offsets)          # 1,000 elements: the last 24 lanes are outside
```

## What to do

* Mask the access, in every dimension: `mask=offsets < n`. A tile needs a condition for its rows and
  one for its columns.
* Compare with the extent of the dimension, not with that of another or with the stride.
* Take the index modulo the extent where repeated elements do no harm, as tutorials do for matmuls.
* If the kernel is right: the launch passes other sizes than those of its tensors.

## Targets

NVIDIA and AMD, where the launch is known. The tensors count as contiguous; what an argument shares
with a larger buffer is outside of it.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.model.report import Severity
from irlens.model.text import plural
from irlens.model.traffic import Access, OutOfBounds
from irlens.rules import Match

CODE = "IRL304"
NAME = "out-of-bounds"
SEVERITY: Severity = "error"
NEEDS = ("traffic",)


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each access with lanes outside its argument's tensor."""
    if facts.traffic is None:
        return
    for access in facts.traffic.accesses:
        if access.out_of_bounds is not None:
            yield _finding(facts, access, access.out_of_bounds)


def _finding(facts: Facts, access: Access, outside: OutOfBounds) -> Match:
    operation = access.label
    place = f" at {access.source}" if access.source is not None else ""
    program = ", ".join(map(str, outside.program))
    where = (
        f"{-outside.offset:,} B before its beginning"
        if outside.offset < 0
        else f"at byte {outside.offset:,}"
    )
    return Match(
        message=(
            f"the {operation}{place} reaches outside {access.argument}, which has"
            f" {outside.tensor_bytes:,} B: {plural(outside.lanes, 'lane')}, the first"
            f" {where} in program ({program})"
        ),
        hint="mask the access in every dimension, or launch with the tensor's own sizes",
        stage="ttir",
        line=access.line,
        source=access.source,
    )
