"""A load in a loop is not pipelined, although stages were requested for the loop.

## What it means

Each iteration issues the load and waits for it, hundreds of cycles for memory, while the loop's
other loads may be copied stages ahead. The finding gives the compiler's reason as far as the IR
shows it.

Loops that do not exist in the machine code are left out: they were unrolled, or run once. Asked for
by name, `irlens explain KERNEL IRL203` also answers for loops of one stage.

Small loads that hit in a cache hardly hurt. A large load in a streaming loop does.

## Example

```python
for k in range(0, K, BLOCK_K):                 # and num_stages=4 with the launch
    a = tl.load(a_ptrs)
    b = tl.load(b_ptrs)                        # both are operands of the dot: pipelined
    bias = tl.load(bias_ptr + k + columns)     # is not: left in place
    total = tl.dot(a, b, total) + bias
```

## What to do

* Narrower than 4 bytes: let each thread read neighbours that the compiler knows to be aligned.
  Where IRL301 is found too, it names the obstacle. The compiler knows no alignment of a pointer or
  a stride that the kernel loads from memory: where it is a multiple of 16, say so,
  `stride = tl.multiple_of(tl.load(strides), 16)`.
* The same in every iteration: load it before the loop. The hint says so only where neither its
  address nor its mask changes, and nothing in the loop may write to that tensor.
* A single value of fewer than 4 bytes, such as a scale of fp16: keep it in memory as fp32.
* Fewer bytes than four for each thread, as of a mask of 128 int8: take a larger tile, or
  fewer warps. No alignment widens it.
* Not an operand of the dot: request stages for the loop itself with `tl.range(..., num_stages=4)`,
  which applies to all of its loads.
* Indirect: request one stage more. On gfx950, request at most four: with more, the compiler places
  the load in the stage that uses it.
* Inside a condition: load unconditionally, under a mask.
* Outside the inner loop of a nest that `flatten=True` fuses, such as the bias of a tile: it costs
  one latency a tile.
* Taken by products in different layouts, as a left and a right operand (AMD), or transposed as both
  (sm_80), in the backward pass of attention: load the tile again for the other product, with its
  own `eviction_policy`, or the compiler makes one load of both. The cache has it.
* In a loop that prints or asserts: remove `tl.device_print` and `tl.device_assert`.
* In a loop with `tl.debug_barrier()`: remove it. Triton places the barriers that shared memory
  needs.
* In a loop that carries a value for two iterations (`older = last; last = x`), or exchanges two:
  load or compute the older value anew, or unroll the loop by two.
* Transposed on the way: sm_90 multiplies 8-bit types only with K contiguous in both operands.
  Store the matrix that way.

## Targets

NVIDIA and AMD. On NVIDIA `cp.async` copies at least 4 bytes; on gfx942 Triton leaves narrower loads
alone as well, and on gfx950 it does not.
"""

from collections.abc import Iterator

from irlens.analyze.address_slice import can_precede, load_chain, loaded_parts
from irlens.analyze.facts import Facts
from irlens.analyze.global_accesses import access_widths
from irlens.analyze.loops import ONLY
from irlens.analyze.mlir_loops import find_loops, requested_stages, user_line
from irlens.analyze.ttgir_loads import OWN_ITERATION
from irlens.analyze.ttgir_refusals import (
    BARRIER,
    CHAINED,
    CONDITIONAL,
    FARTHER,
    INDIRECT,
    LEFT_TO_USERS,
    NARROW,
    NO_CP_ASYNC,
    NO_OPERAND,
    NOT_FOR,
    ONE_STAGE,
    OUTER,
    PRINTS,
    SEVERAL_LAYOUTS,
    SMALL,
    SWITCHED_OFF,
    TRANSPOSED,
    UNKNOWN,
    WITHOUT_STAGES,
    too_narrow,
)
from irlens.isa.mlir import Module
from irlens.isa.mlir.global_memory import loaded_type
from irlens.isa.mlir.operations import DIVISIBILITY, LOADS
from irlens.model.memory import LoopLoad
from irlens.model.report import Blame, Severity
from irlens.model.text import plural
from irlens.rules import Match, Place

CODE = "IRL203"
NAME = "load-not-pipelined"
SEVERITY: Severity = "warning"
NEEDS = ("ttir", "ttgir", "loads")

