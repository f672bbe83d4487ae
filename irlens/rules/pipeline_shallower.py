"""A loop is pipelined less deeply than requested.

## What it means

`num_stages=S` requests that S iterations of a loop are in flight at once: while one is computed,
the data of the next S - 1 are being copied. irlens determines the depth from the machine-level
code, by following the groups of copies from their commit to the wait that retires them. Where it is
less than S, the copies have less time to arrive than the author planned.

On AMD each load of a loop has its own distance, from its issue to the `s_waitcnt` that retires it.
Where the loop computes nothing in between, it waits for all of memory's latency in every iteration,
although its other loads run ahead. The finding names those loads by their line and width.

## Example

```cuda
__pipeline_commit();        // two groups before the loop ...
__pipeline_commit();
for (...) {
    __pipeline_wait_prior(0);   // ... but the wait retires both: one would have been enough
```

Three buffers, three stages requested; the second group never survives the wait.

```asm
buffer_load_dwordx4 v[58:61], v66, s[20:23], 0 offen   ; of A: runs ahead of the products
v_mfma_f32_32x32x16_f16 ...
buffer_load_dwordx4 v[66:69], v74, s[4:7], 0 offen     ; of B: after the last product,
s_waitcnt vmcnt(1)
ds_write_b128 v49, v[58:61]
s_waitcnt vmcnt(0)                                     ; and awaited at once
ds_write_b128 v50, v[66:69]
```

## What to do

Compare the wait with the number of groups that are committed before the loop. For a loop that
Triton pipelined, look at its loads: IRL203 names those that are not pipelined. If the achieved
depth is enough, request that one: it may need less shared memory.

Stages that a loop requests itself, `tl.range(..., num_stages=2)`, replace those of the launch.
Asked for by name, `irlens explain KERNEL IRL201` also answers for loops that request fewer so.

A load at the end of the body whose result the next iteration uses is pipelined by hand, by one
iteration, and the compiler leaves it so. Move it to the iteration that uses it.

Where a load takes its address, or its mask, from another one in the loop, the compiler runs each
of them `(S - 1) // 2` iterations ahead, and `(S - 1) // 3` where there are three in a row: the data
of the last must not be needed before those of the first have arrived. Request as many stages more.

On AMD it is LLVM that places loads and waits. Where a loop keeps what it loads in registers, each
iteration moves it on, and a move waits for the load: more than two stages take registers and hide
nothing more. Where an iteration stores what it loads in LDS, it waits for it, too: more than two
stages take LDS and hide nothing more. A masked load is waited for in its own iteration, which
selects `other`. On RDNA two stages may do worse than three: LLVM then waits for a load right behind
it, since nothing is left to compute before it moves the data on; compare both. LLVM's scheduler may
move a load after the products, to save registers, and on RDNA the fence of a barrier waits for
every load before it. Tiles, numbers of warps, sizes of matrix instructions (`matrix_instr_nonkdim`)
and versions of Triton differ in this: `irlens inspect --pipelines` lists where each load is issued
and awaited.

## Targets

NVIDIA and AMD.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from irlens.analyze.address_slice import Chain, can_precede, chain_of
from irlens.analyze.facts import Facts
from irlens.analyze.load_waits import (
    FENCED,
    LEFT_IN_PLACE,
    OTHER_WAVES,
    are_fenced,
    by_llvm,
    why_no_more,
)
from irlens.analyze.mlir_loops import carried, carried_loads, user_line
from irlens.analyze.ttgir_buffers import buffers_behind_stores
from irlens.isa.mlir.copies import BY_THREADS
from irlens.isa.mlir.operations import NUM_STAGES
from irlens.model.report import Blame, Pipeline, PipelineLoad, Severity
from irlens.model.source import SourceLocation
from irlens.model.terms import describe_loads
from irlens.model.text import plural
from irlens.rules import Match, Place

CODE = "IRL201"
NAME = "pipeline-shallower"
SEVERITY: Severity = "warning"
NEEDS = ("pipelines",)

#: The kind of loops that request fewer stages than the launch.
_OWN = "own"
#: CDNA has waves of 64.
_LANES_OF_RDNA = 32
#: With more stages the compiler for gfx950 places a load of a loaded address in the last one.
_MOST_OF_CHAIN = 4
_LDS = "LDS"  # only AMD's loops keep data in it


def unseen(facts: Facts) -> str:
    """Return why it is unknown how far loads of a loop run ahead; empty where it is known."""
    return facts.unread_loop


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each loop of which any load runs less far ahead than requested."""
    refused = {each.source for each in facts.loads if each.state == "in place"}
    for pipeline in facts.pipelines:
        reason = ""
        exposed = [load for load in pipeline.loads if load.is_exposed]
        suffices = pipeline.requested_stages
        chain = chain_of(facts.ttir, pipeline)
        if chain is not None and _serves(pipeline, chain):
            continue
        if pipeline.verdict == "shallower":
            kind, (message, hint) = "shallower", _shallower(pipeline)
            suffices = pipeline.achieved_stages
            if reason := _carried(facts, pipeline):
                kind, message = "carried", f"{message}: {reason}"
                hint = "load it in the iteration that uses it, and leave it to the compiler"
            elif chain is not None and _is_divided(pipeline, chain):
                kind, (reason, hint) = "chained", _chained(facts, pipeline, chain)
                message = f"{message}: {reason}"
            elif kept := pipeline.kept_iterations:
                kind, reason = "kept", _kept(pipeline, kept)
                message = f"{message}: {reason}"
                hint = _fewer(
                    facts, pipeline, f"less {_LDS}" if _is_copied(pipeline) else "fewer registers"
                )
            elif used := [each for each in _used_at_once(pipeline) if each.source in refused]:
                kind, reason = "behind", _behind(used)
                message = f"{message}: {reason}"
                hint = f"request num_stages={suffices}: {_as_far(facts)}"
                hint = _before(facts, pipeline, [each.source for each in used], "these", hint)
            elif reason := _buffered(facts, pipeline):
                kind, message = "buffered", f"{message}: {reason}"
                hint = _fewer(facts, pipeline, f"less {_LDS}")
            elif reason := _read_early(facts, pipeline):
                kind, message = "divided", f"{message}: {reason}"
                suffices = (pipeline.requested_stages or 1) - 1
                hint = (
                    f"request num_stages={suffices}, which leaves the products of an iteration"
                    f" together: copies run {plural(suffices - 1, 'iteration')} ahead, if {_LDS}"
                    " holds them"
                )
            elif reason := _waited_early(facts, pipeline):
                kind, message = "kept", f"{message}: {reason}"
                hint = _fewer(facts, pipeline, "less to keep")
        elif len(exposed) < len(pipeline.loads) and exposed and _asked(pipeline):
            waits = _exposed(facts, pipeline, exposed, refused)
            kind, message, reason, hint = waits.kind, waits.message, waits.reason, waits.hint
        else:
            continue
        yield Match(
            message=message,
            hint=hint,
            place=Place(pipeline.stage, pipeline.line, pipeline.source),
            blame=Blame(reason=reason or message, kind=kind, suffices=suffices),
        )


