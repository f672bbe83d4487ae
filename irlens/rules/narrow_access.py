"""Accesses to global memory are narrower than possible: what a thread holds takes several.

## What it means

A thread can load or store 16 bytes at once if the compiler knows that they are contiguous, start at
a multiple of 16, and share one mask value. Triton only knows whether an argument is a multiple of
16. A stride or a bound in the mask that is not makes each access narrow, often a single element:
more instructions, and more requests to memory, for the same bytes.

The finding names the arguments that prevent the wider access: if they were known to be multiples of
16, the compiler's rule would allow it. The current width is read from the PTX, or from AMD's
assembly (`global_load_dword`, `buffer_load_dwordx4`). Where the launch is known, the finding also
says how many sectors of memory its requests touch, if that is more than their bytes need: rows
start off a boundary between sectors, or a thread's neighbouring elements take several instructions.

No argument is to blame where the launch shows another reason for that surplus, which the finding
then names:

* The elements of a thread start off a boundary: a neighbour's element (`x_ptr + offsets - 1`), a
  shift by an odd number of elements. The compiler gives each thread several elements all the same
  if another access of the kernel allows it, and one request then takes every fourth or eighth
  element of a stretch, the next one those beside them.
* The mask changes within them: `offsets >= 1`, or a constant bound that is odd.
* The compiler cannot see that they are side by side, or aligned: indices with `%`, `//` or `^`, or
  that were loaded.

## Example

```python
x = tl.load(x_ptr + row * stride + columns, mask=columns < n_columns)
```

With a `stride` of 781 rows start at any element, and fp32 is loaded 4 bytes at a time.

## What to do

* A stride in the address: pad the rows to a multiple of 16 elements. The padding may stay unused.
* A shift in the address: padding rows does not help. Shift by a multiple of what a thread accesses
  at once, or give each thread one element, so that the requests of a warp are contiguous: a tile of
  as many elements as there are threads, or more warps.
* A value that is a multiple of 8, say: pass it as a `tl.constexpr`, so that the compiler knows it.
  Each value is then compiled separately.
* In the mask: pad, so that the bound is a multiple of 16 too, or handle the ragged end separately.
* A multiple of 16 that Triton does not check: remove the argument from `do_not_specialize` and
  `do_not_specialize_on_alignment`.
* Elements that are contiguous and aligned, where the compiler cannot see it: say so with
  `tl.max_contiguous(tl.multiple_of(offsets, 4), 4)`. If that is not true, the result is wrong.
* A pointer: allocate it at a multiple of 16 bytes, and do not pass a view that starts elsewhere.

## Targets

NVIDIA and AMD.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irlens.analyze.address_slice import Role, argument_roles, is_multiplied
from irlens.analyze.addresses import Access, divisors, loaded_scalars
from irlens.analyze.facts import Facts
from irlens.analyze.global_accesses import uncounted
from irlens.analyze.mlir_loops import user_line
from irlens.analyze.narrow_accesses import ALIGNMENT, NarrowAccess, is_multiple, narrow_accesses
from irlens.isa.mlir import Module, Operation
from irlens.model.report import Blame, Severity
from irlens.rules import Match, Place

if TYPE_CHECKING:
    from irlens.analyze.sector_causes import SectorCause

CODE = "IRL301"
NAME = "narrow-access"
SEVERITY: Severity = "warning"
NEEDS = ("ttir", "assembly")

#: Surplus of sectors that is worth mentioning, as part of those that are needed.
_WORTHWHILE = 0.1
#: The hint for pointers, strides and bounds that the kernel loads from memory.
_TOLD = (
    "where it always is one, say so with tl.multiple_of(..., 16); a ragged end can be handled"
    " separately"
)
#: Most threads of a CTA.
_MOST_THREADS = 1024


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each access that is narrower than what each thread holds."""
    causes = {each.access.line: each for each in facts.sector_causes if each.kind == "narrow"}
    reported = set()
    for candidate in narrow_accesses(facts):
        place = (candidate.access.direction, candidate.access.source)
        if candidate.access.source is not None and place not in reported:
            reported.add(place)
            yield _finding(facts, candidate, causes.get(candidate.access.line))
    for cause in causes.values():
        if (cause.access.direction, cause.access.source) not in reported:
            yield _counted(facts, cause)


def unseen(facts: Facts) -> str:
    """Return which accesses were not looked at, and why; "" if all were."""
    names = uncounted(facts.assembly) if facts.assembly is not None else []
    return f"the width of {', '.join(names)} is not known" if names else ""


