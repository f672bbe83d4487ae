"""Accesses to global memory are narrower than possible: an argument's alignment is unknown.

## What it means

A thread can load or store 16 bytes at once if the compiler knows that they are contiguous, start at
a multiple of 16, and share one mask value. Triton only knows whether an argument is a multiple of
16. A stride or a bound in the mask that is not makes each access narrow, often a single element:
more instructions, and more requests to memory, for the same bytes.

The finding names the arguments that prevent the wider access: if they were known to be multiples of
16, the compiler's rule would allow it. The current width is read from the PTX, or from AMD's
assembly (`global_load_dword`, `buffer_load_dwordx4`). Where the launch is known, the finding also
says how many sectors of memory its requests touch, if that is more than their bytes need: rows
start off a boundary between sectors, or a thread's neighbouring elements take several instructions.

## Example

```python
x = tl.load(x_ptr + row * stride + columns, mask=columns < n_columns)
```

With a `stride` of 781 rows start at any element, and fp32 is loaded 4 bytes at a time.

## What to do

* In the address: pad the rows to a multiple of 16 elements. The padding may stay unused.
* A value that is a multiple of 8, say: pass it as a `tl.constexpr`, so that the compiler knows it.
  Each value is then compiled separately.
* In the mask: pad, so that the bound is a multiple of 16 too, or handle the ragged end separately.
* A multiple of 16 that Triton does not check: remove the argument from `do_not_specialize` and
  `do_not_specialize_on_alignment`.
* A pointer: allocate it at a multiple of 16 bytes, and do not pass a view that starts elsewhere.

## Targets

NVIDIA and AMD.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.global_accesses import uncounted
from irlens.analyze.narrow_accesses import ALIGNMENT, NarrowAccess, narrow_accesses
from irlens.model.report import Severity
from irlens.rules import Match

CODE = "IRL301"
NAME = "narrow-access"
SEVERITY: Severity = "warning"
NEEDS = ("ttir", "assembly")

#: Surplus of sectors that is worth mentioning, as part of those that are needed.
_WORTHWHILE = 0.1


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each access that known multiples of 16 would widen."""
    reported = set()
    for candidate in narrow_accesses(facts):
        place = (candidate.access.direction, candidate.access.source)
        if candidate.access.source is not None and place not in reported:
            reported.add(place)
            yield _finding(facts, candidate)


def unseen(facts: Facts) -> str:
    """Return which accesses were not looked at, and why; "" if all were."""
    names = uncounted(facts.assembly) if facts.assembly is not None else []
    return f"the width of {', '.join(names)} is not known" if names else ""


def _finding(facts: Facts, candidate: NarrowAccess) -> Match:
    blockers = [
        f"{_with_value(facts, name)} ({part})"
        for part, names in (("address", candidate.address), ("mask", candidate.mask))
        for name in names
    ]
    many = "are not known to be multiples" if len(blockers) > 1 else "is not known to be a multiple"
    return Match(
        message=(
            f"the {candidate.access.direction} at {candidate.access.source} moves"
            f" {candidate.access.width(candidate.elements)} B per {facts.words.thread} at a time"
            f" and could move {candidate.best.width(candidate.elements)}:"
            f" {' and '.join(blockers)} {many} of 16{_sectors(facts, candidate)}"
        ),
        hint=_hint(facts, candidate),
        stage="ttir",
        line=candidate.access.line,
        source=candidate.access.source,
    )


def _sectors(facts: Facts, candidate: NarrowAccess) -> str:
    """Return the sectors that the launch touches, where they are more than hold the bytes."""
    counted = facts.requests(candidate.access.line)
    granule = facts.granule
    if counted is None or granule is None:
        return ""
    needed = counted.runs.dense_sectors
    if counted.sectors <= (1 + _WORTHWHILE) * needed:
        return ""
    granules = f"{counted.sectors:,} {facts.words.granule}s of {granule} B"
    return f"; its {counted.requests:,} requests touch {granules} where {needed:,} would do"


def _hint(facts: Facts, candidate: NarrowAccess) -> str:
    """Return what to do; arguments that are multiples of 16 need no padding."""
    if all(_is_multiple(facts, name) for name in (*candidate.address, *candidate.mask)):
        return "remove do_not_specialize: in this launch Triton would detect the multiple of 16"
    if all(_is_multiple(facts, name) for name in candidate.address):
        return "pad the bound to a multiple of 16, or handle the ragged end separately"
    padding = "pad the rows to a multiple of 16 elements"
    width = candidate.constant.width(candidate.elements)
    if width == candidate.access.width(candidate.elements):
        return padding
    blockers = (*candidate.address, *candidate.mask)
    names = " and ".join(name for name in blockers if not _is_multiple(facts, name))
    return f"pass {names} as tl.constexpr to move {width} B, or {padding}"


def _is_multiple(facts: Facts, name: str) -> bool:
    """Whether an argument's value is a multiple of 16, which Triton could detect."""
    value = facts.config.args.get(name)
    return isinstance(value, int) and value % ALIGNMENT == 0


def _with_value(facts: Facts, name: str) -> str:
    value = facts.config.args.get(name)
    return f"{name}={value}" if isinstance(value, int) else name