#: Bytes per thread (PTX ISA, cp.async: cp-size).
_SMALLEST_COPY = 4
ONCE_A_TILE = (
    "flatten=True makes one loop of the nest, and the load is outside the inner loop: each of the"
    " outer loop's iterations waits for its own"
)
_NEIGHBOURS = (
    "let each thread read neighbours in memory that the compiler knows to be aligned: strides and"
    " bounds that are multiples of 16, or tl.multiple_of and tl.max_contiguous"
)
_BEFORE = "load it before the loop"
_LATENCY = (
    "each of the outer loop's iterations needs its own, and waits for it: one latency, little"
    " beside a long inner loop"
)
_HINTS = {
    NOT_FOR: "write it as a for loop, over tl.range",
    OUTER: _LATENCY,
    CONDITIONAL: "load unconditionally, under a mask",
    ONCE_A_TILE: _LATENCY,
    ONE_STAGE: "write the loop as tl.range(..., num_stages=N), with N of 2 or more",
    NO_CP_ASYNC: "let more warps per SM hide the latency: smaller tiles, fewer registers",
    NARROW: _NEIGHBOURS,
    SMALL: _NEIGHBOURS,
    NO_OPERAND: "write tl.range(..., num_stages=N) for all loads",
    INDIRECT: "request one stage more",
    SEVERAL_LAYOUTS: (
        "load the tile for each product, with another eviction_policy so that the loads stay apart,"
        " and compare the times"
    ),
    CHAINED: "request at most 4 stages",
    TRANSPOSED: "store the matrix with K contiguous",
    PRINTS: "remove tl.device_print and tl.device_assert from the loop",
    BARRIER: "remove the barrier: Triton places those that shared memory needs",
    SWITCHED_OFF: "remove warp_specialize=True from the loop",
    LEFT_TO_USERS: "load it by a tensor descriptor, as an operand of the dot",
    FARTHER: (
        "load or compute the older value anew in the iteration that uses it, or let an iteration do"
        " the work of two"
    ),
}
_LOADED = (
    "the kernel loads its pointer or a stride from memory: where each is a multiple of 16, say so"
    " with tl.multiple_of(..., 16)"
)
_ALONE = "let it take 4 bytes in memory"
_ANY_HINT = "make it wide, unconditional and direct"


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each load that stays in a loop with several stages requested."""
    yield from _matches(facts, asked=True)


def on_request(facts: Facts) -> Iterator[Match]:
    """Yield also the loads of loops for which one stage was requested, or none."""
    yield from _matches(facts, asked=False)


def _matches(facts: Facts, *, asked: bool) -> Iterator[Match]:
    if facts.ttir is None or facts.ttgir is None or facts.ttir.stage != "ttir":
        return
    requested = requested_stages(facts.ttir, facts.config.num_stages)
    operations = facts.ttgir.operations
    stages_of = {
        operations[loop].span.line: requested(operations[loop].location, ONLY)
        for loop in find_loops(facts.ttgir)
    }
    reported = set()
    for load in facts.loads:
        stages = stages_of.get(load.loop_line)
        if load.state != "in place" or asked != (stages is not None and stages >= 2):
            continue
        if load.source is None or load.source in facts.read_once:
            continue
        reason = _reason(load, facts)
        if not asked and reason in WITHOUT_STAGES:
            continue  # IRL204
        if (str(load.source), reason) in reported:
            continue
        reported.add((str(load.source), reason))
        missing = _missing(load, facts) if reason in (NARROW, SMALL) else 0
        yield Match(
            message=(
                f"the load at {load.source} is not pipelined,"
                f" {_loop_of(stages or 1, facts)}: {reason}"
            ),
            hint=_spread(load, facts) if missing else _hint(reason, load, facts),
            place=Place(facts.ttgir.stage, load.line, load.source),
            blame=Blame(
                reason=reason,
                kind="spread" if missing else "several" if reason == SEVERAL_LAYOUTS else "",
                suffices=missing or None,
            ),
        )


def _loop_of(stages: int, facts: Facts) -> str:
    """Return what loop a load is in; one stage may be the loop's own request."""
    launch = facts.config.num_stages or 1
    if stages > 1 or launch == 1:
        return f"in a loop of {plural(stages, 'stage')}"
    return f"in a loop of one stage, whatever the launch asks for (num_stages={launch})"


