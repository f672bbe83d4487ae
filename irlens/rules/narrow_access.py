"""Accesses to global memory are narrower than possible: an argument's alignment is unknown.

## What it means

A thread can load or store 16 bytes at once if the compiler knows that they are contiguous, start at
a multiple of 16, and share one mask value. Triton only knows whether an argument is a multiple of
16. A stride or a bound in the mask that is not makes each access narrow, often a single element:
more instructions, and more requests to memory, for the same bytes.

The finding names the arguments that prevent the wider access: if they were known to be multiples of
16, the compiler's rule would allow it. The current width is read from the PTX, or from AMD's
assembly (`global_load_dword`, `buffer_load_dwordx4`).

## Example

```python
x = tl.load(x_ptr + row * stride + columns, mask=columns < n_columns)
```

With a `stride` of 781 rows start at any element, and fp32 is loaded 4 bytes at a time.

## What to do

* In the address: pad the rows to a multiple of 16 elements. The padding may stay unused.
* A value that is a multiple of 8, say: pass it as a `tl.constexpr`, so that the compiler knows it.
  Each value is then compiled separately.
* In the mask: pad, so that the bound is a multiple of 16 too, or handle the ragged end separately.
* A multiple of 16 that Triton does not check: remove the argument from `do_not_specialize` and
  `do_not_specialize_on_alignment`.
* A pointer: allocate it at a multiple of 16 bytes, and do not pass a view that starts elsewhere.

## Targets

NVIDIA and AMD.
"""

from collections.abc import Iterator
from math import prod

import msgspec

from irlens.analyze.addresses import Access, Addresses, divisors
from irlens.analyze.facts import Facts
from irlens.analyze.global_accesses import access_widths
from irlens.model.report import Severity
from irlens.rules import Match

CODE = "IRL301"
NAME = "narrow-access"
SEVERITY: Severity = "warning"

#: The only divisor of an argument that Triton detects.
_ALIGNMENT = 16
#: Each argument takes a walk of the ttir; generated kernels have hundreds of them.
_MOST_ARGUMENTS = 64


class _NarrowAccess(msgspec.Struct):
    """An access that could be wider.

    Attributes:
        access: With the current knowledge.
        best: With every argument a multiple of 16.
        constant: With every argument a constexpr.
        elements: Elements of each thread.
        address: Arguments that, each on its own, narrow the best access through its address.
        mask: Arguments that do so through its mask alone.
    """

    access: Access
    best: Access
    constant: Access
    elements: int
    address: list[str]
    mask: list[str]


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each access that known multiples of 16 would widen."""
    addresses = facts.addresses
    if facts.ttir is None or addresses is None or facts.assembly is None or not facts.threads:
        return
    if facts.warp_groups:  # only some threads take part, and the ttir does not say which
        return
    known = divisors(facts.ttir)
    if len(known) > _MOST_ARGUMENTS:
        return
    narrow: dict[int, _NarrowAccess] = {}
    actual = access_widths(facts.assembly)
    best = addresses.accesses(dict.fromkeys(known, _ALIGNMENT))
    constant = addresses.accesses({name: _divisor(facts, name, known[name]) for name in known})
    for index, access in enumerate(addresses.accesses(known)):
        elements = prod(access.pointer.shape) // facts.threads
        width = access.width(elements)
        # Where the compiler deviates from its rule, the reasons are unknown.
        follows_rule = actual.get((access.direction, access.location)) == frozenset({width})
        if follows_rule and width < best[index].width(elements):
            narrow[index] = _NarrowAccess(access, best[index], constant[index], elements, [], [])
    if narrow:
        _find_blockers(addresses, known, narrow)
    reported = set()
    for candidate in narrow.values():
        place = (candidate.access.direction, candidate.access.source)
        if candidate.access.source is not None and place not in reported:
            reported.add(place)
            yield _finding(facts, candidate)


def _find_blockers(
    addresses: Addresses, known: dict[str, int], narrow: dict[int, _NarrowAccess]
) -> None:
    """Drop each argument's multiple of 16 in turn, and record which accesses get narrower."""
    aligned = dict.fromkeys(known, _ALIGNMENT)
    for argument, divisor in known.items():
        if divisor >= _ALIGNMENT:
            continue
        without = addresses.accesses({**aligned, argument: divisor})
        for index, candidate in narrow.items():
            for masked, names in ((False, candidate.address), (True, candidate.mask)):
                possible = candidate.best.width(candidate.elements, masked=masked)
                if without[index].width(candidate.elements, masked=masked) < possible:
                    names.append(argument.removeprefix("%"))
                    break


def _finding(facts: Facts, candidate: _NarrowAccess) -> Match:
    blockers = [
        f"{_with_value(facts, name)} ({part})"
        for part, names in (("address", candidate.address), ("mask", candidate.mask))
        for name in names
    ]
    many = "are not known to be multiples" if len(blockers) > 1 else "is not known to be a multiple"
    return Match(
        message=(
            f"the {candidate.access.direction} at {candidate.access.source} moves"
            f" {candidate.access.width(candidate.elements)} B per {facts.words.thread} at a time"
            f" and could move {candidate.best.width(candidate.elements)}:"
            f" {' and '.join(blockers)} {many} of 16"
        ),
        hint=_hint(facts, candidate),
        stage="ttir",
        line=candidate.access.line,
        source=candidate.access.source,
    )


def _hint(facts: Facts, candidate: _NarrowAccess) -> str:
    """Return what to do; arguments that are multiples of 16 need no padding."""
    if all(_is_multiple(facts, name) for name in (*candidate.address, *candidate.mask)):
        return "remove do_not_specialize: in this launch Triton would detect the multiple of 16"
    if all(_is_multiple(facts, name) for name in candidate.address):
        return "pad the bound to a multiple of 16, or handle the ragged end separately"
    padding = "pad the rows to a multiple of 16 elements"
    width = candidate.constant.width(candidate.elements)
    if width == candidate.access.width(candidate.elements):
        return padding
    blockers = (*candidate.address, *candidate.mask)
    names = " and ".join(name for name in blockers if not _is_multiple(facts, name))
    return f"pass {names} as tl.constexpr to move {width} B, or {padding}"


def _divisor(facts: Facts, name: str, known: int) -> int:
    """Return the power of two, up to 16, that divides an argument known to the compiler."""
    value = facts.config.args.get(name.removeprefix("%"))
    if not isinstance(value, int):
        return known
    return next(n for n in (16, 8, 4, 2, 1) if value % n == 0)


def _is_multiple(facts: Facts, name: str) -> bool:
    """Whether an argument's value is a multiple of 16, which Triton could detect."""
    value = facts.config.args.get(name)
    return isinstance(value, int) and value % _ALIGNMENT == 0


def _with_value(facts: Facts, name: str) -> str:
    value = facts.config.args.get(name)
    return f"{name}={value}" if isinstance(value, int) else name
