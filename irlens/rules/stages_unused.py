"""A loop copies more iterations ahead than it has.

## What it means

With `num_stages=S` a loop loads `S - 1` iterations ahead. Where it runs fewer, all of its loads are
under way before the first iteration begins, and a larger `S` loads nothing earlier. It only takes
more shared memory, for buffers that are never filled, and so leaves room for fewer CTAs.

The number of iterations is that of this launch: a kernel that is tuned for long loops may have
a short one, too. Bytes and groups in flight are those of a loop that is long enough to fill its
stages.

## Example

```python
for k in range(0, 128, 64):                    # and num_stages=5 with the launch
    acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
```

## What to do

Request as many stages as there are iterations, and one more. Two iterations or one may need no
loop.

## Targets

NVIDIA: copies to shared memory. On AMD irlens does not look at it.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import find_loops, iterations, user_line
from irlens.isa.mlir import Module
from irlens.model.report import Blame, Pipeline, Severity
from irlens.model.text import plural
from irlens.rules import Match, Place

CODE = "IRL206"
NAME = "stages-unused"
SEVERITY: Severity = "note"
NEEDS = ("ttir", "pipelines")

_COPIES = ("cp.async", "tma")


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each loop that runs less far than it copies ahead."""
    for pipeline in facts.pipelines:
        ahead = pipeline.prefetch_iterations
        if facts.ttir is None or ahead is None or pipeline.kind not in _COPIES:
            continue
        runs = _runs(facts, facts.ttir, pipeline)
        if runs is None or not 0 < runs < ahead:
            continue
        yield Match(
            message=(
                f"the loop at {pipeline.place} copies {plural(ahead, 'iteration')} ahead and runs"
                f" {runs}: {plural(runs + 1, 'stage')} load as early, in less shared memory"
            ),
            hint=f"request num_stages={runs + 1} for this launch",
            place=Place(pipeline.stage, pipeline.line, pipeline.source),
            blame=Blame(reason=f"it runs {plural(runs, 'iteration')}", suffices=runs + 1),
        )


def _runs(facts: Facts, module: Module, pipeline: Pipeline) -> int | None:
    """Return how often the loop of a pipeline runs; ``None`` where that is not known."""
    here = [
        module.operations[index]
        for index in find_loops(module)
        if pipeline.source is not None and user_line(module.operations[index]) == pipeline.source
    ]
    values = {name: each for name, each in facts.config.args.items() if isinstance(each, int)}
    return iterations(module, here[0], values) if len(here) == 1 else None
