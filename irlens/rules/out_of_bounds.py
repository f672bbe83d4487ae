"""An access reaches outside its tensor.

## What it means

Some lanes of a load or store that no mask turns off have an address before the beginning of the
argument's tensor, or past its end. A load reads what lies there, which is another tensor or an
address that faults; a store overwrites it. Whether the launch fails depends on where the allocator
placed the tensor, so tests may pass.

Addresses and masks are evaluated for every program of the grid, from the shapes and numbers of the
launch: the finding names a program and the first byte outside, and counts lanes over all programs.

The mask may be right and the address wrong: Triton computes with `int32` where both operands are
`int32`, as program IDs, `tl.arange` and arguments below 2^31 are, and a product past 2,147,483,647
wraps to a negative offset. The program is evaluated again with 64-bit integers; if that keeps it
inside the tensor, the finding names the operation that wraps, its line, and the value that does not
fit.

## Example

```python
offsets = tl.program_id(0) * 1024 + tl.arange(0, 1024)
x = tl.load(x_ptr + offsets)          # 1,000 elements: the last 24 lanes are outside
```

```python
rows = tl.program_id(0) * 128 + tl.arange(0, 128)
pointers = x_ptr + rows[:, None] * stride + columns    # 32,768 rows of 65,536 elements: wraps
pointers = x_ptr + rows[:, None].to(tl.int64) * stride + columns
```

## What to do

* Where an offset wraps: convert an operand of the operation that the finding names with
  `.to(tl.int64)`, before it. Converting the result is too late. `tl.program_id(0).to(tl.int64)`
  makes everything that is computed from it 64-bit.
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
from typing import TYPE_CHECKING

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.model.report import Blame, Severity
from irlens.model.text import plural
from irlens.model.traffic import Access, OutOfBounds
from irlens.rules import Match, Place

if TYPE_CHECKING:
    from irlens.analyze.offset_wraps import Wrap

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
    place = Place("ttir", access.line, access.source)
    program = ", ".join(map(str, outside.program))
    cause, hint = _cause(facts, access, outside)
    where = (
        f"{-outside.offset:,} B before its beginning"
        if outside.offset < 0
        else f"at byte {outside.offset:,}"
    )
    return Match(
        message=(
            f"the {operation}{place} reaches outside {access.argument}, which has"
            f" {outside.tensor_bytes:,} B: {plural(outside.lanes, 'lane')}, the first"
            f" {where} in program ({program}){cause}"
        ),
        hint=hint,
        place=place,
        blame=Blame(
            reason=cause.removeprefix("; ") or "no mask leaves out these lanes",
            kind="wraps" if cause else "",
            arguments=[access.argument],
        ),
    )


def _cause(facts: Facts, access: Access, outside: OutOfBounds) -> tuple[str, str]:
    """Return what makes an access leave its tensor, if its offset wraps, and a hint."""
    grid = facts.config.grid
    if facts.ttir is not None and grid is not None:
        from irlens.analyze.offset_wraps import find_wrap  # needs numpy

        wrap = find_wrap(facts.ttir, facts.config.args, grid, access.line, outside)
        if wrap is not None:
            return _wrapped(wrap)
    return "", "mask the access in every dimension, or launch with the tensor's own sizes"


def _wrapped(wrap: "Wrap") -> tuple[str, str]:
    source = user_line(wrap.operation)
    place = f" at {source}" if source is not None else ""
    of = f" with {' and '.join(wrap.factors)}" if wrap.factors else ""
    cause = (
        f"; the offset wraps in {wrap.bits} bits: the {wrap.word}{of}{place} reaches"
        f" {wrap.value:,}, outside the range of int{wrap.bits}"
    )
    if wrap.word == "conversion":
        return cause, f"keep the offset in 64 bits: remove the conversion to int{wrap.bits}"
    return cause, f"compute in 64 bits: .to(tl.int64) on an operand of this {wrap.word}"