def _finding(facts: Facts, candidate: NarrowAccess, cause: "SectorCause | None") -> Match:
    blockers = [
        f"{_with_value(facts, name)} ({part})"
        for part, names in (("address", candidate.address), ("mask", candidate.mask))
        for name in names
    ]
    shifts = ", and shifts the tile" if _is_shift(facts, candidate, cause) else ""
    many = "are not known to be multiples" if len(blockers) > 1 else "is not known to be a multiple"
    reason = f"{' and '.join(blockers)} {many} of 16"
    return Match(
        message=(
            f"the {candidate.access.direction} at {candidate.access.source} moves"
            f" {candidate.access.width(candidate.elements)} B per {facts.words.thread} at a time"
            f" and could move {candidate.best.width(candidate.elements)}:"
            f" {reason}{shifts}{_sectors(facts, candidate)}"
        ),
        hint=_hint(facts, candidate, cause),
        place=Place("ttir", candidate.access.line, candidate.access.source),
        blame=Blame(
            reason=reason, kind="alignment", arguments=[*candidate.address, *candidate.mask]
        ),
    )


def _sectors(facts: Facts, candidate: NarrowAccess) -> str:
    """Return the sectors that the launch touches, where they are more than hold the bytes."""
    counted = facts.requests(candidate.access.line)
    granule = facts.granule
    if counted is None or granule is None:
        return ""
    needed = counted.runs.dense_sectors
    if counted.sectors <= (1 + _WORTHWHILE) * needed:
        return ""
    granules = f"{counted.sectors:,} {facts.words.granule}s of {granule} B"
    return f"; its {counted.requests:,} requests touch {granules} where {needed:,} would do"


def _hint(facts: Facts, candidate: NarrowAccess, cause: "SectorCause | None") -> str:
    """Return what to do; arguments that are multiples of 16 need no padding."""
    if _loaded(facts).keys() & {*candidate.address, *candidate.mask}:
        return _TOLD
    if all(is_multiple(facts, name) for name in (*candidate.address, *candidate.mask)):
        return "remove do_not_specialize: in this launch Triton would detect the multiple of 16"
    if all(is_multiple(facts, name) for name in candidate.address):
        return "pad the bound to a multiple of 16, or handle the ragged end separately"
    remedy = _for_address(facts, candidate, cause)
    width = candidate.constant.width(candidate.elements)
    if width == candidate.access.width(candidate.elements):
        return remedy
    blockers = (*candidate.address, *candidate.mask)
    names = " and ".join(name for name in blockers if not is_multiple(facts, name))
    return f"pass {names} as tl.constexpr to move {width} B, or {remedy}"


def _for_address(facts: Facts, candidate: NarrowAccess, cause: "SectorCause | None") -> str:
    """Return what makes an address a multiple of 16, by the part of the arguments that it takes."""
    roles = _roles(facts, candidate.access.line)
    blockers = _blockers(facts, candidate)
    if any("stride" in roles.get(name, {"stride"}) for name in blockers):
        return "pad the rows to a multiple of 16 elements"
    if all("pointer" in roles[name] for name in blockers):
        return f"allocate {' and '.join(blockers)} at a multiple of 16 B"
    names = " and ".join(name for name in blockers if "pointer" not in roles[name])
    vector = candidate.best.width(candidate.elements) // candidate.access.element_bytes
    if cause is not None and _is_shift(facts, candidate, cause):
        constant = f" (of {vector} as a tl.constexpr)" if vector < ALIGNMENT else ""
        return f"{_one_each(cause, facts)}, or make {names} a multiple of 16{constant}"
    return f"make {names} a multiple of 16"


def _blockers(facts: Facts, candidate: NarrowAccess) -> list[str]:
    return [name for name in candidate.address if not is_multiple(facts, name)]


def _is_shift(facts: Facts, candidate: NarrowAccess, cause: "SectorCause | None") -> bool:
    """Whether an argument that is added to the index moves the access off its boundaries."""
    if cause is None or not cause.starts - {0}:
        return False
    roles, blockers = _roles(facts, candidate.access.line), _blockers(facts, candidate)
    found = [roles.get(name, frozenset({"stride"})) for name in blockers]
    return any("shift" in each for each in found) and not any("stride" in each for each in found)


def _roles(facts: Facts, line: int) -> "dict[str, frozenset[Role]]":
    if facts.ttir is None:
        return {}
    return argument_roles(facts.ttir, _operation(facts.ttir, line))


def _operation(module: Module, line: int) -> Operation:
    return next(each for each in module.operations if each.span.line == line)


def _is_copied_to_shared(facts: Facts, line: int) -> bool:
    """Whether an access loads an operand of NVIDIA's tensor cores."""
    is_nvidia = facts.gpu is not None and facts.gpu.arch.vendor == "nvidia"
    module = facts.ttir if is_nvidia else None
    return module is not None and is_multiplied(module, _operation(module, line))


