"""Data decide which addresses an atomic operation updates, and how many of its updates meet.

## What it means

The index of the address was loaded: the bins of a histogram, the rows of an embedding's gradient,
the targets of a scatter. The L2 updates an address for one lane at a time (IRL312), so that the
data decide how long the launch takes. The finding gives both ends, each from the addresses of all
programs: indices that are random over the tensor, and indices that are all equal. What a launch
takes lies between them; a skewed histogram, or a padding token that most rows have, is near the
second.

The times say how long the L2 is busy, with constants measured on an H100. The estimated time of
the launch assumes random and neighbouring indices, so that equal ones may exceed its range.

## Example

```python
bin = tl.load(x_ptr + offsets)
tl.atomic_add(bins_ptr + bin, 1)
```

## What to do

* Measure with the data that you have; data of equal values are the worst.
* Count in the program first (`tl.histogram`), and add what it found: one update of a bin for a
  program.
* Sort the indices, and add up runs of equal ones before the atomic.
* Leave out what needs no update with the mask, such as padding.

## Targets

NVIDIA, where the launch is known and the estimate of the time has constants for the GPU.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.model.report import Severity
from irlens.model.text import microseconds
from irlens.rules import Match, Place

CODE = "IRL313"
NAME = "scattered-atomic"
SEVERITY: Severity = "note"
NEEDS = ("ttir",)

#: Microseconds of difference that are worth a finding.
_WORTHWHILE = 10.0


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each atomic operation whose time depends on the data."""
    if facts.ttir is None or facts.gpu is None or facts.gpu.timing is None:
        return
    from irlens.analyze.time.transfers import colliding_us  # needs numpy

    for spread, met in facts.data_updates:
        least, most = colliding_us([spread]), colliding_us([met])
        if most - least < _WORTHWHILE:
            continue
        atomic = next(each for each in facts.ttir.operations if each.span.line == met.line)
        source = user_line(atomic)
        place = Place("ttir", met.line, source)
        yield Match(
            message=(
                f"data decide which addresses of {met.argument} the atomic{place} updates: the L2"
                f" is busy for {microseconds(least)} where they are random, and for"
                f" {microseconds(most)} where they are equal, with {met.depth:,.0f} updates of each"
            ),
            hint=(
                "count in the program first (tl.histogram), or add up equal indices before the"
                " atomic"
            ),
            place=place,
        )
