"""A loop reads memory and is not pipelined, because a kernel-wide `num_stages` does not apply.

## What it means

The `num_stages` of a launch, or of `triton.Config`, applies to loops whose loads feed a `tl.dot`.
Any other loop is pipelined only if it requests stages itself, and a `while` loop never. A dot in a
condition does not count. Otherwise each iteration loads and waits, and only other warps hide the
latency of memory. With many warps per SM that may be enough.
Loops that do not exist in the machine code are left out: they were unrolled, or run once.

## Example

```python
for start in range(0, n, BLOCK):           # num_stages=3 has no effect here
    total += tl.load(x_ptr + start + offsets)
```

## What to do

Write `for start in tl.range(0, n, BLOCK, num_stages=3)`, and compare: the copies go through shared
memory, which costs occupancy.

A `while` loop that a counter bounds can be such a loop, too, with the rest of its condition as a
mask. Of one that runs until its data say so, Triton issues no loads ahead.

A loop that skips a dot in some iterations: load before the condition, with the condition as the
mask, and let the loop request its own stages; or give the iterations that multiply a loop of their
own. Multiplying in every iteration, by masked operands, takes longer where many are skipped.
Where irlens estimates that the launch hardly waits for loads, it says so in place of the advice.

## Targets

NVIDIA and AMD: Triton follows the same rule for both.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.load_waits import waits_are_short
from irlens.analyze.ttgir_refusals import DOT_IN_BRANCH, NO_DOT, NOT_FOR, WITHOUT_STAGES
from irlens.model.report import Blame, Severity
from irlens.rules import Match, Place

CODE = "IRL204"
NAME = "stages-not-asked"
SEVERITY: Severity = "note"
NEEDS = ("ttgir", "loads")

_HINT = "write the loop as tl.range(..., num_stages=N) to have its loads copied ahead"
_WHILE = (
    "where a counter bounds the loop, write it as tl.range(..., num_stages=N) with the rest of the"
    " condition as a mask; Triton issues no loads ahead of a condition on loaded data"
)
_BESIDE_BRANCH = (
    "load before the condition, with it as the mask, and write the loop as"
    " tl.range(..., num_stages=N); to multiply in every iteration, too, costs the products that"
    " are skipped now"
)
_HINTS = {DOT_IN_BRANCH: _BESIDE_BRANCH, NOT_FOR: _WHILE}


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each loop without a request to pipeline its loads."""
    stages = facts.config.num_stages
    if facts.ttgir is None or stages is None or stages < 2:
        return
    reported = set()
    for load in facts.loads:
        # A single value per iteration is hardly worth a copy.
        if load.reason not in WITHOUT_STAGES or not load.shape or load.loop_source in reported:
            continue
        if load.source in facts.read_once:
            continue
        reported.add(load.loop_source)
        place = load.loop_source or f"ttgir:{load.loop_line}"
        reason = f"no dot uses its loads, and num_stages={stages} is only for loops with one"
        reason = reason if load.reason == NO_DOT else load.reason
        yield Match(
            message=f"the loop at {place} reads memory and is not pipelined: {reason}",
            hint=waits_are_short(facts) or _HINTS.get(load.reason, _HINT),
            place=Place(facts.ttgir.stage, load.loop_line, load.loop_source),
            blame=None if load.reason == NO_DOT else Blame(reason=reason),
        )