def _counted(facts: Facts, cause: "SectorCause") -> Match:
    """Return the finding for an access that no argument makes narrow."""
    access, words = cause.access, facts.words
    held = cause.vector * cause.element_bytes
    kind, reason, hint = _reason(facts, cause)
    place = Place("ttir", access.line, access.source)
    return Match(
        message=(
            f"the {access.direction}{place} moves {access.width} B per {words.thread} at a time,"
            f" and {held} B of each {words.thread} are side by side: {reason}; its"
            f" {access.requests or 0:,} requests touch {access.sectors or 0:,} {words.granule}s of"
            f" {facts.granule} B where {cause.ideal:,} would do"
        ),
        hint=hint,
        place=place,
        blame=Blame(reason=reason, kind=kind, suffices=cause.vector),
    )


def _reason(facts: Facts, cause: "SectorCause") -> tuple[str, str, str]:
    """Return the kind of reason why an access is narrow, the reason, and a hint."""
    held, size = cause.vector * cause.element_bytes, cause.element_bytes
    if cause.starts - {0}:
        if len(cause.starts) > 1:
            where = f"at different offsets within {held} B"
            return "starts", f"they start {where}", _for_starts(facts, cause)
        (start,) = cause.starts
        elements = start // size if 2 * start <= held else -((held - start) // size)
        off = f"{abs(elements)} element{'s' if abs(elements) != 1 else ''}"
        where = f"{off} {'past' if elements > 0 else 'before'} a multiple of {held} B"
        return "shift", f"they are shifted, and start {where}", _one_each(cause, facts)
    known = _known(facts, cause.access.line)
    elements_each = max(1, cause.elements // cause.threads)
    if not cause.uniform_mask or (
        known is not None and known.width(elements_each, masked=False) > known.width(elements_each)
    ):
        bounds = f"let the mask begin and end at multiples of {cause.vector} elements"
        changes = "may change" if cause.uniform_mask else "changes"
        return "mask", f"the mask {changes} within them", f"{bounds}, or {_one_each(cause, facts)}"
    if (
        known is not None
        and known.width(elements_each) > (cause.access.width or held)
        and _is_copied_to_shared(facts, cause.access.line)
    ):
        return (
            "transposed",
            "the compiler sees that they are contiguous, and copies them to shared memory one by"
            " one, to transpose the tile for the tensor cores",
            "store the operand with its other dimension contiguous",
        )
    told = f"tl.max_contiguous(tl.multiple_of(offsets, {cause.vector}), {cause.vector})"
    return (
        "unseen",
        "the compiler cannot see that they are contiguous and aligned, as in this launch",
        f"if that is always so, tell the compiler: {told}; else {_one_each(cause, facts)}",
    )


def _for_starts(facts: Facts, cause: "SectorCause") -> str:
    """Return what starts all rows at a boundary: a stride, or else what is added to the index."""
    vector, roles = cause.vector, _roles(facts, cause.access.line)
    values = {name: facts.config.args.get(name) for name, each in roles.items() if "stride" in each}
    if all(isinstance(value, int) and value % vector == 0 for value in values.values()) and values:
        return f"let the index begin at a multiple of {vector} elements in each program"
    return "pad the rows to a multiple of 16 elements"


def _known(facts: Facts, line: int) -> Access | None:
    """Return what the compiler knows of an access."""
    if facts.ttir is None or facts.addresses is None:
        return None
    found = facts.addresses.accesses(divisors(facts.ttir))
    return next((each for each in found if each.line == line), None)


def _one_each(cause: "SectorCause", facts: Facts) -> str:
    """Return how each thread gets a single element."""
    lanes = cause.threads // cause.warps
    smaller = f"a tile of {cause.threads} elements"
    if cause.elements <= _MOST_THREADS:
        smaller += f" or num_warps {cause.elements // lanes}"
    elif (more := cause.elements // cause.threads) > 1:
        # Launching them may take longer than the sectors do.
        smaller += f"; compare the times where that takes {more} times as many {facts.words.cta}s"
    return f"give each {facts.words.thread} one element ({smaller})"


def _with_value(facts: Facts, name: str) -> str:
    value = facts.config.args.get(name)
    if name in _loaded(facts):
        at = user_line(_loaded(facts)[name])
        return f"what {at} loads" if at is not None else "what the kernel loads"
    return f"{name}={value}" if isinstance(value, int) else name


def _loaded(facts: Facts) -> dict[str, Operation]:
    """Return the scalars that the kernel loads, by their names without "%"."""
    found = loaded_scalars(facts.ttir) if facts.ttir is not None else {}
    return {name.removeprefix("%"): each for name, each in found.items()}
