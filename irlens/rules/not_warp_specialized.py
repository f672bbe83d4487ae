"""Warp specialization was requested for a loop, and its warps all do the same.

## What it means

`tl.range(..., warp_specialize=True)` asks the compiler to give the loop's loads to warps of their
own, which run ahead while others multiply. It does so where its conditions hold, and says nothing
where they do not: no warps are added, and all of them load and multiply. On GPUs without it, and in
loops without a product on Hopper, the request also switches software pipelining off.

Triton's conditions, checked with 3.6.0, 3.7.1, 3.8.0 and 3.9.0:

* Hopper (sm_90): `num_warps=4`, a dot in the loop, in no condition and, since 3.7, at least two
  stages. A nest that `flatten=True` made one loop of is left alone; a dot whose operands come
  through pointers fails to compile.
* Blackwell (sm_100 to sm_120): a dot in the loop, and operands that tensor descriptors load (TMA).
  Up to 3.7, sm_100 also specializes loops that load through pointers; what does not meet the
  conditions otherwise fails to compile.
* Older GPUs of NVIDIA, and AMD's: never.

Asked for by name, `irlens explain KERNEL IRL205` also answers for loops with a dot that request
none.

## Example

```python
for k in tl.range(0, K, BLOCK_K, warp_specialize=True):    # and num_warps=8, on sm_90
    acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
```

## What to do

* Compile for four warps on Hopper: the compiler adds those of its partitions.
* Load operands with tensor descriptors.
* Where the conditions cannot hold, remove `warp_specialize=True`: the loop is pipelined then.

## Targets

NVIDIA and AMD.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.operations import FLATTENED, SPECIALIZED
from irlens.isa.mlir.products import PRODUCTS
from irlens.model.report import Blame, Severity
from irlens.rules import Match, Place

CODE = "IRL205"
NAME = "not-warp-specialized"
SEVERITY: Severity = "warning"
NEEDS = ("ttir", "ttgir")

#: The first compute capability with warp specialization.
_HOPPER = 90
#: The only number of warps that Hopper's pass takes.
_WARPS = 4
_STAGES = 2
_HINTS = {
    "target": "remove warp_specialize=True, which switches pipelining off on some GPUs",
    "no dot": "remove warp_specialize=True, and request stages with num_stages",
    "warps": f"compile with num_warps={_WARPS}",
    "stages": f"compile with num_stages={_STAGES} or more",
    "pointers": "load the operands with tensor descriptors",
    "fused": "remove flatten=True from it",
    "condition": "multiply in every iteration, by masked operands where nothing is to be added",
    "not asked": "write the loop as tl.range(..., warp_specialize=True)",
    "": "irlens passes shows what the passes of warp specialization leave",
}


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each loop that requested warp specialization in vain."""
    yield from _matches(facts, asked=True)


def on_request(facts: Facts) -> Iterator[Match]:
    """Yield also the loops with a product that requested none."""
    yield from _matches(facts, asked=False)


def _matches(facts: Facts, *, asked: bool) -> Iterator[Match]:
    if facts.ttir is None or facts.ttgir is None:
        return
    if any(facts.ttgir.named("ttg.warp_specialize")):
        return
    dots = [each.index for each in facts.ttir.named(*PRODUCTS)]
    for loop in facts.ttir.named("scf.for"):
        if loop.flag(SPECIALIZED) != asked or not (asked or _holds(loop, dots)):
            continue
        kind, reason = _reason(facts, facts.ttir, loop) if asked else ("not asked", _NOTSPECIALIZED)
        source = user_line(loop)
        place = source or f"ttir:{loop.span.line}"
        requests = "requests warp specialization and has none" if asked else "has one kind of warp"
        yield Match(
            message=f"the loop at {place} {requests}: {reason}",
            hint=_HINTS[kind],
            place=Place("ttir", loop.span.line, source),
            blame=Blame(reason=reason, kind=kind, suffices={"warps": _WARPS}.get(kind)),
        )


def _holds(loop: Operation, indices: Sequence[int]) -> bool:
    """Return whether a loop holds one of some operations, given as ascending indices."""
    at = bisect_right(indices, loop.index)
    return at < len(indices) and indices[at] < loop.end


_NOTSPECIALIZED = "warp_specialize=True is not requested for it"


def _reason(facts: Facts, module: Module, loop: Operation) -> tuple[str, str]:
    """Return the condition of the compiler that does not hold, by kind, and in words."""
    arch = facts.gpu.arch if facts.gpu is not None else None
    if arch is None:
        return "", "the target is unknown"
    if arch.vendor != "nvidia" or (capability := int(arch.name.removeprefix("sm_"))) < _HOPPER:
        return "target", f"Triton specializes no warps on {arch.name}"
    body = module.body(loop)
    products = [each for each in body if each.name in PRODUCTS]
    if not products:
        return "no dot", "no dot is in the loop"
    if capability == _HOPPER:
        if facts.config.num_warps != _WARPS:
            return "warps", f"Hopper's pass takes num_warps={_WARPS}, not {facts.config.num_warps}"
        if facts.config.num_stages is not None and facts.config.num_stages < _STAGES:
            return "stages", f"it takes {_STAGES} stages or more"
    if not any(each.name.startswith("tt.descriptor_") for each in body):
        return "pointers", "its loads go through pointers, not tensor descriptors (TMA)"
    parents = [module.operations[each.parent] for each in products if each.parent is not None]
    if capability == _HOPPER and loop.flag(FLATTENED):
        return "fused", "Hopper's pass takes no nest that flatten=True has made one loop of"
    if capability == _HOPPER and any(each.does == "if" for each in parents):
        return "condition", "Hopper's pass takes no dot in a condition"
    return "", "the IR does not show why"
