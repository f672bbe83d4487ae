"""A program loads the same bytes several times, though its registers could keep them.

## What it means

A load reads the same elements in every iteration of its loop, or several loads of a program read
the same elements one after the other. DRAM may deliver them once, since the L1 or the L2 holds them
in between; but every load takes its instructions, its requests to the L1 and its latency.

The addresses of the program in the middle of the grid are evaluated and compared, element by
element. The finding is reported where the repeated bytes are a tenth or more of what the program
loads, and where keeping them takes 64 registers per thread or fewer. Tensors that the program
writes are not judged: it may read something else the second time.

## Example

```python
for start in range(0, n, BLOCK):
    scale = tl.load(scale_ptr + tl.arange(0, BLOCK))      # the same in every iteration
    x = tl.load(x_ptr + start + tl.arange(0, BLOCK))
    tl.store(y_ptr + start + tl.arange(0, BLOCK), x * scale)
```

## What to do

* Load before the loop. Triton does so itself only if nothing in the loop may write to that memory.
* Where several passes read a row: keep the row, in a block that covers all of it, if that takes few
  enough registers. `layer_norm` does what `layer_norm_looped` does, with one pass.

## Targets

NVIDIA and AMD, where the launch is known.
"""

from collections.abc import Iterator
from math import ceil
from typing import TYPE_CHECKING

from irlens.analyze.facts import Facts
from irlens.model.report import Blame, Severity
from irlens.rules import Match, Place

if TYPE_CHECKING:
    from irlens.analyze.repeated_loads import RepeatedLoad

CODE = "IRL305"
NAME = "redundant-loads"
SEVERITY: Severity = "note"
NEEDS = ("ttir", "traffic")

#: Part of a program's loaded bytes that is worth a finding.
_WORTHWHILE = 0.1
#: Registers per thread, of 4 bytes each, that keeping the bytes may take.
_MOST_REGISTERS = 64


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each load, or group of loads, that reads the same bytes again."""
    grid, threads = facts.config.grid, facts.threads
    if facts.ttir is None or facts.traffic is None or grid is None or not threads:
        return
    from irlens.analyze.repeated_loads import repeated_loads  # needs numpy

    repeated, total = repeated_loads(facts.ttir, facts.config.args, grid)
    for each in repeated:
        registers = ceil(each.bytes / threads / 4)
        if each.bytes * (each.times - 1) >= _WORTHWHILE * total and registers <= _MOST_REGISTERS:
            yield _finding(facts, each, registers)


def _finding(facts: Facts, repeated: "RepeatedLoad", registers: int) -> Match:
    assert facts.ttir is not None
    loads = [facts.ttir.operations[index] for index in repeated.operations]
    sources = [each.location[0] if each.location else None for each in loads]
    kept = f"{registers} register{'s' if registers > 1 else ''} per {facts.words.thread}"
    amount = f"the same {repeated.bytes:,} B of {repeated.argument}"
    place = Place("ttir", loads[0].span.line, sources[0])
    if len(loads) == 1:
        message = (
            f"the load{place} reads {amount} in each of {repeated.times:,} iterations of a program;"
            f" {kept} would keep them"
        )
        hint = "load it once, before the loop"
    else:
        places = ", ".join(str(each.line) for each in sources if each is not None)
        message = (
            f"a program reads {amount} {repeated.times:,} times, at lines {places}; {kept} would"
            " keep them"
        )
        hint = "keep what the first load returns: a block that covers all of it takes one pass"
    several = Blame(reason="no load keeps what the next one needs", kind="several")
    return Match(
        message=message,
        hint=hint,
        place=place,
        blame=several if len(loads) > 1 else None,
    )
