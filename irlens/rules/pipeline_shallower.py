"""A loop is pipelined less deeply than was asked for.

## What it means

`num_stages=S` asks that S iterations of a loop be under way at once: while one is computed, the
data of the next S - 1 are being copied. The depth that irlens reports is counted in the machine
code's own terms, by following the groups of copies from their commit to the wait that retires
them. Where it is less than S, the copies have less time to arrive than the author planned.

## Example

```cuda
__pipeline_commit();        // two groups before the loop ...
__pipeline_commit();
for (...) {
    __pipeline_wait_prior(0);   // ... but the wait retires both: one would have been enough
```

Three buffers, three stages asked for; the second group never survives the wait.

## What to do

Compare the wait with the number of groups that are committed before the loop. For a loop that
Triton pipelined, look at its loads: IRL203 names those that were left alone. If the depth that was
achieved is enough, ask for that one: it may be had with less shared memory.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.model.report import Severity
from irlens.rules import Match

CODE = "IRL201"
NAME = "pipeline-shallower"
SEVERITY: Severity = "warning"


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each loop whose copies run less far ahead than was asked for."""
    for pipeline in facts.pipelines:
        if pipeline.verdict != "shallower":
            continue
        yield Match(
            message=(
                f"the loop at {pipeline.place} asked for {pipeline.requested_stages} stages and got"
                f" {pipeline.achieved_stages}"
            ),
            hint="look for waits on more groups than are needed, and for loads left unpipelined",
            stage=pipeline.stage,
            line=pipeline.line,
            source=pipeline.source,
        )
