"""Masked accesses in a loop take a branch each, since the tensor may have 2 GB or more.

## What it means

AMD's buffer instructions take a base and an offset of 32 bits for each lane, and leave out what is
past the end of the buffer: a mask becomes an offset past it. Where the compiler cannot use them, it
loads and stores by addresses of 64 bits, and each instruction under a mask is in a branch of its
own: the execution mask is saved, changed, tested and restored around it.

The compiler uses buffer instructions for tensors that it knows to have less than 2 GB of storage,
which Triton asks the tensor at the call. For others it would have to prove all offsets to be within
2 GB, which strides given at run time rule out, as do pointers that the kernel loads from memory.

## Example

```python
for k in range(0, K, BLOCK):                      # x: 3 GB
    tile = tl.load(x + rows * K + k + columns, mask=k + columns < K)
```

Compiled for gfx950, a masked matmul of 128 x 128 x 32 has a fifth more instructions so.

## What to do

* Pass tensors of less than 2 GB, each with storage of its own: Triton looks at the storage, so that
  a view of a large one does not help.
* Pass tensors as arguments, rather than tensors of their addresses.
* Let the loop run over whole tiles without a mask, and handle the ragged end after it. Without a
  mask, addresses of 64 bits hardly cost anything.

Asked for by name, `irlens explain KERNEL IRL315` also answers for accesses without a mask or
outside of loops.

## Targets

AMD; NVIDIA's accesses have predicates.
"""

from collections.abc import Iterator

from irlens.analyze.address_slice import pointer_sources
from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir import Argument, Module, Operation
from irlens.isa.mlir.operations import POINTER_RANGE
from irlens.model.report import Blame, Severity
from irlens.rules import Match, Place

CODE = "IRL315"
NAME = "branched-access"
SEVERITY: Severity = "note"
NEEDS = ("ttir", "ttgir")

#: Accesses by addresses, and the number of their operands without a mask.
_UNMASKED = {"tt.load": 1, "tt.store": 2, "ttg.async_copy_global_to_local": 2}


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each masked access of a loop to a tensor of unknown size."""
    yield from (match for match, is_costly in _matches(facts) if is_costly)


def on_request(facts: Facts) -> Iterator[Match]:
    """Yield the accesses to such tensors without a mask, and those outside of loops."""
    yield from (match for match, is_costly in _matches(facts) if not is_costly)


def _matches(facts: Facts) -> Iterator[tuple[Match, bool]]:
    """Yield a finding for each access by 64-bit addresses, and whether it takes branches."""
    if facts.amdgcn is None or facts.ttgir is None or facts.ttir is None:
        return
    accesses = [each for each in facts.ttgir.named(*_UNMASKED) if each.types]
    in_loops = {each.location for each in accesses if _is_costly(facts.ttgir, each)}
    places = {each.location for each in accesses}
    for access in facts.ttir.named("tt.load", "tt.store"):
        names = _of_unknown_size(facts.ttir, access) if access.location in places else None
        if names is None:
            continue
        places.discard(access.location)
        source = user_line(access)
        reason = f"the storage of {' and '.join(names)} may have 2 GB or more"
        remedy = "pass tensors of less than 2 GB"
        if not names:
            reason = "the kernel loads its pointer from memory, and the size of what it points to"
            reason += " is unknown"
            remedy = "pass the tensor as an argument"
        is_costly = access.location in in_loops
        match = Match(
            message=(
                f"the {'store' if access.does == 'store' else 'load'} at {source} takes addresses"
                f" of 64 bits{', and a branch for each instruction' if is_costly else ''}: {reason}"
            ),
            hint=f"{remedy}, or handle the ragged end after the loop, without a mask in it",
            place=Place("ttir", access.span.line, source),
            blame=Blame(reason=reason, arguments=names),
        )
        yield match, is_costly


def _is_costly(module: Module, access: Operation) -> bool:
    """Whether an access of the ttgir is in a loop, under a mask."""
    parent = access.parent
    while parent is not None and module.operations[parent].does not in ("for", "while"):
        parent = module.operations[parent].parent
    return parent is not None and len(access.operands) > _UNMASKED[access.name]


def _of_unknown_size(module: Module, access: Operation) -> list[str] | None:
    """Return the arguments an access goes through that may have 2 GB or more; ``None`` if none has.

    The list is empty where the kernel loads the pointers from memory.
    """
    if not access.operand_type.shape:
        return None
    names: list[str] = []
    for each in pointer_sources(module, access):
        if isinstance(each, Argument):
            names += [each.name.removeprefix("%")] * (POINTER_RANGE not in each.attributes)
        elif each.does in ("load", "to pointer"):
            return []
    return names or None
