"""The threads of a warp access the same banks of shared memory and have to take turns.

## What it means

Shared memory serves a warp in one pass if its 32 threads access 32 different banks, or the same
word. If several threads access different words of one bank, the request is replayed: four words in
one bank take four times as long.

The ttgir has both layouts: where an element lies in shared memory, and which thread accesses it.
The finding counts the resulting passes and is reported from four on. It covers matrices that
threads read and write in layouts of their own, such as an operand that is unpacked from 4-bit
weights, vectors of Gluon, tiles that specialized warps hand over, and on NVIDIA asynchronous copies
of single elements, which transpose a tile for the tensor cores. Layouts of operands themselves are
made to avoid conflicts, and the scratch memory of a conversion between layouts is not in the IR.

## Example

```python
for start in tl.range(0, n, SIZE, num_stages=3):
    x = tl.load(x_ptr + ...)                 # copied to shared memory row by row
    tl.store(out_ptr + ..., tl.trans(x))     # and read from it column by column
```

With rows of 64 fp32, all elements of a column lie in one bank.

## What to do

* Transpose data that does not come through shared memory: with `num_stages=1` for this loop the
  compiler converts between layouts and pads. Each iteration then waits for its loads: measure it,
  since a transpose has been slower so where the estimate was lower.
* Or read along the rows and store along the other dimension: for a small tile that may cost less
  (measure it, and see IRL302).
* An operand that is unpacked from 4-bit weights: keep the weights in memory with K contiguous, or
  multiply their halves one after the other, without `tl.join`.
* A vector in Gluon: a layout with at most 16 bytes of it side by side in each thread. Swizzles
  move rows, of which a vector has one.
* A tile that Blackwell's specialized warps hand over: compare with `warp_specialize=False`. The
  compiler does not swizzle that buffer.

## Targets

NVIDIA and AMD. On AMD the lanes that LDS serves at once depend on the width of the instruction, in
an order that no document gives: the finding says how long a request takes at least, in any order.
"""

from collections.abc import Iterator

from irlens.analyze import banks
from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.gpus import Arch
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.encoding_maps import Unmapped, linear_map
from irlens.isa.mlir.encodings import blocked, encoding_of
from irlens.isa.mlir.linear_maps import UnmappedError
from irlens.isa.mlir.memory_maps import memory_map
from irlens.isa.mlir.types import MemDesc, Tensor, Type, read_type
from irlens.model.estimate import Cause
from irlens.model.report import Blame, Severity
from irlens.rules import Match, Place

CODE = "IRL303"
NAME = "bank-conflict"
SEVERITY: Severity = "warning"
CAUSE: Cause = "bank_conflicts"
NEEDS = ("ttgir",)

_TOLERATED = 4
_COPY = "ttg.async_copy_global_to_local"
#: Layouts whose threads access elements of their own, and not for others of their warp.
_BY_THREADS = ("blocked", "linear", "slice")
_ACCESSES = ("ttg.local_load", "ttg.local_store", "ttg.local_alloc", _COPY)


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each line whose accesses to shared memory take several passes."""
    if facts.ttgir is None or facts.gpu is None:
        return
    reported, arch = set(), facts.gpu.arch
    times = (
        "at least {:.0f} times as long" if arch.vendor == "amd" else "{:.0f} passes instead of one"
    )
    for operation in facts.ttgir.named(*_ACCESSES):
        passes = _passes(facts.ttgir, operation, arch)
        source = user_line(operation)
        if passes is None or passes < _TOLERATED or source is None or source in reported:
            continue
        reported.add(source)
        held = _moved_at_once(operation)
        verb = "reads" if operation.name == "ttg.local_load" else "writes"
        is_own = held is not None and facts.ttir is not None and facts.ttir.stage == "ttgir"
        yield Match(
            message=(
                f"{source} {verb} {facts.words.shared_memory} with {passes:.0f}-way bank conflicts:"
                f" a {facts.words.warp}'s request takes {times.format(passes)}"
            ),
            hint=_hint(held, verb),
            place=Place(facts.ttgir.stage, operation.span.line, source),
            blame=Blame(
                reason=(
                    f"each {facts.words.thread} holds more than {held} consecutive elements"
                    if held
                    else f"threads go down the columns of the buffer that it {verb}"
                ),
                kind="vector" if is_own else verb,  # Gluon's layouts are the kernel's own
                suffices=held,
            ),
        )


def _moved_at_once(operation: Operation) -> int | None:
    """Return how many elements of a vector a thread moves at once; ``None`` for a matrix."""
    buffer = next(each for each in map(_described, operation.types) if isinstance(each, MemDesc))
    bits = buffer.element.bits
    return banks.WIDEST * 8 // bits if len(buffer.shape) == 1 and bits else None


def _hint(held: int | None, verb: str) -> str:
    if held:
        return (
            f"give each thread {held} consecutive elements, 16 B, or fewer: no layout of shared"
            " memory swizzles a vector"
        )
    along = "let threads access shared memory along its rows, not down its columns"
    return along if verb == "reads" else f"{along}; load an operand's data with K contiguous"


def _passes(module: Module, operation: Operation, arch: Arch) -> float | None:
    """Return the passes of a transfer between a tensor and shared memory; on AMD at least."""
    tensor = next((each for each in operation.types if isinstance(each, Tensor)), None)
    kinds = [_described(each) for each in operation.types]
    descriptor = next((each for each in kinds if isinstance(each, MemDesc)), None)
    if tensor is None or descriptor is None or tensor.shape != descriptor.shape:
        return None
    if operation.name == _COPY and len(tensor.shape) > 1:
        return _copied(module, tensor, descriptor) if arch.vendor == "nvidia" else None
    encoding, bits = encoding_of(module, tensor), descriptor.element.bits  # a copy's are pointers
    if encoding is None or encoding.kind not in _BY_THREADS or bits is None or bits < 8:
        return None
    registers = linear_map(tensor.layout, tensor.shape, module.aliases)
    whole = descriptor.whole[-len(descriptor.shape) :]
    if isinstance(registers, Unmapped) or arch.shared_banks is None:
        return None
    try:
        shared = memory_map(descriptor.layout, whole, module.aliases)
        in_order = arch.vendor == "nvidia"
        return banks.passes(
            registers, shared.place, bits // 8, arch.shared_banks, in_order=in_order
        )
    except UnmappedError:
        return None


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
