"""Many updates meet at the same addresses, where the L2 does one after the other.

## What it means

An atomic operation on global memory is done by the L2. It updates an address for one lane at a
time, and the slice of the L2 that is home to it takes one instruction of a lane after the other.
2^20 additions of fp32 take an H100 8 µs where each has an address of its own, 44 µs where they
meet at 256 neighbouring addresses, and 1.85 ms at a single one. The estimated time counts this as
time of the L2.

The finding is reported where a launch updates its addresses 2,048 times each or more, on average:
some microseconds that no number of SMs shortens.

## Example

```python
tl.atomic_add(sum_ptr + columns % 8, x)
```

## What to do

* Add up in the program first: `tl.atomic_add(sum_ptr, tl.sum(x))` has one update for a block.
* Give each program more of the data, so that there are fewer programs.
* Spread the updates over copies, such as one for each of 32 programs, and add these up afterwards.

## Targets

NVIDIA and AMD, where the launch is known; measured on an H100.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.model.report import Severity
from irlens.rules import Match, Place

CODE = "IRL312"
NAME = "contended-atomic"
SEVERITY: Severity = "warning"
NEEDS = ("traffic", "sectors")

#: Updates of an address that are worth a finding.
_MANY = 2048


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each atomic operation whose updates meet at few addresses."""
    if facts.traffic is None:
        return
    for access in facts.traffic.accesses:
        if access.direction != "atomic" or access.bytes < _MANY * max(1, access.distinct_bytes):
            continue
        place = Place("ttir" if facts.ttir is not None else "ttgir", access.line, access.source)
        yield Match(
            message=(
                f"the atomic{place} updates each of its addresses"
                f" {access.bytes // access.distinct_bytes:,} times, one after the other"
            ),
            hint=(
                "add up in the program first (tl.sum), give each program more of the data, or"
                " spread the updates over several copies"
            ),
            place=place,
        )
