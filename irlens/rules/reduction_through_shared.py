"""A short reduction is spread over too many warps, which exchange data through shared memory.

## What it means

The threads of one warp reduce and scan (`tl.cumsum`) with shuffles. Where the axis is spread
over several warps, each warp writes its part to shared memory, all wait at a barrier, and the parts
are read and combined. That pays off for long rows. The finding is reported where half of the warps
or fewer would hold the row with a single 16-byte access per thread, so that the others only add to
the exchange.

Softmax of rows of 256 fp32, which two warps hold, takes an H200 164 µs with two warps, 177 with
four and 322 with eight; of 1,024, which eight hold, 141 µs with eight and 213 with sixteen.

## Example

```python
row = tl.load(x_ptr + row_index * 128 + tl.arange(0, 128))    # num_warps=4: 32 elements per warp
total = tl.sum(row, axis=0)
```

## What to do

* As many warps as the finding names, with as many programs as before: more CTAs then fit on an SM.
* Or several rows per program, as a tile of rows x columns that is reduced along its columns: each
  warp then has rows of its own.

## Targets

NVIDIA, and AMD where one wave would hold the row. Waves have 32 or 64 threads, as the GPU has them.
"""

from collections.abc import Iterator
from math import prod

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.encodings import Blocked, blocked
from irlens.model.report import Blame, Severity
from irlens.model.text import plural
from irlens.rules import Match, Place

CODE = "IRL403"
NAME = "reduction-through-shared"
SEVERITY: Severity = "note"
NEEDS = ("ttgir",)

_WIDEST_ACCESS = 16


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each line with a reduction or a scan that fewer warps would hold."""
    if facts.ttgir is None:
        return
    reported, words = set(), facts.words
    is_nvidia = facts.gpu is not None and facts.gpu.arch.vendor == "nvidia"
    for reduce in facts.ttgir.doing("reduce", "scan"):
        source = user_line(reduce)
        spread = _spread(facts.ttgir, reduce)
        if source is None or source in reported or spread is None:
            continue
        elements, warps, needed, enough = spread
        # What more than one warp has to exchange anyway was measured on NVIDIA alone.
        if _is_exchange(reduce, elements) or (needed > 1 and not is_nvidia):
            continue
        reported.add(source)
        yield Match(
            message=(
                f"the {'scan' if reduce.does == 'scan' else 'reduction'} of {elements} elements at"
                f" {source} goes through"
                f" {words.shared_memory}: they are spread over {plural(warps, words.warp)}, and"
                f" {'one' if needed == 1 else needed} could hold them"
            ),
            hint="lower num_warps, or give each program several rows",
            place=Place(facts.ttgir.stage, reduce.span.line, source),
            blame=Blame(
                reason=f"{elements} elements are spread over {plural(warps, words.warp)}",
                suffices=enough,
            ),
        )


def _is_exchange(reduce: Operation, elements: int) -> bool:
    """Whether it is a step of ``tl.sort``, ``tl.topk`` or ``tl.flip``.

    They exchange two elements by a reduction over both, which is unrelated to the row's length: a
    function of Triton's library calls another one that reduces.
    """
    frames = reduce.location
    return elements == 2 and len(frames) > 2 and frames[0].file == frames[1].file != frames[-1].file


def _spread(module: Module, reduce: Operation) -> tuple[int, int, int, int] | None:
    """Return how a reduction is spread over warps; ``None`` if half of them do not hold the axis.

    Returns:
        The elements of the reduced axis, the warps that hold them, the fewest that can hold them,
        and the fewest that can hold the whole tile.
    """
    tensor = reduce.operand_type
    layout, bits, along = blocked(module, tensor), tensor.element.bits, reduce.integer("axis")
    if layout is None or bits is None or along is None:
        return None
    if not 0 <= along < len(tensor.shape):
        return None
    elements = tensor.shape[along]
    warps = min(layout.warps_per_cta[along], elements // _held_by_warp(layout, along))
    in_one = layout.warp_size * _WIDEST_ACCESS * 8
    needed = 1 << (-(-elements * bits // in_one) - 1).bit_length()
    enough = needed * prod(
        min(layout.warps_per_cta[n], max(1, extent // _held_by_warp(layout, n)))
        for n, extent in enumerate(tensor.shape)
        if n != along
    )
    return (elements, warps, needed, enough) if warps >= 2 * needed else None


def _held_by_warp(layout: Blocked, dimension: int) -> int:
    """Return how many elements along a dimension a warp holds, before the layout repeats."""
    return layout.size_per_thread[dimension] * layout.threads_per_warp[dimension]