def _missing(load: LoopLoad, facts: Facts) -> int:
    """Return how many times larger a tile has to be for its threads; 0 if it is enough."""
    held, needed = load.bytes_per_iteration, _SMALLEST_COPY * (facts.threads or 0)
    return -(-needed // held) if load.shape and held and held < needed else 0


def _spread(load: LoopLoad, facts: Facts) -> str:
    return (
        f"a larger tile, or fewer {facts.words.warp}s, before any alignment counts:"
        f" {load.bytes_per_iteration:,} B are less than {_SMALLEST_COPY} for each of"
        f" {facts.threads} {facts.words.thread}s"
    )


def _reason(load: LoopLoad, facts: Facts) -> str:
    """Return why it was not pipelined; the assembly knows its width better than the ttgir does."""
    if load.reason == UNKNOWN and facts.assembly is not None:
        widths = access_widths(facts.assembly)
        here = [widths[place] for place in widths if place[0] == "load" and load.source in place[1]]
        reads = facts.ttgir.doing("load") if facts.ttgir is not None else ()
        chains = (each.location for each in reads if each.span.line == load.line)
        exact = ("load", next(chains, ()))  # a helper may be called several times
        here = [widths[exact]] if exact in widths else here
        if here and max(max(sizes) for sizes in here) < _SMALLEST_COPY:
            return (too_narrow(facts.ttgir) if facts.ttgir else "") or UNKNOWN
    if load.reason == UNKNOWN and facts.ttgir and _is_of_loaded_address(load, facts):
        return too_narrow(facts.ttgir) or UNKNOWN  # LLVM may widen it
    fused = load.reason in (CONDITIONAL, OWN_ITERATION)
    if fused and facts.ttir is not None and _was_flattened(load, facts.ttir):
        return ONCE_A_TILE
    chained = load.reason == OWN_ITERATION and facts.gpu and facts.gpu.arch.vendor == "amd"
    return CHAINED if chained and facts.ttir and _is_chained(load, facts.ttir) else load.reason


def _is_of_loaded_address(load: LoopLoad, facts: Facts) -> bool:
    """Whether a load of narrow elements has a pointer or a stride of unknown alignment."""
    module = facts.ttir
    reads = [] if module is None else module.doing("load")
    reads = [each for each in reads if user_line(each) == load.source]
    bits = {getattr(loaded_type(each), "element", None) for each in reads}
    narrow = all((getattr(each, "bits", None) or 0) < 8 * _SMALLEST_COPY for each in bits)
    parts = (part for each in reads if module for part in loaded_parts(module, each))
    return narrow and any(DIVISIBILITY not in part.attributes for part in parts)


def _is_chained(load: LoopLoad, ttir: Module) -> bool:
    """Whether the load of a loop needs in the same iteration what another one brings."""
    loops = (each for each in ttir.doing("for") if user_line(each) == load.loop_source)
    chains = filter(None, (load_chain(ttir, each) for each in loops))
    return any(user_line(each) == load.source for chain in chains for each in chain.waiting)


def _was_flattened(load: LoopLoad, ttir: Module) -> bool:
    """Whether the source has a load directly in a loop that is to be fused with its inner one."""
    outer = {index for index, loop in find_loops(ttir).items() if loop.flatten and loop.inner}
    return any(
        each.parent in outer and user_line(each) == load.source
        for each in ttir.operations
        if each.name in LOADS
    )


def _hint(reason: str, load: LoopLoad, facts: Facts) -> str:
    """Return what to do about a reason: first of all to load before the loop, if it can be."""
    hint = _HINTS.get(reason, _ANY_HINT)
    if reason in (NARROW, SMALL) and not load.shape:
        hint = _ALONE
    elif reason in (NARROW, SMALL) and facts.ttir is not None:
        reads = (each for each in facts.ttir.operations if each.name == "tt.load")
        here = [each for each in reads if user_line(each) == load.source]
        if any(loaded_parts(facts.ttir, each) for each in here):
            hint = _LOADED
    module = facts.ttir
    if module is None or not can_precede(module, load.source, load.loop_source):
        return hint
    return _BEFORE if hint == _LATENCY else f"{_BEFORE}, or {hint}"
