"""There are fewer CTAs than SMs, so part of the GPU stays idle.

## What it means

A CTA runs on one SM. SMs beyond the number of CTAs stay idle for the whole launch, whatever the
occupancy of the others is. It is reported only where the target is a product, since the number of
SMs of an architecture alone is unknown.

A kernel that runs concurrently with others, on another stream, may leave room for them on purpose.

## Example

A reduction over 4,096 rows with one program for 64 of them is 64 programs: an H100 has 132 SMs.

## What to do

* Less work per program: smaller tiles.
* In a persistent kernel, whose programs loop over tiles, one program for each SM at least: smaller
  tiles leave the grid as it is.
* Split the dimension that each program loops over (split-K, a second reduction pass, atomics).

## Targets

NVIDIA and AMD.
"""

from collections.abc import Iterator
from math import prod

from irlens.analyze.facts import Facts
from irlens.analyze.persistent_grids import PersistentGrid, persistent_grid
from irlens.model.report import Blame, Severity
from irlens.rules import Match

CODE = "IRL502"
NAME = "small-grid"
SEVERITY: Severity = "warning"
NEEDS = ("product", "grid")


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding where SMs have no CTA."""
    if facts.gpu is None or facts.gpu.sm_count is None or facts.config.grid is None:
        return
    ctas = prod(facts.config.grid) * (facts.config.num_ctas or 1)
    idle = facts.gpu.sm_count - ctas
    if idle <= 0:
        return
    module = facts.ttir or facts.ttgir
    persistent = persistent_grid(module, facts.config) if module is not None else None
    multiprocessors = f"{facts.gpu.sm_count} {facts.gpu.arch.multiprocessor}s of {facts.gpu.name}"
    yield Match(
        message=f"{facts.words.ctas(ctas)} for {multiprocessors}: {idle} stay idle",
        hint="give each program less work: smaller tiles, or split what it loops over"
        if persistent is None
        else _more_programs(facts, persistent),
        blame=Blame(
            reason=f"the grid has {facts.words.ctas(ctas)}",
            kind="persistent" if persistent is not None else "",
            suffices=1 << (-(-facts.gpu.sm_count // ctas) - 1).bit_length() if ctas else None,
        ),
    )


def _more_programs(facts: Facts, persistent: PersistentGrid) -> str:
    """Return how many programs of a persistent kernel to launch."""
    sms = facts.gpu.sm_count if facts.gpu is not None else None
    most = (sms or 0) // (facts.config.num_ctas or 1)
    number = most if persistent.tiles is None else min(most, persistent.tiles)
    each = facts.words.sm if number == most else "tile"
    names = "".join(f", {name}={number}" for name in persistent.names[:1])
    return (
        f"launch a program for each {each}{names or f', {number:,}'}: how many share the tiles is"
        " the launch's choice, which smaller tiles leave as it is"
    )
