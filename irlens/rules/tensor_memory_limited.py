"""An SM holds more CTAs than fit in its tensor memory, and some of them wait.

## What it means

The accumulators of Blackwell's matrix products are in tensor memory, of which an SM has 512
columns. A CTA allocates its part when it starts and keeps it until it ends; `tcgen05.alloc` blocks
while not enough is free. The occupancy, in irlens as in the driver, does not count tensor memory:
CTAs beyond the number of this finding are resident, but wait for others to end.

## Example

A tile of 128 x 256 in fp32 takes 256 columns: two CTAs compute at once, though registers and
shared memory may admit four.

## What to do

* Spend the registers and shared memory of the waiting CTAs: larger BLOCK_K, more stages.
* Or a smaller tile along N, if more CTAs at once are better.

## Targets

NVIDIA's Blackwell data-center GPUs, the only ones with tensor memory.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.tensor_memory import allocations
from irlens.model.report import Severity
from irlens.rules import Match, Place

CODE = "IRL107"
NAME = "tensor-memory-limited"
SEVERITY: Severity = "note"
NEEDS = ("occupancy",)


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding where the resident CTAs' tensor memory does not fit at once."""
    occupancy, columns = facts.occupancy, facts.resources.tensor_memory_columns
    if occupancy is None or not occupancy.launchable or facts.gpu is None or not columns:
        return
    available = facts.gpu.arch.tensor_memory_columns
    if available is None:
        return
    at_once = available // columns
    if at_once >= occupancy.blocks_per_sm:
        return
    words = facts.words
    allocated = allocations(facts.ptx) if facts.ptx is not None else []
    yield Match(
        message=(
            f"{columns} of {available} columns of tensor memory per {words.cta}: of the"
            f" {words.ctas(occupancy.blocks_per_sm)} that an {words.sm} holds {at_once} compute at"
            " once, and the others wait"
        ),
        hint="use more stages or a larger BLOCK_K, or make the tile smaller along N",
        place=Place("ptx" if allocated else None, allocated[0].line if allocated else None, None),
    )
