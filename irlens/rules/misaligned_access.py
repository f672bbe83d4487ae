"""Runs of consecutive bytes start off a boundary between sectors, so each takes one sector more.

## What it means

Memory moves in sectors of 32 bytes (AMD: in cache lines of 128 bytes, up to CDNA 2 of 64). A warp
that loads 128 consecutive bytes touches 4 sectors if they start at a multiple of 32, and 5 if they
do not. The rows of a matrix whose stride is not a multiple of 32 bytes start anywhere, and so does
a neighbour's element, `x_ptr + offsets - 1`.

The finding counts the sectors of every request of the launch, and those that would be left if each
run of consecutive bytes started at a boundary. It is reported where an access touches a tenth more
sectors than hold its bytes, and at least half of these are due to its alignment. The sectors that
two requests share are usually still in the L1, so less is saved further down; a store that covers
part of a sector takes two requests to fill it.

Where the alignment also makes the access narrow, IRL301 says so instead.

## Example

```python
x = tl.load(x_ptr + row * 1001 + columns, mask=columns < 1001)    # fp16: rows of 2,002 bytes
```

## What to do

* Pad the rows to a multiple of 32 bytes (AMD: of a cache line), for example with
  `torch.empty(n_rows, 1008)[:, :1001]`, and pass the stride.
* Where a tile is shifted by a constant, start it at the boundary below and mask the lanes that this
  adds, or pad the front of the tensor.
* Where each iteration of a loop moves by an element or two, as over the taps of a filter, most of
  them start off a boundary whatever the rows are: padding does not help. The L1 holds what the
  iterations share; a kernel that its requests limit loads a wider aligned tile once.
* A view that begins inside another tensor: copy it, or begin at a boundary. Arguments count as
  aligned, as the allocator returns them.

## Targets

NVIDIA, and AMD where the size of its cache lines is confirmed. The launch must be known.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irlens.analyze.facts import Facts
from irlens.analyze.narrow_accesses import narrowed_by_address
from irlens.analyze.request_runs import Runs
from irlens.model.estimate import Cause
from irlens.model.report import Blame, Severity
from irlens.rules import Match, Place

if TYPE_CHECKING:
    from irlens.analyze.sector_causes import SectorCause

CODE = "IRL307"
NAME = "misaligned-access"
SEVERITY: Severity = "note"
CAUSE: Cause = "coalescing"
NEEDS = ("traffic", "sectors")


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each access whose runs mostly start off the boundaries of sectors."""
    causes = [each for each in facts.sector_causes if each.kind == "misaligned"]
    narrow = narrowed_by_address(facts) if causes else frozenset()
    for cause in causes:
        counted = facts.requests(cause.access.line)
        if (cause.access.direction, cause.access.source) in narrow:
            continue  # IRL301 has it
        if counted is not None and facts.granule is not None:
            yield _finding(facts, cause, counted.runs, facts.granule)


def _finding(facts: Facts, cause: "SectorCause", runs: Runs, granule: int) -> Match:
    words, access = facts.words, cause.access
    starts = [place for place in range(granule) if runs.starts >> place & 1]
    where = (
        f"{starts[0]} B past a {words.granule} boundary"
        if len(starts) == 1
        else f"at {len(starts)} different offsets within a {words.granule}"
    )
    place = Place("ttir", access.line, access.source)
    kind, hint = _remedy(cause, starts, granule)
    return Match(
        message=(
            f"the {access.direction}{place} is misaligned: runs of {access.argument} start {where},"
            f" and its {access.requests or 0:,} requests touch {access.sectors or 0:,}"
            f" {words.granule}s of {granule} B where {runs.aligned_sectors:,} would do"
        ),
        hint=hint,
        place=place,
        blame=Blame(
            reason=f"runs of {access.argument} start {where}",
            kind=kind,
            arguments=[access.argument] if access.argument else [],
            suffices=granule // cause.element_bytes,
        ),
    )


def _remedy(cause: "SectorCause", starts: Sequence[int], granule: int) -> tuple[str, str]:
    """Return what moves the runs off the boundaries, and what aligns them."""
    if len(starts) == 1 or len({each for origins in cause.origins for each in origins}) == 1:
        rows = [step for step in cause.steps if step and abs(step) != cause.element_bytes]
        if not any(step % granule for step in rows):
            return "shift", (
                f"start at a multiple of {granule} B: shift the tile, or pad the tensor in front; a"
                " neighbour's element, as in a stencil, stays off it"
            )
    elif cause.shifts or (len(set(cause.origins)) == 1 and len(cause.origins) > 1):
        return "iterations", (
            "each iteration starts elsewhere, as over the taps of a filter: padding does not help;"
            " load a wider aligned tile once, or leave the shared sectors to the L1"
        )
    return "rows", f"pad the row stride to a multiple of {granule} B"
