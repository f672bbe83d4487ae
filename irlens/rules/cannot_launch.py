"""One CTA needs more than an SM has, or the grid has too many, so the kernel cannot be launched.

## What it means

Every GPU limits the shared memory, registers, threads and barriers of a single CTA. Compiling does
not check these limits: the launch fails, with "out of resource" from Triton or
`CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES` from the driver. A grid has at most 65,535 CTAs in y and in z
on NVIDIA's GPUs; a larger one is an invalid argument.

## Example

A matmul of fp16 tiles, 128 x 256 with 64 along K, and `num_stages=5` keeps four buffers of
(128 + 256) x 64 x 2 bytes on an A100: 196,608 bytes, where a CTA may have 166,912.

## What to do

* Shared memory: fewer `num_stages`, smaller tiles, a narrower type.
* Registers: more warps (`num_warps`) for the same tile, a smaller tile, or `maxnreg`.
* Threads: fewer warps.
* Grid: number the dimension with more CTAs along x, or give a program more work.

## Targets

NVIDIA and AMD.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.model.report import Blame, Refusal, Severity
from irlens.rules import Match

CODE = "IRL101"
NAME = "cannot-launch"
SEVERITY: Severity = "error"
NEEDS = ("occupancy",)

_REMEDY = {
    "shared_memory": "use smaller tiles",
    "registers": "raise num_warps, make the tile smaller, or set maxnreg",
    "threads": "lower num_warps",
    "barriers": "use fewer named barriers",
    "grid": "number them along x, or give a program more work",
}


def find(facts: Facts) -> Iterator[Match]:
    """Yield one finding for each limit that is exceeded."""
    if facts.gpu is None or facts.occupancy is None:
        return
    for refusal in facts.occupancy.refusals:
        message = _message(refusal, facts)
        yield Match(
            message=message,
            hint=_remedy(refusal.resource, facts),
            blame=Blame(reason=message, kind=refusal.resource),
        )


def _remedy(resource: str, facts: Facts) -> str:
    if resource == "shared_memory" and any(each.holds_stages for each in facts.pipelines):
        return "use fewer stages or smaller tiles"
    return _REMEDY.get(resource, "reduce it")


def _message(refusal: Refusal, facts: Facts) -> str:
    words = facts.words
    takes = "takes" if refusal.resource == "grid" else "has"
    return (
        f"{words.resource(refusal.resource)}: {refusal.requested:,} {words.unit(refusal.unit)}"
        f" requested, {facts.gpu.name if facts.gpu else 'the GPU'} {takes} {refusal.limit:,}"
    )
