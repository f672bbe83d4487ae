"""Threads access global memory in narrower pieces than they could, for want of a known multiple.

## What it means

A thread can load or store 16 bytes at once if the compiler knows that they lie side by side, begin
at a multiple of 16, and are masked all or none. Triton knows of an argument whether it is a
multiple of 16, and nothing finer. A stride that is not, or a bound in the mask that is not, makes
each access narrow, often as narrow as one element: more instructions, and more requests to memory,
for the same bytes.

The finding names the arguments in the way: were they known to be multiples of 16, the compiler's
rule would give the wider access. How wide the access is now, is read from the PTX.

## Example

```python
x = tl.load(x_ptr + row * stride + columns, mask=columns < n_columns)
```

With a `stride` of 781 rows begin anywhere, and fp32 is loaded 4 bytes at a time.

## What to do

* In the address: pad the rows to a multiple of 16 elements. Columns beyond the last may stay
  unused.
* Where the value is a multiple of 8, say, pass it as a `tl.constexpr`: the compiler then knows. It
  compiles anew for each value.
* In the mask: pad, so that the bound is a multiple of 16 too, or treat the ragged end apart.
* A multiple of 16 that the compiler was not told of: leave the argument out of `do_not_specialize`
  and `do_not_specialize_on_alignment`.
* A pointer: allocate it at a multiple of 16 bytes, and do not pass a view that begins elsewhere.
"""

from collections.abc import Iterator
from math import prod

import msgspec

from irlens.analyze.addresses import Access, accesses, divisors
from irlens.analyze.facts import Facts
from irlens.analyze.ptx_accesses import access_widths
from irlens.isa.mlir import Module
from irlens.model.report import Severity
from irlens.rules import Match

CODE = "IRL301"
NAME = "narrow-access"
SEVERITY: Severity = "warning"

#: What Triton knows to divide an argument, if it knows anything.
_ALIGNMENT = 16
#: Each argument takes a walk of the ttir; generated kernels have hundreds of them.
_MOST_ARGUMENTS = 64


class _Narrow(msgspec.Struct):
    """An access that could be wider.

    Attributes:
        access: As it is known now.
        best: With every argument a multiple of 16.
        told: With every argument known as if it were a constexpr.
        elements: Elements of each thread.
        address: Arguments that, each for itself, narrow the best one through its address.
        mask: Those that do so through its mask alone.
    """

    access: Access
    best: Access
    told: Access
    elements: int
    address: list[str]
    mask: list[str]


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each access that known multiples of 16 would widen."""
    if facts.ttir is None or facts.ptx is None or not facts.threads:
        return
    if facts.warp_groups:  # not all threads take part, and the ttir does not say which
        return
    known = divisors(facts.ttir)
    if len(known) > _MOST_ARGUMENTS:
        return
    narrow: dict[int, _Narrow] = {}
    actual = access_widths(facts.ptx)
    best = accesses(facts.ttir, dict.fromkeys(known, _ALIGNMENT))
    told = accesses(facts.ttir, {name: _divisor(facts, name, known[name]) for name in known})
    for index, access in enumerate(accesses(facts.ttir, known)):
        elements = prod(access.pointer.shape) // facts.threads
        width = access.width(elements)
        # Where the compiler did not do what its rule says, it had reasons not known here.
        follows_rule = actual.get((access.direction, access.location)) == frozenset({width})
        if follows_rule and width < best[index].width(elements):
            narrow[index] = _Narrow(access, best[index], told[index], elements, [], [])
    if narrow:
        _find_blockers(facts.ttir, known, narrow)
    reported = set()
    for found in narrow.values():
        place = (found.access.direction, found.access.source)
        if found.access.source is not None and place not in reported:
            reported.add(place)
            yield _finding(facts, found)


def _find_blockers(module: Module, known: dict[str, int], narrow: dict[int, _Narrow]) -> None:
    """Take back one argument's multiple of 16 after the other, and see what gets narrower."""
    aligned = dict.fromkeys(known, _ALIGNMENT)
    for argument, divisor in known.items():
        if divisor >= _ALIGNMENT:
            continue
        without = accesses(module, {**aligned, argument: divisor})
        for index, found in narrow.items():
            for masked, names in ((False, found.address), (True, found.mask)):
                possible = found.best.width(found.elements, masked=masked)
                if without[index].width(found.elements, masked=masked) < possible:
                    names.append(argument.removeprefix("%"))
                    break


def _finding(facts: Facts, found: _Narrow) -> Match:
    blockers = [
        f"{_with_value(facts, name)} ({part})"
        for part, names in (("address", found.address), ("mask", found.mask))
        for name in names
    ]
    many = "are not known to be multiples" if len(blockers) > 1 else "is not known to be a multiple"
    return Match(
        message=(
            f"the {found.access.direction} at {found.access.source} moves"
            f" {found.access.width(found.elements)} B per thread at a time and could move"
            f" {found.best.width(found.elements)}: {' and '.join(blockers)} {many} of 16"
        ),
        hint=_hint(facts, found),
        stage="ttir",
        line=found.access.line,
        source=found.access.source,
    )


def _hint(facts: Facts, found: _Narrow) -> str:
    """Say what to do; what is a multiple of 16 needs no padding."""
    if all(_is_multiple(facts, name) for name in (*found.address, *found.mask)):
        return "leave out do_not_specialize: in this launch Triton would find the multiple of 16"
    if all(_is_multiple(facts, name) for name in found.address):
        return "pad the bound to a multiple of 16, or treat the ragged end apart"
    padding = "pad the rows to a multiple of 16 elements"
    width = found.told.width(found.elements)
    if width == found.access.width(found.elements):
        return padding
    blockers = (*found.address, *found.mask)
    names = " and ".join(name for name in blockers if not _is_multiple(facts, name))
    return f"pass {names} as tl.constexpr to move {width} B, or {padding}"


def _divisor(facts: Facts, name: str, known: int) -> int:
    """Return the power of two, up to 16, that the compiler finds in an argument that it knows."""
    value = facts.config.args.get(name.removeprefix("%"))
    if not isinstance(value, int):
        return known
    return next(n for n in (16, 8, 4, 2, 1) if value % n == 0)


def _is_multiple(facts: Facts, name: str) -> bool:
    """Whether an argument has a value that Triton would have found to be a multiple of 16."""
    value = facts.config.args.get(name)
    return isinstance(value, int) and value % _ALIGNMENT == 0


def _with_value(facts: Facts, name: str) -> str:
    value = facts.config.args.get(name)
    return f"{name}={value}" if isinstance(value, int) else name
