"""A tile is loaded without the tensor memory accelerator (TMA).

## What it means

From Hopper on, one thread can have a whole tile copied to shared memory: TMA computes the
addresses, checks the bounds, swizzles, and needs no registers. Triton uses it for tensor
descriptors alone, `tl.make_tensor_descriptor(...).load(...)`. A `tl.load` of pointers is copied by
every thread (`cp.async`) or comes through registers, whatever the tile looks like; block pointers
(`tl.make_block_ptr`) become pointers, too. On GPUs without TMA descriptors become pointers.

This is no fault, so that no report has it. `irlens explain KERNEL IRL311` asks for it.

## Example

```python
a = tl.load(a_ptr + rows[:, None] * stride + columns[None, :])    # by cp.async
a = a_desc.load([row, column])                                    # by TMA on sm_90 and newer
```

## What to do

Where addresses take registers or instructions, and the tile's rows are multiples of 16 bytes, load
it with a tensor descriptor, and compare: `irlens diff`.

## Targets

NVIDIA from Hopper on; other GPUs have no such unit that Triton uses.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Operation
from irlens.isa.mlir.types import Tensor
from irlens.model.report import Blame, Severity
from irlens.rules import Match, Place

CODE = "IRL311"
NAME = "load-without-tma"
SEVERITY: Severity = "note"
NEEDS = ("ttir", "ttgir")

#: The first compute capability with TMA.
_FIRST = 90


def find(facts: Facts) -> Iterator[Match]:
    """Yield nothing: a load through pointers is no fault."""
    yield from ()


def on_request(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each tile of a loop that TMA does not load."""
    if facts.ttir is None or facts.ttgir is None or facts.gpu is None:
        return
    arch, reported = facts.gpu.arch, set()
    has_tma = arch.vendor == "nvidia" and int(arch.name.removeprefix("sm_")) >= _FIRST
    for load in facts.ttir.named("tt.load", "tt.descriptor_load"):
        source = user_line(load)
        if source is None or (source.file, source.line) in reported or not _is_tile(load):
            continue
        if not has_tma:  # the ttir has pointers in place of descriptors
            kind, reason = "target", f"{arch.name} has no TMA"
        elif load.name == "tt.load":
            kind, reason = "pointers", "it goes through pointers, not a tensor descriptor"
        elif not any(facts.ttgir.named("tt.descriptor_load")):
            continue  # all are lowered to copies, whose lines warp specialization may lose
        else:
            kind, reason = "", "the IR does not show why"
        reported.add((source.file, source.line))
        yield Match(
            message=f"TMA does not load the tile at {source}: {reason}",
            hint="load it with tl.make_tensor_descriptor(...).load, and compare",
            place=Place("ttir", load.span.line, source),
            blame=Blame(reason=reason, kind=kind),
        )


def _is_tile(load: Operation) -> bool:
    return any(isinstance(each, Tensor) and len(each.shape) > 1 for each in load.types)