def on_request(facts: Facts) -> Iterator[Match]:
    """Yield the loops that request fewer stages themselves than the launch does."""
    launch, reported = facts.config.num_stages or 1, set[str]()
    sources = {each.loop_source for each in facts.loads}
    for loop in facts.ttir.doing("for") if facts.ttir is not None else ():
        own, place = loop.integer(NUM_STAGES), user_line(loop)
        if own is None or not 0 < own < launch or place not in sources or str(place) in reported:
            continue
        reported.add(str(place))
        reason = f"it requests {own} itself, and num_stages={launch} is for loops without their own"
        yield Match(
            message=f"the loop at {place} has {plural(own, 'stage')}: {reason}",
            hint=f"write tl.range(..., num_stages={launch}), or without num_stages",
            place=Place("ttir", loop.span.line, place),
            blame=Blame(reason=reason, kind=_OWN, suffices=launch),
        )


def _carried(facts: Facts, pipeline: Pipeline) -> str:
    """Return which load the loop carries to its next iteration; empty if it carries none."""
    module, source = facts.ttir, pipeline.source
    if module is None or source is None:
        return ""
    loops = (each for each in module.doing("for") if user_line(each) == source)
    loads = [load for loop in loops for load, _ in carried_loads(module, loop)]
    if not loads:
        return ""
    return (
        f"the load at {user_line(loads[0])} is for the next iteration, and the compiler pipelines"
        " those that the same iteration uses"
    )


