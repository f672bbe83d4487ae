"""An atomic adds data with acquire and release semantics that nothing seems to rely on.

## What it means

Triton's atomics have `sem="acq_rel"` unless they ask for less: all that the program has written
must be visible to the whole GPU before the atomic, and nothing after it may begin earlier. The
compiler puts a fence before each of its instructions, where a warp waits for its earlier writes
and for a round trip to the L2.

Programs that add their parts of a result, as in split-K, need sums that are right, which any
atomic guarantees, and no order among the programs. On an H200, split-K products with relaxed
atomics take at most 3 % longer than with plain stores; with the default they take 8 to 50 % longer
than that.

The finding is reported for blocks of values whose old values are not used. It is not for scalars:
these may be counters and locks with which programs wait for each other.

## Example

```python
tl.atomic_add(c_ptr + offsets, acc, mask=mask)
```

## What to do

* `tl.atomic_add(c_ptr + offsets, acc, mask=mask, sem="relaxed")`.
* Keep the default if another program of the same launch reads these values, or others that this
  program wrote before, once it sees that the atomic has happened.

## Targets

NVIDIA and AMD; measured on an H200.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Operation
from irlens.isa.mlir.types import Tensor
from irlens.isa.mlir.values import Value
from irlens.model.report import Severity
from irlens.rules import Match, Place

CODE = "IRL308"
NAME = "fenced-atomic"
SEVERITY: Severity = "note"
NEEDS = ("ttir",)

#: Semantics with a fence before the atomic.
_FENCED = frozenset({"acq_rel", "release"})
#: Operations that leave no value of their own behind: an exchange is how a lock is released.
_REPLACES = "exch"


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each atomic on a block whose old values are not used."""
    module = facts.ttir
    if module is None:
        return
    candidates = [each for each in module.named("tt.atomic_rmw") if _is_fenced(each)]
    for atomic in candidates:
        if Value(atomic.index, 0) in module.values.readers:
            continue
        source = user_line(atomic)
        place = Place(module.stage, atomic.span.line, source)
        semantics = next(word for word in atomic.words if word in _FENCED)
        yield Match(
            message=(
                f'the atomic{place} has sem="{semantics}": each of its instructions waits for the'
                f" {facts.words.warp}'s earlier writes, and nothing uses what it returns"
            ),
            hint='sem="relaxed" adds as exactly, unless another program waits for these values',
            place=place,
        )


def _is_fenced(atomic: Operation) -> bool:
    return (
        bool(_FENCED.intersection(atomic.words))
        and _REPLACES not in atomic.words
        and any(isinstance(each, Tensor) for each in atomic.result_types)
    )
