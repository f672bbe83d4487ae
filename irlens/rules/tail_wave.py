"""The last wave of CTAs leaves much of the GPU idle.

## What it means

A GPU holds SMs x CTAs per SM of a kernel's CTAs at once: one wave. Where the grid is a little more
than a whole number of waves, the last wave runs on a few SMs while the others idle.

What that costs depends on what binds the kernel. Where a CTA takes as long alone as among others,
because it waits for latency, the share of the waves that stays empty is the share of the time that
is lost. Where CTAs share a busy unit, such as the tensor cores of an SM or the memory of the GPU,
those of the last wave have it for themselves, and less is lost: the estimated time says how much.
Hardware replaces each CTA as it ends, so CTAs of very different lengths blur the edge. The finding
is reported for launches of more than one wave of which more than an eighth stays empty.

## Example

300 CTAs of a matmul, two per SM, on the 132 SMs of an H100: 264 in the first wave, 36 in the
second. The launch takes as long as one of 528.

## What to do

* Tiles of another size, so that the grid is just below a whole number of waves.
* A persistent kernel: as many programs as the GPU holds, each looping over tiles.
* Split-K or stream-K for matmuls.

## Targets

NVIDIA and AMD, where the waves of a grid are called rounds.
"""

from collections.abc import Iterator
from math import ceil

from irlens.analyze.facts import Facts
from irlens.model.estimate import Cause
from irlens.model.report import Severity
from irlens.model.text import percent
from irlens.rules import Match

CODE = "IRL501"
NAME = "tail-wave"
SEVERITY: Severity = "note"
CAUSE: Cause = "grid"
NEEDS = ("waves",)

_EMPTY = 1 / 8


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding where the last wave leaves a good part of all waves empty."""
    occupancy = facts.occupancy
    if occupancy is None or occupancy.waves is None or occupancy.tail is None:
        return
    waves = ceil(occupancy.waves)
    if waves < 2 or 1 - occupancy.waves / waves <= _EMPTY:
        return
    yield Match(
        message=(
            f"{occupancy.waves:.2f} {facts.words.wave}s: the last one fills"
            f" {percent(occupancy.tail)} of the GPU, and {percent(1 - occupancy.waves / waves)} of"
            f" the {waves} {facts.words.wave}s stay empty"
        ),
        hint=(
            f"choose tiles that make close to a whole number of {facts.words.wave}s, or a"
            " persistent kernel"
        ),
    )
