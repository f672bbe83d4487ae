"""Spilled registers are reloaded inside a loop, in every iteration.

## What it means

A spill before or after a loop costs once. Inside, each iteration waits for memory, and the spilled
data competes with the loop's own traffic for the caches.

The accesses are read from the machine code, those of called functions included. For NVIDIA that
has to be disassembled, so the finding needs `--sass`. Arrays that the kernel keeps in local memory
do not count; where they cannot be told from spilled registers, nothing is reported.

## Example

An accumulator that is too large for its warps, in the loop of a matmul: the part that does not fit
is reloaded, added to, and written back for each tile.

## What to do

* See IRL105. Where the loop itself needs the registers, a smaller tile along its dimension
  (`BLOCK_K`) or fewer stages may be enough.
* Load values that are used once per iteration late, right before their use.

## Targets

NVIDIA and AMD.
"""

from collections import Counter
from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.model.estimate import Cause
from irlens.model.report import Severity
from irlens.model.source import SourceLocation
from irlens.model.text import plural
from irlens.rules import Match, Place

CODE = "IRL106"
NAME = "spill-in-loop"
SEVERITY: Severity = "warning"
CAUSE: Cause = "spills"
NEEDS = ("spills",)


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding where spilled registers are accessed inside a loop."""
    sites = [site for site in facts.spills or () if site.loop_depth and site.place == "memory"]
    if not sites:
        return
    kinds = Counter(site.kind for site in sites)
    lines: Counter[SourceLocation] = Counter(site.source for site in sites if site.source)
    most = next(iter(lines.most_common(1)), None)
    first = next(site for site in sites if most is None or site.source == most[0])
    staged = any(each.holds_stages for each in facts.pipelines)
    yield Match(
        message=(
            f"{plural(kinds['load'], 'reload')} and {plural(kinds['store'], 'spill')} of registers"
            f" are inside loops" + (f", {most[1]:,} of them at {most[0]}" if most else "")
        ),
        hint=f"{facts.smaller_shares}{', or ask for fewer stages' * staged}",
        place=Place(first.stage, first.line, first.source),
    )
