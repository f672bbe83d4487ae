"""Shared memory limits how many CTAs an SM holds, and using less would admit more CTAs.

## What it means

The CTAs on an SM share its shared memory, so each stage of a software pipeline costs resident CTAs.
The finding names the nearest step, if it gains at least a quarter more CTAs. It assumes the largest
shared memory that the SM can be configured for. A launch of which the GPU holds all CTAs at once
has none to admit.

Deep pipelines and many CTAs both hide the latency of memory. Neither is better in general; the
finding shows what one costs in terms of the other.

Where a loop has more than three stages, and those beyond the third hold what is too much, the hint
names the number of stages that admits more CTAs, and the estimate of the time says what that saves.
Other remedies have no estimated saving: smaller tiles move more bytes, and with two stages the
copies and the compute take turns. `irlens explain KERNEL IRL103` tries them.

## Example

A matmul whose four stages take 98,304 bytes fits twice on an H100, which has 233,472 for all CTAs
and reserves 1,024 for each. At 76,800 bytes it would fit three times.

## What to do

* One stage fewer (`num_stages`), if that does not slow down the loop.
* Smaller tiles, or a narrower type for the data in shared memory.

## Targets

NVIDIA and AMD.
"""

from collections.abc import Iterator
from math import ceil

from irlens.analyze.facts import Facts
from irlens.model.estimate import Cause
from irlens.model.report import Severity
from irlens.model.text import percent
from irlens.rules import Match

CODE = "IRL103"
NAME = "shared-limited-occupancy"
SEVERITY: Severity = "note"
CAUSE: Cause = "shared_memory"
NEEDS = ("occupancy",)

_WORTHWHILE = 1.25


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding where less shared memory alone would raise the occupancy."""
    occupancy, resources = facts.occupancy, facts.resources
    if occupancy is None or not occupancy.launchable or facts.gpu is None:
        return
    if occupancy.waves is not None and occupancy.waves <= 1:
        return  # the GPU holds all CTAs of the launch at once
    step = next((step for step in occupancy.next_step if step.resource == "shared_memory"), None)
    if step is None or step.blocks_per_sm < _WORTHWHILE * occupancy.blocks_per_sm:
        return
    if resources.shared_dynamic_bytes is None:
        return
    words = facts.words
    deep = max(facts.pipelines, key=lambda each: each.spare_bytes, default=None)
    spare = deep.spare_bytes if deep is not None else 0
    remedy = "smaller tiles need less"
    if any(each.holds_stages for each in facts.pipelines):
        remedy += ", and fewer stages do"
    if deep is not None and -step.change <= spare:
        fewer = ceil(-step.change / (deep.bytes_per_iteration or 1))
        remedy = (
            f"ask for {(deep.achieved_stages or 0) - fewer} stages for the loop at {deep.place}"
        )
    used = resources.shared_dynamic_bytes + (resources.shared_static_bytes or 0)
    yield Match(
        message=(
            f"{used:,} B of {words.shared_memory} per {words.cta} limit occupancy to"
            f" {percent(occupancy.theoretical)}, {words.ctas(occupancy.blocks_per_sm)}"
            f" per {words.sm}"
        ),
        hint=(
            f"{-step.change:,} B less admit {words.ctas(step.blocks_per_sm)}"
            f" ({percent(step.theoretical)}): {remedy}"
        ),
    )
