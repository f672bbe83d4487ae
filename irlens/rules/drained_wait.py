"""A loop waits for all of its copies at once, so that nothing is in flight while it computes.

## What it means

A wait for at most N outstanding groups (`cp.async.wait_group N`) lets N groups go on arriving
during the compute that follows. With none left, the copies and the compute take turns: the loop
has the shared memory of a pipeline and little of its benefit. Only other warps hide the latency.

Triton waits at the top of an iteration and commits the next copies at its bottom, so its two-stage
pipeline drains. CUDA that commits the next copies first and then waits keeps one group in
flight with two stages, and is not reported. Nor is a loop whose tensor core still works on the data
(`wgmma.wait_group 1`, or `tcgen05`) when the next copies are committed.

On AMD data goes through registers, and the same happens where a loop with several stages waits for
its loads (`s_waitcnt vmcnt(0)`, `s_wait_loadcnt 0x0`) before it computes anything: what the
compiler pipelined, LLVM's scheduler moved back together. On RDNA the fence of each barrier waits
for every load before it.

## Example

```python
for row in tl.range(start, n_rows, step, num_stages=2):   # wait_group 0
    x = tl.load(x_ptr + row * stride + columns)
```

With `num_stages=3` the same loop waits for at most one group: that of the next row is still
arriving while this one is computed.

## What to do

Ask for one stage more, where shared memory allows it; for more where the loop's loads need each
other's values, and so share the stages (IRL201).

On AMD: remove what keeps loads in place (IRL203). Where LLVM moved the wait, other tiles, numbers
of warps or stages may move it again; a wave that holds many registers needs less to load.

## Targets

NVIDIA's copies in groups (`cp.async`), AMD's loads to registers and directly to LDS.
"""

from collections.abc import Iterator

from irlens.analyze.address_slice import chain_of
from irlens.analyze.facts import Facts
from irlens.analyze.load_waits import (
    FENCED,
    LEFT_IN_PLACE,
    OTHER_WAVES,
    are_fenced,
    by_llvm,
    why_no_more,
)
from irlens.isa.mlir.copies import BY_THREADS
from irlens.model.report import Blame, Pipeline, Severity
from irlens.model.text import plural
from irlens.rules import Match, Place

CODE = "IRL202"
NAME = "drained-wait"
SEVERITY: Severity = "warning"
NEEDS = ("pipelines",)


def unseen(facts: Facts) -> str:
    """Return why it is unknown what a loop has in flight; empty where it is known."""
    return facts.unread_loop


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each pipelined loop whose wait leaves no copy in flight."""
    for pipeline in facts.pipelines:
        if not pipeline.outstanding_at_wait or pipeline.groups_during_compute != 0:
            continue
        if pipeline.stage == "amdgcn" and pipeline.kind is None:
            yield from _drained_loads(facts, pipeline)
        stages = pipeline.achieved_stages
        # Tensor-core groups (wgmma) are no copies: a wait for all of them may be the result's.
        if stages is None or pipeline.kind not in ("cp.async", "direct-to-lds"):
            continue
        chain = chain_of(facts.ttir, pipeline) if pipeline.kind == BY_THREADS else None
        enough = chain.stages_for(stages) if chain is not None else stages + 1
        hint = f"ask for {enough} stages, or commit the next copies before the wait"
        if chain is None and (requested := pipeline.requested_stages or 0) >= enough:
            hint = f"see what keeps its loads from running ahead: {requested} stages are requested"
        hint = why_no_more(facts, pipeline, enough) or hint
        yield Match(
            message=(
                f"the loop at {pipeline.place} waits for all"
                f" {_groups(pipeline.outstanding_at_wait)}:"
                f" with {plural(stages, 'stage')} no copy is in flight while it computes"
            ),
            hint=hint,
            place=Place(pipeline.stage, pipeline.line, pipeline.source),
            blame=Blame(reason=f"it has {plural(stages, 'stage')}", suffices=enough),
        )


def _drained_loads(facts: Facts, pipeline: Pipeline) -> Iterator[Match]:
    """Yield the finding of an AMD loop that waits for loads as soon as it issued them."""
    if (pipeline.requested_stages or 0) < 2 or pipeline.outstanding_after_wait != 0:
        return
    fenced = are_fenced(facts.amdgcn, [load for load in pipeline.loads if load.is_exposed])
    refused = {each.source for each in facts.loads if each.state == "in place"}
    held, gpu = facts.resources.registers, facts.gpu
    if pipeline.loads and refused.issuperset(each.source for each in pipeline.loads):
        hint = LEFT_IN_PLACE
    elif gpu and held and 2 * held < gpu.arch.registers_per_thread:
        hint = by_llvm(facts, f"{(pipeline.requested_stages or 0) + 1} stages, ")
    else:
        hint = "give each wave less to load, so that LLVM has registers to keep the data in flight"
    yield Match(
        message=(
            f"the loop at {pipeline.place} requested {pipeline.requested_stages} stages and waits"
            f" for all its loads (vmcnt 0): none is in flight while it computes"
        ),
        hint=OTHER_WAVES if fenced else hint,
        place=Place(pipeline.stage, pipeline.line, pipeline.source),
        blame=Blame(reason=FENCED, kind="fenced") if fenced else None,
    )


def _groups(count: int) -> str:
    return "its copies" if count == 1 else f"its {count} groups of copies"
