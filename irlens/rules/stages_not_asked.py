"""A loop reads memory and is not pipelined, because a kernel-wide `num_stages` is not meant for it.

## What it means

The `num_stages` given with a launch, or with `triton.Config`, is for loops whose loads feed a
`tl.dot`. Any other loop is pipelined only if it asks for it itself. Without, each iteration loads
and waits, and only other warps hide the latency of memory. Where there are many warps per SM that
may be enough. A loop that is none in the machine code is left out: it was unrolled, or runs once.

## Example

```python
for start in range(0, n, BLOCK):           # num_stages=3 has no effect here
    total += tl.load(x_ptr + start + offsets)
```

## What to do

Write `for start in tl.range(0, n, BLOCK, num_stages=3)`, and compare: the copies go through shared
memory, which costs occupancy.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.ptx_accesses import read_once
from irlens.analyze.ttgir_refusals import NO_DOT
from irlens.model.report import Severity
from irlens.rules import Match

CODE = "IRL204"
NAME = "stages-not-asked"
SEVERITY: Severity = "note"


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each loop whose loads nobody asked to pipeline."""
    stages = facts.config.num_stages
    if facts.ttgir is None or stages is None or stages < 2:
        return
    once = read_once(facts.ptx) if facts.ptx is not None else frozenset()
    reported = set()
    for load in facts.loads:
        # A single value per iteration is not copied asynchronously, whatever is asked.
        if load.reason != NO_DOT or not load.shape or load.loop_source in reported:
            continue
        if load.source in once:
            continue
        reported.add(load.loop_source)
        place = load.loop_source or f"ttgir:{load.loop_line}"
        yield Match(
            message=(
                f"the loop at {place} reads memory and is not pipelined: no dot uses its loads, and"
                f" num_stages={stages} is only for loops with one"
            ),
            hint="write the loop as tl.range(..., num_stages=N) to have its loads copied ahead",
            stage=facts.ttgir.stage,
            line=load.loop_line,
            source=load.loop_source,
        )
