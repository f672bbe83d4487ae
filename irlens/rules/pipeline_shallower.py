"""A loop is pipelined less deeply than requested.

## What it means

`num_stages=S` requests that S iterations of a loop are in flight at once: while one is computed,
the data of the next S - 1 are being copied. irlens determines the depth from the machine-level
code, by following the groups of copies from their commit to the wait that retires them. Where it is
less than S, the copies have less time to arrive than the author planned.

## Example

```cuda
__pipeline_commit();        // two groups before the loop ...
__pipeline_commit();
for (...) {
    __pipeline_wait_prior(0);   // ... but the wait retires both: one would have been enough
```

Three buffers, three stages requested; the second group never survives the wait.

## What to do

Compare the wait with the number of groups that are committed before the loop. For a loop that
Triton pipelined, look at its loads: IRL203 names those that are not pipelined. If the achieved
depth is enough, request that one: it may need less shared memory.

## Targets

NVIDIA and AMD.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.model.report import Severity
from irlens.rules import Match

CODE = "IRL201"
NAME = "pipeline-shallower"
SEVERITY: Severity = "warning"


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each loop whose copies run less far ahead than requested."""
    for pipeline in facts.pipelines:
        if pipeline.verdict != "shallower":
            continue
        yield Match(
            message=(
                f"the loop at {pipeline.place} requested {pipeline.requested_stages} stages and got"
                f" {pipeline.achieved_stages}"
            ),
            hint="look for waits on more groups than needed, and for loads that are not pipelined",
            stage=pipeline.stage,
            line=pipeline.line,
            source=pipeline.source,
        )