def _serves(pipeline: Pipeline, chain: Chain) -> bool:
    """Whether AMD's loads bring the addresses of others, which need them an iteration later."""
    sources = {user_line(each) for each in chain.sources}
    loads = {each.source for each in pipeline.loads}
    return bool(pipeline.prefetch_iterations and loads) and loads <= sources


def _is_divided(pipeline: Pipeline, chain: Chain) -> bool:
    """Whether a loop is as deep as the chain of its loads leaves it stages."""
    requested, achieved = pipeline.requested_stages or 1, pipeline.achieved_stages
    # Where the stages do not suffice for all loads, the pipeliner copies those that they do for.
    return achieved == max(1, chain.iterations_ahead(requested, pipeline.kind)) + 1


def _chained(facts: Facts, pipeline: Pipeline, chain: Chain) -> tuple[str, str]:
    """Return which loads share the stages, and what has each run farther ahead."""
    lines = dict.fromkeys(str(user_line(each)) for each in chain.sources)
    needs = f"the load at {user_line(chain.last)} needs what is loaded at {' and '.join(lines)}"
    if pipeline.kind != BY_THREADS:
        behind = f"{needs}, and runs one stage behind it"
        more = f"request num_stages={(pipeline.requested_stages or 1) + 1}"
        if (pipeline.requested_stages or 1) >= _MOST_OF_CHAIN:
            more = f"no more than {_MOST_OF_CHAIN} stages: gfx950 then leaves the load in place"
        sources = map(user_line, chain.sources)
        return behind, _before(facts, pipeline, sources, "the addresses", more)
    stages = chain.stages_for(pipeline.achieved_stages or 1)
    hint = why_no_more(facts, pipeline, stages) or (
        f"request num_stages={stages}: each of them then runs one iteration farther ahead"
    )
    return f"{needs}, and the stages are divided among such loads", hint


def _before(
    facts: Facts,
    pipeline: Pipeline,
    places: Iterable[SourceLocation | None],
    loads: str,
    otherwise: str,
) -> str:
    """Return the hint to load before the loop, where that brings the same, or else another one."""
    module, source = facts.ttir, pipeline.source
    if module is None or not all(can_precede(module, each, source) for each in places):
        return otherwise
    return f"load {loads} before the loop, or {otherwise}"


def _waited_early(facts: Facts, pipeline: Pipeline) -> str:
    """Return that LLVM waits for what the ttgir has loaded farther ahead; empty where it does."""
    state = "registers" if pipeline.kind == "register" else "asynchronous"
    loads = (each for each in facts.loads if each.state == state and each.iterations_ahead)
    source, waited = pipeline.source, pipeline.prefetch_iterations
    ahead = {
        each.iterations_ahead or 0
        for each in loads
        if source and each.loop_source and each.loop_source.line == source.line
    }
    if pipeline.stage != "amdgcn" or not ahead or waited is None or waited >= min(ahead):
        return ""
    farther = plural(min(ahead), "iteration")
    return f"the ttgir loads {farther} ahead, and LLVM waits for the data {waited} after its load"


def _used_at_once(pipeline: Pipeline) -> list[PipelineLoad]:
    """Return AMD's loads that their own iteration uses, issued behind others that run ahead."""
    ahead = [each.line for each in pipeline.loads if each.iterations_ahead]
    return [
        each
        for each in pipeline.loads
        if each.iterations_ahead == 0 and ahead and each.line > min(ahead)
    ]


def _behind(used: Sequence[PipelineLoad]) -> str:
    """Return what a loop waits for, and with it for the loads before."""
    lines = " and ".join(dict.fromkeys(str(each.source) for each in used))
    return (
        f"each iteration uses what it loads at {lines}, and loads return in order, so that it waits"
        " for those before, which are for later iterations"
    )


def _kept(pipeline: Pipeline, kept: int) -> str:
    """Return a sentence on when data arrive and for how many iterations the loop keeps them."""
    ahead = pipeline.prefetch_iterations or 0
    where = _LDS if _is_copied(pipeline) else "registers"
    return (
        f"LLVM waits for the data {plural(ahead, 'iteration')} after its load, and the loop then"
        f" keeps it in {where} for {plural(kept, 'more iteration')}"
    )


def _is_copied(pipeline: Pipeline) -> bool:
    return pipeline.kind == "direct-to-lds"


