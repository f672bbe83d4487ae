"""The threads of a warp access the same banks of shared memory and have to take turns.

## What it means

Shared memory serves a warp in one pass if its 32 threads access 32 different banks, or the same
word. If several threads access different words of one bank, the request is replayed: four words in
one bank take four times as long.

The ttgir has both layouts: where an element lies in shared memory, and which thread accesses it.
The finding counts the resulting passes and is reported from four on. It covers matrices in blocked
and swizzled layouts on NVIDIA, and asynchronous copies of single elements, which transpose a tile
for the tensor cores; tensor-core operands have layouts made to avoid conflicts, and the
scratch memory of a conversion between layouts is not in the IR.

## Example

```python
for start in tl.range(0, n, SIZE, num_stages=3):
    x = tl.load(x_ptr + ...)                 # copied to shared memory row by row
    tl.store(out_ptr + ..., tl.trans(x))     # and read from it column by column
```

With rows of 64 fp32, all elements of a column lie in one bank.

## What to do

* Transpose data that does not come through shared memory: with `num_stages=1` for this loop the
  compiler converts between layouts and pads.
* Or read along the rows and store along the other dimension: for a small tile that may cost less
  (measure it, and see IRL302).

## Targets

NVIDIA. On AMD the lanes that LDS serves at once depend on the width of the instruction, in an
order that no document gives.
"""

from collections.abc import Iterator

from irlens.analyze import banks
from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.encodings import blocked
from irlens.isa.mlir.linear_maps import UnmappedError
from irlens.isa.mlir.memory_maps import memory_map
from irlens.isa.mlir.types import MemDesc, Tensor, Type, read_type
from irlens.model.estimate import Cause
from irlens.model.report import Blame, Severity
from irlens.rules import Match

CODE = "IRL303"
NAME = "bank-conflict"
SEVERITY: Severity = "warning"
CAUSE: Cause = "bank_conflicts"
NEEDS = ("ttgir", "ptx")

_TOLERATED = 4
_COPY = "ttg.async_copy_global_to_local"
_ACCESSES = ("ttg.local_load", "ttg.local_store", "ttg.local_alloc", _COPY)


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each line whose accesses to shared memory take several passes."""
    if facts.ttgir is None or facts.ptx is None:
        return
    reported = set()
    for operation in facts.ttgir.named(*_ACCESSES):
        passes = _passes(facts.ttgir, operation)
        source = user_line(operation)
        if passes is None or passes < _TOLERATED or source is None or source in reported:
            continue
        reported.add(source)
        verb = "reads" if operation.name == "ttg.local_load" else "writes"
        yield Match(
            message=(
                f"{source} {verb} shared memory with {passes:.0f}-way bank conflicts: a warp's"
                f" request takes {passes:.0f} passes instead of one"
            ),
            hint="let threads access shared memory along its rows, not down its columns",
            stage=facts.ttgir.stage,
            line=operation.span.line,
            source=source,
            blame=Blame(
                reason=f"threads go down the columns of the buffer that it {verb}", kind=verb
            ),
        )


def _passes(module: Module, operation: Operation) -> float | None:
    """Return the passes of a transfer between a tensor and shared memory."""
    tensor = next((each for each in operation.types if isinstance(each, Tensor)), None)
    kinds = [_described(each) for each in operation.types]
    descriptor = next((each for each in kinds if isinstance(each, MemDesc)), None)
    if tensor is None or descriptor is None or tensor.shape != descriptor.shape:
        return None
    if operation.name == _COPY:
        return _copied(module, tensor, descriptor)
    registers, shared = blocked(module, tensor), banks.swizzled(module, descriptor)
    bits = tensor.element.bits
    if registers is None or shared is None or bits is None or bits < 8:
        return None
    return banks.passes(registers, shared, tensor.shape, bits // 8)


def _described(kind: Type) -> Type:
    """Return a type, in full where a copy prints a buffer's without its name."""
    return read_type(f"!ttg.memdesc{kind}") if str(kind).startswith("<") else kind


def _copied(module: Module, tensor: Tensor, descriptor: MemDesc) -> float | None:
    """Return the passes of an asynchronous copy that transposes a tile."""
    registers, bits = blocked(module, tensor), descriptor.element.bits
    if registers is None or bits is None or bits < 8:
        return None
    try:
        shared = memory_map(descriptor.layout, descriptor.shape, module.aliases)
        return banks.copy_passes(registers, shared.place, descriptor.shape, bits // 8)
    except UnmappedError:
        return None
