"""A loop waits for all of its copies at once, so that nothing is in flight while it computes.

## What it means

A wait for at most N outstanding groups (`cp.async.wait_group N`) lets N groups go on arriving
during the compute that follows. With none left, the copies and the compute take turns: the loop
has the shared memory of a pipeline and little of its benefit. Only other warps hide the latency.

Triton waits at the top of an iteration and commits the next copies at its bottom, so its two-stage
pipeline drains. CUDA that commits the next copies first and then waits keeps one group in
flight with two stages, and is not reported.

## Example

```python
for row in tl.range(start, n_rows, step, num_stages=2):   # wait_group 0
    x = tl.load(x_ptr + row * stride + columns)
```

With `num_stages=3` the same loop waits for at most one group: that of the next row is still
arriving while this one is computed.

## What to do

Ask for one stage more, where shared memory allows it.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.model.report import Severity
from irlens.model.text import plural
from irlens.rules import Match

CODE = "IRL202"
NAME = "drained-wait"
SEVERITY: Severity = "warning"


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each pipelined loop whose wait leaves no copy in flight."""
    for pipeline in facts.pipelines:
        # Tensor-core groups (wgmma) are no copies: a wait for all of them may be the result's.
        copies = pipeline.kind in ("cp.async", "direct-to-lds")
        if not (copies and pipeline.outstanding_at_wait and pipeline.groups_during_compute == 0):
            continue
        stages = pipeline.achieved_stages
        if stages is None:
            continue
        yield Match(
            message=(
                f"the loop at {pipeline.place} waits for all"
                f" {_groups(pipeline.outstanding_at_wait)}:"
                f" with {plural(stages, 'stage')} no copy is in flight while it computes"
            ),
            hint=f"ask for {stages + 1} stages, or commit the next copies before the wait",
            stage=pipeline.stage,
            line=pipeline.line,
            source=pipeline.source,
        )


def _groups(count: int) -> str:
    return "its copies" if count == 1 else f"its {count} groups of copies"