def _fewer(facts: Facts, pipeline: Pipeline, gain: str) -> str:
    """Return the hint to request what a loop achieves, and what it loses of loads that have more.

    Args:
        gain: What it takes less of.
    """
    ahead, request = pipeline.prefetch_iterations or 0, f"num_stages={pipeline.achieved_stages}"
    farther = [each for each in pipeline.loads if (each.iterations_ahead or 0) > ahead]
    if not farther:
        return f"request {request}: {_as_far(facts)}, and {gain}"
    lines = " and ".join(dict.fromkeys(str(each.source) for each in farther))
    return f"request {request} for {gain}, if the loads at {lines} may run less far ahead"


def _as_far(facts: Facts) -> str:
    """Return how far loads run ahead with fewer stages; on RDNA the code of those decides."""
    is_rdna = facts.gpu is not None and facts.gpu.arch.warp_size == _LANES_OF_RDNA
    return "as far ahead" + ", unless LLVM then waits for the loads at once" * is_rdna


def _read_early(facts: Facts, pipeline: Pipeline) -> str:
    """Return which copies a loop reads from LDS an iteration before the product that needs them.

    AMD's compiler divides the two products of attention in four stages among several iterations.
    """
    module, source = facts.ttgir, pipeline.source
    requested, achieved = pipeline.requested_stages or 1, pipeline.achieved_stages or 1
    if module is None or source is None or not _is_copied(pipeline) or requested - 1 <= achieved:
        return ""
    loop = next((each for each in module.doing("for") if user_line(each) == source), None)
    next_time = {*carried(module, loop).values()} if loop is not None else set()
    lines = dict.fromkeys(
        str(user_line(each))
        for each in (module.own(loop) if loop is not None else ())
        if each.does == "load shared" and any(name in next_time for name, _ in each.results)
    )
    if not lines:
        return ""
    return (
        f"the other stages are for the products, and for reading what is copied at"
        f" {' and '.join(lines)} from {_LDS} an iteration before its product"
    )


def _buffered(facts: Facts, pipeline: Pipeline) -> str:
    """Return how long AMD's LDS keeps data before they are needed; empty where it keeps none."""
    module, source = facts.ttgir, pipeline.source
    if module is None or source is None or pipeline.stage != "amdgcn":
        return ""
    loop = next((each for each in module.doing("for") if user_line(each) == source), None)
    kept = buffers_behind_stores(module, loop) - 1 if loop is not None else 0
    requested, achieved = pipeline.requested_stages, pipeline.achieved_stages
    if kept < 1 or requested is None or achieved is None or requested - achieved != kept:
        return ""
    return (
        "each iteration stores what it loads in LDS, which then keeps it for"
        f" {plural(kept, 'more iteration')}"
    )


def _asked(pipeline: Pipeline) -> bool:
    return (pipeline.requested_stages or 1) > 1


def _shallower(pipeline: Pipeline) -> tuple[str, str]:
    """Return the message and the hint for a loop that runs ahead, but not as far as requested."""
    return (
        f"the loop at {pipeline.place} requested {pipeline.requested_stages} stages and got"
        f" {pipeline.achieved_stages}",
        "look for waits on more groups than needed, and for loads that are not pipelined",
    )


class _Wait(NamedTuple):
    """What a finding says of a loop that waits for some of its loads at once."""

    kind: str
    message: str
    hint: str
    reason: str = ""


def _exposed(
    facts: Facts,
    pipeline: Pipeline,
    exposed: Sequence[PipelineLoad],
    refused: Collection[SourceLocation | None],
) -> _Wait:
    """Return what to say of a loop that waits at once for loads.

    Args:
        refused: Where the loads are that the compiler leaves in place.
    """
    total = sum(load.instructions for load in pipeline.loads)
    waited = sum(load.instructions for load in exposed)
    message = (
        f"the loop at {pipeline.place} requested {pipeline.requested_stages} stages and waits at"
        f" once for {waited} of its {total} loads, with nothing computed since their issue:"
        f" {describe_loads(exposed)}"
    )
    if all(load.source in refused for load in exposed):
        return _Wait("refused", message, LEFT_IN_PLACE)
    if are_fenced(facts.amdgcn, exposed):
        return _Wait("fenced", message, OTHER_WAVES, FENCED)
    return _Wait("exposed", message, by_llvm(facts))
