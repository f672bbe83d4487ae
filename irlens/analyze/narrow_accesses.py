"""Accesses to global memory that are narrower than they would be if arguments were aligned."""

from math import prod

import msgspec

from irlens.analyze.addresses import Access, Addresses, divisors, loaded_scalars
from irlens.analyze.facts import Facts
from irlens.analyze.global_accesses import access_widths
from irlens.model.source import SourceLocation

#: The only divisor of an argument that Triton detects.
ALIGNMENT = 16
#: Each argument takes a walk of the ttir; generated kernels have hundreds of them.
MOST_ARGUMENTS = 64


class NarrowAccess(msgspec.Struct):
    """An access that could be wider.

    Attributes:
        best: With every argument a multiple of 16.
        address: Arguments, and scalars that the kernel loads, that each on its own narrow the best
            access through its address.
        mask: Those that do so through its mask alone.
    """

    access: Access
    best: Access
    constant: Access
    elements: int
    address: list[str]
    mask: list[str]


def narrow_accesses(facts: Facts) -> list[NarrowAccess]:
    """Return the accesses that known multiples of 16 would widen."""
    addresses = facts.addresses
    if facts.ttir is None or addresses is None or facts.assembly is None or not facts.threads:
        return []
    if facts.is_specialized:  # only some threads take part, and the ttir does not say which
        return []
    known = {**dict.fromkeys(loaded_scalars(facts.ttir), 1), **divisors(facts.ttir)}
    if len(known) > MOST_ARGUMENTS:
        return []
    actual = access_widths(facts.assembly)
    candidates: dict[int, tuple[Access, int]] = {}
    for index, access in enumerate(addresses.accesses(known)):
        elements = prod(access.pointer.shape) // facts.threads
        width = access.width(elements)
        # Where the compiler deviates from its rule, the reasons are unknown.
        follows_rule = actual.get((access.direction, access.location)) == frozenset({width})
        if follows_rule and width < access.widest(elements):
            candidates[index] = (access, elements)
    if not candidates:
        return []
    best = addresses.accesses(dict.fromkeys(known, ALIGNMENT))
    constant = addresses.accesses(
        {name: divisor_of_value(facts, name, known[name]) for name in known}
    )
    narrow = {
        index: NarrowAccess(access, best[index], constant[index], elements, [], [])
        for index, (access, elements) in candidates.items()
        if access.width(elements) < best[index].width(elements)
    }
    if narrow:
        _find_blockers(addresses, known, narrow)
    return list(narrow.values())


def narrowed_by_address(facts: Facts) -> frozenset[tuple[str, SourceLocation | None]]:
    """Return the direction and place of each access that its address makes narrow."""
    narrow = narrow_accesses(facts)
    return frozenset((each.access.direction, each.access.source) for each in narrow if each.address)


def _find_blockers(
    addresses: Addresses, known: dict[str, int], narrow: dict[int, NarrowAccess]
) -> None:
    """Drop each argument's multiple of 16 in turn, and record which accesses get narrower."""
    aligned = dict.fromkeys(known, ALIGNMENT)
    for argument, divisor in known.items():
        if divisor >= ALIGNMENT:
            continue
        without = addresses.accesses({**aligned, argument: divisor})
        for index, candidate in narrow.items():
            for masked, names in ((False, candidate.address), (True, candidate.mask)):
                possible = candidate.best.width(candidate.elements, masked=masked)
                if without[index].width(candidate.elements, masked=masked) < possible:
                    names.append(argument.removeprefix("%"))
                    break


def divisor_of_value(facts: Facts, name: str, known: int) -> int:
    """Return the power of two, up to 16, that divides an argument known to the compiler."""
    value = facts.config.args.get(name.removeprefix("%"))
    if not isinstance(value, int):
        return known
    return next(n for n in (16, 8, 4, 2, 1) if value % n == 0)


def is_multiple(facts: Facts, name: str) -> bool:
    """Whether an argument's value is a multiple of 16, which Triton could detect."""
    value = facts.config.args.get(name)
    return isinstance(value, int) and value % ALIGNMENT == 0
