"""Runs of consecutive bytes start off a boundary between sectors, so each takes one sector more.

## What it means

Memory moves in sectors of 32 bytes (AMD: in cache lines of 128 bytes, up to CDNA 2 of 64). A warp
that loads 128 consecutive bytes touches 4 sectors if they start at a multiple of 32, and 5 if they
do not. The rows of a matrix whose stride is not a multiple of 32 bytes start anywhere, and so does
a neighbour's element, `x_ptr + offsets - 1`.

The finding counts the sectors of every request of the launch, and those that would be left if each
run of consecutive bytes started at a boundary. It is reported where alignment would save a tenth or
more, and where at least half of the surplus is due to it. The sectors that two requests share are
usually still in the L1, so less is saved further down; a store that covers part of a sector takes
two requests to fill it.

Where the unknown alignment of an argument also makes the access narrow, IRL301 says so instead.

## Example

```python
x = tl.load(x_ptr + row * 1001 + columns, mask=columns < 1001)    # fp16: rows of 2,002 bytes
```

## What to do

* Pad the rows to a multiple of 32 bytes (AMD: of a cache line), for example with
  `torch.empty(n_rows, 1008)[:, :1001]`, and pass the stride.
* Where a tile is shifted by a constant, start it at the boundary below and mask the lanes that this
  adds, or pad the front of the tensor.
* A view that begins inside another tensor: copy it, or begin at a boundary. Arguments count as
  aligned, as the allocator returns them.

## Targets

NVIDIA, and AMD where the size of its cache lines is confirmed. The launch must be known.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.narrow_accesses import narrowed_by_address
from irlens.analyze.request_runs import Runs
from irlens.model.report import Severity
from irlens.model.traffic import Access
from irlens.rules import Match

CODE = "IRL307"
NAME = "misaligned-access"
SEVERITY: Severity = "note"
NEEDS = ("traffic", "sectors")

#: Surplus of sectors that is worth a finding, as part of those that alignment leaves.
_WORTHWHILE = 0.1


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each access whose runs mostly start off the boundaries of sectors."""
    if facts.traffic is None or facts.granule is None:
        return
    candidates = [
        (access, runs, access.sectors)
        for access, runs in zip(facts.traffic.accesses, facts.runs, strict=False)
        if runs is not None and access.sectors is not None
        if _is_misaligned(access.sectors, runs)
    ]
    narrow = narrowed_by_address(facts) if candidates else frozenset()
    for access, runs, sectors in candidates:
        if (access.direction, access.source) not in narrow:
            yield _finding(facts, access, runs, sectors, facts.granule)


def _is_misaligned(sectors: int, runs: Runs) -> bool:
    surplus = sectors - runs.aligned_sectors
    return surplus > _WORTHWHILE * runs.aligned_sectors and 2 * surplus >= (
        sectors - runs.dense_sectors
    )


def _finding(facts: Facts, access: Access, runs: Runs, sectors: int, granule: int) -> Match:
    words = facts.words
    starts = [place for place in range(granule) if runs.starts >> place & 1]
    if len(starts) == 1:
        where = f"{starts[0]} B past a {words.granule} boundary"
        hint = f"start at a multiple of {granule} B: shift the tile, or pad the tensor in front"
    else:
        where = f"at {len(starts)} different offsets within a {words.granule}"
        hint = f"pad the row stride to a multiple of {granule} B"
    place = f" at {access.source}" if access.source is not None else ""
    return Match(
        message=(
            f"the {access.direction}{place} is misaligned: runs of {access.argument} start {where},"
            f" and its {access.requests:,} requests touch {sectors:,} {words.granule}s of"
            f" {granule} B where {runs.aligned_sectors:,} would do"
        ),
        hint=hint,
        stage="ttir",
        line=access.line,
        source=access.source,
    )
